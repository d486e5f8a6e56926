//! Tools that a workspace's own command tells of: when it is asked, what it may not do, and how its tools are called (spec
//! 05, "Discovery by command").

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use expect_test::expect;
use serde_json::{Value, json};
use subagentd::sys::clock::ManualClock;

use crate::{
    built,
    process::Home,
    support::{Client, House, Reply, Running, Script},
};

const USER: &str = "---\nkind: agent\nname: user\ndescription: Uses them.\ncompletion: tool\n\
                    tools: [\"discovered_*\", read_file]\n---\nYou use tools.\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// All three shapes.
const TOLD: &str = r#"[
    {"function_declarations": [{"name": "lint", "description": "Lints.",
        "parameters": {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}}]},
    {"functionDeclarations": [{"name": "fails"}, {"name": "complains"}]},
    {"name": "dies"}, {"name": "quiet"}, {"name": "floods"}
]"#;

/// Each tool does something else.
const CALL: &str = r#"#!/bin/sh
case $1 in
    lint) cat; echo; echo "in $(pwd)" ;;
    fails) echo part; echo why >&2; exit 3 ;;
    complains) echo done; printf 'watch out' >&2 ;;
    dies) kill -9 $$ ;;
    quiet) exit 1 ;;
    floods) head -c 50000000 /dev/zero | tr '\0' x ;;
esac
"#;

trait Scripted {
    fn program(self, path: &str, text: &str) -> Self;
    fn discovers(self) -> Self;
}

impl Scripted for House {
    fn program(self, path: &str, text: &str) -> House {
        let house = self.file(path, text);
        let path = house.work().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        house
    }

    /// A program tells tools, another calls them, and the user's settings name both.
    fn discovers(self) -> House {
        self.program("bin/tell", &format!("#!/bin/sh\necho told >> asked\ncat <<'END'\n{TOLD}\nEND\n"))
            .program("bin/call", CALL)
            .settings(
                &json!({ "tools": { "discoveryCommand": "'bin/tell' --all", "callCommand": "bin/call" } }),
            )
    }
}

fn house(calls: &[(&str, Value)]) -> House {
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("done"));
    House::new().script(&Script::new(replies)).agent("user", USER).rules("all", ALLOW)
}

/// Trusts the workspace with all that it brings along, and answers its record.
async fn trust(client: &mut Client, work: &Path) -> Value {
    let opened = client.call("workspace/open", json!({ "workspace": work })).await;
    let files: Vec<Value> = opened["workspace"]["files"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|file| json!({ "path": file["path"], "digest": file["digest"] }))
        .collect();
    let params = json!({ "workspace": work, "trusted": true, "files": files });
    client.call("workspace/trust", params).await["workspace"].clone()
}

async fn names(client: &mut Client, work: &Path) -> Vec<String> {
    let listed = client.call("tools/list", json!({ "workspace": work })).await;
    let discovered = |tool: &&Value| tool["source"] == "discovered";
    let tools = listed["tools"].as_array().unwrap().iter().filter(discovered);
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Lets time pass, in steps of so many seconds, until there is an answer: when the daemon begins to wait is its own affair.
async fn passing<T>(
    clock: &ManualClock,
    other: &mut Client,
    seconds: u64,
    answer: impl Future<Output = T>,
) -> T {
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = other.settle() => clock.advance(Duration::from_secs(seconds)),
        }
    }
}

/// How often the command was run.
fn asked(work: &Path) -> usize {
    fs::read_to_string(work.join("asked")).map_or(0, |text| text.lines().count())
}

/// The ends of a run's calls but `complete_task`.
async fn ends(running: &Running) -> Vec<Value> {
    let log = running.log().await;
    let is_end =
        |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] != "complete_task";
    log.iter().filter(is_end).map(|event| event["data"].clone()).collect()
}

