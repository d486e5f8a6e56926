//! Metrics as Prometheus reads them: each is documented, and each moves when what it counts happens.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    sync::Semaphore,
    time::timeout,
};

use crate::{
    otlp::receiver::{Answer, Receiver},
    process::Home,
    support::{Cast, Client, House, Reply, Running, STUCK},
};

/// Samples by their names with labels, as `name{label="value"}`.
type Samples = BTreeMap<String, f64>;

async fn answered(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn asked(method: &str, headers: &str) -> String {
    format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
}

async fn text(socket: &Path) -> String {
    let stream = UnixStream::connect(socket).await.unwrap();
    let (head, body) = answered(stream, &asked("GET", "")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.to_lowercase().contains("content-type: text/plain; version=0.0.4"), "{head}");
    body
}

/// Reads the text as the format has it: described once, samples of nothing that is not described, none twice.
fn read(text: &str) -> (BTreeMap<String, String>, Samples) {
    let (mut kinds, mut samples) = (BTreeMap::new(), Samples::new());
    let mut described = "";
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(help.ends_with('.') && !help.contains('\\'), "{line}");
            described = name;
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(name, described, "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is described twice");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
        } else {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let of_histogram = ["_bucket", "_sum", "_count"].iter().filter_map(|end| name.strip_suffix(end));
            assert!(name == described || of_histogram.into_iter().any(|it| it == described), "{line}");
            assert!(
                samples.insert(sample.to_owned(), value.parse().unwrap()).is_none(),
                "{sample} is there twice"
            );
        }
    }
    (kinds, samples)
}

async fn samples(socket: &Path) -> Samples {
    read(&text(socket).await).1
}

