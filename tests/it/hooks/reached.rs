//! Which files that an agent makes does a person's own hook run, and with whose rights?

use super::*;

/// Commands that lead to what an agent makes below its workspace. None names such a file whole.
const LEADING: &[&str] = &[
    "sh \"$(pwd)/tools/later.sh\" toplevel",
    "G=$(pwd)/tools/later.sh; [ -f \"$G\" ] && sh \"$G\" found",
    "D=\"$CLAUDE_PROJECT_DIR/tools\"; [ -f \"$D/later.sh\" ] && bash \"$D/later.sh\" variable",
    "T=\"$PWD/tools\"; sh \"$T/later.sh\" pwd",
    "PATH=tools:$PATH; later.sh path",
    "perl -I. -Mpguard -e 1",
    "PERL5LIB=\"$CLAUDE_PROJECT_DIR\" perl -Mpguard -e 1",
    "PYTHONPATH=. python3 -c 'import pguard'",
    "make -s lint",
    "make -s -C \"$CLAUDE_PROJECT_DIR\" lint",
    // What takes its settings from there, and what nobody looked up.
    "git status -s",
    "later",
];

/// An agent makes files, and the hooks of its person come by them from the next call on: they run as an agent's commands do, never with
/// the person's rights, and the log says so from the first call on.
#[tokio::test]
async fn files_that_an_agent_makes_are_run_by_no_hook_with_a_persons_rights() {
    let out = tempfile::tempdir().unwrap();
    let told = out.path().join("told").display().to_string();
    let shell = format!("#!/bin/sh\necho \"shell $1\" >> {told}\n");
    let perl = format!("open F, '>>{told}'; print F \"perl\\n\"; close F; 1;\n");
    let python = format!("open('{told}', 'a').write('python\\n')\n");
    let commands: Vec<String> = LEADING.iter().map(|command| format!("{command}; true")).collect();
    let (house, _script, running) = play(
        json!({ "PostToolUse": commands }),
        vec![
            read("a.txt"),
            write("tools/later.sh", &shell),
            write("pguard.pm", &perl),
            write("pguard.py", &python),
            write("Makefile", &format!("lint:\n\techo make >> {told}\n")),
            read("a.txt"),
            Reply::done("ok"),
        ],
    )
    .await;
    let log = running.log().await;
    assert!(house.work().join("Makefile").exists() && house.work().join("tools/later.sh").exists());
    assert_eq!(fs::read_to_string(&told).unwrap_or_default(), "", "with a person's rights");
    let fired: Vec<&Value> = log.iter().filter(|it| it["type"] == "hook.fired").collect();
    assert!(LEADING.len() * 2 <= fired.len(), "{fired:?}");
    for event in fired {
        assert_eq!(event["data"]["confinement"]["confined"], true, "{event}");
    }
    running.stop().await;
}

/// A guard that lies elsewhere takes the project's folder as an argument, and may write where it keeps its state.
#[tokio::test]
async fn a_guard_that_lies_elsewhere_is_told_the_folder_and_keeps_its_rights() {
    let out = tempfile::tempdir().unwrap();
    let (guard, told) = (out.path().join("guard.sh"), out.path().join("told"));
    fs::write(&guard, "cat > /dev/null\necho \"$1\" >> \"$(dirname \"$0\")/told\"\n").unwrap();
    let guard = guard.display();
    let commands = [
        format!("sh {guard} \"$CLAUDE_PROJECT_DIR\""),
        format!("cd \"$CLAUDE_PROJECT_DIR\" && sh {guard} \"$PWD\""),
    ];
    let (_house, _script, running) =
        play(json!({ "PreToolUse": commands }), vec![read("a.txt"), Reply::done("ok")]).await;
    let log = running.log().await;
    for event in log.iter().filter(|it| it["type"] == "hook.fired") {
        let confinement = &event["data"]["confinement"];
        assert_eq!(confinement["confined"], false, "{event}");
        let why = confinement["reason"].as_str().unwrap();
        assert!(why.ends_with("everything in its command is known to be harmless"), "{why}");
    }
    assert_eq!(fs::read_to_string(told).unwrap().lines().count(), 2);
    running.stop().await;
}
