//! Does every span come to its file once, whatever ends in between?

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use tokio::task::JoinHandle;

use super::{
    following::{begin, begin_traced, calls, end, event},
    *,
};

/// A store, and the folder of the files beside it.
struct Place {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

struct Writing {
    store: EventStore,
    in_force: watch::Sender<LocalTracing>,
    most_bytes: watch::Sender<u64>,
    stop: CancellationToken,
    work: JoinHandle<()>,
    tasks: TaskGroup,
    writer: TaskGroup,
}

impl Place {
    fn new() -> Place {
        let clock = ManualClock::starting_at(Timestamp(1_700_000_000_000_000));
        Place { dir: tempfile::tempdir().unwrap(), clock }
    }

    async fn open(&self, backends: &[protocol::TraceBackend]) -> Writing {
        self.open_hiding(backends, Redactor::none()).await
    }

    async fn open_hiding(&self, backends: &[protocol::TraceBackend], redactor: Redactor) -> Writing {
        let (writer, tasks) = (TaskGroup::new(), TaskGroup::new());
        let store = EventStore::open(self.dir.path(), &writer, SystemClock::new()).await.unwrap();
        if store.head() == EventSeq(0) {
            let created = created("s");
            store.append(vec![created]).await.unwrap();
        }
        let (in_force, most_bytes) = (watch::Sender::new(wanted(backends)), watch::Sender::new(1 << 30));
        let stop = CancellationToken::new();
        let parts = LocalSpanParts {
            store: store.clone(),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            redactor: Arc::new(HotSwap::new(redactor)),
            in_force: in_force.subscribe(),
            stop: stop.clone(),
        };
        let files = SpanFiles::new(self.folder(), most_bytes.subscribe());
        let work = tasks.spawn("a writer of files", LocalSpans::new(parts, files).run());
        Writing { store, in_force, most_bytes, stop, work, tasks, writer }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("traces")
    }

    fn file(&self) -> PathBuf {
        self.folder().join("2023-11-14/session-s.jsonl")
    }

    /// The spans of a file; none where there is no file.
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        // The last line may be being written.
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    async fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let waiting = async {
            while !is_so() {
                self.clock.advance(Duration::from_millis(500));
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }
}

impl Writing {
    async fn append(&self, events: impl IntoIterator<Item = NewEvent>) {
        self.store.append(events.into_iter().collect()).await.unwrap();
    }

