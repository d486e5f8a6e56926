//! Is what runs what a person allowed, whoever else answers, whatever fails meanwhile, and however a path is spelled?
//! (Spec 06, "Confirmation", "Policy".)

use std::{collections::BTreeMap, fs, os::unix::fs::symlink};

use serde_json::{Value, json};
use subagentd::{
    config::{LayeredSetting, SettingLayer},
    protocol::{ApprovalMode, OnDetached},
    redact::{Redactor, RedactorParts},
};

use crate::{
    asking::scene::{ALREADY, answer_to},
    support::{Client, House, Reply, Running, Script},
};

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\n\
                      tools: [write_file, edit_file, delete_file, run_shell_command]\n---\nYou write.\n";
/// Questions of one run that are answered at once, and clients that answer each.
const FILES: usize = 10;
const CLIENTS: usize = 4;
const ROUNDS: usize = 12;

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": content }))
}

fn house(calls: &[(&str, Value)]) -> House {
    House::new().script(&Script::new([Reply::calls(calls), Reply::done("done")])).agent("writer", WRITER)
}

async fn questions(client: &mut Client, session: &str, n: usize) -> Vec<Value> {
    let has_all = |listed: &Value| listed["confirmations"].as_array().unwrap().len() == n;
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), has_all).await;
    listed["confirmations"].as_array().unwrap().clone()
}

async fn introduced(running: &Running, who: usize) -> Client {
    let mut client = running.client();
    let me = json!({ "name": "client", "version": "1", "kind": "editor" });
    let params = json!({ "protocolVersion": "2", "client": me, "clientId": format!("client-{who}") });
    client.call("initialize", params).await;
    client
}

/// Starts the writer; its one question.
async fn asked(running: &Running, client: &mut Client) -> (String, Value) {
    let (run, session) = client.start(running, "writer", json!({})).await;
    (run, questions(client, &session, 1).await.pop().unwrap())
}