fn text(end: &Value) -> &str {
    end["result"]["llmContent"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn tools_of_all_three_shapes_are_called_and_failures_are_reported() {
    let calls = [
        ("discovered_lint", json!({ "file": "it's" })),
        ("discovered_fails", json!({})),
        ("discovered_complains", json!({})),
        ("discovered_dies", json!({})),
        ("discovered_quiet", json!({})),
        ("discovered_lint", json!({ "fil": 3 })),
        ("discovered_gone", json!({})),
    ];
    let house = house(&calls).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    let record = trust(&mut client, &house.work()).await;
    assert_eq!(
        (&record["discovery"]["tools"], &record["discovery"]["command"]),
        (&json!(6), &json!("'bin/tell' --all"))
    );
    assert!(record["discovery"]["warnings"].is_null() && record["discovery"]["at"].is_string());
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    let ends = ends(&running).await;
    let texts: Vec<&str> = ends.iter().map(text).collect();
    let lint = format!("{{\"file\":\"it's\"}}\nin {}\n", house.work().canonicalize().unwrap().display());
    assert_eq!(texts[0], lint);
    let reports = texts[1..5].join("\n--\n");
    expect![[r#"
        Stdout: part

        Stderr: why

        Error: (none)
        Exit Code: 3
        Signal: (none)
        --
        Stdout: done

        Stderr: watch out
        Error: (none)
        Exit Code: 0
        Signal: (none)
        --
        Stdout: (empty)
        Stderr: (empty)
        Error: (none)
        Exit Code: (none)
        Signal: 9 (KILL)
        --
        Stdout: (empty)
        Stderr: (empty)
        Error: (none)
        Exit Code: 1
        Signal: (none)"#]]
    .assert_eq(&reports);
    let kinds: Vec<&str> = ends.iter().map(|end| end["error"]["type"].as_str().unwrap_or("none")).collect();
    let failed = "DISCOVERED_TOOL_EXECUTION_ERROR";
    assert_eq!(kinds, ["none", failed, failed, failed, failed, "INVALID_TOOL_PARAMS", "TOOL_NOT_REGISTERED"]);
    // What a call was given is gone with it.
    let left = walk(&house.dir.path().join("state"));
    assert!(!left.iter().any(|path| path.contains("arguments-")), "{left:?}");
    drop(client);
    running.stop().await;
}

fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path().to_string_lossy().into_owned()),
        }
    }
    found
}

