//! Is a program run as it was noted, or not at all?

use super::*;

/// As a daemon does that runs them for the first time.
fn note(programs: &OwnerPrograms, words: impl IntoIterator<Item = Vec<String>>) {
    let lookup = OwnerProgramsLookup::of(words);
    lookup.records().into_iter().for_each(|record| programs.remember(record.id, record.files));
    programs.replace(lookup);
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The program, what interprets it, and files that its words name: of each, one that was changed is not run, not even when
/// it is put back, until the settings are read anew.
#[test]
fn a_program_is_run_as_it_was_noted_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().unwrap().to_owned();
    script(&path("shell"), "#!/bin/sh\nexec /bin/sh \"$@\"\n");
    script(&path("tell"), &format!("#!{}\n", text("shell")));
    fs::write(path("data"), "#!/bin/sh\n").unwrap();
    fs::write(path("more"), "#!/bin/sh\n").unwrap();
    let words = [text("tell"), text("data"), format!("--file={}", text("more")), "word".to_owned()];
    let programs = OwnerPrograms::default();
    for name in ["shell", "tell", "data", "more"] {
        note(&programs, [words.to_vec()]);
        assert!(programs.open_files().contains(&path(name).canonicalize().unwrap()), "{name}");
        let command = programs.command(&words).unwrap();
        assert_eq!(command.get_program(), path("tell").canonicalize().unwrap());
        let before = fs::read(path(name)).unwrap();
        fs::write(path(name), "#!/bin/sh\nchanged\n").unwrap();
        let refused = programs.command(&words).unwrap_err();
        assert!(refused.contains(name) && refused.contains("subagent trust --programs"), "{refused}");
        fs::write(path(name), before).unwrap();
        assert!(programs.command(&words).is_err(), "{name} was put back");
        assert_eq!(programs.found_changed(), [path(name).canonicalize().unwrap()]);
    }
    note(&programs, [words.to_vec()]);
    assert!(programs.command(&words).is_ok() && programs.changed().is_empty());
}

#[test]
fn what_an_interpreter_runs_is_noted_and_what_a_program_writes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).canonicalize().unwrap();
    fs::write(folder.path().join("code"), "print(1)\n").unwrap();
    fs::write(folder.path().join("log"), "x\n").unwrap();
    let programs = OwnerPrograms::default();
    let script = format!("cat >> {}", path("log").display());
    note(
        &programs,
        [
            vec!["bash".to_owned(), path("code").display().to_string()],
            vec!["sh".to_owned(), "-c".to_owned(), script],
        ],
    );
    assert_eq!(programs.open_files(), [path("code")]);
}

/// Nobody writes to what Python and others load from beside a script, or around what the program is called; and the programs
/// that it looks up by name are the system's.
#[test]
fn what_a_program_loads_unasked_is_roots_or_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    for name in ["tools", "app", "venv/bin", "venv/lib"] {
        fs::create_dir_all(at.join(name)).unwrap();
    }
    script(&at.join("tools/tell"), &format!("#!{}\n", at.join("venv/bin/python").display()));
    fs::write(at.join("app/__main__.py"), "print(1)\n").unwrap();
    fs::write(at.join("venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    std::os::unix::fs::symlink("/bin/sh", at.join("venv/bin/python")).unwrap();
    let programs = OwnerPrograms::default();
    let text = |name: &str| at.join(name).to_str().unwrap().to_owned();
    let tell = [text("tools/tell")];
    note(&programs, [tell.to_vec(), vec![text("venv/bin/python"), text("app")]]);
    let folders = ["app", "tools", "venv", "venv/bin"].map(|name| at.join(name));
    assert_eq!(programs.open_folders(), folders);
    let command = programs.command(&tell).unwrap();
    let variables: BTreeMap<_, _> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?))).collect();
    assert_eq!(variables["PYTHONNOUSERSITE"], "1");
    assert_eq!(variables["PYTHONSAFEPATH"], "1");
    let path: Vec<PathBuf> = std::env::split_paths(variables["PATH"]).collect();
    assert!(!path.is_empty() && path.iter().all(|folder| programs::is_roots_alone(folder)), "{path:?}");
}

