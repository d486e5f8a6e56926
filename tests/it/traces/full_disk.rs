//! Exports on a disk that is full: nothing is half there, nothing is lost, and nothing comes twice.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use super::*;
use crate::{
    built,
    otlp::receiver::Receiver,
    process::{Served, Wire},
    support::STUCK,
};

/// A run of the agent `reader` that says so much, and its id.
async fn ran(home: &Home, wire: &mut Wire, words: usize) -> String {
    let recording = home.path("recordings/long.jsonl");
    fs::write(&recording, recorded("complete_task", &json!({ "result": "word ".repeat(words) }))).unwrap();
    let model = format!("replay:{}", recording.display());
    let params = json!({ "workspace": home.work(), "agent": "reader", "prompt": "read", "model": model });
    let started = wire.call("run/start", params).await.unwrap();
    let run = started["runId"].as_str().unwrap().to_owned();
    assert_eq!(wire.ended(&run).await.unwrap()["reason"], "GOAL");
    run
}

/// A limit on the size of files is to a program what a full disk is: a write that writes less, and then none.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_on_a_full_disk_is_not_half_there() {
    let home = Home::new();
    let served = home.start().await;
    let mut wire = home.connect().await;
    let run = ran(&home, &mut wire, 4_000).await;
    let file = home.path("work/trace.json");
    fs::write(&file, "older").unwrap();
    let before = fs::read_dir(home.work()).unwrap().count();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let mut limited = home.command("sh");
    limited.args(["-c", script]).arg(built::companion()).args(["trace", "export", &run, "-o"]);
    limited.arg(&file).arg("--force").stdout(Stdio::piped()).stderr(Stdio::piped());
    let told = output(&mut limited).await;
    assert_ne!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stderr.contains("trace.json"), "{}", told.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "older");
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), before, "something was left beside it");
    // Straight into what is full, and on the way there.
    let told = output(&mut home.companion(&["trace", "export", &run, "-o", "/dev/full", "--force"])).await;
    assert_ne!(told.code, Some(0));
    assert!(told.stderr.contains("No space left on device"), "{}", told.stderr);
    let mut into_full = home.command("sh");
    into_full.args(["-c", "exec \"$0\" \"$@\" > /dev/full"]).arg(built::companion());
    into_full.args(["trace", "export", &run]).stderr(Stdio::piped());
    let told = output(&mut into_full).await;
    assert_ne!(told.code, Some(0), "{}", told.stderr);
    // And with room.
    let told =
        output(&mut home.companion(&["trace", "export", &run, "-o", file.to_str().unwrap(), "--force"]))
            .await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap()["spans"].is_array());
    served.stop().await;
}

/// A daemon whose folder of traces is a file system of its own, of so many bytes.
async fn on_small_disk(home: &Home, bytes: usize) -> Served {
    let folder = home.state_dir().join("traces");
    fs::create_dir_all(&folder).unwrap();
    let daemon = home.daemon(&home.socket(), &home.state_dir());
    let mut command = home.command("bwrap");
    command.args(["--dev-bind", "/", "/", "--size", &bytes.to_string(), "--tmpfs"]);
    command.arg(&folder).arg("--").arg(daemon.as_std().get_program()).args(daemon.as_std().get_args());
    let log = fs::OpenOptions::new().create(true).append(true).open(home.path("daemon.log")).unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    let mut greeting = BufReader::new(child.stdout.take().unwrap());
    timeout(STUCK, greeting.read_line(&mut line)).await.expect("the daemon is not ready").unwrap();
    assert_eq!(line, "ready\n", "{}", home.daemon_log());
    Served::of(child)
}

/// The folder of traces, as the daemon sees it.
fn as_seen_by_daemon(home: &Home) -> PathBuf {
    let pid = home.daemon_pid().unwrap();
    let folder = home.state_dir().join("traces");
    PathBuf::from(format!("/proc/{}/root", pid.as_raw_nonzero())).join(folder.strip_prefix("/").unwrap())
}

