//! Is a file replaced whole or not at all, below the roots and nowhere else?

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::CWD;

use super::*;
use crate::workspace::PathOpener;

struct Fixture {
    folder: tempfile::TempDir,
    workspace: Workspace,
    stop: CancellationToken,
}

impl Fixture {
    fn new(opener: Option<PathOpener>) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ws");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(root.join("a.txt"), "old").unwrap();
        fs::write(root.join("sub/b.txt"), "old").unwrap();
        fs::write(folder.path().join("secret"), "outside").unwrap();
        let workspace = Workspace::open_with(&[root], opener, None).unwrap();
        Fixture { folder, workspace, stop: CancellationToken::new() }
    }

    fn both() -> [Fixture; 2] {
        [Fixture::new(Some(PathOpener::Openat2)), Fixture::new(Some(PathOpener::StepByStep))]
    }

    fn root(&self) -> PathBuf {
        self.workspace.roots().next().unwrap().to_owned()
    }

    fn place(&self, path: &str) -> WorkspacePath {
        self.workspace.resolve(path).unwrap()
    }

    fn found(&self, path: &str) -> ExistingFile {
        self.workspace.find(&self.place(path)).unwrap().unwrap()
    }

    fn put(
        &self,
        place: &WorkspacePath,
        bytes: &[u8],
        over: Option<&ExistingFile>,
    ) -> Result<WriteOutcome, ToolErrorType> {
        let wish = WriteRequest { bytes, over, attributes: None };
        self.workspace.put(place, &wish, &self.stop, &mut || true).map_err(|error| error.kind)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Everything below the workspace and beside it, so that nothing is left behind unseen.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                names.push(entry.path().strip_prefix(self.folder.path()).unwrap().display().to_string());
            }
        }
        names.sort();
        names
    }
}

const NAMES: [&str; 5] = ["secret", "ws", "ws/a.txt", "ws/sub", "ws/sub/b.txt"];

#[test]
fn a_file_is_replaced_and_keeps_its_mode_and_owner() {
    for fixture in Fixture::both() {
        let path = fixture.root().join("a.txt");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o741)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        }
        let before = fs::metadata(&path).unwrap();
        fs::hard_link(&path, fixture.root().join("sub/second")).unwrap();
        let found = fixture.found("a.txt");
        assert_eq!(fixture.put(&fixture.place("a.txt"), b"new", Some(&found)), Ok(WriteOutcome::Done));
        assert_eq!((fixture.text("a.txt"), fixture.text("sub/second")), ("new".to_owned(), "old".to_owned()));
        let after = fs::metadata(&path).unwrap();
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino());
        assert_eq!(fixture.names().len(), NAMES.len() + 1);
    }
}

#[test]
fn new_files_come_with_their_folders_and_the_mode_the_user_set() {
    for fixture in Fixture::both() {
        assert_eq!(fixture.workspace.missing_folders(&fixture.place("x/y/z.txt")), 2);
        assert_eq!(fixture.put(&fixture.place("x/y/z.txt"), b"new", None), Ok(WriteOutcome::Done));
        assert_eq!(fixture.text("x/y/z.txt"), "new");
        fs::write(fixture.root().join("x/usual"), "").unwrap();
        let mode = |path: &str| fs::metadata(fixture.root().join(path)).unwrap().mode();
        assert_eq!(mode("x/y/z.txt"), mode("x/usual"), "the umask counts");
        fixture.workspace.remove(&fixture.place("x/y/z.txt"), &fixture.found("x/y/z.txt")).unwrap();
        fixture.workspace.remove_empty_folders(&fixture.place("x/y/z.txt"), 2);
        assert!(!fixture.root().join("x/y").exists() && fixture.root().join("x").exists(), "x is in use");
    }
}

#[test]
fn what_is_not_what_was_found_stays() {
    for fixture in Fixture::both() {
        let place = fixture.place("a.txt");
        let found = fixture.found("a.txt");
        fs::write(fixture.root().join("a.txt"), "by a person").unwrap();
        assert_eq!(fixture.put(&place, b"new", Some(&found)), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.put(&place, b"new", None), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.workspace.remove(&place, &found), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.workspace.rename(&place, &fixture.place("c"), &found), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.text("a.txt"), "by a person");
        let found = fixture.found("a.txt");
        let to_file = fixture.place("sub/b.txt");
        assert_eq!(fixture.workspace.rename(&place, &to_file, &found), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.text("sub/b.txt"), "old");
        fs::remove_file(fixture.root().join("a.txt")).unwrap();
        assert_eq!(fixture.put(&place, b"new", Some(&found)), Ok(WriteOutcome::Changed));
        assert_eq!(fixture.names(), ["secret", "ws", "ws/sub", "ws/sub/b.txt"]);
    }
}