/// Waits until the samples are so: what is counted follows the log.
async fn until(socket: &Path, what: &str, is_so: impl Fn(&Samples) -> bool) -> Samples {
    let waiting = async {
        loop {
            let samples = samples(socket).await;
            if is_so(&samples) {
                return samples;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"))
}

fn value(samples: &Samples, sample: &str) -> f64 {
    samples.get(sample).copied().unwrap_or_default()
}

const AGENT: &str = "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [read_file, write_file]\n---\nYou lead.\n";

fn house(cast: &Cast) -> House {
    House::new().model("script", cast).agent("lead", AGENT).file("a.md", "old\n")
}

async fn answer(client: &mut Client, run: &str) {
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    let asked = &client.call("run/wait", until).await["confirmations"][0];
    let params = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "allowOnce",
    });
    client.call("confirmation/respond", params).await;
}

async fn booted(cast: &Cast) -> (Running, Client, PathBuf) {
    let running = house(cast).boot().await;
    let socket = running.listen().await;
    let client = running.client();
    (running, client, socket)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_does_moves_every_counter() {
    let cast = Cast::new([(
        "lead",
        vec![
            Reply::calls(&[
                ("read_file", json!({ "path": "a.md" })),
                ("read_file", json!({ "path": "none.md" })),
            ]),
            Reply::calls(&[("write_file", json!({ "path": "a.md", "content": "new\n" }))]),
            Reply::done("mended"),
        ],
    )]);
    let (running, mut client, socket) = booted(&cast).await;
    client
        .call(
            "initialize",
            json!({
                "protocolVersion": "2", "client": { "name": "ada", "kind": "cli" }, "clientId": "ada",
                "capabilities": { "confirmations": {} },
            }),
        )
        .await;
    let before = samples(&socket).await;
    let (run, session) = client.start(&running, "lead", json!({})).await;
    let attached = client.call("session/attach", json!({ "sessionId": session })).await;
    assert!(attached.is_string(), "{attached}");
    let waits = |it: &Samples| {
        let is_one = |name: &str| value(it, name) == 1.0;
        is_one("subagentd_confirmations_open") && is_one("subagentd_runs{state=\"waiting\"}")
    };
    let waiting = until(&socket, "a question", waits).await;
    assert_eq!(value(&waiting, "subagentd_subscriptions"), 1.0);
    assert!(waiting.contains_key("subagentd_subscription_lag_events{client=\"ada\"}"), "{waiting:#?}");
    answer(&mut client, &run).await;
    client.ended(&run).await;
    let ended = "subagentd_runs_ended_total{reason=\"GOAL\"}";
    let after = until(&socket, "the end of the run", |it| value(it, ended) == 1.0).await;
    let counted = |name: &str| value(&after, name) - value(&before, name);
    for (name, expected) in [
        ("subagentd_model_requests_total{model=\"script\",status=\"ok\"}", 3.0),
        ("subagentd_model_first_token_seconds_count{model=\"script\"}", 3.0),
        ("subagentd_tokens_total{model=\"script\",kind=\"input\"}", 30.0),
        ("subagentd_tool_calls_total{tool=\"read_file\",status=\"ok\"}", 1.0),
        ("subagentd_tool_calls_total{tool=\"read_file\",status=\"error\"}", 1.0),
        ("subagentd_tool_calls_total{tool=\"write_file\",status=\"ok\"}", 1.0),
        ("subagentd_tool_call_duration_seconds_count{tool=\"write_file\"}", 1.0),
        ("subagentd_confirmations_total{outcome=\"allowOnce\",source=\"client\"}", 1.0),
        ("subagentd_confirmation_answer_seconds_count", 1.0),
    ] {
        assert_eq!(counted(name), expected, "{name}: {after:#?}");
    }
    for name in ["subagentd_log_head", "subagentd_commit_duration_seconds_count"] {
        assert!(0.0 < counted(name), "{name}: {after:#?}");
    }
    let mut second = running.client();
    second.call("daemon/status", json!({})).await;
    let one_more = value(&after, "subagentd_clients") + 1.0;
    until(&socket, "another client", |it| value(it, "subagentd_clients") == one_more).await;
    assert!(0.0 < counted("subagentd_model_request_duration_seconds_sum{model=\"script\"}"), "{after:#?}");
    for name in ["subagentd_database_bytes", "process_resident_memory_bytes", "subagentd_start_time_seconds"]
    {
        assert!(0.0 < value(&after, name), "{name}");
    }
    assert_eq!(value(&after, "subagentd_confirmations_open"), 0.0);
    let counts = client.call("daemon/status", json!({})).await["counts"].clone();
    assert_eq!((&counts["runsEnded"]["GOAL"], &counts["usage"]["promptTokens"]), (&json!(1), &json!(30)));
    assert_eq!((&counts["toolCalls"]["failed"], &counts["modelRequests"]["count"]), (&json!(1), &json!(3)));
    assert!(counts["answers"]["p99Us"].is_u64() && counts["commits"]["p50Us"].is_u64(), "{counts}");
    running.stop().await;
}

/// A call that another agent answers outlives its daemon: it counts under that agent's name, whichever daemon sees its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_outlives_its_daemon_counts_under_its_name() {
    const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [write_file]\n---\nYou read.\n";
    let writes = Reply::calls(&[("write_file", json!({ "path": "a.md", "content": "new\n" }))]);
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("reader", json!({ "prompt": "go" }))]), Reply::done("mended")]),
        ("lead/reader", vec![writes, Reply::done("written")]),
    ]);
    let house = house(&cast).agent("lead", &AGENT.replace("write_file]", "reader]")).agent("reader", READER);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    let until = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    client.call("run/wait", until).await;
    drop(client);
    running.stop_unfinished().await;
    let running = house.boot().await;
    let (mut client, socket) = (running.client(), running.listen().await);
    answer(&mut client, &run).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let counted = "subagentd_tool_calls_total{tool=\"reader\",status=\"ok\"}";
    let samples = until_ended(&socket).await;
    assert_eq!(value(&samples, counted), 1.0, "{samples:?}");
    running.stop().await;
}

