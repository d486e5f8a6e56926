//! Commands of agents, from the model's call to what it is told, and to what people see meanwhile (spec 05,
//! `run_shell_command`, `shell_output`, `kill_shell`, `git_commit`).

use std::{fs, path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    config::ConfigSources,
    sandbox::{HiddenPlaces, Sandbox, SandboxMechanism},
};

use crate::{
    built,
    support::{Client, House, Reply, Running, Script},
};

const RUNNER: &str = "---\nkind: agent\nname: runner\ndescription: Runs commands.\ncompletion: tool\n\
                      tools: [run_shell_command, shell_output, kill_shell, git_commit, write_file, edit_file, read_file]\n\
                      ---\nYou run commands.\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

fn shell(command: &str) -> (&'static str, Value) {
    ("run_shell_command", json!({ "command": command }))
}

/// A house whose agent makes these calls, one a turn.
fn house(calls: &[(&str, Value)]) -> House {
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("done"));
    House::new().script(&Script::new(replies)).agent("runner", RUNNER).rules("all", ALLOW)
}

fn with_settings(house: House, settings: Value) -> House {
    house.settings(&settings)
}

/// The ends of a run's calls but `complete_task`, in order.
async fn ends(running: &Running, run: &str) -> Vec<Value> {
    let log = running.log().await;
    let is_end = |event: &&Value| {
        event["runId"] == run
            && event["activity"] == "TOOL_CALL_END"
            && event["data"]["name"] != "complete_task"
    };
    log.iter().filter(is_end).map(|event| event["data"].clone()).collect()
}

fn text(end: &Value) -> &str {
    end["result"]["llmContent"][0]["text"].as_str().unwrap()
}

/// Runs the house's calls to the end; what they came to.
async fn run(house: &House) -> Vec<Value> {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "runner", json!({})).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    drop(client);
    running.stop().await;
    ends
}

#[tokio::test]
async fn what_a_command_puts_out_reaches_the_model() {
    let calls = [
        shell("echo out; echo problem >&2; exit 3"),
        shell("true"),
        shell("printf 'no line end'"),
        shell("printf 'a\\n\\033[31mred\\033[0m\\n'"),
        shell("kill -9 $$"),
        shell("cat; echo read"),
        shell("printf '\\377\\376 \\0 x'"),
        ("run_shell_command", json!({ "command": "pwd", "directory": "sub" })),
        shell("echo 'Exit code: 3'"),
    ];
    let house = house(&calls).file("sub/file", "");
    let ends = run(&house).await;
    let texts: Vec<&str> = ends.iter().map(text).collect();
    let sub = house.work().join("sub");
    assert_eq!(
        texts,
        [
            "Exit code: 3\nout\nstderr:\nproblem\n",
            "(no output)",
            "no line end",
            "a\nred\n",
            "Ended by signal 9 (KILL)\n(no output)\n",
            // Nobody types: standard input is at its end.
            "read\n",
            // Nor is there any use for what moves a terminal's cursor.
            "\u{fffd}\u{fffd}  x",
            &format!("{}\n", sub.display()),
            // What a command says cannot pass for how it ended.
            "Exit code: 0\nExit code: 3\n",
        ]
    );
    assert_eq!(ends[0]["result"]["data"]["exitCode"], 3);
    assert_eq!(ends[0]["result"]["data"]["stderrBytes"], 8);
    assert!(ends.iter().all(|end| end["to"] == "success"), "a command that fails was run all the same");
}

#[tokio::test]
async fn output_is_shown_while_it_comes_and_the_event_of_the_end_has_all_of_it() {
    let script = "for i in 1 2 3; do echo line $i; read x < gate$i; done; echo näedle";
    let house = house(&[shell(script)]);
    // One each: a pipe that its last writer has not closed yet would let the next reader through.
    let gates: Vec<_> = (1..=3).map(|n| house.work().join(format!("gate{n}"))).collect();
    assert!(Command::new("mkfifo").args(&gates).status().unwrap().success());
    let running = house.boot().await;
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": "*", "deltas": true })).await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "runner", json!({})).await;
    let mut seen = String::new();
    for (n, gate) in (1..).zip(gates) {
        while !seen.contains(&format!("line {n}\n")) {
            let event = watcher.event().await;
            if event["type"] == "tool.output" {
                assert_eq!(event["data"]["offset"].as_u64(), Some(seen.len() as u64));
                seen.push_str(event["data"]["text"].as_str().unwrap());
            }
        }
        tokio::task::spawn_blocking(move || fs::write(gate, "go\n").unwrap()).await.unwrap();
    }
    client.ended(&run).await;
    for event in watcher.events_until("run.completed").await {
        if event["type"] == "tool.output" {
            assert_eq!(event["data"]["offset"].as_u64(), Some(seen.len() as u64));
            seen.push_str(event["data"]["text"].as_str().unwrap());
        }
    }
    assert_eq!(seen, "line 1\nline 2\nline 3\nnäedle\n");
    assert_eq!(ends(&running, &run).await[0]["output"], seen);
    drop((client, watcher));
    running.stop().await;
}

