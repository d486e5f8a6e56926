//! What becomes of files that commands planted when the daemon was killed.

use std::time::{Duration, UNIX_EPOCH};

use super::{super::AutorunGuard, *};

fn guards(state: &Path) -> AutorunGuards {
    AutorunGuards::noting_in(state)
}

/// Begins a command that nobody sees the end of.
fn killed(root: &Path, named: &[&str], has_covers: bool, state: &Path) {
    let told =
        WritesTold { named: named.iter().map(|name| root.join(name)).collect(), ..WritesTold::default() };
    begun(root, told, has_covers, &guards(state));
}

fn begun(root: &Path, told: WritesTold, has_covers: bool, guards: &AutorunGuards) {
    let roots = [root.to_owned()];
    let records = (WorkspaceReports::default(), guards, Path::new("/session"));
    let guard = AutorunGuard::over(&roots, FurtherPlaces::default(), told, has_covers, records);
    std::mem::forget(guard.unwrap());
}

fn put(root: &Path, name: &str, text: &str) {
    fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
    fs::write(root.join(name), text).unwrap();
}

fn is_aside(root: &Path, name: &str) -> bool {
    let aside = format!(".not-run/{}.not-run-0", name.replace('/', "--"));
    !root.join(name).exists() && root.join(aside).exists()
}

fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("root"), folder.path().join("state"));
    fs::create_dir_all(&root).unwrap();
    let root = root.canonicalize().unwrap();
    (folder, root, state)
}

fn now() -> SystemTime {
    let (seconds, _) = sys::clock::file_time();
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap())
}

#[test]
fn what_commands_planted_until_the_daemon_was_killed_is_put_aside_and_told_once() {
    let (_folder, root, state) = folders();
    put(&root, ".vscode/settings.json", "a person's");
    put(&root, ".exrc", "a person's");
    put(&root, ".nvim.lua", "a person's");
    let odd = OsString::from_vec(b".vscode/a\xff.json".to_vec());
    fs::write(root.join(&odd), "a person's").unwrap();
    killed(&root, &[".envrc"], false, &state);
    killed(&root, &[], false, &state);
    for name in [".envrc", ".autoenv", ".vscode/tasks.json", ".zed/tasks.json", ".exrc", "plain"] {
        put(&root, name, "evil");
    }
    let (reports, next) = (WorkspaceReports::new(&state), guards(&state));
    let until = Some(now() + Duration::from_secs(20));
    let done = next.look_at_left(until, &reports);
    for name in [".autoenv", ".vscode/tasks.json", ".zed/tasks.json"] {
        assert!(is_aside(&root, name), "{name}: {done:?}");
    }
    for name in [".envrc", ".vscode/settings.json", ".exrc", "plain"] {
        assert!(root.join(name).exists(), "{name}: {done:?}");
    }
    assert!(root.join(&odd).exists(), "{done:?}");
    // The second finds no more of the first's than what was changed, of which the bytes are not known.
    let told = next.take_found(Path::new("/session"));
    assert_eq!((told.len(), done.len()), (5, 5), "{done:?}");
    assert_eq!(told.iter().filter(|told| told.contains("`.exrc` was changed")).count(), 2, "{told:?}");
    assert!(next.take_found(Path::new("/session")).is_empty());
    let report = &reports.recent()[0].text;
    assert!(
        report.contains("was killed while a command") && report.contains("`.autoenv` came to be"),
        "{report}"
    );
    assert!(guards(&state).look_at_left(until, &reports).is_empty(), "it is told once");
}

#[test]
fn what_came_after_the_daemon_died_may_be_a_persons_and_stays() {
    let (_folder, root, state) = folders();
    put(&root, ".exrc", "a person's");
    killed(&root, &[], false, &state);
    put(&root, ".envrc", "a person's");
    put(&root, ".exrc", "a person's, too");
    let done =
        guards(&state).look_at_left(Some(now() - Duration::from_secs(60)), &WorkspaceReports::default());
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(done.iter().all(|done| done.contains("may be the person's own")), "{done:?}");
    assert!(root.join(".envrc").exists() && root.join(".exrc").exists());
    // Where nobody knows when it was killed, it counts as an agent's.
    killed(&root, &[], false, &state);
    put(&root, ".autoenv", "evil");
    guards(&state).look_at_left(None, &WorkspaceReports::default());
    assert!(is_aside(&root, ".autoenv"));
}

#[test]
fn what_was_written_on_purpose_meanwhile_stays_and_one_that_ended_leaves_no_note() {
    let (_folder, root, state) = folders();
    let first = guards(&state);
    begun(&root, WritesTold::default(), false, &first);
    put(&root, ".envrc", "wanted");
    put(&root, ".autoenv", "evil");
    first.allow(&root.join(".envrc"), Some(&crate::digest::of(b"wanted")));
    let notes = || fs::read_dir(state.join("autorun")).unwrap().count();
    assert_eq!(notes(), 1);
    let done = guards(&state).look_at_left(None, &WorkspaceReports::default());
    assert!(root.join(".envrc").exists() && is_aside(&root, ".autoenv"), "{done:?}");
    assert_eq!(notes(), 0);
    let records = (WorkspaceReports::default(), &guards(&state), Path::new(""));
    let (roots, told) = ([root.clone()], WritesTold::default());
    let guard = AutorunGuard::over(&roots, FurtherPlaces::default(), told, true, records);
    assert_eq!(notes(), 1);
    drop(guard);
    assert_eq!(notes(), 0);
}

#[test]
fn a_link_that_came_is_put_aside_itself_and_one_that_leads_elsewhere_is_put_back() {
    let (_folder, root, state) = folders();
    put(&root, "one/hooks/x.json", "a person's");
    put(&root, "two/hooks/x.json", "evil");
    std::os::unix::fs::symlink("one", root.join(".github")).unwrap();
    killed(&root, &[], false, &state);
    fs::remove_file(root.join(".github")).unwrap();
    std::os::unix::fs::symlink("two", root.join(".github")).unwrap();
    put(&root, "hk/pre-commit", "evil");
    std::os::unix::fs::symlink("hk", root.join(".husky")).unwrap();
    let done = guards(&state).look_at_left(None, &WorkspaceReports::default());
    assert_eq!(fs::read_link(root.join(".github")).unwrap(), Path::new("one"), "{done:?}");
    assert!(fs::symlink_metadata(root.join(".husky")).is_err(), "{done:?}");
    assert!(root.join("hk/pre-commit").exists());
}

#[test]
fn a_note_has_a_bound_and_none_that_cannot_be_read_is_passed_over() {
    let mut room = 1_000;
    let file = AutorunFileState::File { stamp: (1, 2, 3, 4, 5), mode: 0o644, bytes: Some(vec![0; 9_000]) };
    let state = |count: usize| PlaceState {
        files: (0..count).map(|number| (PathBuf::from(number.to_string()), file.clone())).collect(),
        ..PlaceState::default()
    };
    let big = NotedPlace::of(&state(1_000), &mut room);
    assert!(big.is_cut && big.files.is_empty());
    let small = NotedPlace::of(&state(5), &mut room);
    assert!(!small.is_cut && serde_json::to_vec(&small).unwrap().len() < 1_000);
    let (_folder, root, state) = folders();
    killed(&root, &[], false, &state);
    for note in fs::read_dir(state.join("autorun")).unwrap() {
        fs::write(note.unwrap().path(), "{").unwrap();
    }
    let reports = WorkspaceReports::new(&state);
    assert_eq!(guards(&state).look_at_left(None, &reports).len(), 1);
    assert!(reports.recent()[0].text.contains("cannot be read"));
}