#[test]
fn a_program_is_looked_up_once() {
    let folder = tempfile::tempdir().unwrap();
    let programs = OwnerPrograms::default();
    let words = [folder.path().join("late").to_str().unwrap().to_owned()];
    note(&programs, [words.to_vec()]);
    script(&folder.path().join("late"), "#!/bin/sh\n");
    assert!(programs.command(&words).is_err(), "it came after the settings were read");
    let sh = ["sh".to_owned()];
    assert_eq!(programs.command(&sh).unwrap().get_program(), Path::new("/bin/sh").canonicalize().unwrap());
}

/// What the log keeps holds for the next daemon, whose memory begins empty: what was changed while none was there is not run.
#[test]
fn a_program_that_was_changed_while_no_daemon_was_there_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("tell");
    script(&path, "#!/bin/sh\n");
    let words = [path.to_str().unwrap().to_owned()];
    let records = OwnerProgramsLookup::of([words.to_vec()]).records();
    fs::write(&path, "#!/bin/sh\nchanged\n").unwrap();
    let next = OwnerPrograms::default();
    records.iter().for_each(|record| next.remember(record.id.clone(), record.files.clone()));
    next.replace(OwnerProgramsLookup::of([words.to_vec()]));
    assert!(next.command(&words).unwrap_err().contains("another file than when it was noted"));
    assert_eq!(next.found_changed(), std::slice::from_ref(&path));
    // Reading the settings anew is no acknowledgement.
    next.replace(OwnerProgramsLookup::of([words.to_vec()]));
    assert!(next.command(&words).is_err());
    let compared = next.compared();
    assert_ne!(compared[0].noted.as_ref(), Some(&compared[0].now.files));
    next.remember(compared[0].now.id.clone(), compared[0].now.files.clone());
    next.replace(OwnerProgramsLookup::of([words.to_vec()]));
    assert!(next.command(&words).is_ok() && next.changed().is_empty());
    // Of one that nothing is known of, nothing is run.
    let nothing = OwnerPrograms::default();
    nothing.replace(OwnerProgramsLookup::of([words.to_vec()]));
    assert!(nothing.command(&words).unwrap_err().contains("could not be noted"));
}

/// A file of a script is its owner's to change, but where agents work: there it is what was noted. Also one that comes to be.
#[test]
fn a_script_is_held_to_its_files_where_agents_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
    let named = vec![path("guard.sh"), path("helper.py"), path("notes.md")];
    let guard = OwnerScript {
        words: vec!["hook".to_owned(), "x".to_owned()],
        name: "x".to_owned(),
        named,
        run: Vec::new(),
    };
    script(&path("guard.sh"), "#!/bin/sh\n");
    fs::write(path("notes.md"), "a\n").unwrap();
    let programs = OwnerPrograms::default();
    let worked = WorkedFolders::default();
    programs.heed(worked.clone());
    let look = || {
        let mut lookup = OwnerProgramsLookup::default();
        lookup.add_scripts([guard.clone()]);
        let noted = |id: &str| programs.known().records.get(id).cloned();
        let unnoted = lookup.unnoted(noted, &worked);
        unnoted.into_iter().for_each(|record| programs.remember(record.id, record.files));
        programs.replace(lookup);
    };
    look();
    let refused = |apart: &[PathBuf]| programs.refused_script(&guard, apart);
    script(&path("guard.sh"), "#!/bin/sh\nowner\n");
    assert_eq!(refused(&[]), None);
    worked.add([folder.path().canonicalize().unwrap()]);
    assert_eq!(refused(&[]), None);
    // What is no program may change.
    fs::write(path("notes.md"), "b\n").unwrap();
    assert_eq!(refused(&[]), None);
    fs::write(path("helper.py"), "x\n").unwrap();
    assert!(refused(&[]).unwrap().contains("helper.py"));
    assert_eq!(refused(&[path("helper.py")]), None);
    fs::remove_file(path("helper.py")).unwrap();
    script(&path("guard.sh"), "#!/bin/sh\nagent\n");
    let why = refused(&[]).unwrap();
    assert!(why.contains("guard.sh") && why.contains("subagent trust --programs"), "{why}");
    assert_eq!(programs.found_changed(), [path("guard.sh"), path("helper.py")]);
    // Reading the settings anew is no acknowledgement; neither is another daemon.
    look();
    assert!(refused(&[]).is_some());
    let compared = programs.compared();
    assert!(compared[0].refused.is_some() && compared[0].now.name == "x", "{compared:?}");
    programs.remember(compared[0].now.id.clone(), compared[0].now.files.clone());
    look();
    assert_eq!(refused(&[]), None);
}
