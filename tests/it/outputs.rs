//! What becomes of an output that is longer than a model's budget: cut, kept, paged through, and gone with its session
//! (spec 05, "Scheduler"; 01, `tools/output`).

use std::{fs, path::Path};

use serde_json::{Value, json};
use subagentd::redact::{Redactor, RedactorParts};

use crate::support::{Client, House, Reply, Running, Script};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file, grep]\n---\nYou read.\n";

/// Characters of an output that the model gets.
const BUDGET: usize = 5_000;

/// Lines that a search finds; with their numbers they are some hundred thousand bytes.
const LINES: usize = 4_000;

fn house(script: &Script) -> House {
    let text: String = (1..=LINES).map(|n| format!("näedle {n} {}\n", "é".repeat(40))).collect();
    let house = House::new().script(script).agent("reader", READER).file("long.txt", text);
    let settings = json!({ "tools": { "output": { "maxChars": BUDGET } } });
    house.settings(&settings)
}

fn search() -> Reply {
    Reply::calls(&[("grep", json!({ "pattern": "näedle", "maxMatches": LINES }))])
}

/// What the search finds, all of it.
fn found() -> String {
    let mut whole = format!("{LINES} matching lines in 1 file.\n\nlong.txt\n");
    for n in 1..=LINES {
        whole.push_str(&format!("{n}: näedle {n} {}\n", "é".repeat(40)));
    }
    whole.trim_end().to_owned()
}

/// The last thing a model was told by a tool.
fn told(script: &Script) -> String {
    let requests = script.requests();
    let messages = json!(requests.last().unwrap().messages);
    let results =
        messages.as_array().unwrap().iter().rev().find(|message| message["role"] == "tool").unwrap();
    results["parts"][0]["parts"][0]["text"].as_str().unwrap().to_owned()
}

/// The end of the run's first call.
async fn end_of_call(running: &Running, run: &str) -> Value {
    let log = running.log().await;
    let is_end = |event: &&Value| {
        event["runId"] == run && event["type"] == "tool.state" && event["activity"] == "TOOL_CALL_END"
    };
    log.iter().find(is_end).unwrap_or_else(|| panic!("no call of {run} ended"))["data"].clone()
}

/// All pages, put together.
async fn paged(client: &mut Client, call: &str) -> String {
    let (mut whole, mut from) = (String::new(), 0);
    loop {
        let page = client.call("tools/output", json!({ "callId": call, "from": from })).await;
        let text = page["text"].as_str().unwrap();
        assert!(text.len() <= 256 * 1024);
        whole.push_str(text);
        match page["next"].as_u64() {
            Some(next) => from = next,
            None => {
                assert_eq!(page["totalBytes"].as_u64(), Some(whole.len() as u64));
                return whole;
            }
        }
    }
}