async fn checked(running: &Running, client: &mut Client, tool: &str, arguments: Value) -> String {
    let params =
        json!({ "tool": tool, "arguments": arguments, "agent": "writer", "workspace": running.work() });
    let checked = client.call("policy/check", params).await;
    checked["decision"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answers_to_many_questions_at_once_never_mix() {
    let calls: Vec<_> = (0..FILES).map(|n| write(&format!("{n}.txt"), "as the model wants it\n")).collect();
    let running = house(&calls).boot().await;
    let mut watcher = running.client();
    for round in 0..ROUNDS {
        let (run, session) = watcher.start(&running, "writer", json!({})).await;
        let asked = questions(&mut watcher, &session, FILES).await;
        // Each client says its own to every question, all before anybody reads what came of it.
        let content = |who: usize| match who {
            0 => "as the model wants it\n".to_owned(),
            who => format!("as {who} wants it in round {round}\n"),
        };
        let answer = |question: &Value, who: usize| match who {
            0 => answer_to(question, "allowOnce", json!({})),
            who => answer_to(question, "modify", json!({ "content": content(who) })),
        };
        let mut clients = Vec::new();
        for who in 0..CLIENTS {
            clients.push(introduced(&running, who).await);
        }
        for (at, question) in asked.iter().enumerate() {
            for turn in 0..CLIENTS {
                let who = (turn + at + round) % CLIENTS;
                let request = json!({
                    "jsonrpc": "2.0", "id": at, "method": "confirmation/respond", "params": answer(question, who),
                });
                clients[who].send(&request.to_string()).await;
            }
        }
        let mut winners: BTreeMap<usize, usize> = BTreeMap::new();
        for (who, client) in clients.iter_mut().enumerate() {
            for _ in 0..FILES {
                let response = client.receive().await;
                match response.get("error") {
                    None => {
                        let at = usize::try_from(response["id"].as_u64().unwrap()).unwrap();
                        assert_eq!(winners.insert(at, who), None, "two answers won");
                    }
                    Some(error) => assert_eq!(error["data"]["kind"], ALREADY, "{error}"),
                }
            }
        }
        assert_eq!(watcher.ended(&run).await["reason"], "GOAL");
        for (at, question) in asked.iter().enumerate() {
            let path = question["details"]["path"].as_str().unwrap();
            let (found, wanted) = (fs::read_to_string(path).unwrap(), content(winners[&at]));
            assert_eq!(found, wanted, "{path}: {} won", winners[&at]);
            fs::remove_file(path).unwrap();
        }
    }
    drop(watcher);
    running.stop().await;
}

#[tokio::test]
async fn an_answer_that_the_disk_had_no_room_for_can_be_given_again() {
    let running = house(&[write("a.txt", "a\n"), write("b.txt", "b\n")]).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "writer", json!({})).await;
    let asked = questions(&mut client, &session, 2).await;
    running.tamper("create table used_up (n integer primary key autoincrement)").await;
    running.tamper("insert into used_up values (9223372036854775807)").await;
    running
        .tamper(
            "create trigger disk_full before insert on events when new.type <> 'run.parked'
             begin insert into used_up values (null); end",
        )
        .await;
    for question in &asked {
        for _ in 0..2 {
            let params = answer_to(question, "allowOnce", json!({}));
            let (kind, error) = client.refused("confirmation/respond", params).await;
            assert_eq!(kind, "STORAGE_FULL", "{error}");
        }
    }
    running.tamper("drop trigger disk_full").await;
    running.tamper("drop table used_up").await;
    let is_over = |it: &Value| it["database"]["storageFull"] == false && it["runs"]["parked"] == 0;
    client.until("daemon/status", json!({}), is_over).await;
    client.call("confirmation/respond", answer_to(&asked[0], "allowOnce", json!({}))).await;
    client.call("confirmation/respond", answer_to(&asked[1], "deny", json!({}))).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(fs::read_to_string(running.work().join("a.txt")).unwrap(), "a\n");
    assert!(!running.work().join("b.txt").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn rules_about_a_folder_are_about_what_is_in_it_however_it_is_spelled() {
    let rules = "[[rule]]\ntool = \"*\"\nargsPattern = '\"path\":\"docs/'\ndecision = \"allow\"\n\
                 [[rule]]\ntool = \"*\"\nargsPattern = '\"path\":\"secrets/'\ndecision = \"deny\"\n";
    let house =
        house(&[]).rules("a", rules).file("docs/a.md", "a").file("src/a.rs", "a").file("secrets/k", "k");
    symlink(house.work().join("src"), house.work().join("docs/link")).unwrap();
    symlink(house.work().join("secrets"), house.work().join("open")).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let absolute = |path: &str| house.work().canonicalize().unwrap().join(path).to_str().unwrap().to_owned();
    for (path, expected) in [
        ("docs/a.md".to_owned(), "allow"),
        ("./docs//a.md".to_owned(), "allow"),
        (absolute("docs/a.md"), "allow"),
        ("src/../docs/a.md".to_owned(), "allow"),
        ("docs/../src/a.rs".to_owned(), "ask"),
        ("docs/link/a.rs".to_owned(), "ask"),
        ("docs/../.subagentd/policies/x.toml".to_owned(), "ask"),
        ("secrets/k".to_owned(), "deny"),
        ("./secrets/k".to_owned(), "deny"),
        ("src/../secrets/k".to_owned(), "deny"),
        ("docs/../secrets/k".to_owned(), "deny"),
        ("open/k".to_owned(), "deny"),
        (absolute("secrets/k"), "deny"),
    ] {
        // By either of the argument's names.
        for name in ["path", "file_path"] {
            let arguments = json!({ name: path, "content": "x\n" });
            assert_eq!(checked(&running, &mut client, "write_file", arguments).await, expected, "{path}");
        }
    }
    drop(client);
    running.stop().await;
}

/// A link leads where it leads, whoever made it and when.
#[tokio::test]
async fn a_grant_for_a_folder_allows_no_edit_through_a_link_that_leads_out_of_it() {
    let house = house(&[write("docs/a.md", "a\n")]).file("docs/own/b.md", "b").file("src/a.rs", "a");
    let outside = house.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "x").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    let answer = answer_to(&question, "allowProject", json!({ "grant": "folder" }));
    client.call("confirmation/respond", answer).await;
    client.ended(&run).await;
    let docs = house.work().join("docs");
    for (to, link) in [
        (house.work().join("src"), "folder"),
        (house.work().join("src/a.rs"), "file.md"),
        (house.work().join("src/new.rs"), "new.md"),
        ("..".into(), "up"),
        ("folder".into(), "chain"),
        ("own".into(), "inside"),
        (outside.clone(), "out"),
        (outside.join("x"), "out.md"),
        (outside.join("new"), "new-out.md"),
    ] {
        symlink(to, docs.join(link)).unwrap();
    }
    for (path, expected) in [
        ("docs/c.md", "allow"),
        ("docs/own/b.md", "allow"),
        ("docs/inside/b.md", "allow"),
        ("docs/new/folder/c.md", "allow"),
        ("docs/folder/a.rs", "ask"),
        ("docs/folder/new.rs", "ask"),
        ("docs/file.md", "ask"),
        ("docs/new.md", "ask"),
        ("docs/up/src/a.rs", "ask"),
        ("docs/own/../up/c", "ask"),
        ("docs/chain/a.rs", "ask"),
        ("docs/out/x", "refused"),
        ("docs/out/new", "refused"),
        ("docs/out.md", "refused"),
        ("docs/new-out.md", "refused"),
    ] {
        let arguments = json!({ "path": path, "content": "changed\n" });
        let params = json!({
            "tool": "write_file", "arguments": arguments, "agent": "writer", "workspace": running.work(),
        });
        let checked = client.request("policy/check", params).await;
        let found = checked["result"]["decision"].as_str().unwrap_or("refused");
        assert_eq!(found, expected, "{path}: {checked}");
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_rule_about_a_workspace_holds_by_whatever_name_it_is_given() {
    let mut house = house(&[]);
    let link = house.dir.path().join("link");
    symlink(house.work(), &link).unwrap();
    let rule = |folder: &str| {
        format!("[[rule]]\ntool = \"write_file\"\nworkspace = \"{folder}\"\ndecision = \"deny\"\n")
    };
    house = house.rules("a", &rule(link.to_str().unwrap()));
    let running = house.boot().await;
    let mut client = running.client();
    let arguments = json!({ "path": "a", "content": "x" });
    assert_eq!(checked(&running, &mut client, "write_file", arguments).await, "deny");
    // One that is not there is told.
    let house = house.rules("b", &rule("/no/such/folder"));
    let reloaded = client.call("daemon/reload", json!({})).await;
    let told = reloaded["problems"][0]["message"].as_str().unwrap();
    assert!(told.contains("/no/such/folder"), "{reloaded}");
    drop(client);
    running.stop().await;
    drop(house);
}

/// A daemon that hides the value of an environment variable, which is in a file, a path, and what is written.
fn secretive(calls: &[(&str, Value)]) -> House {
    let mut house = house(calls).file(".env", "PORT=1\nTOKEN=hunter2-hunter2-hunter2\n");
    let variable = ("MY_API_TOKEN".to_owned(), "hunter2-hunter2-hunter2".to_owned());
    house.redactor =
        Redactor::new(RedactorParts { environment: [variable].into_iter(), patterns: Vec::new() });
    house
}

fn outcomes(question: &Value) -> Vec<&str> {
    question["options"].as_array().unwrap().iter().map(|it| it["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_holds_a_secret_is_neither_remembered_nor_kept() {
    let running = secretive(&[write("hunter2-hunter2-hunter2/a", "x\n")]).boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    assert_eq!(outcomes(&question), ["allowOnce", "allowSession", "modify", "deny", "cancelRun"]);
    // A mode repeats nothing; rules would.
    assert_eq!(question["options"][1]["grant"], "edits");
    client.call("confirmation/respond", answer_to(&question, "allowOnce", json!({}))).await;
    client.ended(&run).await;
    let told = json!(running.log().await).to_string();
    assert!(!told.contains("hunter2"), "{told}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_secret_in_what_is_written_hinders_no_rule_that_does_not_repeat_it() {
    let running = secretive(&[write("a.txt", "hunter2-hunter2-hunter2\n")]).boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    assert!(outcomes(&question).contains(&"allowSession"), "{question}");
    client.call("confirmation/respond", answer_to(&question, "allowSession", json!({}))).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(running.work().join("a.txt")).unwrap(), "hunter2-hunter2-hunter2\n");
    let told = json!(running.log().await).to_string();
    assert!(!told.contains("hunter2"), "{told}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_was_hidden_from_a_person_is_not_overwritten_by_what_they_saw() {
    let edit = ("edit_file", json!({ "path": ".env", "oldString": "PORT=1", "newString": "PORT=2" }));
    let running = secretive(&[edit]).boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    let details = &question["details"];
    assert!(details["diff"].as_str().unwrap().contains("+PORT=2"), "{details}");
    assert_eq!((details.get("oldContent"), details.get("newContent")), (None, None), "{details}");
    let content = json!({ "content": "PORT=3\nTOKEN=[redacted:env:MY_API_TOKEN]\n" });
    let (kind, error) = client.refused("confirmation/respond", answer_to(&question, "modify", content)).await;
    assert_eq!(kind, "INVALID_PARAMS");
    assert_eq!(error["data"]["details"]["violations"][0]["pointer"], "/content", "{error}");
    let arguments = json!({ "arguments": { "path": ".env", "oldString": "PORT=1", "newString": "PORT=3" } });
    client.call("confirmation/respond", answer_to(&question, "modify", arguments)).await;
    client.ended(&run).await;
    let written = fs::read_to_string(running.work().join(".env")).unwrap();
    assert_eq!(written, "PORT=3\nTOKEN=hunter2-hunter2-hunter2\n");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn another_change_is_not_taken_for_the_same_answer_once_more() {
    let running = house(&[write("a.txt", "a\n")]).boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    let change = |content: &str| answer_to(&question, "modify", json!({ "content": content }));
    let first = client.call("confirmation/respond", change("b\n")).await;
    let again = client.call("confirmation/respond", change("b\n")).await;
    assert_eq!((&again["seq"], &again["replayed"]), (&first["seq"], &json!(true)));
    assert_eq!(client.refused("confirmation/respond", change("c\n")).await.0, ALREADY);
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(running.work().join("a.txt")).unwrap(), "b\n");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn the_mode_yolo_counts_only_while_it_is_allowed() {
    let mut house = house(&[("delete_file", json!({ "path": "old.txt" }))]).file("old.txt", "old\n");
    let settings = house.dir.path().join("settings.json");
    fs::write(&settings, r#"{ "approval": { "allowYolo": true } }"#).unwrap();
    house.config.approval.allow_yolo = LayeredSetting { value: true, origin: SettingLayer::User };
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "workspace": running.work(), "mode": ApprovalMode::Yolo });
    let session = client.call("session/create", params).await["sessionId"].clone();
    let place = json!({ "sessionId": session, "workspace": null });
    let (run, _) = client.start(&running, "writer", place.clone()).await;
    client.ended(&run).await;
    assert!(!running.work().join("old.txt").exists(), "it runs unasked");

    fs::write(&settings, "{}").unwrap();
    client.call("daemon/reload", json!({})).await;
    fs::write(running.work().join("old.txt"), "old\n").unwrap();
    let (run, session) = client.start(&running, "writer", place).await;
    let question = questions(&mut client, &session, 1).await.pop().unwrap();
    client.call("confirmation/respond", answer_to(&question, "deny", json!({}))).await;
    client.ended(&run).await;
    assert!(running.work().join("old.txt").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_session_that_is_put_into_plan_changes_nothing_however_its_runs_began() {
    let running = house(&[write("a.txt", "x\n")]).boot().await;
    let mut client = running.client();
    let params = json!({ "workspace": running.work(), "mode": "plan" });
    let session = client.call("session/create", params).await["sessionId"].clone();
    let place = json!({ "sessionId": session, "workspace": null, "approval": { "mode": "autoEdit" } });
    let (run, _) = client.start(&running, "writer", place).await;
    client.ended(&run).await;
    assert!(!running.work().join("a.txt").exists());
    let denied =
        running.log().await.into_iter().any(|event| event["data"]["error"]["type"] == "POLICY_DENIED");
    assert!(denied);
    drop(client);
    running.stop().await;
}

/// What looks like a secret is hidden from whoever answers, so that it is counted, and wants the answer of a high risk.
#[tokio::test]
async fn what_is_hidden_from_a_person_is_counted_and_wants_a_deliberate_answer() {
    let key =
        format!("-----BEGIN PRIVATE KEY-----\n{}\nsudo rm\n-----END PRIVATE KEY-----\n", "A".repeat(64));
    let running = secretive(&[write("build.sh", &key)]).boot().await;
    let mut client = running.client();
    let (run, question) = asked(&running, &mut client).await;
    assert_eq!(question["risk"], "high", "{question}");
    let title = question["title"].as_str().unwrap();
    assert!(title.contains("(1 place hidden, like a secret)"), "{title}");
    client.call("confirmation/respond", answer_to(&question, "deny", json!({}))).await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn nobody_is_asked_about_a_command_whose_making_would_be_hidden() {
    for command in [
        "git fetch http://ci:t0ken&&{touch,done}&&:@git.example.com",
        "echo http://a:b;{touch,done};:@x",
        "echo \"-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\"\ntouch done\necho \"-----END PRIVATE KEY-----\"",
    ] {
        let call = ("run_shell_command", json!({ "command": command }));
        let running = secretive(&[call]).boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "writer", json!({})).await;
        client.ended(&run).await;
        let log = running.log().await;
        assert!(!log.iter().any(|event| event["type"] == "confirmation.requested"), "{command}");
        let ended = log.iter().find(|event| event["data"]["error"]["type"] == "POLICY_DENIED");
        let message = ended.map(|event| event["data"]["error"]["message"].to_string()).unwrap_or_default();
        assert!(message.contains("looks like a secret"), "{command}: {message}");
        assert!(!running.work().join("done").exists());
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_clients_own_call_is_asked_about_as_the_settings_say_and_can_be_left() {
    let mut house = house(&[]);
    house.config.approval.on_detached =
        LayeredSetting { value: Some(OnDetached::Deny), origin: SettingLayer::User };
    let (house, clock) = house.manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let session =
        client.call("session/create", json!({ "workspace": running.work() })).await["sessionId"].clone();
    let (tool, arguments) = write("a.txt", "a\n");
    let params = json!({ "sessionId": session, "tool": tool, "arguments": arguments });
    let calling = async {
        let mut caller = running.client();
        caller.call("tools/call", params.clone()).await
    };
    let waiting = async {
        questions(&mut client, session.as_str().unwrap(), 1).await;
        // As long as somebody may still come: counted from when whoever waits for them has seen the question, too.
        loop {
            clock.advance(std::time::Duration::from_secs(5));
            client.call("daemon/status", json!({})).await;
        }
    };
    let called = tokio::select! {
        called = calling => called,
        never = waiting => never,
    };
    assert_eq!(called["result"]["error"]["type"], "NO_CLIENT", "{called}");

    // Whoever does not want to wait does not have to.
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let mut caller = running.client();
    caller.send(&request.to_string()).await;
    let question = questions(&mut client, session.as_str().unwrap(), 1).await.pop().unwrap();
    caller
        .send(&json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 7 } }).to_string())
        .await;
    let answer = caller.receive().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["data"]["kind"]),
        (&json!(7), &json!("REQUEST_CANCELLED")),
        "{answer}"
    );
    let (run, params) = (question["runId"].clone(), answer_to(&question, "deny", json!({})));
    client.call("confirmation/respond", params).await;
    client.ended(run.as_str().unwrap()).await;
    drop((client, caller));
    running.stop().await;
}

#[tokio::test]
async fn no_tool_reads_what_the_daemon_keeps() {
    // The workspace holds everything: also the database, and the keys that make answers.
    let house = house(&[]);
    let running = house.boot().await;
    let mut client = running.client();
    let workspace = house.dir.path();
    fs::write(workspace.join("state/confirm.key"), "a key that nobody reads\n").unwrap();
    let session = client.call("session/create", json!({ "workspace": workspace })).await["sessionId"].clone();
    for (tool, arguments) in [
        ("read_file", json!({ "path": "state/confirm.key" })),
        ("read_many_files", json!({ "include": ["state/**"] })),
        ("grep", json!({ "pattern": "nobody reads" })),
        ("glob", json!({ "pattern": "**/*.key" })),
        ("list_directory", json!({ "path": "." })),
        ("list_directory", json!({ "path": "state" })),
        ("write_file", json!({ "path": "state/confirm.key", "content": "mine" })),
    ] {
        let params = json!({ "sessionId": session, "tool": tool, "arguments": arguments });
        let response = client.request("tools/call", params).await.to_string();
        let shows = response.contains("nobody reads\\n") || response.contains("state/\\n");
        assert!(!shows && !response.contains("state/confirm.key:"), "{tool} {arguments}: {response}");
    }
    assert_eq!(fs::read_to_string(workspace.join("state/confirm.key")).unwrap(), "a key that nobody reads\n");
    drop(client);
    running.stop().await;
}
