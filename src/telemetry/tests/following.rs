//! Does every span of the log arrive, whoever was away in between?

use super::*;

/// A store with an exporter that follows it.
struct Place {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

struct Working {
    store: EventStore,
    counts: Arc<OtlpCounts>,
    targets: watch::Sender<Arc<OtlpTargets>>,
    stop: CancellationToken,
    writer: TaskGroup,
    exporter: TaskGroup,
}

impl Place {
    fn new() -> Place {
        let clock = ManualClock::starting_at(Timestamp(1_700_000_000_000_000));
        Place { dir: tempfile::tempdir().unwrap(), clock }
    }

    async fn open(&self, targets: OtlpTargets) -> Working {
        self.open_hiding(targets, Redactor::none()).await
    }

    async fn open_hiding(&self, targets: OtlpTargets, redactor: Redactor) -> Working {
        let (writer, exporter) = (TaskGroup::new(), TaskGroup::new());
        let store = EventStore::open(self.dir.path(), &writer, SystemClock::new()).await.unwrap();
        if store.head() == EventSeq(0) {
            let session = json!({ "roots": ["/w"] });
            let created = NewEvent { run: None, context: None, ..event("none", "session.created", &session) };
            store.append(vec![created]).await.unwrap();
        }
        let (counts, stop) = (Arc::new(OtlpCounts::default()), CancellationToken::new());
        let targets = watch::Sender::new(Arc::new(targets));
        let parts = ExporterParts {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            redactor: Arc::new(HotSwap::new(redactor)),
            targets: targets.subscribe(),
            counts: Arc::clone(&counts),
            version: "1.2.3",
            instance: "it".to_owned(),
            started_at: Timestamp(1_700_000_000_000_000),
            stop: stop.clone(),
        };
        let following = store.clone();
        exporter.spawn("an exporter", async move { TraceExporter::new(following, parts).run().await });
        Working { store, counts, targets, stop, writer, exporter }
    }

    /// Lets time pass until it is so: what waits for the clock sleeps anew, so it is moved again and again.
    async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let waiting = async {
            while !is_so() {
                self.clock.advance(Duration::from_millis(500));
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }

    /// Waits until so many spans were taken, those that came twice counted twice.
    async fn taken(&self, receiver: &Receiver, spans: usize) -> Vec<Span> {
        self.until("a span", || spans <= receiver.spans().len()).await;
        receiver.spans()
    }
}

impl Working {
    async fn stop(self) {
        self.stop.cancel();
        self.exporter.close();
        timeout(STUCK, self.exporter.wait()).await.expect("the exporter did not end");
        self.store.close().await;
        drop(self.store);
        self.writer.close();
        timeout(STUCK, self.writer.wait()).await.expect("the writer did not end");
    }

    /// As if the process ended in the middle.
    async fn kill(self) {
        // Without a word: nothing is sent any more.
        drop(self.targets);
        self.exporter.close();
        timeout(STUCK, self.exporter.wait()).await.expect("the exporter did not end");
        self.store.close().await;
        drop(self.store);
        self.writer.close();
        timeout(STUCK, self.writer.wait()).await.expect("the writer did not end");
    }

    async fn append(&self, events: impl IntoIterator<Item = NewEvent>) {
        self.store.append(events.into_iter().collect()).await.unwrap();
    }

    /// Waits until what happens from now on is followed.
    async fn begun(&self) {
        self.noted(|place| !place.is_empty()).await;
    }

    async fn forgotten(&self) {
        self.noted(str::is_empty).await;
    }

    /// Waits until all that there is was sent, and the database says so.
    async fn until_kept(&self, place: &Place) {
        place.until("the end of the backlog", || self.counts.backlog() == 0).await;
        let head = self.store.head().to_string();
        self.noted(|place| place == head).await;
    }