/// Starts a command that says `ready` and waits; whoever calls this sees that it does.
async fn begun(house: &House) -> (Running, Client, String, String) {
    let running = house.boot().await;
    let mut watcher = running.client();
    watcher.call("session/attach", json!({ "sessionId": "*", "deltas": true })).await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "runner", json!({})).await;
    loop {
        let event = watcher.event().await;
        if event["type"] == "tool.output" && event["data"]["text"].as_str().unwrap().contains("ready") {
            return (running, client, run, session);
        }
    }
}

#[tokio::test]
async fn time_ends_a_command_and_what_it_put_out_is_kept() {
    let cases = [
        (json!({}), 300, "put out nothing for 300 s"),
        (json!({ "timeoutSeconds": 7 }), 7, "took more than 7 s"),
    ];
    for (more, seconds, told) in cases {
        let mut arguments = json!({ "command": "trap '' TERM; echo ready; while :; do sleep 1000; done" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (house, clock) = house(&[("run_shell_command", arguments)]).manual_clock();
        let (running, mut client, run, _) = begun(&house).await;
        clock.advance(Duration::from_secs(seconds));
        // It does not end when it is asked to, so it is ended when it has had time to.
        client.settle().await;
        clock.advance(Duration::from_secs(2));
        let has_ended = |got: &Value| got["run"]["state"] == "ended" || got["state"] == "ended";
        client.until("run/get", json!({ "runId": run }), has_ended).await;
        let end = &ends(&running, &run).await[0];
        assert_eq!(end["error"]["type"], "TIMED_OUT");
        assert!(text(end).contains(told) && text(end).ends_with("ready\n"), "{}", text(end));
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_cancelled_run_ends_its_command_and_keeps_what_it_put_out() {
    let house = house(&[shell("echo ready; sleep 1000 & wait")]);
    let (running, mut client, run, _) = begun(&house).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    let end = &ends(&running, &run).await[0];
    assert_eq!((end["to"].as_str(), end["error"]["type"].as_str()), (Some("cancelled"), Some("CANCELLED")));
    assert!(text(end).ends_with("ready\n"), "{}", text(end));
    assert_eq!(end["output"], "ready\n");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_every_reason() {
    let long = format!("echo {}", "x".repeat(1 << 20));
    let cases = [
        (json!({ "command": "echo \0" }), "NUL byte"),
        (json!({ "command": long }), "1048581 bytes"),
        (json!({ "command": " \n" }), "blank"),
        (json!({ "command": "ls", "directory": "gone" }), "gone"),
        (json!({ "command": "ls", "directory": "/" }), "not a path inside"),
        (json!({ "command": "ls", "directory": "file" }), "is not a folder"),
        (json!({ "command": "ls", "timeoutSeconds": 0 }), "timeoutSeconds"),
        (json!({ "command": "", "background": 3 }), "background"),
        (json!({ "command": "a\0b", "background": true, "pty": true, "timeoutSeconds": 3 }), "pty"),
    ];
    let calls: Vec<_> = cases.iter().map(|(arguments, _)| ("run_shell_command", arguments.clone())).collect();
    let ends = run(&house(&calls).file("file", "")).await;
    for (end, (arguments, told)) in ends.iter().zip(&cases) {
        let shown: String = arguments.to_string().chars().take(80).collect();
        assert_eq!(end["to"], "error", "{shown}");
        assert!(text(end).contains(told), "{shown}: {}", text(end));
    }
    let all = text(&ends[8]);
    assert!(["NUL", "timeoutSeconds", "pty"].iter().all(|it| all.contains(it)), "{all}");
}

#[tokio::test]
async fn a_person_may_change_a_command_before_it_runs_and_nothing_else_of_the_call() {
    let call = ("run_shell_command", json!({ "command": "echo x > made", "directory": "sub" }));
    let script = Script::new([Reply::calls(&[call]), Reply::done("done")]);
    let house = House::new().script(&script).agent("runner", RUNNER).file("sub/file", "");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "runner", json!({})).await;
    let is_asked = |listed: &Value| listed["confirmations"].as_array().is_some_and(|all| !all.is_empty());
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), is_asked).await;
    let asked = &listed["confirmations"][0];
    let modified = |content: &str| {
        json!({
            "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "modify", "content": content,
        })
    };
    assert_eq!(client.refused("confirmation/respond", modified(" ")).await.0, "INVALID_PARAMS");
    // What no rule allows, no person's hand makes of a command.
    assert_eq!(client.refused("confirmation/respond", modified("shutdown now")).await.0, "FORBIDDEN");
    client.call("confirmation/respond", modified("pwd; echo changed")).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    let told = &ends[0]["result"]["llmContent"];
    assert!(text(&ends[0]).starts_with("A person changed the call"), "{told}");
    assert_eq!(told[1]["text"], format!("{}\nchanged\n", house.work().join("sub").display()));
    assert!(!house.work().join("sub/made").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_machine_without_bash_says_so() {
    let mut house = house(&[shell("echo x")]);
    house.sources = ConfigSources { environment: vec![("PATH".into(), "/nowhere".into())], ..house.sources };
    let ends = run(&house).await;
    assert_eq!(ends[0]["error"]["type"], "SHELL_EXECUTE_ERROR");
    assert!(text(&ends[0]).contains("there is no program `bash`"), "{}", text(&ends[0]));
}

#[tokio::test]
async fn a_refusal_of_the_sandbox_is_explained_to_the_model() {
    let outside = tempfile::tempdir_in(built::apart()).unwrap();
    let file = outside.path().join("made");
    let ends =
        run(&house(&[shell(&format!("echo x > {}", file.display())), shell("exec 3<>/dev/tcp/127.0.0.1/9")]))
            .await;
    for end in &ends {
        let text = text(end);
        assert!(text.starts_with("Exit code: 1\n") && text.contains("ran in a sandbox"), "{text}");
        assert!(text.contains("say what you need"), "{text}");
    }
    assert!(!file.exists());
}

#[tokio::test]
async fn a_refusal_is_explained_also_when_the_last_of_several_commands_went_well() {
    let calls = [shell("touch inside; ls"), shell("echo 'Permission denied'"), shell("echo fine >&2")];
    let house = with_settings(house(&calls), json!({ "sandbox": { "profile": "readOnly" } }));
    let ends = run(&house).await;
    assert_eq!(ends[0]["result"]["data"]["exitCode"], 0);
    let told = text(&ends[0]);
    assert!(told.contains("ran in a sandbox") && told.contains("`sandbox.environment`"), "{told}");
    assert_eq!(
        text(&ends[1]),
        "Permission denied\n",
        "what a command that went well puts out is about anything"
    );
    assert_eq!(text(&ends[2]), "stderr:\nfine\n");
}

#[tokio::test]
async fn where_a_sandbox_is_required_and_there_is_none_nothing_runs() {
    let mut house =
        with_settings(house(&[shell("echo x > made")]), json!({ "sandbox": { "required": true } }));
    let nothing = SandboxMechanism::Nothing("it was taken away".to_owned());
    house.sandbox = Sandbox::with(built::daemon().into(), HiddenPlaces::default(), nothing);
    let ends = run(&house).await;
    assert_eq!(ends[0]["error"]["type"], "SANDBOX_DENIED");
    assert!(text(&ends[0]).contains("it was taken away"), "{}", text(&ends[0]));
    assert!(!house.work().join("made").exists());
}

#[tokio::test]
async fn an_agent_may_be_confined_more_closely_and_never_less() {
    let full = "---\nkind: agent\nname: full\ndescription: Runs commands.\ncompletion: tool\nsandbox: full\n\
                tools: [run_shell_command]\n---\nYou run commands.\n";
    let reader = full.replace("full", "closer").replace("sandbox: closer", "sandbox: readOnly");
    let outside = tempfile::tempdir_in(built::apart()).unwrap();
    let command = format!("echo x > inside; echo x > {}/outside", outside.path().display());
    let house = house(&[shell(&command)]).agent("full", full).agent("closer", &reader);
    let running = house.boot().await;
    let mut client = running.client();
    for (agent, is_made) in [("closer", false), ("full", true)] {
        let (run, _) = client.start(&running, agent, json!({})).await;
        client.ended(&run).await;
        assert_eq!(house.work().join("inside").exists(), is_made, "{agent}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_background_command_goes_on_until_it_is_ended() {
    let start = ("run_shell_command", json!({ "command": "echo up; exec sleep 1000", "background": true }));
    let calls = [
        start.clone(),
        ("shell_output", json!({})),
        (
            "run_shell_command",
            json!({ "command": "until grep -q up out; do sleep 0.01; done" , "background": false }),
        ),
        ("kill_shell", json!({ "id": "1" })),
        ("shell_output", json!({ "id": "1" })),
        ("shell_output", json!({ "id": "1", "from": 3 })),
        ("kill_shell", json!({ "id": "7" })),
        ("kill_shell", json!({ "id": "1" })),
    ];
    let mut calls = calls.to_vec();
    calls[0].1["command"] = json!("echo up | tee out; exec sleep 1000");
    let ends = run(&house(&calls)).await;
    let texts: Vec<&str> = ends.iter().map(text).collect();
    assert!(texts[0].starts_with("Started in the background as `1`"), "{}", texts[0]);
    assert!(texts[1].starts_with("1: echo up | tee out; exec sleep 1000 (running, "), "{}", texts[1]);
    assert_eq!(texts[3], "1: ended by signal 15");
    assert_eq!(texts[4], "1: ended by signal 15\nup\nnext: 3");
    assert_eq!(texts[5], "1: ended by signal 15\n(nothing new)\nnext: 3");
    assert!(texts[6].contains("no background command `7`; there are `1`"), "{}", texts[6]);
    assert_eq!(texts[7], "1: ended by signal 15 before");
}

/// Processes whose command line holds a text that nobody else's has.
fn processes_with(mark: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        fs::read(path.join("cmdline")).is_ok_and(|it| String::from_utf8_lossy(&it).contains(mark))
    };
    entries.filter(|entry| has(&entry.path())).count()
}

#[tokio::test]
async fn background_commands_end_with_their_session_and_with_the_daemon() {
    for ends_with_session in [true, false] {
        let mark = format!("9{}{}", std::process::id(), u8::from(ends_with_session));
        let start = json!({ "command": format!("setsid sleep {mark} & sleep {mark}"), "background": true });
        let look = shell("echo looked");
        let house = house(&[("run_shell_command", start), look]);
        let running = house.boot().await;
        let mut client = running.client();
        let (run, session) = client.start(&running, "runner", json!({})).await;
        client.ended(&run).await;
        // It is on its way when the call has its answer.
        client.until("ping", json!({}), |_| processes_with(&mark) != 0).await;
        if ends_with_session {
            client.call("session/close", json!({ "sessionId": session })).await;
            client.until("ping", json!({}), |_| processes_with(&mark) == 0).await;
        }
        drop(client);
        running.stop().await;
        assert_eq!(processes_with(&mark), 0);
    }
}

#[tokio::test]
async fn a_session_has_a_temporary_folder_of_its_own_that_goes_with_it() {
    let calls = [shell("echo kept > $TMPDIR/file"), shell("cat $TMPDIR/file && echo $TMPDIR")];
    let house = house(&calls);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "runner", json!({})).await;
    client.ended(&run).await;
    assert!(text(&ends(&running, &run).await[1]).starts_with("kept\n/"));
    let folder = house.dir.path().join("state/artifacts").join(&session).join("tmp");
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "kept\n");
    client.call("session/close", json!({ "sessionId": session })).await;
    client.call("session/delete", json!({ "sessionId": session })).await;
    assert!(!folder.exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_person_is_shown_what_would_run_and_may_change_it() {
    let command = "cd sub && git log > out.txt; sudo rm -rf build";
    let house = house(&[shell(command)]).file("sub/file", "").rules("all", "");
    let running = house.boot().await;
    let mut client = running.client();
    client.call("session/attach", json!({ "sessionId": "*" })).await;
    let (run, session) = client.start(&running, "runner", json!({})).await;
    let asked = |listed: &Value| !listed["confirmations"].as_array().unwrap().is_empty();
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), asked).await;
    let question = &listed["confirmations"][0];
    assert_eq!((question["kind"].as_str(), question["risk"].as_str()), (Some("execute"), Some("high")));
    let details = &question["details"];
    assert_eq!((details["type"].as_str(), details["command"].as_str()), (Some("exec"), Some(command)));
    let roots: Vec<&str> =
        details["rootCommands"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(roots, ["cd", "git", "rm", "sudo"]);
    let reasons = details["reasons"].to_string();
    assert!(reasons.contains("sudo") && reasons.contains("rm"), "{reasons}");
    let sandbox = details["sandbox"].as_str().unwrap();
    assert!(sandbox.contains("workspaceWrite, no network"), "{sandbox}");
    let answer = json!({
        "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "modify",
        "arguments": { "command": "echo changed" },
    });
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    let end = &ends(&running, &run).await[0];
    assert!(text(end).contains("`command` is now: \"echo changed\""), "{}", text(end));
    assert_eq!(end["result"]["llmContent"][1]["text"], "changed\n");
    drop(client);
    running.stop().await;
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn repository(house: &House) {
    git(&house.work(), &["init", "-q", "-b", "main"]);
    git(&house.work(), &["config", "user.name", "Ada"]);
    git(&house.work(), &["config", "user.email", "ada@example.com"]);
}

#[tokio::test]
async fn commits_hold_what_was_asked_for_and_nothing_else() {
    let commit = |arguments: Value| ("git_commit", arguments);
    let calls = [
        commit(json!({ "message": "First: it's here\n\nWith a body", "paths": ["a.txt"] })),
        commit(json!({ "message": "Nothing is staged" })),
        commit(json!({ "message": "--amend", "paths": ["--all", "d[x]"] })),
        commit(json!({ "message": "All", "all": true })),
        commit(json!({ "message": " ", "paths": ["../outside"], "all": true })),
    ];
    let house = house(&calls);
    let house =
        house.file("a.txt", "1").file("b.txt", "2").file("--all", "3").file("d[x]/f", "4").file("dx", "5");
    repository(&house);
    git(&house.work(), &["add", "b.txt"]);
    let ends = run(&house).await;
    assert!(text(&ends[0]).contains("First: it's here\nAda <ada@example.com>"), "{}", text(&ends[0]));
    // What was staged before stays so, and is what the next one commits.
    assert_eq!(ends[1]["to"], "success", "{}", text(&ends[1]));
    assert_eq!(ends[3]["to"], "success", "{}", text(&ends[3]));
    let refused = text(&ends[4]);
    assert!(["blank", "not a path inside", "both"].iter().all(|it| refused.contains(it)), "{refused}");
    let log = git(&house.work(), &["log", "--format=> %s", "--name-only", "--reverse"]);
    let log: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        log,
        [
            "> First: it's here",
            "a.txt",
            "> Nothing is staged",
            "b.txt",
            "> --amend",
            "--all",
            "d[x]/f",
            "> All",
            "dx"
        ]
    );
}

#[tokio::test]
async fn a_repository_that_is_kept_elsewhere_is_named_where_it_cannot_be_written() {
    let house = house(&[("git_commit", json!({ "message": "All", "all": true }))]).file("a.txt", "1");
    // Not in /tmp, which a sandbox replaces.
    let elsewhere = tempfile::tempdir_in(built::apart()).unwrap();
    let repository = elsewhere.path().join("kept.git");
    git(&house.work(), &["init", "-q", "--separate-git-dir", repository.to_str().unwrap()]);
    git(&house.work(), &["config", "user.name", "Ada"]);
    git(&house.work(), &["config", "user.email", "ada@example.com"]);
    let ends = run(&house).await;
    assert_eq!(ends[0]["error"]["type"], "EXECUTION_FAILED", "{}", ends[0]);
    let said = ends[0]["error"]["message"].as_str().unwrap();
    assert!(said.contains("kept outside of the workspace") && said.contains("kept.git"), "{said}");
    assert_eq!(git(&house.work(), &["count-objects"]), "0 objects, 0 kilobytes\n");
}

#[tokio::test]
async fn a_commit_that_git_refuses_is_an_error_with_its_words() {
    let house = house(&[("git_commit", json!({ "message": "No repository" }))]);
    let ends = run(&house).await;
    assert_eq!(ends[0]["error"]["type"], "EXECUTION_FAILED");
    assert!(text(&ends[0]).contains("not a git repository"), "{}", text(&ends[0]));
}

#[tokio::test]
async fn undo_says_which_calls_it_cannot_take_back() {
    let calls =
        [("write_file", json!({ "path": "made.txt", "content": "text\n" })), shell("echo more >> other.txt")];
    let house = house(&calls);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "runner", json!({})).await;
    client.ended(&run).await;
    let first = ends(&running, &run).await[0]["callId"].clone();
    let undone = client.call("session/undo", json!({ "sessionId": session, "toCallId": first })).await;
    assert!(!house.work().join("made.txt").exists() && house.work().join("other.txt").exists());
    assert!(undone.to_string().contains("run_shell_command"), "{undone}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn undoing_a_turn_says_which_of_its_commands_it_cannot_take_back_also_one_before_its_first_change() {
    let write = ("write_file", json!({ "path": "made.txt", "content": "text\n" }));
    for calls in [[shell("echo more >> other.txt"), write.clone()], [write, shell("echo more >> other.txt")]]
    {
        let house = House::new()
            .script(&Script::new([Reply::calls(&calls), Reply::done("done")]))
            .agent("runner", RUNNER)
            .rules("all", ALLOW);
        let running = house.boot().await;
        let mut client = running.client();
        let (run, session) = client.start(&running, "runner", json!({})).await;
        client.ended(&run).await;
        let undone = client.call("session/undo", json!({ "sessionId": session, "lastTurn": true })).await;
        assert!(!house.work().join("made.txt").exists() && house.work().join("other.txt").exists());
        assert_eq!(undone["notRestorable"][0]["tool"], "run_shell_command", "{undone}");
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_flood_of_output_is_bounded() {
    let house = with_settings(
        house(&[shell("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo the end"), shell("yes")]),
        json!({ "sandbox": { "limits": { "outputMb": 64 } } }),
    );
    let ends = run(&house).await;
    let flood = &ends[0]["result"];
    assert_eq!(flood["data"]["stdoutBytes"], 50_000_009);
    let told = text(&ends[0]);
    assert!(told.chars().count() <= 40_000 && told.contains("the end"), "{}", told.len());
    let kept = fs::metadata(flood["fullOutput"]["path"].as_str().unwrap()).unwrap().len();
    assert!(kept < 20 << 20, "{kept}");
    assert!(ends[0]["output"].as_str().unwrap().len() < 2 << 20);
    assert!(text(&ends[1]).contains("put out more than 64 MiB"), "{}", &text(&ends[1])[..200]);
}

#[tokio::test]
async fn a_command_may_have_a_terminal() {
    let script = "test -t 1 && stty size && printf '10%%\\r100%%\\n\\033[32mgreen\\033[0m\\n'";
    let ends = run(&house(&[("run_shell_command", json!({ "command": script, "pty": true }))])).await;
    assert_eq!(text(&ends[0]), "40 120\n100%\ngreen\n");
    let display = ends[0]["result"]["returnDisplay"].as_str().unwrap();
    assert!(display.contains("\u{1b}[32mgreen"), "{display:?}");
}

#[tokio::test]
async fn nothing_of_a_command_outlives_a_daemon_that_is_killed() {
    let home = crate::process::Home::new();
    std::fs::write(home.path("config/subagentd/agents/runner.md"), RUNNER).unwrap();
    std::fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    std::fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
    let mark = format!("8{}", std::process::id());
    let command = format!("setsid sleep {mark} & (setsid sleep {mark} &) ; touch ready; sleep {mark}");
    let call = json!({ "functionCall": { "name": "run_shell_command", "args": { "command": command } } });
    let model = crate::recording::Recording::write_parts(&home, "runs", vec![vec![call]]);
    for profile in ["workspaceWrite", "full"] {
        let _old = fs::remove_file(home.work().join("ready"));
        let settings = json!({ "sandbox": { "profile": profile } });
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let served = home.start().await;
        let mut wire = home.connect().await;
        let start = json!({ "workspace": home.work(), "agent": "runner", "model": model, "prompt": "run" });
        let started = wire.call("run/start", start).await.unwrap();
        while !home.work().join("ready").exists() {
            wire.call("ping", json!({})).await.unwrap();
        }
        assert_ne!(processes_with(&mark), 0);
        served.kill().await;
        let gone = async {
            while processes_with(&mark) != 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(crate::support::STUCK, gone)
            .await
            .unwrap_or_else(|_| panic!("{profile}: some are left"));
        // What a restart knows of the call: it was cut off, and is not run again.
        let served = home.start().await;
        let mut wire = home.connect().await;
        let run = started["runId"].clone();
        let filter = json!({ "filter": { "runIds": [run] }, "from": 0, "limit": 1000 });
        loop {
            let listed = wire.call("events/list", filter.clone()).await.unwrap();
            let events = listed["events"].as_array().unwrap();
            if let Some(end) = events.iter().find(|event| event["activity"] == "TOOL_CALL_END") {
                assert_eq!(end["data"]["error"]["type"], "INTERRUPTED");
                break;
            }
        }
        served.stop().await;
    }
}

/// Without a sandbox a command can stop the process that watches over it.
#[tokio::test]
async fn a_command_that_stops_its_warden_ends_all_the_same() {
    let mark = format!("7{}", std::process::id());
    let stops = |more: Value| {
        let mut arguments = json!({ "command": format!("touch up; kill -STOP $PPID; sleep {mark}") });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "functionCall": { "name": "run_shell_command", "args": arguments } })
    };
    let call = |name: &str, args: Value| json!({ "functionCall": { "name": name, "args": args } });
    let turns = vec![
        vec![stops(json!({ "timeoutSeconds": 1 }))],
        vec![stops(json!({ "background": true }))],
        vec![call("run_shell_command", json!({ "command": "until [ -e up ]; do sleep 0.01; done" }))],
        vec![call("kill_shell", json!({ "id": "1" }))],
        vec![call("complete_task", json!({ "result": "done" }))],
    ];
    let home = crate::process::Home::new();
    std::fs::write(home.path("config/subagentd/agents/runner.md"), RUNNER).unwrap();
    std::fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
    std::fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
    let settings = json!({ "sandbox": { "profile": "full" } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let model = crate::recording::Recording::write_parts(&home, "runs", turns);
    let served = home.start().await;
    let mut wire = home.connect().await;
    let start = json!({ "workspace": home.work(), "agent": "runner", "model": model, "prompt": "run" });
    let started = wire.call("run/start", start).await.unwrap();
    let waited =
        wire.call("run/wait", json!({ "runId": started["runId"], "timeoutMs": 60_000 })).await.unwrap();
    assert_eq!(waited["run"]["reason"], "GOAL", "{waited}");
    let filter = json!({ "filter": { "runIds": [started["runId"]] }, "from": 0, "limit": 1000 });
    let listed = wire.call("events/list", filter).await.unwrap();
    let is_end = |event: &&Value| event["activity"] == "TOOL_CALL_END";
    let ends: Vec<&Value> = listed["events"].as_array().unwrap().iter().filter(is_end).collect();
    assert_eq!(ends[0]["data"]["error"]["type"], "TIMED_OUT", "{}", ends[0]);
    assert!(text(&ends[3]["data"]).starts_with("1: ended"), "{}", ends[3]);
    while processes_with(&mark) != 0 {
        wire.call("ping", json!({})).await.unwrap();
    }
    served.stop().await;
}

#[tokio::test]
async fn a_command_whose_warden_is_ended_is_not_said_not_to_have_run() {
    let house = with_settings(
        house(&[shell("touch ran; echo $PPID > warden; exec sleep 1000")]),
        json!({ "sandbox": { "profile": "full" } }),
    );
    // By somebody outside: the command itself cannot.
    let told = house.work().join("warden");
    let ending = async {
        loop {
            let pid = fs::read_to_string(&told).unwrap_or_default();
            if pid.ends_with('\n') {
                let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
                return rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let (ends, ()) = tokio::join!(run(&house), ending);
    assert_eq!(ends[0]["error"]["type"], "SHELL_EXECUTE_ERROR", "{}", ends[0]);
    let said = ends[0]["error"]["message"].as_str().unwrap();
    assert!(said.contains("may have run in part") && !said.contains("was not run"), "{said}");
    assert!(house.work().join("ran").exists());
}