async fn until_ended(socket: &Path) -> Samples {
    let ended = "subagentd_runs_ended_total{reason=\"GOAL\"}";
    until(socket, ended, |samples| value(samples, ended) == 2.0).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_costs_and_what_a_collector_takes_is_counted() {
    let receiver = Receiver::http([Answer::Status(503, ""), Answer::Reject(1)]).await;
    let settings = json!({
        "models": { "prices": { "script": { "inputPerMillion": 2.0, "outputPerMillion": 10.0 } } },
        "tracing": { "otlp": { "endpoint": receiver.url(), "signals": ["traces"] } },
    });
    let running = house(&Cast::new([("lead", vec![Reply::done("x")])])).settings(&settings).boot().await;
    let socket = running.listen().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    client.ended(&run).await;
    let page = client.call("trace/get", json!({ "runId": run, "limit": 1_000 })).await;
    let spans = page["spans"].as_array().unwrap().len() as f64;
    let failed = "subagentd_otlp_failures_total{signal=\"traces\"}";
    let waits = |it: &Samples| value(it, failed) == 1.0 && 0.0 < value(it, "subagentd_otlp_backlog_events");
    let waiting = until(&socket, "a failure", waits).await;
    assert!(0.0 < value(&waiting, "subagentd_cost_usd_total{model=\"script\"}"), "{waiting:#?}");
    let status = client.call("daemon/status", json!({})).await["degraded"].to_string();
    assert!(status.contains("traces do not reach the collector") && status.contains("503"), "{status}");
    let dropped = "subagentd_otlp_dropped_total{signal=\"traces\"}";
    let sent = "subagentd_otlp_sent_total{signal=\"traces\"}";
    let is_over =
        |it: &Samples| value(it, dropped) == 1.0 && value(it, "subagentd_otlp_backlog_events") == 0.0;
    let over = until(&socket, "a rejection", is_over).await;
    assert_eq!(value(&over, sent), spans - 1.0, "{over:#?}");
    let status = client.call("daemon/status", json!({})).await["degraded"].to_string();
    assert!(!status.contains("collector"), "{status}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_and_those_who_wait_for_one_are_counted() {
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([("lead", vec![Reply::after(&gate, Reply::done("x"))])]);
    let house = house(&cast).settings(&json!({ "maxConcurrentRuns": { "daemon": 1 } }));
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut client = running.client();
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(client.start(&running, "lead", json!({})).await.0);
    }
    let waiting = |it: &Samples| {
        value(it, "subagentd_slots_in_use") == 1.0 && value(it, "subagentd_slot_queue_length") == 2.0
    };
    until(&socket, "a queue", waiting).await;
    gate.add_permits(runs.len());
    for run in &runs {
        client.ended(run).await;
    }
    until(&socket, "free slots", |it| {
        value(it, "subagentd_slots_in_use") == 0.0 && value(it, "subagentd_slot_queue_length") == 0.0
    })
    .await;
    running.stop().await;
}

/// A client that reads nothing is behind, and nobody waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_lags() {
    let long = "x".repeat(20_000);
    let calls: Vec<(&str, Value)> =
        (0..60).map(|n| ("read_file", json!({ "path": format!("{n}{long}") }))).collect();
    let cast = Cast::new([("lead", vec![Reply::calls(&calls), Reply::done("x")])]);
    let house = house(&cast).settings(&json!({ "compression": { "enabled": false } }));
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut client = running.client();
    let mut deaf = running.client();
    deaf.call(
        "initialize",
        json!({
            "protocolVersion": "2", "client": { "name": "deaf", "kind": "cli" }, "clientId": "deaf",
        }),
    )
    .await;
    deaf.call("session/attach", json!({ "sessionId": "*", "from": "now" })).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    client.ended(&run).await;
    let lag = "subagentd_subscription_lag_events{client=\"deaf\"}";
    // Nobody waits for it; what counts ends follows the log on its own time.
    let ended = "subagentd_runs_ended_total{reason=\"GOAL\"}";
    until(&socket, "a lag", |it| 0.0 < value(it, lag) && value(it, ended) == 1.0).await;
    drop(deaf);
    until(&socket, "the end of the lag", |it| !it.contains_key(lag)).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tcp_shows_metrics_to_whoever_shows_the_token() {
    let home = Home::new();
    let served = home.start_told(&[], &["--listen", "127.0.0.1:0"]).await;
    let log = home.daemon_log();
    let address = log.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let address: SocketAddr = address.parse().unwrap();
    let token = std::fs::read_to_string(home.state_dir().join("token")).unwrap();
    let shown = format!("Authorization: Bearer {}\r\n", token.trim());
    let host = format!("Host: {address}\r\n");
    let request = |method: &str, headers: &str| asked(method, headers).replace("Host: localhost\r\n", &host);
    let connect = async || TcpStream::connect(address).await.unwrap();
    let (head, body) = answered(connect().await, &request("GET", "")).await;
    assert!(head.starts_with("HTTP/1.1 401") && !body.contains("subagentd_"), "{head}");
    let (head, body) = answered(connect().await, &request("GET", &shown)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(read(&body).1.contains_key("subagentd_log_head"));
    let (head, body) = answered(connect().await, &request("HEAD", &shown)).await;
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{head}");
    let (head, _) =
        answered(connect().await, &request("POST", &format!("{shown}Content-Length: 0\r\n"))).await;
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_seen() {
    let (house, clock) = house(&Cast::new([("lead", vec![Reply::done("x")])])).manual_clock();
    let running = house.boot().await;
    let socket = running.listen().await;
    let mut client = running.client();
    assert_eq!(value(&samples(&socket).await, "subagentd_storage_full"), 0.0);
    // SQLite's own answer to a full disk: a table whose row numbers are used up.
    running.tamper("create table used_up (n integer primary key autoincrement)").await;
    running.tamper("insert into used_up values (9223372036854775807)").await;
    let full =
        "create trigger disk_full before insert on events begin insert into used_up values (null); end";
    running.tamper(full).await;
    let (kind, _) = client.refused("session/create", json!({ "workspace": running.work() })).await;
    assert_eq!(kind, "STORAGE_FULL");
    until(&socket, "a full disk", |it| value(it, "subagentd_storage_full") == 1.0).await;
    running.tamper("drop trigger disk_full").await;
    running.tamper("drop table used_up").await;
    let looking = async {
        while value(&samples(&socket).await, "subagentd_storage_full") != 0.0 {
            clock.advance(Duration::from_secs(1));
        }
    };
    timeout(STUCK, looking).await.expect("there never was room again");
    running.stop().await;
}

/// Values that metrics have had.
#[derive(Default)]
struct MovedMetrics(BTreeMap<String, BTreeSet<String>>);

impl MovedMetrics {
    /// Looks once more; a metric is all samples of it.
    async fn look(&mut self, socket: &Path) -> Samples {
        let (kinds, samples) = read(&text(socket).await);
        for (name, kind) in &kinds {
            let of_it = |sample: &str| {
                let sample = sample.split('{').next().unwrap();
                sample == name || kind == "histogram" && sample.strip_suffix("_count") == Some(name)
            };
            let told: Vec<String> = samples
                .iter()
                .filter(|(sample, _)| of_it(sample))
                .map(|(sample, value)| format!("{sample} {value}"))
                .collect();
            self.0.entry(name.clone()).or_default().insert(told.join("\n"));
        }
        samples
    }

    async fn until(&mut self, socket: &Path, what: &str, is_so: impl Fn(&Samples) -> bool) {
        let waiting = async {
            while !is_so(&self.look(socket).await) {
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }

    fn unmoved(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, values)| values.len() < 2).map(|(name, _)| name.as_str()).collect()
    }
}

/// A walk over the table: one daemon, in which everything happens that is counted.
#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_table_moves() {
    let receiver = Receiver::http([Answer::Status(503, ""), Answer::Reject(1)]).await;
    let long = "x".repeat(20_000);
    let reads: Vec<(&str, Value)> =
        (0..60).map(|n| ("read_file", json!({ "path": format!("{n}{long}") }))).collect();
    let gate = Arc::new(Semaphore::new(0));
    let cast = Cast::new([
        (
            "lead",
            vec![
                Reply::calls(&[("write_file", json!({ "path": "a.md", "content": "new\n" }))]),
                Reply::calls(&reads),
                Reply::done("mended"),
            ],
        ),
        ("slow", vec![Reply::after(&gate, Reply::done("x"))]),
    ]);
    let settings = json!({
        "compression": { "enabled": false },
        "maxConcurrentRuns": { "daemon": 1 },
        "models": { "prices": { "script": { "inputPerMillion": 2.0, "outputPerMillion": 10.0 } } },
        "tracing": { "otlp": { "endpoint": receiver.url(), "signals": ["traces"] } },
    });
    let slow = AGENT.replace("lead", "slow");
    let running = house(&cast).agent("slow", &slow).settings(&settings).boot().await;
    let socket = running.listen().await;
    let mut moved = MovedMetrics::default();
    let first = moved.look(&socket).await;
    assert_eq!(value(&first, "subagentd_storage_full"), 0.0);
    let introduce = |name: &str| {
        json!({
            "protocolVersion": "2", "client": { "name": name, "kind": "cli" }, "clientId": name,
            "capabilities": { "confirmations": {} },
        })
    };
    let mut client = running.client();
    client.call("initialize", introduce("ada")).await;
    let mut deaf = running.client();
    deaf.call("initialize", introduce("deaf")).await;
    deaf.call("session/attach", json!({ "sessionId": "*", "from": "now" })).await;
    let (run, _) = client.start(&running, "lead", json!({})).await;
    moved.until(&socket, "a question", |it| value(it, "subagentd_confirmations_open") == 1.0).await;
    answer(&mut client, &run).await;
    client.ended(&run).await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        runs.push(client.start(&running, "slow", json!({})).await.0);
    }
    moved.until(&socket, "a queue", |it| value(it, "subagentd_slot_queue_length") == 1.0).await;
    gate.add_permits(runs.len());
    for run in &runs {
        client.ended(run).await;
    }
    let dropped = "subagentd_otlp_dropped_total{signal=\"traces\"}";
    moved.until(&socket, "a rejection", |it| value(it, dropped) == 1.0).await;
    running.tamper("create table used_up (n integer primary key autoincrement)").await;
    running.tamper("insert into used_up values (9223372036854775807)").await;
    let full =
        "create trigger disk_full before insert on events begin insert into used_up values (null); end";
    running.tamper(full).await;
    client.refused("session/create", json!({ "workspace": running.work() })).await;
    moved.until(&socket, "a full disk", |it| value(it, "subagentd_storage_full") == 1.0).await;
    running.tamper("drop trigger disk_full").await;
    running.tamper("drop table used_up").await;
    moved.until(&socket, "room", |it| value(it, "subagentd_storage_full") == 0.0).await;
    // Which daemon it is, and since when, does not move.
    assert_eq!(moved.unmoved(), ["subagentd_info", "subagentd_start_time_seconds"]);
    drop(deaf);
    running.stop().await;
}

/// The manual has a row for each metric, and no others.
#[tokio::test(flavor = "multi_thread")]
async fn the_manual_lists_every_metric() {
    let (running, _client, socket) = booted(&Cast::new([("lead", vec![Reply::done("x")])])).await;
    let (kinds, _) = read(&text(&socket).await);
    let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/service.md")).unwrap();
    let is_name = |word: &&str| word.starts_with("subagentd_") || word.starts_with("process_");
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).filter(is_name);
    let documented: Vec<&str> = rows.collect();
    let described: Vec<&str> = kinds.keys().map(String::as_str).collect();
    let mut sorted = documented.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, described, "docs/service.md and src/daemon/metrics/catalogue.rs differ");
    running.stop().await;
}