#[test]
fn work_that_is_stopped_leaves_nothing() {
    for fixture in Fixture::both() {
        let found = fixture.found("a.txt");
        fixture.stop.cancel();
        assert_eq!(fixture.put(&fixture.place("a.txt"), b"new", Some(&found)), Ok(WriteOutcome::Stopped));
        assert_eq!(fixture.put(&fixture.place("x/y/z"), b"new", None), Ok(WriteOutcome::Stopped));
        for over in [None, Some(&found)] {
            let wish = WriteRequest { bytes: b"new", over, attributes: None };
            let stop = CancellationToken::new();
            let place = fixture.place(if over.is_some() { "a.txt" } else { "x/z" });
            assert_eq!(fixture.workspace.put(&place, &wish, &stop, &mut || false), Ok(WriteOutcome::Stopped));
        }
        assert_eq!(fixture.text("a.txt"), "old");
        assert_eq!(fixture.names(), NAMES);
    }
}

#[test]
fn links_that_come_after_the_look_are_not_followed() {
    for fixture in Fixture::both() {
        let (inner, last) = (fixture.place("sub/secret"), fixture.place("a.txt"));
        let (found_inner, found) = (fixture.found("sub/b.txt"), fixture.found("a.txt"));
        fs::rename(fixture.root().join("sub"), fixture.root().join("moved")).unwrap();
        symlink(fixture.folder.path(), fixture.root().join("sub")).unwrap();
        fs::remove_file(fixture.root().join("a.txt")).unwrap();
        symlink("../secret", fixture.root().join("a.txt")).unwrap();
        for over in [None, Some(&found_inner)] {
            assert!(fixture.put(&inner, b"new", over).is_err());
            assert!(fixture.workspace.rename(&inner, &fixture.place("c"), &found_inner).is_err());
            assert!(fixture.workspace.remove(&inner, &found_inner).is_err());
        }
        for over in [None, Some(&found)] {
            assert_eq!(fixture.put(&last, b"new", over), Ok(WriteOutcome::Changed));
        }
        assert!(fixture.put(&last.child("x".as_ref()), b"new", None).is_err());
        assert_eq!(fixture.workspace.remove(&last, &found), Ok(WriteOutcome::Changed));
        assert!(fixture.workspace.find(&last).is_err());
        assert_eq!(fs::read_to_string(fixture.folder.path().join("secret")).unwrap(), "outside");
        assert_eq!(fixture.names().len(), NAMES.len() + 1, "{:?}", fixture.names());
    }
}

