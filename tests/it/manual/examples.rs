//! Every command, settings file, rule and agent that the manual shows, as it stands there.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Page, blocks, pages, quotes};
use crate::{
    built,
    process::{Ended, Home, output},
    support::House,
};

/// What a command line is told that the companion does not have.
const UNKNOWN: &[&str] =
    &["unexpected argument", "unrecognized subcommand", "invalid value", "there is no command"];

/// Text may name a command without all that it needs; an example may not.
const INCOMPLETE: &[&str] = &["required arguments were not provided", "a value is required"];

/// One program that a text of the manual starts.
struct Started {
    program: String,
    arguments: Vec<String>,
}

/// Stands for both programs while bash reads the examples: what it is told is written down, and nothing else happens.
struct Recorder {
    folder: tempfile::TempDir,
}

impl Recorder {
    fn new() -> Recorder {
        let recorder = Recorder { folder: tempfile::tempdir().unwrap() };
        let records = recorder.records();
        let stub =
            format!("#!/bin/bash\nprintf '%s\\0' \"$#\" \"${{0##*/}}\" \"$@\" >>'{}'\n", records.display());
        // As the README's first command has it, and as the others do.
        for program in ["target/debug/subagent", "bin/subagent", "bin/subagentd"] {
            recorder.program(program, &stub);
        }
        recorder.program("bin/cargo", "#!/bin/bash\n");
        recorder
    }