#[tokio::test]
async fn a_cut_output_can_be_read_on_by_the_model_and_by_clients_also_after_a_restart() {
    let script = Script::new([search(), Reply::done("found")]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let whole = found();
    let told_first = told(&script);
    assert!(told_first.chars().count() <= BUDGET, "{}", told_first.chars().count());
    assert!(whole.starts_with(told_first.split("[… ").next().unwrap()), "{told_first}");
    assert!(whole.ends_with(told_first.split(" …]\n").nth(1).unwrap()), "{told_first}");
    let end = end_of_call(&running, &run).await;
    let (call, path) =
        (end["callId"].as_str().unwrap(), end["result"]["fullOutput"]["path"].as_str().unwrap());
    assert!(told_first.contains(path) && path.contains(&session) && path.contains(call), "{path}");
    assert_eq!(end["result"]["fullOutput"]["totalBytes"].as_u64(), Some(whole.len() as u64));
    assert_eq!(fs::read_to_string(path).unwrap(), whole);
    assert!(256 * 1024 < whole.len(), "one page shows no paging");
    assert_eq!(paged(&mut client, call).await, whole);

    // The model does what it was told, and goes on where the head ended.
    let offset: u64 =
        told_first.split("offset: ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let next_line = whole.lines().nth(usize::try_from(offset).unwrap()).unwrap();
    assert!(!told_first.contains(&format!("\n{next_line}\n")), "{next_line} was shown already");
    let on = Reply::calls(&[("read_file", json!({ "path": path, "offset": offset }))]);
    script.replace([on.clone(), Reply::done("read")]);
    let in_session = json!({ "sessionId": session, "workspace": null });
    let (again, _) = client.start(&running, "reader", in_session.clone()).await;
    client.ended(&again).await;
    let read = told(&script);
    assert_eq!(read.lines().nth(1), Some(next_line), "{read}");
    assert!(
        end_of_call(&running, &again).await["result"]["fullOutput"].is_null(),
        "what is a page was kept again"
    );

    // A run of another session is not let at it, nor is one to the daemon's other files.
    let (stranger, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&stranger).await;
    assert_eq!(end_of_call(&running, &stranger).await["error"]["type"], "PATH_NOT_IN_WORKSPACE");
    let database = house.dir.path().join("state/subagentd.db");
    let peek = Reply::calls(&[("read_file", json!({ "path": database }))]);
    script.replace([peek, Reply::done("no")]);
    let (nosy, _) = client.start(&running, "reader", in_session.clone()).await;
    client.ended(&nosy).await;
    assert_eq!(end_of_call(&running, &nosy).await["error"]["type"], "PATH_NOT_IN_WORKSPACE");
    // What was not cut is not kept.
    let short = end_of_call(&running, &again).await["callId"].clone();
    let (kind, _) = client.refused("tools/output", json!({ "callId": short })).await;
    assert_eq!(kind, "NOT_FOUND");
    let within = whole.find('é').unwrap() + 1;
    let (kind, error) = client.refused("tools/output", json!({ "callId": call, "from": within })).await;
    assert_eq!(
        (kind.as_str(), error["message"].as_str().unwrap().contains("character")),
        ("INVALID_PARAMS", true)
    );
    drop(client);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(paged(&mut client, call).await, whole);
    script.replace([on, Reply::done("read")]);
    let (again, _) = client.start(&running, "reader", in_session).await;
    client.ended(&again).await;
    assert_eq!(told(&script), read);

    // What is not as it was kept is not passed off as it.
    fs::write(path, "another").unwrap();
    let (kind, error) = client.refused("tools/output", json!({ "callId": call })).await;
    assert_eq!((kind.as_str(), error.to_string().contains(path)), ("GONE", false), "{error}");
    fs::remove_file(path).unwrap();
    assert_eq!(client.refused("tools/output", json!({ "callId": call })).await.0, "GONE");

    let folder = Path::new(path).parent().unwrap().parent().unwrap();
    assert!(folder.exists());
    client.call("session/close", json!({ "sessionId": session })).await;
    client.call("session/delete", json!({ "sessionId": session })).await;
    assert!(!folder.exists(), "files outlive their session");
    assert_eq!(client.refused("tools/output", json!({ "callId": call })).await.0, "NOT_FOUND");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_kept_reaches_the_model_cut_and_the_run_goes_on() {
    let script = Script::new([search(), Reply::done("found")]);
    let house = house(&script);
    let running = house.boot().await;
    // A file where the folder should be.
    fs::write(house.dir.path().join("state/artifacts"), "").unwrap();
    let mut client = running.client();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let said = told(&script);
    assert!(
        said.contains("they are lost: the whole could not be kept (") && !said.contains("offset:"),
        "{said}"
    );
    let end = end_of_call(&running, &run).await;
    assert_eq!((&end["to"], end["result"].get("fullOutput")), (&json!("success"), None));
    let (kind, _) = client.refused("tools/output", json!({ "callId": end["callId"] })).await;
    assert_eq!(kind, "NOT_FOUND");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_is_kept_has_no_secrets() {
    const SECRET: &str = "correct-horse-battery-staple-42";
    let script = Script::new([search(), Reply::done("found")]);
    let text = format!("näedle {SECRET} {}\n", "é".repeat(40)).repeat(300);
    let mut house = house(&script).file("long.txt", text);
    let environment = [("SHOP_TOKEN".to_owned(), SECRET.to_owned())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let files = kept(&house, &session);
    let whole = fs::read_to_string(&files[0]).unwrap();
    assert!(!whole.contains(SECRET) && whole.matches("[redacted:").count() == 300, "{whole}");
    let call = files[0].file_stem().unwrap().to_str().unwrap();
    assert_eq!(paged(&mut client, call).await, whole);
    drop(client);
    running.stop().await;
}

/// Files of kept outputs.
fn kept(house: &House, session: &str) -> Vec<std::path::PathBuf> {
    let folder = house.dir.path().join("state/artifacts").join(session).join("output");
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn a_crash_between_keeping_and_the_end_leaves_no_end_whose_file_is_missing() {
    let script = Script::new([search(), Reply::done("found")]);
    let (house, _clock) = house(&script).manual_clock();
    let running = house.boot().await;
    // The call's end cannot be committed: SQLite's own answer to a full disk.
    running.tamper("create table used_up (n integer primary key autoincrement)").await;
    running.tamper("insert into used_up values (9223372036854775807)").await;
    running
        .tamper(
            "create trigger no_end before insert on events
             when new.type = 'tool.state' and new.body like '%\"to\":\"success\"%'
             begin insert into used_up values (null); end",
        )
        .await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    let filter = json!({ "runId": run, "types": ["run.parked"] });
    let parked = client.call("events/list", json!({ "filter": filter, "waitMs": 60_000 })).await;
    assert_eq!(parked["events"][0]["type"], "run.parked", "{parked}");
    // It is kept, and nothing says so yet.
    let files = kept(&house, &session);
    assert_eq!(files.len(), 1);
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), found());
    assert!(!running.log().await.iter().any(|event| event["data"]["result"]["fullOutput"].is_object()));
    let call = files[0].file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(client.refused("tools/output", json!({ "callId": call })).await.0, "NOT_FOUND");
    running.tamper("drop trigger no_end").await;
    running.tamper("drop table used_up").await;
    drop(client);
    running.stop_unfinished().await;

    // As if the machine had died while it was written, too.
    fs::write(&files[0], "torn").unwrap();
    fs::write(files[0].with_extension("draft"), "torn").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let end = end_of_call(&running, &run).await;
    assert_eq!(end["callId"], json!(call), "a call that only reads runs again");
    assert_eq!(kept(&house, &session), files);
    assert_eq!(paged(&mut client, &call).await, found());
    drop(client);
    running.stop().await;
}