#[test]
fn a_race_of_folder_and_link_never_writes_outside() {
    for fixture in Fixture::both() {
        let root = fixture.root();
        let outside = fixture.folder.path().join("outside");
        fs::create_dir(root.join("switch")).unwrap();
        fs::create_dir_all(outside.join("deep")).unwrap();
        symlink(&outside, root.join("other")).unwrap();
        let place = WorkspacePath { root: 0, relative: PathBuf::from("switch/deep/file") };
        let done = AtomicBool::new(false);
        // How often it failed, and how often it was written.
        let tried: [u32; 2] = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // In one step, so that the name always means something.
                    let (a, b) = (root.join("switch"), root.join("other"));
                    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let mut tried = [0; 2];
            // On a busy machine the other thread may not get its turn for long.
            let is_run = |[failed, written]: [u32; 2]| {
                let tries = failed + written;
                500_000 < tries || (2_000 < tries && failed != 0 && written != 0)
            };
            while !is_run(tried) {
                let found = fixture.workspace.find(&place).unwrap_or_default();
                let is_written = fixture.put(&place, b"new", found.as_ref()) == Ok(WriteOutcome::Done);
                tried[usize::from(is_written)] += 1;
            }
            done.store(true, Ordering::Relaxed);
            tried
        });
        assert_eq!(fs::read_dir(outside.join("deep")).unwrap().count(), 0);
        assert!(!tried.contains(&0), "the race was not run: {tried:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_leaves_the_old_file_whole() {
    let fixture = Fixture::new(None);
    fs::set_permissions(fixture.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(fixture.root().join("sub"), fs::Permissions::from_mode(0o555)).unwrap();
    let tried = std::thread::scope(|scope| {
        let tried = scope.spawn(|| {
            // The system lets root write anywhere, so this thread becomes nobody.
            if rustix::process::geteuid().is_root() {
                rustix::thread::set_thread_uid(Uid::from_raw(65_534)).unwrap();
            }
            let found = fixture.found("sub/b.txt");
            [
                fixture.put(&fixture.place("sub/b.txt"), b"new", Some(&found)),
                fixture.put(&fixture.place("sub/c.txt"), b"new", None),
                fixture.put(&fixture.place("sub/x/c.txt"), b"new", None),
                fixture.workspace.remove(&fixture.place("sub/b.txt"), &found).map_err(|error| error.kind),
            ]
        });
        tried.join().unwrap()
    });
    assert_eq!(tried, [Err(ToolErrorType::PermissionDenied); 4]);
    assert_eq!(fixture.text("sub/b.txt"), "old");
    assert_eq!(fixture.names(), NAMES);
}

#[test]
fn what_is_no_file_is_refused() {
    for fixture in Fixture::both() {
        let fifo = fixture.root().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        let sparse = fs::File::create(fixture.root().join("large")).unwrap();
        sparse.set_len(200 * 1024 * 1024).unwrap();
        let find = |path: &str| {
            fixture.workspace.find(&fixture.place(path)).map(|it| it.is_some()).map_err(|it| it.kind)
        };
        assert_eq!(find("sub"), Err(ToolErrorType::TargetIsDirectory));
        assert_eq!(find("."), Err(ToolErrorType::TargetIsDirectory));
        assert_eq!(find("fifo"), Err(ToolErrorType::FileWriteFailure));
        assert_eq!(find("large"), Err(ToolErrorType::FileTooLarge));
        assert_eq!(find("a.txt/x"), Err(ToolErrorType::FileWriteFailure));
        assert_eq!(find("missing/x"), Ok(false));
        assert_eq!(fixture.put(&fixture.place("."), b"new", None), Err(ToolErrorType::TargetIsDirectory));
        assert_eq!(fixture.put(&fixture.place("sub"), b"new", None), Ok(WriteOutcome::Changed));
        assert_eq!(
            fixture.put(&fixture.place("a.txt/x"), b"new", None),
            Err(ToolErrorType::FileWriteFailure)
        );
    }
}

#[test]
fn drafts_with_a_hidden_name_do_the_same() {
    let fixture = Fixture::new(None);
    let folder = || fixture.workspace.open_folder(&fixture.place("sub")).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    let mut draft = UnlinkedFile::hidden(&folder(), mode).unwrap();
    draft.file().write_all(b"new").unwrap();
    assert_eq!(draft.take_free_name(&folder(), "b.txt".as_ref()), Err(Errno::EXIST));
    let mut draft = UnlinkedFile::hidden(&folder(), mode).unwrap();
    draft.file().write_all(b"new").unwrap();
    draft.take_name(&folder(), "b.txt".as_ref()).unwrap();
    let mut draft = UnlinkedFile::hidden(&folder(), mode).unwrap();
    draft.file().write_all(b"other").unwrap();
    draft.take_free_name(&folder(), "c.txt".as_ref()).unwrap();
    drop(UnlinkedFile::hidden(&folder(), mode).unwrap());
    assert_eq!(
        (fixture.text("sub/b.txt"), fixture.text("sub/c.txt")),
        ("new".to_owned(), "other".to_owned())
    );
    assert_eq!(fixture.names().len(), NAMES.len() + 1, "{:?}", fixture.names());
}

#[test]
fn what_the_system_answers_becomes_what_the_model_can_act_on() {
    let fixture = Fixture::new(None);
    let kind = |errno| fixture.workspace.write_failure(&fixture.place("a.txt"), errno).kind;
    for (errno, expected) in [
        (Errno::NOSPC, ToolErrorType::NoSpaceLeft),
        (Errno::DQUOT, ToolErrorType::NoSpaceLeft),
        (Errno::ACCESS, ToolErrorType::PermissionDenied),
        (Errno::PERM, ToolErrorType::PermissionDenied),
        (Errno::ROFS, ToolErrorType::PermissionDenied),
        (Errno::LOOP, ToolErrorType::PathNotInWorkspace),
        (Errno::XDEV, ToolErrorType::PathNotInWorkspace),
        (Errno::ISDIR, ToolErrorType::TargetIsDirectory),
        (Errno::NOTDIR, ToolErrorType::FileWriteFailure),
        (Errno::IO, ToolErrorType::FileWriteFailure),
        (Errno::FBIG, ToolErrorType::FileWriteFailure),
    ] {
        assert_eq!(kind(errno), expected, "{errno}");
    }
}