/// The spans in all files below a folder, by their ids.
fn written(folder: &Path) -> Vec<String> {
    let days = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = days.filter_map(|day| fs::read_dir(day.path()).ok()).flatten().flatten();
    let texts: Vec<String> = files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    let whole = texts.iter().flat_map(|text| text.split_inclusive('\n')).filter(|line| line.ends_with('\n'));
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["spanId"].as_str().unwrap().to_owned();
    whole.map(id).collect()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_that_a_full_disk_does_not_take_are_written_when_there_is_room() {
    if !built::has_bubblewrap("spans on a full disk") {
        return;
    }
    let home = Home::new();
    let settings = json!({ "tracing": { "backend": ["file"] } });
    fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
    let served = on_small_disk(&home, 256 << 10).await;
    let folder = as_seen_by_daemon(&home);
    let ballast = folder.join("ballast");
    let full = fs::write(&ballast, vec![0; 1 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    let mut wire = home.connect().await;
    let run = ran(&home, &mut wire, 1_000).await;
    until("a word of the full disk", || home.daemon_log().contains("spans cannot be written")).await;
    fs::remove_file(&ballast).unwrap();
    let page = wire.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await.unwrap();
    let mut expected: Vec<&str> =
        page["spans"].as_array().unwrap().iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    until("the spans", || expected.len() <= written(&folder).len()).await;
    let mut spans = written(&folder);
    spans.sort();
    expected.sort_unstable();
    assert_eq!(spans, expected, "lost, or twice");
    // What was started is not the daemon itself.
    assert!(home.kill_daemon());
    served.kill().await;
}

/// The collector takes what it is sent while the database cannot keep that it did.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_a_full_disk_does_not_keep_loses_nothing_and_sends_nothing_twice() {
    // Nobody is there before the disk is full.
    let away = Receiver::http([]).await;
    let (url, port) = (away.url(), away.port);
    drop(away);
    let otlp = json!({ "endpoint": url, "signals": ["traces"] });
    let house = house(&story()).settings(&json!({ "tracing": { "otlp": otlp } }));
    let running = house.boot().await;
    let mut client = running.client();
    let introduction = json!({
        "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": "ada",
        "capabilities": { "confirmations": {} },
    });
    client.call("initialize", introduction).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    answer(&mut client, &run, "allowOnce").await;
    client.ended(&run).await;
    // SQLite's own answer to a full disk: a table whose row numbers are used up.
    for statement in [
        "create table used_up (n integer primary key autoincrement)",
        "insert into used_up values (9223372036854775807)",
        "create trigger full_events before insert on events begin insert into used_up values (null); end",
        "create trigger full_meta before insert on meta begin insert into used_up values (null); end",
    ] {
        running.tamper(statement).await;
    }
    let whole = spans(&mut client, &run, 1_000).await.len();
    let store = running.daemon.store();
    let head = store.head().to_string();
    let receiver = Receiver::on(port, false, [].into()).await;
    receiver.until(|spans| !spans.is_empty()).await;
    // It has them, and the place is not kept as long as there is no room.
    assert_ne!(store.note("otlp.traces").await.unwrap().as_ref(), Some(&head));
    for statement in ["drop trigger full_events", "drop trigger full_meta", "drop table used_up"] {
        running.tamper(statement).await;
    }
    receiver.until(|spans| whole <= spans.len()).await;
    let keeping = async {
        while store.note("otlp.traces").await.unwrap().is_none_or(|place| place != head) {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, keeping).await.expect("the place was never kept");
    running.stop().await;
    let running = house.boot().await;
    running.stop().await;
    let mut ids: Vec<Vec<u8>> = receiver.spans().into_iter().map(|span| span.span_id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((receiver.spans().len(), ids.len()), (whole, whole), "lost, or twice");
}