    /// Waits until what happens from now on is followed.
    async fn begun(&self) {
        let waiting = async {
            while self.store.note("file.traces").await.unwrap().is_none_or(|place| place.is_empty()) {
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.expect("it does not begin");
    }

    async fn stop(self) {
        self.stop.cancel();
        self.end().await;
    }

    /// Ends it as if the process ended in the middle: no last words.
    async fn kill(self) {
        self.work.abort();
        self.end().await;
    }

    async fn end(self) {
        self.tasks.close();
        timeout(STUCK, self.tasks.wait()).await.expect("the writer of files did not end");
        self.store.close().await;
        drop(self.store);
        self.writer.close();
        timeout(STUCK, self.writer.wait()).await.expect("the writer did not end");
    }
}

fn wanted(backends: &[protocol::TraceBackend]) -> LocalTracing {
    LocalTracing { backends: backends.to_vec(), ..LocalTracing::default() }
}

fn created(session: &str) -> NewEvent {
    let data = json!({ "roots": ["/w"] });
    let created = NewEvent { run: None, context: None, ..event("none", "session.created", &data) };
    NewEvent { session: Some(SessionId::from(session)), ..created }
}

const FILE: &[protocol::TraceBackend] = &[protocol::TraceBackend::File];

fn whole() -> Value {
    json!({ "backends": ["file"] })
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn each_span_is_a_line_once_though_the_daemon_ends_in_the_middle() {
    let place = Place::new();
    let writing = place.open(FILE).await;
    writing.begun().await;
    let before = writing.store.note("file.traces").await.unwrap().unwrap();
    writing.append([begin_traced("a", &whole())]).await;
    writing.append(calls("a")).await;
    place.until("four spans", || place.lines().len() == 4).await;
    assert_eq!((mode(&place.file()), mode(&place.folder())), (0o600, 0o700));
    writing.append([begin_traced("b", &whole())]).await;
    writing.kill().await;
    let whole_text = fs::read_to_string(place.file()).unwrap();
    // Killed before the place was remembered, and in the middle of a line.
    let store_tasks = TaskGroup::new();
    let store = EventStore::open(place.dir.path(), &store_tasks, SystemClock::new()).await.unwrap();
    store.leave_note("file.traces", before).await.unwrap();
    store.close().await;
    drop(store);
    store_tasks.close();
    store_tasks.wait().await;
    let mut lines: Vec<&str> = whole_text.lines().collect();
    let last = lines.pop().unwrap();
    fs::write(place.file(), format!("{}\n{}", lines.join("\n"), &last[..last.len() / 2])).unwrap();
    let writing = place.open(FILE).await;
    writing.append([end("b")]).await;
    place.until("five spans", || place.lines().len() == 5).await;
    writing.stop().await;
    let text = fs::read_to_string(place.file()).unwrap();
    assert!(text.starts_with(&whole_text), "{text}");
    let spans = place.lines();
    let kinds: Vec<&str> = spans.iter().map(|span| span["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool", "llm", "turn", "run", "run"]);
    let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 5);
}

#[tokio::test]
async fn files_go_with_their_session_also_while_nothing_is_written() {
    let place = Place::new();
    let tombstone =
        || NewEvent { run: None, context: None, ..event("none", "session.deleted", &json!({ "events": 0 })) };
    let writing = place.open(FILE).await;
    writing.begun().await;
    writing.append([created("kept")]).await;
    let of_kept = |event: NewEvent| NewEvent { session: Some(SessionId::from("kept")), ..event };
    writing.append([begin_traced("a", &whole()), end("a")]).await;
    writing.append([begin_traced("k", &whole()), end("k")].map(of_kept)).await;
    let kept = place.folder().join("2023-11-14/session-kept.jsonl");
    place.until("two files", || place.file().exists() && kept.exists()).await;
    // The settings want none any more.
    writing.in_force.send_replace(wanted(&[]));
    let forgotten = async {
        while writing.store.note("file.traces").await.unwrap().as_deref() != Some("") {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, forgotten).await.expect("the place is kept");
    writing.store.delete_session(&SessionId::from("s"), tombstone()).await.unwrap();
    place.until("the removal", || !place.file().exists()).await;
    assert!(kept.exists());
    // One that is deleted while nobody looks goes when somebody does.
    writing.kill().await;
    let tasks = TaskGroup::new();
    let store = EventStore::open(place.dir.path(), &tasks, SystemClock::new()).await.unwrap();
    let of_kept = NewEvent { session: Some(SessionId::from("kept")), ..tombstone() };
    store.delete_session(&SessionId::from("kept"), of_kept).await.unwrap();
    store.close().await;
    drop(store);
    tasks.close();
    tasks.wait().await;
    let writing = place.open(&[]).await;
    place.until("the removal", || !kept.exists()).await;
    writing.stop().await;
    assert!(fs::read_dir(place.folder()).unwrap().next().is_none(), "the day's folder is left");
}

#[tokio::test]
async fn only_what_the_run_says_is_written_without_its_secrets() {
    let place = Place::new();
    let environment = [("THE_TOKEN".to_owned(), "the prompt".to_owned())].into_iter();
    let redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let writing = place.open_hiding(FILE, redactor).await;
    writing.begun().await;
    writing.append([begin_traced("elsewhere", &json!({ "backends": ["otlp"] })), end("elsewhere")]).await;
    // Such as the log of a version before there were files.
    writing.append([begin("usual", "x"), end("usual")]).await;
    let sizes = json!({ "backends": ["file"], "events": [], "content": "redacted" });
    writing.append([begin_traced("sizes", &sizes)]).await;
    writing.append(calls("sizes")).await;
    writing.append([begin_traced("whole", &whole()), end("whole")]).await;
    place.until("three spans", || place.lines().len() == 3).await;
    writing.stop().await;
    let told: Vec<(String, String, String)> = place
        .lines()
        .iter()
        .map(|span| {
            let text = |at: &str| span.pointer(at).and_then(Value::as_str).unwrap_or("-").to_owned();
            (text("/runId"), text("/kind"), text("/input/text"))
        })
        .collect();
    let expected = [
        ("sizes", "turn", "-"),
        ("sizes", "run", "[10 bytes]"),
        ("whole", "run", "[redacted:env:THE_TOKEN]"),
    ];
    assert_eq!(told, expected.map(|(run, kind, text)| (run.to_owned(), kind.to_owned(), text.to_owned())));
}

/// A run may last days: what is narrowed meanwhile holds for all that is written after.
#[tokio::test]
async fn texts_that_are_switched_off_while_a_run_goes_on_are_not_written() {
    let place = Place::new();
    let writing = place.open(FILE).await;
    writing.begun().await;
    writing.append([begin_traced("a", &whole())]).await;
    let tracing = RunTracing { content: protocol::TraceContent::None, ..RunTracing::default() };
    writing.in_force.send_replace(LocalTracing { tracing, ..wanted(FILE) });
    writing.append(calls("a")).await;
    writing.append([end("a")]).await;
    place.until("the run's span", || place.lines().iter().any(|span| span["kind"] == "run")).await;
    writing.stop().await;
    let texts = |span: &Value| !span["input"].is_null() || !span["output"].is_null();
    assert!(!place.lines().iter().any(texts), "{:?}", place.lines());
}

#[tokio::test]
async fn the_oldest_files_go_when_there_is_too_much_and_no_link_is_followed() {
    let place = Place::new();
    let old = place.folder().join("2023-11-13");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("session-s.jsonl"), "x".repeat(100_000)).unwrap();
    fs::write(old.join("notes.txt"), "mine").unwrap();
    let elsewhere = place.dir.path().join("elsewhere");
    fs::write(&elsewhere, "untouched").unwrap();
    let writing = place.open(FILE).await;
    writing.most_bytes.send_replace(50_000);
    writing.begun().await;
    writing.append([begin_traced("a", &whole()), end("a")]).await;
    place.until("the span", || place.lines().len() == 1).await;
    place.until("the removal", || !old.join("session-s.jsonl").exists()).await;
    assert_eq!(fs::read_to_string(old.join("notes.txt")).unwrap(), "mine");
    fs::remove_file(place.file()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.file()).unwrap();
    writing.append([begin_traced("b", &whole()), end("b")]).await;
    // It is tried again and again, and what waits comes when it can.
    for _ in 0..50 {
        place.clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    fs::remove_file(place.file()).unwrap();
    place.until("the other span", || place.lines().len() == 1).await;
    writing.stop().await;
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
}