    fn program(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn records(&self) -> PathBuf {
        self.folder.path().join("records")
    }

    /// What this text starts when bash runs it. No other program is found.
    async fn started_by(&self, text: &str) -> Vec<Started> {
        fs::write(self.records(), "").unwrap();
        let mut bash = tokio::process::Command::new("/bin/bash");
        // An alias of an example counts in the lines after it.
        bash.args(["-c", &format!("shopt -s expand_aliases\n{text}")])
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", self.folder.path().join("bin"))
            .current_dir(self.folder.path())
            .stdin(std::process::Stdio::null());
        output(&mut bash).await;
        let records = fs::read_to_string(self.records()).unwrap();
        let mut words = records.split_terminator('\0').map(str::to_owned);
        let mut started = Vec::new();
        while let Some(count) = words.next() {
            let program = words.next().unwrap();
            let arguments = words.by_ref().take(count.parse().unwrap()).collect();
            started.push(Started { program, arguments });
        }
        started
    }
}

/// The commands that the text of a page names between backticks.
fn named_commands(page: &Page) -> impl Iterator<Item = String> {
    quotes(page).into_iter().filter(|it| it.starts_with("subagent ") || it.starts_with("subagentd "))
}

/// What the real program says to this command line where no daemon can be reached.
async fn told(home: &Home, started: &Started) -> Ended {
    let mut command = match &*started.program {
        "subagentd" => home.command(built::daemon()),
        _ => home.command(built::companion()),
    };
    command.args(&started.arguments).env("SUBAGENTD_SOCKET", home.path("nobody.sock"));
    if started.program == "subagentd" {
        // Flags before it are read, and nothing is started.
        command.arg("--help");
    }
    output(&mut command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_that_is_named_is_one() {
    let (recorder, home) = (Recorder::new(), Home::new());
    let mut wrong = Vec::new();
    let mut tried = 0;
    for page in pages() {
        let in_examples = blocks(&page.text, "sh").into_iter().map(|example| (example, true));
        let in_text = named_commands(&page).map(|command| (command, false));
        for (text, is_whole) in in_examples.chain(in_text) {
            for started in recorder.started_by(&text).await {
                tried += 1;
                let ended = told(&home, &started).await;
                let is_said = |words: &[&str]| words.iter().any(|word| ended.stderr.contains(word));
                if is_said(UNKNOWN) || is_whole && is_said(INCOMPLETE) {
                    let first = ended.stderr.lines().next().unwrap_or_default();
                    let Started { program, arguments } = started;
                    wrong.push(format!("{}: {program} {arguments:?}: {first}", page.file));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 150, "{tried} commands");
}

/// What `subagentd --check-config` says of a home with this file.
async fn checked(path: &str, text: &str) -> Ended {
    let home = Home::new();
    let path = home.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let mut command = home.command(built::daemon());
    command.arg("--check-config");
    output(&mut command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_settings_file_and_rule_file_is_without_a_mistake() {
    let mut read = 0;
    for Page { file, text } in pages() {
        for (language, path) in
            [("jsonc", "config/subagentd/settings.json"), ("toml", "config/subagentd/policies/manual.toml")]
        {
            for example in blocks(&text, language) {
                let ended = checked(path, &example).await;
                let is_right = ended.code == Some(0) && ended.stdout.contains("0 errors, 0 warnings");
                assert!(is_right, "{file}: {example}{}{}", ended.stdout, ended.stderr);
                read += 1;
            }
        }
    }
    assert!(read > 8, "{read} files");
    // They would be told.
    let ended = checked("config/subagentd/settings.json", r#"{ "run": { "maxTurn": 1 } }"#).await;
    assert!(ended.stdout.contains("0 errors, 1 warning"), "{}{}", ended.stdout, ended.stderr);
}

#[tokio::test]
async fn every_agent_can_be_run() {
    let running = House::new().boot().await;
    let mut client = running.client();
    let mut agents = Vec::new();
    for page in pages() {
        agents.extend(blocks(&page.text, "markdown").into_iter().map(|agent| (page.file.clone(), agent)));
        let fields = blocks(&page.text, "yaml").into_iter();
        let agent = |fields| format!("---\nkind: agent\nname: example\ndescription: d\n{fields}---\nDo.\n");
        agents.extend(fields.map(|fields| (page.file.clone(), agent(fields))));
    }
    for (file, agent) in &agents {
        let validated = client.call("agents/validate", json!({ "text": agent })).await;
        let checks = validated["agents"][0]["checks"].as_array().unwrap();
        let is_right = |check: &&Value| check["outcome"] == "pass";
        let wrong: Vec<&Value> = checks.iter().filter(|check| !is_right(check)).collect();
        // This house has no model.
        let wrong: Vec<&&Value> =
            wrong.iter().filter(|check| !check["check"].as_str().unwrap().contains("model")).collect();
        assert!(wrong.is_empty() && !checks.is_empty(), "{file}: {agent}{wrong:#?}");
    }
    assert!(agents.len() > 2, "{} agents", agents.len());
    running.stop().await;
}

/// The example of a page that writes a recording and plays it, with all that lies in `/tmp` in this home.
fn played(file: &str, home: &Home) -> String {
    let page = pages().into_iter().find(|page| page.file == file).unwrap();
    let example = blocks(&page.text, "sh").into_iter().find(|example| example.contains("--model replay:"));
    let recordings = home.path("recordings");
    example.unwrap().replace("/tmp/", &format!("{}/", recordings.display()))
}

/// Runs an example in bash as it stands there, with more behind its last command.
async fn run_in_bash(home: &Home, example: &str, more: &str) -> Ended {
    let programs = Path::new(built::companion()).parent().unwrap();
    let path = [programs.as_os_str(), std::env::var_os("PATH").unwrap().as_os_str()].join(":".as_ref());
    let mut bash = home.command("/bin/bash");
    bash.args(["-c", &format!("set -e\n{} {more}", example.trim_end())])
        .env("PATH", path)
        // The examples write into the usual place.
        .env_remove("XDG_CONFIG_HOME");
    let ended = output(&mut bash).await;
    output(&mut home.companion(&["stop"])).await;
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_that_asks_writes_its_note_once_it_may() {
    let home = Home::new();
    let example = played("docs/questions.md", &home);
    let ended = run_in_bash(&home, &example, "--headless").await;
    assert!(!home.path("work/note.txt").exists(), "nobody allowed it: {}", ended.stderr);
    let ended = run_in_bash(&home, &example, "--approve low").await;
    assert_eq!((ended.code, &*ended.stdout), (Some(0), "wrote a note\n"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(home.path("work/note.txt")).unwrap(), "hello\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_that_runs_commands_cannot_write_to_the_home() {
    let home = Home::new();
    let example = played("docs/security.md", &home);
    let ended = run_in_bash(&home, &example, "--approve medium,high").await;
    let result = "ran a clock, and could not write to the home\n";
    assert_eq!((ended.code, &*ended.stdout), (Some(0), result), "{}", ended.stderr);
    assert!(!home.path("made").exists(), "{}", ended.stderr);
}
