//! Keys from every place, and why there is none.

use std::os::unix::fs::OpenOptionsExt as _;

use super::*;

fn place(source: Option<KeySource>, variables: &[(&'static str, String)]) -> KeyPlace {
    let variables = variables.to_vec();
    let environment = move |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
    };
    KeyPlace {
        entry: "mine".to_owned(),
        source,
        variable: "GEMINI_API_KEY",
        environment: Arc::new(environment),
        children: ChildProcesses::default(),
        secrets: redact::KnownSecrets::default(),
    }
}

/// The key as its header has it.
fn read(place: &KeyPlace) -> Result<String, NoKey> {
    place.read().map(|key| key.header().to_str().unwrap().to_owned())
}

fn write(path: &Path, text: &str, mode: u32) {
    use std::io::Write as _;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn sh(script: &str) -> Option<KeySource> {
    Some(KeySource::Command(["sh", "-c", script].map(str::to_owned).into()))
}

#[test]
fn a_key_comes_from_where_the_entry_says() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("key"), "from-file\n", 0o600);
    let variables = [("GEMINI_API_KEY", "usual".to_owned()), ("OWN", " own ".to_owned())];
    let cases = [
        (None, "usual"),
        (Some(KeySource::Env("OWN".to_owned())), "own"),
        (Some(KeySource::File(folder.path().join("key"))), "from-file"),
        (sh("echo $0-from-command"), "sh-from-command"),
        // What it leaves running holds the pipe open; nobody waits for it.
        (sh("echo left; sleep 1000 &"), "left"),
    ];
    for (source, expected) in cases {
        assert_eq!(read(&place(source, &variables)).unwrap(), expected);
    }
}

#[test]
fn a_credential_of_systemd_comes_before_the_usual_variable() {
    let folder = tempfile::tempdir().unwrap();
    let directory = ("CREDENTIALS_DIRECTORY", folder.path().to_str().unwrap().to_owned());
    let variables = [directory, ("GEMINI_API_KEY", "usual".to_owned())];
    assert_eq!(read(&place(None, &variables)).unwrap(), "usual");
    write(&folder.path().join("mine"), "credential", 0o440);
    let place = place(None, &variables);
    assert_eq!(read(&place).unwrap(), "credential");
    assert_eq!(place.to_string(), format!("the credential {}", folder.path().join("mine").display()));
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o640, 0o604, 0o660, 0o610] {
        let path = folder.path().join(format!("{mode:o}"));
        write(&path, "secret", mode);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let shown = path.display();
        let expected =
            format!("the file {shown} can be used by others (mode {mode:04o}): `chmod 600 {shown}`");
        assert_eq!(read(&place(Some(KeySource::File(path.clone())), &[])), Err(NoKey::Unusable(expected)));
    }
}

#[test]
fn what_is_missing_is_told_apart_from_what_cannot_be_used() {
    let missing = [
        (None, "GEMINI_API_KEY is not set in the daemon's environment"),
        (Some(KeySource::Env("OWN".to_owned())), "OWN is not set in the daemon's environment"),
        (Some(KeySource::File("/no/such/file".into())), "there is no file /no/such/file"),
        (sh("true"), "the command `sh` is empty"),
    ];
    for (source, expected) in missing {
        assert_eq!(read(&place(source, &[])), Err(NoKey::Missing(expected.to_owned())));
    }
    let empty = [("GEMINI_API_KEY", " \n".to_owned())];
    assert_eq!(
        read(&place(None, &empty)),
        Err(NoKey::Missing("the variable GEMINI_API_KEY is empty".to_owned()))
    );
    let unusable = [
        (
            sh("echo secret; echo secret >&2; exit 3"),
            "the command `sh` for the key failed with exit status: 3",
        ),
        (
            sh("printf 'two\\nlines'"),
            "what is in the command `sh` cannot be a key: it has control characters",
        ),
        (
            Some(KeySource::Command(vec!["/no/such/program".to_owned()])),
            "the command `/no/such/program` for the key cannot be run: entity not found",
        ),
    ];
    for (source, expected) in unusable {
        assert_eq!(read(&place(source, &[])), Err(NoKey::Unusable(expected.to_owned())));
    }
}

#[test]
fn a_key_shows_nothing_and_is_hidden_in_what_providers_say() {
    let key = ApiKey::new("AIza-secret").unwrap();
    assert_eq!(format!("{key:?} {:?}", key.header()), "ApiKey Sensitive");
    assert_eq!(key.hide_in("bad key AIza-secret."), "bad key [key].");
    assert!(ApiKey::new("").is_none() && ApiKey::new("a\nb").is_none());
}

/// Its number, which is also its group's, must not become another's before the group is ended.
#[test]
fn a_command_that_has_ended_is_not_reaped_before_its_group_is_ended() {
    let mut command = std::process::Command::new("true");
    let mut child = ChildProcesses::default().spawn(command.process_group(0), SpawnOrigin::Ours).unwrap();
    assert!(wait_bounded(&child).unwrap());
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.pid()));
    assert!(stat.as_ref().is_ok_and(|stat| stat.contains(") Z ")), "{stat:?}");
    child.kill_group();
    assert!(child.wait().unwrap().success());
}