    async fn noted(&self, is_so: impl Fn(&str) -> bool) {
        let waiting = async {
            while !self.store.note("otlp.traces").await.unwrap().is_some_and(|it| is_so(&it)) {
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.expect("the place was not kept");
    }
}

/// Time is the test's own here, so no request may run into its deadline.
fn to(receiver: &Receiver, protocol: &str) -> OtlpTargets {
    let target = OtlpTarget { timeout: Duration::from_secs(1 << 30), ..target(receiver, protocol) };
    OtlpTargets { traces: Some(target), max_backlog: 1_000_000, ..OtlpTargets::default() }
}

pub(super) fn event(run: &str, kind: &str, data: &Value) -> NewEvent {
    let body = EventBody::parse(kind, &data.to_string()).unwrap().unwrap();
    NewEvent {
        at: Timestamp(1_700_000_000_000_000),
        session: Some(SessionId::from("s")),
        run: Some(RunId::from(run)),
        context: Some(ContextId::from("c")),
        head: EventHead { agent: Some(AgentName::from("lead")), ..EventHead::default() },
        body,
        private: PrivateEventFields::default(),
    }
}

pub(super) fn begin(run: &str, prompt: &str) -> NewEvent {
    let data = json!({
        "agent": "lead", "title": "Lead", "digest": "sha256:0", "model": "offline", "contextId": "c", "query": prompt,
        "prompt": prompt, "inputs": {}, "completion": "tool", "depth": 0, "rootRunId": run,
        "limits": { "maxTurns": 3, "graceMs": 1, "maxDepth": 4 },
    });
    event(run, "run.started", &data)
}

pub(super) fn turn(run: &str, turn: u32) -> [NewEvent; 2] {
    let ended = json!({ "turn": turn, "toolCalls": 0 });
    [event(run, "turn.started", &json!({ "turn": turn })), event(run, "turn.completed", &ended)]
}

pub(super) fn end(run: &str) -> NewEvent {
    let data = json!({
        "reason": "GOAL", "result": "done", "usage": Usage::default(), "turns": 1, "toolCalls": 0, "activeMs": 7,
        "childUsage": Usage::default(), "filesChanged": [],
    });
    event(run, "run.completed", &data)
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

/// Different spans: what came twice is one.
fn ids(spans: &[Span]) -> BTreeSet<(Vec<u8>, Vec<u8>)> {
    spans.iter().map(|span| (span.trace_id.clone(), span.span_id.clone())).collect()
}

fn sent(counts: &OtlpCounts) -> (u64, u64) {
    let SignalCounts { sent, dropped, .. } = counts.of(OtlpSignal::Traces);
    (sent, dropped)
}

#[tokio::test]
async fn a_collector_that_was_away_gets_each_span_once() {
    let place = Place::new();
    let away = Receiver::http([]).await;
    let targets = to(&away, "http/protobuf");
    let port = away.port;
    drop(away);
    let working = place.open(targets).await;
    working.begun().await;
    for run in ["a", "b"] {
        working.append([begin(run, "go")]).await;
        working.append(turn(run, 1)).await;
        place.until("a failure", || 2 < working.counts.of(OtlpSignal::Traces).failures).await;
    }
    working.append([end("a"), end("b")]).await;
    place.until("a backlog", || 0 < working.counts.backlog()).await;
    let receiver = Receiver::on(port, false, [].into()).await;
    let spans = place.taken(&receiver, 4).await;
    assert_eq!(names(&spans), ["turn 1", "turn 1", "invoke_agent lead", "invoke_agent lead"]);
    assert_eq!(ids(&spans).len(), 4);
    place
        .until("the end of the backlog", || sent(&working.counts) == (4, 0) && working.counts.backlog() == 0)
        .await;
    working.stop().await;
    // The next one knows what was taken.
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    working.append([begin("c", "go"), end("c")]).await;
    assert_eq!(place.taken(&receiver, 5).await.len(), 5);
    working.stop().await;
}

#[tokio::test]
async fn who_ends_in_the_middle_goes_on_with_the_spans_that_were_open() {
    let place = Place::new();
    let receiver = Receiver::grpc([]).await;
    let working = place.open(to(&receiver, "grpc")).await;
    working.begun().await;
    working.append([begin("a", "the beginning")]).await;
    working.append(turn("a", 1)).await;
    let first = place.taken(&receiver, 1).await;
    working.until_kept(&place).await;
    working.kill().await;
    let working = place.open(to(&receiver, "grpc")).await;
    working.append([end("a")]).await;
    let spans = place.taken(&receiver, 2).await;
    assert_eq!(names(&spans), ["turn 1", "invoke_agent lead"]);
    // The turn lies within the run, as it was told before the run's end was.
    assert_eq!(first[0].parent_span_id, spans[1].span_id);
    assert_eq!(first[0].trace_id, spans[1].trace_id);
    let asked = spans[1].attributes.iter().find(|it| it.key == "gen_ai.input.messages").unwrap();
    assert!(format!("{asked:?}").contains("the beginning"), "{asked:?}");
    working.stop().await;
}

#[tokio::test]
async fn a_lost_answer_brings_the_same_span_again() {
    for (protocol, is_grpc) in [("http/json", false), ("grpc", true)] {
        let place = Place::new();
        let receiver = Receiver::on(0, is_grpc, [Answer::Vanish].into()).await;
        let working = place.open(to(&receiver, protocol)).await;
        working.begun().await;
        working.append([begin("a", "go"), end("a")]).await;
        let spans = place.taken(&receiver, 2).await;
        assert_eq!((spans.len(), ids(&spans).len()), (2, 1));
        assert_eq!(spans[0], spans[1]);
        place.until("the answer", || sent(&working.counts) == (1, 0)).await;
        working.stop().await;
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_an_answer() {
    let place = Place::new();
    let receiver = Receiver::http([Answer::Halting]).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    for run in ["a", "b"] {
        working.append([begin(run, "go"), end(run)]).await;
        place.taken(&receiver, if run == "a" { 1 } else { 2 }).await;
    }
    assert_eq!(ids(&receiver.spans()).len(), 2);
    place.until("both", || sent(&working.counts) == (2, 0)).await;
    working.stop().await;
}

#[tokio::test]
async fn what_was_deleted_is_not_sent_any_more() {
    let place = Place::new();
    let away = Receiver::http([]).await;
    let (targets, port) = (to(&away, "http/protobuf"), away.port);
    drop(away);
    let working = place.open(targets).await;
    working.begun().await;
    working.append([begin("a", "go"), end("a")]).await;
    place.until("a failure", || 0 < working.counts.of(OtlpSignal::Traces).failures).await;
    let tombstone =
        NewEvent { run: None, context: None, ..event("none", "session.deleted", &json!({ "events": 0 })) };
    working.store.delete_session(&SessionId::from("s"), tombstone).await.unwrap();
    let receiver = Receiver::on(port, false, [].into()).await;
    place.until("the drop", || sent(&working.counts) == (0, 1)).await;
    working.stop().await;
    assert_eq!(receiver.spans(), []);
}

#[tokio::test]
async fn what_is_refused_is_dropped_and_counted_and_the_next_comes() {
    let place = Place::new();
    let fails = std::iter::repeat_n(Answer::Status(500, ""), 8);
    // It takes what is empty in between, so the batch is what it fails on.
    let script = [Answer::Status(400, ""), Answer::Reject(1)].into_iter().chain(fails);
    let script = script.chain([Answer::Reject(0), Answer::Status(500, "")]);
    let receiver = Receiver::http(script.collect::<Vec<_>>()).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    for (run, given_up) in [("a", 1), ("b", 2), ("c", 3)] {
        working.append([begin(run, "go"), end(run)]).await;
        place.until("a drop", || sent(&working.counts).1 == given_up).await;
    }
    // With one that asked whether anything is taken.
    assert_eq!(receiver.received().len(), 12);
    working.append([begin("d", "go"), end("d")]).await;
    place.until("the next", || sent(&working.counts) == (1, 3)).await;
    working.stop().await;
}

#[tokio::test]
async fn a_collector_that_fails_on_everything_loses_nothing() {
    for (protocol, is_grpc) in [("http/protobuf", false), ("http/json", false), ("grpc", true)] {
        let place = Place::new();
        let fails = std::iter::repeat_with(|| match is_grpc {
            true => Answer::Grpc(13, None),
            false => Answer::Status(500, ""),
        });
        let receiver = Receiver::on(0, is_grpc, fails.take(30).collect()).await;
        let working = place.open(to(&receiver, protocol)).await;
        working.begun().await;
        working.append([begin("a", "go"), end("a")]).await;
        place.until("the end of it", || sent(&working.counts) == (1, 0)).await;
        assert_eq!(working.counts.refusal(OtlpSignal::Traces), None);
        working.stop().await;
    }
}

#[tokio::test]
async fn only_so_much_waits_and_what_is_older_is_counted() {
    let place = Place::new();
    let away = Receiver::http([]).await;
    let targets = OtlpTargets { max_backlog: 10, ..to(&away, "http/protobuf") };
    let port = away.port;
    drop(away);
    let working = place.open(targets.clone()).await;
    working.begun().await;
    working.append([begin("a", "go")]).await;
    for number in 1..=20 {
        working.append(turn("a", number)).await;
        let failures = working.counts.of(OtlpSignal::Traces).failures;
        let is_tried_again = || failures < working.counts.of(OtlpSignal::Traces).failures;
        place.until("a try", is_tried_again).await;
    }
    let receiver = Receiver::on(port, false, [].into()).await;
    place.until("the newest", || receiver.spans().iter().any(|it| it.name == "turn 20")).await;
    let all = || sent(&working.counts).0 + sent(&working.counts).1;
    place.until("the answer", || all() == 20).await;
    let (spans, (taken, _)) = (receiver.spans(), sent(&working.counts));
    assert_eq!(spans.len() as u64, taken);
    // The newest that fit, and at most a batch that was being sent.
    assert!(taken <= 7 && names(&spans).contains(&"turn 18"), "{:?}", names(&spans));
    working.stop().await;
}

/// What waits for the collector is told as narrowly as the settings say by then.
#[tokio::test]
async fn settings_that_are_narrowed_hold_for_what_waits() {
    let place = Place::new();
    let away = Receiver::http([]).await;
    let port = away.port;
    let targets = to(&away, "http/protobuf");
    drop(away);
    let working = place.open(targets.clone()).await;
    working.begun().await;
    working.append([begin("a", "the prompt")]).await;
    working.append(calls("a")).await;
    place.until("a try", || working.counts.of(OtlpSignal::Traces).failures != 0).await;
    let tracing = RunTracing { content: TraceContent::None, ..RunTracing::default() };
    working.targets.send_replace(Arc::new(OtlpTargets { tracing, ..targets }));
    let receiver = Receiver::on(port, false, [].into()).await;
    let sent = format!("{:?}", place.taken(&receiver, 4).await);
    for text in ["the prompt", "the argument", "the error"] {
        assert!(!sent.contains(text), "{text}: {sent}");
    }
    working.stop().await;
}

#[tokio::test]
async fn what_happened_while_nothing_was_sent_is_not_sent_later() {
    let place = Place::new();
    let receiver = Receiver::http([]).await;
    let working = place.open(OtlpTargets::default()).await;
    working.append([begin("a", "go"), end("a"), begin("b", "go")]).await;
    let targets = to(&receiver, "http/protobuf");
    working.targets.send_replace(Arc::new(targets.clone()));
    working.begun().await;
    working.append([end("b")]).await;
    assert_eq!(place.taken(&receiver, 1).await.len(), 1);
    working.until_kept(&place).await;
    working.targets.send_replace(Arc::default());
    working.forgotten().await;
    working.append([begin("c", "go"), end("c")]).await;
    working.targets.send_replace(Arc::new(targets));
    working.begun().await;
    working.append([begin("d", "go"), end("d")]).await;
    assert_eq!(place.taken(&receiver, 2).await.len(), 2);
    working.stop().await;
}

#[tokio::test]
async fn a_new_target_counts_at_once_and_gets_what_the_other_never_took() {
    let place = Place::new();
    let deaf = Receiver::http([Answer::Silence]).await;
    let working = place.open(to(&deaf, "http/protobuf")).await;
    working.begun().await;
    working.append([begin("a", "go"), end("a")]).await;
    place.until("the first try", || !deaf.received().is_empty()).await;
    let receiver = Receiver::grpc([]).await;
    working.targets.send_replace(Arc::new(to(&receiver, "grpc")));
    assert_eq!(place.taken(&receiver, 1).await.len(), 1);
    working.stop().await;
}

#[tokio::test]
async fn who_stops_says_what_there_is() {
    let place = Place::new();
    let receiver = Receiver::http([]).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    working.append([begin("a", "go"), end("a")]).await;
    // The clock stands still, so nothing is sent by itself.
    working.stop().await;
    assert_eq!(receiver.spans().len(), 1);
    // And nobody is waited for who does not take it.
    let receiver = Receiver::http([Answer::Silence]).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    working.append([begin("b", "go"), end("b")]).await;
    timeout(Duration::from_secs(20), working.stop()).await.expect("it waited");
}

#[tokio::test]
async fn batches_are_bounded_however_much_waits() {
    let place = Place::new();
    let away = Receiver::http([]).await;
    let targets = to(&away, "http/protobuf");
    let port = away.port;
    drop(away);
    let working = place.open(targets).await;
    working.begun().await;
    let long = "x".repeat(15_000);
    for run in 0..300 {
        working.append([begin(&format!("run-{run}"), &long), end(&format!("run-{run}"))]).await;
    }
    working.append([begin("turns", "go")]).await;
    working.append((1..=1_500).flat_map(|number| turn("turns", number)).collect::<Vec<_>>()).await;
    let receiver = Receiver::on(port, false, [].into()).await;
    let spans = place.taken(&receiver, 1_800).await;
    assert_eq!((spans.len(), ids(&spans).len()), (1_800, 1_800));
    for received in receiver.received() {
        let request = received.traces();
        let spans = request.resource_spans[0].scope_spans[0].spans.len();
        assert!(spans <= 512 && received.body.len() < 2 << 20, "{spans} {}", received.body.len());
    }
    working.stop().await;
}

#[tokio::test]
async fn secrets_that_were_learned_later_are_hidden_as_well() {
    let place = Place::new();
    let receiver = Receiver::http([]).await;
    let known = [("MY_TOKEN".to_owned(), "hunter2hunter2".to_owned())].into_iter();
    let redactor = Redactor::new(RedactorParts { environment: known, patterns: Vec::new() });
    let working = place.open_hiding(to(&receiver, "http/json"), redactor).await;
    working.begun().await;
    working.append([begin("a", "use hunter2hunter2 for it"), end("a")]).await;
    place.taken(&receiver, 1).await;
    let body = String::from_utf8(receiver.received()[0].body.clone()).unwrap();
    assert!(!body.contains("hunter2") && body.contains("[redacted:env:MY_TOKEN]"), "{body}");
    working.stop().await;
}

/// Begins as an agent's file has it.
pub(super) fn begin_traced(run: &str, tracing: &Value) -> NewEvent {
    let mut data: Value = serde_json::from_str(&begin(run, "the prompt").body.data_json().unwrap()).unwrap();
    data["tracing"] = tracing.clone();
    event(run, "run.started", &data)
}

pub(super) fn calls(run: &str) -> Vec<NewEvent> {
    let [turn_began, turn_ended] = turn(run, 1);
    let state = |more: Value| {
        let mut data = json!({ "callId": format!("{run}-call"), "name": "read_file" });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event(run, "tool.state", &data)
    };
    vec![
        turn_began,
        event(run, "model.started", &json!({ "model": "offline", "stream": "x", "attempt": 1 })),
        state(json!({ "to": "validating", "arguments": { "path": "the argument" } })),
        state(json!({ "to": "error", "error": { "type": "FILE_NOT_FOUND", "message": "the error" } })),
        turn_ended,
        end(run),
    ]
}

/// Where calls are not sent, the requests between which they lie do not tell of them either.
#[tokio::test]
async fn requests_alone_bring_neither_arguments_nor_results_of_calls() {
    let place = Place::new();
    let receiver = Receiver::http([]).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    let mut before = 0;
    for (run, events, spans, texts) in [
        ("all", json!(["llm", "tool"]), 5, vec!["the argument", "the result"]),
        ("llm", json!(["llm"]), 4, vec![]),
    ] {
        let tracing = json!({ "backends": ["otlp"], "content": "full", "sampleRate": 1.0, "events": events });
        working.append([begin_traced(run, &tracing)]).await;
        let [turn_began, turn_ended] = turn(run, 1);
        let call = format!("{run}-call");
        let asked = json!({ "model": "offline", "stream": "x", "text": "", "usage": {}, "calls": [call] });
        let state = |more: Value| {
            let mut data = json!({ "callId": call, "name": "read_file" });
            data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            event(run, "tool.state", &data)
        };
        let result = json!({ "llmContent": [{ "type": "text", "text": "the result" }] });
        working
            .append(vec![
                turn_began,
                event(run, "model.started", &json!({ "model": "offline", "stream": "x", "attempt": 1 })),
                event(run, "model.completed", &asked),
                state(json!({ "to": "validating", "arguments": { "path": "the argument" } })),
                state(json!({ "to": "success", "result": result })),
                event(run, "model.started", &json!({ "model": "offline", "stream": "y", "attempt": 1 })),
                event(
                    run,
                    "model.completed",
                    &json!({ "model": "offline", "stream": "y", "text": "z", "usage": {}, "calls": [] }),
                ),
                turn_ended,
                end(run),
            ])
            .await;
        before += spans;
        let taken = place.taken(&receiver, before).await;
        let shown = format!("{:?}", &taken[before - spans..]);
        let found: Vec<&str> =
            ["the argument", "the result"].into_iter().filter(|text| shown.contains(text)).collect();
        assert_eq!(found, texts, "{run}: {shown}");
    }
}

#[tokio::test]
async fn an_agent_says_which_of_its_spans_are_sent_and_how_much_of_them() {
    let place = Place::new();
    let receiver = Receiver::http([]).await;
    let working = place.open(to(&receiver, "http/protobuf")).await;
    working.begun().await;
    let usual = json!({ "backends": ["otlp"], "content": "full", "sampleRate": 1.0 });
    let with = |more: Value| {
        let mut tracing = usual.clone();
        tracing.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tracing
    };
    let mut all = String::new();
    let mut before = 0;
    for (run, tracing, spans) in [
        ("full", usual.clone(), 4),
        ("redacted", with(json!({ "content": "redacted" })), 4),
        ("none", with(json!({ "content": "none" })), 4),
        ("unsampled", with(json!({ "sampleRate": 0.0 })), 4),
        ("tools", with(json!({ "events": ["tool"] })), 3),
        ("few", with(json!({ "events": [] })), 2),
        ("nowhere", with(json!({ "backends": [] })), 0),
    ] {
        working.append([begin_traced(run, &tracing)]).await;
        working.append(calls(run)).await;
        before += spans;
        // What comes last shows that nothing came of the others.
        let taken = place.taken(&receiver, before).await;
        let texts: Vec<&str> = ["the prompt", "the argument", "the error", "bytes]"]
            .into_iter()
            .filter(|text| format!("{:?}", &taken[before - spans..]).contains(text))
            .collect();
        all += &format!("{run}: {:?} {texts:?}\n", names(&taken[before - spans..]));
    }
    working.append([begin("last", "go"), end("last")]).await;
    assert_eq!(names(&place.taken(&receiver, before + 1).await)[before..], ["invoke_agent lead"]);
    expect_test::expect![[r#"
        full: ["execute_tool read_file", "chat offline", "turn 1", "invoke_agent lead"] ["the prompt", "the argument", "the error"]
        redacted: ["execute_tool read_file", "chat offline", "turn 1", "invoke_agent lead"] ["bytes]"]
        none: ["execute_tool read_file", "chat offline", "turn 1", "invoke_agent lead"] []
        unsampled: ["execute_tool read_file", "chat offline", "turn 1", "invoke_agent lead"] []
        tools: ["execute_tool read_file", "turn 1", "invoke_agent lead"] ["the prompt", "the argument", "the error"]
        few: ["turn 1", "invoke_agent lead"] ["the prompt"]
        nowhere: [] []
    "#]].assert_eq(&all);
    // What is left out leaves no gap: the call lies within the turn, the turn within the run.
    let spans = receiver.spans();
    for span in spans.iter().filter(|span| !span.parent_span_id.is_empty()) {
        assert!(spans.iter().any(|it| it.span_id == span.parent_span_id), "{span:?}");
    }
    working.stop().await;
}

#[tokio::test]
async fn json_and_protobuf_say_what_the_export_says() {
    let place = Place::new();
    let (json, protobuf) = (Receiver::http([]).await, Receiver::http([]).await);
    let working = place.open(to(&json, "http/json")).await;
    working.begun().await;
    working.append([begin("a", "go")]).await;
    working.append(turn("a", 1)).await;
    working.append([end("a")]).await;
    let spans = place.taken(&json, 2).await;
    working.kill().await;
    // The same events in the other form.
    let forms = [json.received()[0].traces(), json.received()[0].traces()];
    assert_eq!(forms[0].resource_spans[0].scope_spans[0].spans, spans);
    let other = Place::new();
    let working = other.open(to(&protobuf, "http/protobuf")).await;
    working.begun().await;
    working.append([begin("a", "go")]).await;
    working.append(turn("a", 1)).await;
    working.append([end("a")]).await;
    other.taken(&protobuf, 2).await;
    assert_eq!(protobuf.received()[0].traces(), forms[0]);
    // As a document for people has it, but for who says it.
    let mut fold = SpanFold::new();
    let mut timeline = TraceTimeline::new();
    let writer = TraceWriter::new(TraceFormat::Otlp, "1.2.3");
    let mut document = writer.opening();
    let mut is_first = true;
    for event in working.store.page(&LogFilter::default(), EventSeq(0), 100).await.unwrap().events {
        for edge in fold.apply(&event.to_envelope().unwrap()) {
            let before = document.len();
            let place = timeline.place(&edge);
            writer.write(&edge, place, is_first, &mut document);
            is_first &= document.len() == before;
        }
    }
    document += writer.closing();
    let document: Value = serde_json::from_str(&document).unwrap();
    let exported: ExportTraceServiceRequest = serde_json::from_value(document).unwrap();
    assert_eq!(exported.resource_spans[0].scope_spans, forms[0].resource_spans[0].scope_spans);
    let text: Value = serde_json::from_slice(&json.received()[0].body).unwrap();
    let of_turn = &text["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(of_turn["traceId"].as_str().unwrap().len(), 32, "{of_turn}");
    assert_eq!(of_turn["startTimeUnixNano"], "1700000000000000000", "{of_turn}");
    working.stop().await;
}