#[tokio::test]
async fn a_flood_is_cut_and_kept_like_any_output() {
    let house = house(&[("discovered_floods", json!({}))]).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &house.work()).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    let end = &ends(&running).await[0];
    assert_eq!(end["to"], "success");
    assert!(text(end).len() < 100_000, "{}", text(end).len());
    assert!(
        end["result"]["fullOutput"]["bytes"].as_u64().unwrap() > 1_000_000,
        "{}",
        end["result"]["fullOutput"]
    );
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn nothing_of_an_untrusted_workspace_is_run_and_trust_that_is_taken_back_ends_it() {
    let house = house(&[("discovered_lint", json!({ "file": "x" }))]).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    let work = house.work();
    let opened = client.call("workspace/open", json!({ "workspace": work })).await;
    let told = &opened["workspace"]["discovery"];
    assert!(told["at"].is_null() && told["tools"] == 0, "{told}");
    assert!(told["warnings"][0].as_str().unwrap().contains("no person has trusted"), "{told}");
    assert_eq!(names(&mut client, &work).await, [""; 0]);
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    client.call("daemon/reload", json!({})).await;
    assert_eq!(asked(&work), 0, "the marker was not made");
    assert_eq!(ends(&running).await[0]["error"]["type"], "TOOL_NOT_REGISTERED");

    trust(&mut client, &work).await;
    assert_eq!(names(&mut client, &work).await.len(), 6);
    let n_asked = asked(&work);
    client.call("workspace/trust", json!({ "workspace": work, "trusted": false })).await;
    assert_eq!(names(&mut client, &work).await, [""; 0]);
    assert_eq!(asked(&work), n_asked);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn it_is_asked_when_it_is_opened_and_when_its_settings_change_and_not_for_each_run() {
    let house = house(&[]).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    let work = house.work();
    trust(&mut client, &work).await;
    assert_eq!(asked(&work), 1);
    for _ in 0..3 {
        names(&mut client, &work).await;
        client.call("policy/check", json!({ "workspace": work, "tool": "ls", "arguments": {} })).await;
    }
    assert_eq!(asked(&work), 1);
    client.call("workspace/open", json!({ "workspace": work })).await;
    assert_eq!(asked(&work), 2);
    // It replaces the earlier set.
    fs::write(work.join("bin/tell"), "#!/bin/sh\necho told >> asked\necho '[{\"name\": \"other\"}]'\n")
        .unwrap();
    trust(&mut client, &work).await;
    assert_eq!(asked(&work), 3);
    client.call("daemon/reload", json!({})).await;
    while asked(&work) < 4 {
        tokio::task::yield_now().await;
    }
    // Whoever asks now waits for the one that is under way.
    client
        .until("tools/list", json!({ "workspace": work }), |listed| {
            let tools = listed["tools"].as_array().unwrap();
            tools.iter().any(|tool| tool["name"] == "discovered_other")
        })
        .await;
    assert_eq!(names(&mut client, &work).await, ["discovered_other"]);
    // The workspace's own command, once a person has read it.
    fs::create_dir(work.join(".subagentd")).unwrap();
    let own = json!({ "tools": { "discoveryCommand": "printf '[{\"name\": \"own\"}]'" } });
    fs::write(work.join(".subagentd/settings.json"), own.to_string()).unwrap();
    assert_eq!(names(&mut client, &work).await, ["discovered_other"], "nobody has acknowledged it");
    let opened = client.call("workspace/open", json!({ "workspace": work })).await;
    let files = opened["workspace"]["files"].as_array().unwrap();
    let settings = files.iter().find(|file| file["kind"] == "settings").unwrap();
    let effects = settings["effects"].to_string();
    assert!(effects.contains("printf") && effects.contains("is run to tell tools"), "{effects}");
    trust(&mut client, &work).await;
    assert_eq!(names(&mut client, &work).await, ["discovered_own"]);
    let changed = json!({ "tools": { "discoveryCommand": "touch marker" } });
    fs::write(work.join(".subagentd/settings.json"), changed.to_string()).unwrap();
    // It is not what was acknowledged; and what would be run in its place was not shown when it was.
    assert_eq!(names(&mut client, &work).await, [""; 0]);
    client.call("workspace/open", json!({ "workspace": work })).await;
    assert!(!work.join("marker").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_an_agent_makes_of_a_script_is_not_run_until_a_person_has_read_it() {
    let evil = "#!/bin/sh\ntouch pwned; echo '[{\"name\": \"lint\"}]'\n";
    let write = |path: &str| ("write_file", json!({ "path": path, "content": evil }));
    let lint = ("discovered_lint", json!({ "file": "a" }));
    // In its own run, and in a later one that says the same.
    let calls = [write("bin/call"), lint, write("bin/tell")];
    let replies = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call)));
    let replies: Vec<Reply> = replies.chain([Reply::done("done")]).collect();
    let agent = USER.replace("read_file", "write_file");
    let house =
        House::new().script(&Script::new(replies)).agent("user", &agent).rules("all", ALLOW).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    let work = house.work();
    let trusted = trust(&mut client, &work).await;
    let programs = trusted["files"].as_array().unwrap().iter().filter(|file| file["kind"] == "program");
    assert_eq!(programs.map(|file| &file["path"]).collect::<Vec<_>>(), ["bin/tell", "bin/call"]);
    for _ in 0..2 {
        let (run, _) = client.start(&running, "user", json!({})).await;
        client.ended(&run).await;
        client.call("daemon/reload", json!({})).await;
        names(&mut client, &work).await;
    }
    let ends = ends(&running).await;
    assert_eq!(ends[1]["error"]["type"], "TOOL_NOT_ALLOWED", "{}", ends[1]);
    assert!(text(&ends[1]).contains("is not what a person acknowledged"), "{}", text(&ends[1]));
    assert_eq!(ends[4]["error"]["type"], "TOOL_NOT_REGISTERED", "{}", ends[4]);
    assert!(!work.join("pwned").exists());
    assert_eq!(asked(&work), 1);
    let listed = client.call("tools/list", json!({ "workspace": work })).await;
    let told = "it or tools.callCommand runs bin/tell, which no person has acknowledged as it is now (`subagent trust`)";
    assert!(listed["warnings"].to_string().contains(told), "{}", listed["warnings"]);
    // Whoever reads it and says yes, gets it.
    trust(&mut client, &work).await;
    assert!(work.join("pwned").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_discovery_that_fails_is_one_warning_and_no_failed_start() {
    let cases = [
        ("echo 'no json'", "put out no JSON"),
        ("echo '{}'", "put out an object"),
        ("true", "put out nothing"),
        ("echo 'it is\nbroken' >&2; exit 7", "failed with exit code 7: it is broken"),
        ("kill -9 $$", "was ended by signal 9 (KILL)"),
        ("head -c 50000000 /dev/zero", "put out more than 10 MiB"),
        ("echo '[{\"description\": \"x\"}]'", "[0] has no name"),
        ("echo '[{\"name\": \"a\"}]'", ""),
        ("", "was not run: there is no program"),
    ];
    let house = house(&[]).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    let work = house.work();
    trust(&mut client, &work).await;
    for (script, told) in cases {
        match script.is_empty() {
            true => fs::remove_file(work.join("bin/tell")).unwrap_or_default(),
            false => fs::write(work.join("bin/tell"), format!("#!/bin/sh\n{script}\n")).unwrap(),
        }
        let trusted = trust(&mut client, &work).await;
        let warnings = &trusted["discovery"]["warnings"];
        match told.is_empty() {
            true => assert!(warnings.is_null(), "{script}: {warnings}"),
            false => {
                assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{script}: {warnings}");
                assert!(warnings[0].as_str().unwrap().contains(told), "{script}: {warnings}");
            }
        }
        let listed = client.call("tools/list", json!({ "workspace": work })).await;
        assert_eq!(listed["warnings"], *warnings, "{script}");
        assert!(listed["tools"].to_string().contains("read_file"));
    }
    let checks = client.call("daemon/doctor", json!({})).await;
    let check = checks["checks"].as_array().unwrap().iter().find(|it| it["name"] == "discovery").unwrap();
    assert_eq!(check["state"], "warning");
    assert!(check["message"].as_str().unwrap().contains("there is no program"), "{check}");
    let (run, _) = client.start(&running, "user", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_discovery_that_hangs_is_ended_after_30_seconds() {
    let (house, clock) = house(&[]).discovers().manual_clock();
    let house = house.program("bin/tell", "#!/bin/sh\nmkfifo gate; echo hangs > started; read x < gate\n");
    let running = house.boot().await;
    let (mut client, mut other) = (running.client(), running.client());
    let work = house.work();
    let opened = other.call("workspace/open", json!({ "workspace": work })).await;
    let file = |file: &Value| json!({ "path": file["path"], "digest": file["digest"] });
    let files: Vec<Value> = opened["workspace"]["files"].as_array().unwrap().iter().map(file).collect();
    let params = json!({ "workspace": work, "trusted": true, "files": files });
    let request = json!({ "jsonrpc": "2.0", "id": "trust", "method": "workspace/trust", "params": params });
    client.send(&request.to_string()).await;
    while !work.join("started").exists() {
        tokio::task::yield_now().await;
    }
    // Others are answered meanwhile.
    other.call("ping", json!({})).await;
    let trusted = passing(&clock, &mut other, 30, client.receive()).await;
    let warnings = trusted["result"]["workspace"]["discovery"]["warnings"].to_string();
    assert!(warnings.contains("took more than 30 s"), "{trusted}");
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn a_call_asks_like_any_of_its_risk_and_shows_the_command_and_what_it_reads() {
    let calls = [("discovered_lint", json!({ "file": "it's" }))];
    let script = Script::new(vec![Reply::calls(&calls), Reply::done("done")]);
    let house = House::new().script(&script).agent("user", USER).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &house.work()).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    let asks = |listed: &Value| listed["confirmations"].as_array().is_some_and(|it| !it.is_empty());
    let listed = client.until("confirmation/list", json!({}), asks).await;
    let question = &listed["confirmations"][0];
    assert_eq!((&question["kind"], &question["risk"]), (&json!("other"), &json!("medium")));
    assert_eq!(question["details"]["command"], r#"bin/call lint <<< '{"file":"it'\''s"}'"#);
    assert_eq!(question["details"]["parsed"], json!(["bin/call lint"]));
    assert!(question["details"]["sandbox"].as_str().is_some_and(|it| !it.is_empty()));
    let answer = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowOnce" });
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    assert_eq!(ends(&running).await[0]["to"], "success");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_call_is_stopped_with_its_run_and_bounded_in_time() {
    let wait = "#!/bin/sh\nmkfifo gate; echo > started; read x < gate\n";
    for is_cancelled in [true, false] {
        let (house, clock) = house(&[("discovered_quiet", json!({}))]).discovers().manual_clock();
        let house = house.program("bin/call", wait);
        let running = house.boot().await;
        let mut client = running.client();
        trust(&mut client, &house.work()).await;
        let limits = json!({ "limits": { "maxTimeMs": 100_000_000 } });
        let (run, _) = client.start(&running, "user", limits).await;
        while !house.work().join("started").exists() {
            tokio::task::yield_now().await;
        }
        let mut other = running.client();
        match is_cancelled {
            true => drop(client.call("run/cancel", json!({ "runId": run })).await),
            false => {
                let has_ended = |got: &Value| got["state"] == "ended";
                let ending = client.until("run/get", json!({ "runId": run }), has_ended);
                passing(&clock, &mut other, 300, ending).await;
            }
        }
        client.ended(&run).await;
        drop(other);
        let end = &ends(&running).await[0];
        let (kind, told) = match is_cancelled {
            true => ("CANCELLED", "Error: the call was stopped"),
            false => ("TIMED_OUT", "Error: it printed nothing for 300 s and was ended"),
        };
        assert_eq!(end["error"]["type"], kind);
        assert!(text(end).contains(told), "{}", text(end));
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn what_is_listed_says_whence_and_what_excludes_it() {
    let house = house(&[]).discovers();
    let exclude = json!({ "tools": {
        "discoveryCommand": "bin/tell", "callCommand": "bin/call", "exclude": ["ls", "discovered_f*"],
    } });
    let agent = "---\nkind: agent\nname: picky\ndescription: Picks.\ncompletion: tool\n\
                 tools:\n  allow: [\"discovered_*\", list_directory, read_file]\n  deny: [Read]\n---\nYou pick.\n";
    let house = house.settings(&exclude).agent("picky", agent);
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &house.work()).await;
    let listed = client.call("tools/list", json!({ "agent": "picky", "workspace": house.work() })).await;
    let line = |tool: &Value| {
        let part = |key: &str| tool[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", part("name"), part("source"), part("state"), part("rule"))
    };
    let lines: Vec<String> = listed["tools"].as_array().unwrap().iter().map(line).collect();
    expect![[r#"
        list_directory builtin excluded `ls` in the setting tools.exclude
        read_file builtin excluded `Read` in tools.deny of the agent picky
        discovered_lint discovered available -
        discovered_fails discovered excluded `discovered_f*` in the setting tools.exclude
        discovered_complains discovered available -
        discovered_dies discovered available -
        discovered_quiet discovered available -
        discovered_floods discovered excluded `discovered_f*` in the setting tools.exclude
        complete_task builtin available -"#]]
    .assert_eq(&lines.join("\n"));
    let all = client.call("tools/list", json!({ "workspace": house.work() })).await;
    let sources: Vec<&str> =
        all["tools"].as_array().unwrap().iter().map(|it| it["source"].as_str().unwrap()).collect();
    let order = ["builtin", "agent", "discovered"];
    let places: Vec<usize> =
        sources.iter().map(|it| order.iter().position(|known| known == it).unwrap()).collect();
    assert!(places.is_sorted(), "{sources:?}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn mistakes_of_a_projects_settings_and_commands_that_nobody_read_are_told() {
    let house = house(&[]);
    let own = json!({ "tools": { "discoveryCommand": "bin/tell 'open", "callCommand": 5 }, "approval": { "mode": "yolo" } });
    let house = house.file(".subagentd/settings.json", own.to_string());
    let running = house.boot().await;
    let (mut client, work) = (running.client(), house.work());
    trust(&mut client, &work).await;
    let reloaded = client.call("daemon/reload", json!({})).await;
    let told = reloaded["problems"].to_string();
    for key in ["tools.discoveryCommand", "tools.callCommand", "approval"] {
        assert!(told.contains(&format!("`{key}`")), "{key}: {told}");
    }
    let severities =
        reloaded["problems"].as_array().unwrap().iter().map(|it| it["severity"].as_str().unwrap());
    assert!(severities.clone().all(|it| it == "warning"), "they hold in one folder: {told}");
    let check = async |client: &mut Client, name: &str| {
        let checks = client.call("daemon/doctor", json!({})).await;
        checks["checks"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone()
    };
    let projects = check(&mut client, "projects").await;
    assert_eq!(projects["state"], "warning");
    assert!(projects["message"].as_str().unwrap().contains("tools.discoveryCommand"), "{projects}");
    assert_eq!(check(&mut client, "discovery").await["state"], "ok");

    // Another command than the acknowledged one, and trust that is taken back: nothing is run, and that is said.
    let unread = ".subagentd/settings.json names a discoveryCommand, which is not run until you acknowledge it: subagent trust";
    let good = json!({ "tools": { "discoveryCommand": "bin/tell", "callCommand": "bin/call" } });
    fs::write(work.join(".subagentd/settings.json"), good.to_string()).unwrap();
    for trusted in [true, false] {
        if !trusted {
            client.call("workspace/trust", json!({ "workspace": work, "trusted": false })).await;
        }
        let listed = client.call("tools/list", json!({ "workspace": work })).await;
        assert_eq!(listed["warnings"], json!([unread]), "{trusted}");
        let discovery = check(&mut client, "discovery").await;
        assert_eq!(discovery["state"], "warning");
        assert!(discovery["message"].as_str().unwrap().contains(unread), "{discovery}");
    }
    trust(&mut client, &work).await;
    let listed = client.call("tools/list", json!({ "workspace": work })).await;
    assert!(!listed["warnings"].to_string().contains(unread), "{listed}");
    assert!(!check(&mut client, "discovery").await["message"].as_str().unwrap().contains(unread));
    assert_eq!(check(&mut client, "projects").await["state"], "ok");
    // A folder that is gone is nobody's mistake.
    fs::rename(&work, house.dir.path().join("moved")).unwrap();
    assert_eq!(client.call("daemon/reload", json!({})).await["problems"], json!([]));
    fs::rename(house.dir.path().join("moved"), &work).unwrap();
    drop(client);
    running.stop().await;
}

/// Asks the daemon something, and tells what came of it.
const ASKS: &str =
    "\"$SUBAGENT\" --no-spawn --socket \"$SOCKET\" status > \"$1\" 2>&1; echo \"exit $?\" >> \"$1\"";

#[tokio::test]
async fn neither_command_may_talk_to_the_daemon_in_a_sandbox_or_without() {
    for profile in ["workspaceWrite", "full"] {
        let home = Home::new();
        fs::write(home.path("config/subagentd/agents/user.md"), USER).unwrap();
        fs::create_dir_all(home.path("config/subagentd/policies")).unwrap();
        fs::write(home.path("config/subagentd/policies/all.toml"), ALLOW).unwrap();
        let settings = json!({
            "tools": { "discoveryCommand": "./tell", "callCommand": "./call" }, "sandbox": { "profile": profile },
        });
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let served = home.start().await;
        let known = format!(
            "SUBAGENT='{}' SOCKET='{}'\nask() {{ {ASKS}; }}\n",
            built::companion(),
            home.socket().display()
        );
        let tell = format!("#!/bin/sh\n{known}ask told\necho '[{{\"name\": \"asks\"}}]'\n");
        let call = format!("#!/bin/sh\n{known}ask called\ncat called\n");
        for (name, text) in [("tell", tell), ("call", call)] {
            fs::write(home.work().join(name), text).unwrap();
            fs::set_permissions(home.work().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut wire = home.connect().await;
        let opened = wire.call("workspace/open", json!({ "workspace": home.work() })).await.unwrap();
        let file = |file: &Value| json!({ "path": file["path"], "digest": file["digest"] });
        let files: Vec<Value> = opened["workspace"]["files"].as_array().unwrap().iter().map(file).collect();
        let params = json!({ "workspace": home.work(), "trusted": true, "files": files });
        let trusted = wire.call("workspace/trust", params).await.unwrap();
        assert_eq!(trusted["workspace"]["discovery"]["tools"], 1, "{trusted}");
        let session = wire.call("session/create", json!({ "workspace": home.work() })).await.unwrap();
        let params = json!({ "sessionId": session["sessionId"], "tool": "discovered_asks", "arguments": {} });
        let called = wire.call("tools/call", params).await.unwrap();
        assert!(called["result"]["error"].is_null(), "{called}");
        for file in ["told", "called"] {
            let said = fs::read_to_string(home.work().join(file)).unwrap();
            assert!(said.contains("exit ") && !said.ends_with("exit 0\n"), "{profile}: {file}: {said}");
            // Without a sandbox it gets as far as the door.
            let is_refused = said.contains("what an agent starts may not talk to the daemon");
            assert!(is_refused || profile != "full", "{file}: {said}");
        }
        served.stop().await;
    }
}

#[tokio::test]
async fn a_command_below_tmp_is_run_where_it_lies_with_what_lies_beside_it() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("site")).unwrap();
    fs::write(place("site/told.json"), TOLD).unwrap();
    fs::write(place("site/tell"), "#!/bin/sh\ncat \"$(dirname \"$0\")/told.json\"\n").unwrap();
    fs::write(place("site/call"), CALL).unwrap();
    for name in ["site/tell", "site/call"] {
        fs::set_permissions(place(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let tools = json!({ "discoveryCommand": place("site/tell"), "callCommand": place("site/call") });
    let house = house(&[("discovered_lint", json!({ "file": "x" }))]).settings(&json!({ "tools": tools }));
    let running = house.boot().await;
    let mut client = running.client();
    let record = trust(&mut client, &house.work()).await;
    assert_eq!(record["discovery"]["tools"], 6, "{record}");
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    let ends = ends(&running).await;
    assert!(text(&ends[0]).starts_with("{\"file\":\"x\"}\nin "), "{}", ends[0]);
    drop(client);
    running.stop().await;
}

/// An answer that holds from now on is about what was run then, and not about whatever is called by the same name later.
#[tokio::test]
async fn a_remembered_answer_is_about_the_command_and_its_files_as_they_were() {
    let replies: Vec<Reply> = (0..3)
        .flat_map(|_| [Reply::calls(&[("discovered_lint", json!({ "file": "x" }))]), Reply::done("done")])
        .collect();
    let house = House::new().script(&Script::new(replies)).agent("user", USER).discovers();
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &house.work()).await;
    let asks = |listed: &Value| listed["confirmations"].as_array().is_some_and(|it| !it.is_empty());
    let (run, _) = client.start(&running, "user", json!({})).await;
    let listed = client.until("confirmation/list", json!({}), asks).await;
    let question = &listed["confirmations"][0];
    let answer = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "allowUser" });
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    // The same again is allowed.
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    assert_eq!(ends(&running).await[1]["to"], "success");
    // Another program is another matter, also when a person has acknowledged it.
    fs::write(house.work().join("bin/call"), "#!/bin/sh\necho other\n").unwrap();
    trust(&mut client, &house.work()).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    let listed = client.until("confirmation/list", json!({}), asks).await;
    let question = &listed["confirmations"][0];
    let answer = json!({ "confirmationId": question["confirmationId"], "digest": question["digest"], "outcome": "deny" });
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}
