//! A folder on disk and calls into it, for the tests of all tools; and the promises of running a call.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::*;
use protocol::{ToolKind, ToolName, ToolSelection};
use redact::RedactorParts;
use sys::clock::{ManualClock, SystemClock};
use web::WebTransport;

/// A workspace in a folder of its own.
pub(super) struct Bench {
    _folder: tempfile::TempDir,
    pub workspace: Arc<Workspace>,
    pub output: OutputLimits,
    pub redactor: Redactor,
    pub own_files: Arc<OwnFiles>,
    pub reads: SeenFileDigests,
    pub cancel: CancellationToken,
    pub clock: Arc<dyn Clock>,
    pub media: MediaSupport,
}

impl Bench {
    pub fn new(files: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        let workspace = Arc::new(Workspace::open(&[folder.path().join("ws")]).unwrap());
        let clock = SystemClock::new();
        let output = OutputLimits::default();
        let cancel = CancellationToken::new();
        let base = folder.path();
        let own_files = Arc::new(OwnFiles::new(&base.join("config"), &base.join("state"), []));
        let (redactor, reads) = (Redactor::none(), SeenFileDigests::default());
        let media = MediaSupport::default();
        let bench =
            Bench { _folder: folder, workspace, output, redactor, own_files, reads, cancel, clock, media };
        for (path, content) in files {
            bench.write(path, content.as_bytes());
        }
        bench
    }

    /// The workspace's folder.
    pub fn root(&self) -> PathBuf {
        self.workspace.roots().next().unwrap().to_owned()
    }

    /// A folder beside the workspace.
    pub fn outside(&self) -> PathBuf {
        self.root().parent().unwrap().to_owned()
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root().join(path)).unwrap();
    }

    pub fn age(&self, path: &str, modified: Duration) {
        let file = fs::File::options().write(true).open(self.root().join(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + modified).unwrap();
    }

    pub fn prepare_context(&self) -> PrepareContext {
        PrepareContext {
            workspace: Arc::clone(&self.workspace),
            output: self.output,
            redactor: self.redactor.clone(),
            own_files: Arc::clone(&self.own_files),
            reads: self.reads.clone(),
            skills: ActiveSkills::default(),
            session: Some("s1".into()),
            commands: Arc::new(CommandRuntime::none()),
            command_rules: CommandRules::default(),
            web: Arc::new(WebClient::new(WebTransport::system(), Vec::new(), Arc::clone(&self.clock))),
            web_rules: WebRules::default(),
            media: self.media,
            same_rules: None,
            may_tell: None,
            memory: crate::MemoryTarget::default(),
        }
    }

    pub fn call_context(&self) -> CallContext {
        CallContext {
            session: "s1".into(),
            cancel: self.cancel.clone(),
            deadline: None,
            clock: Arc::clone(&self.clock),
            output: None,
            retelling: CallRedelivery::default(),
            model_access: None,
            people: ToolElicitation::nobody(),
            span: None,
        }
    }

    /// Prepares a call with every tool on offer.
    pub async fn prepare(&self, tool: &str, arguments: Value) -> Result<Box<dyn Invocation>, ToolError> {
        // A few come only to those who name them.
        let allow = Some(vec!["*".into(), "search_docs".into()]);
        let selection = ToolSelection { allow, ..ToolSelection::default() };
        let toolset = ToolRegistry::built_in().select(&selection);
        toolset.prepare(&tool.into(), arguments, &self.prepare_context()).await.outcome
    }

    /// Prepares a call and runs it with a fitting permit. A refusal looks as it does to a model.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        match self.prepare(tool, arguments).await {
            Ok(invocation) => self.run(invocation).await,
            Err(error) => ToolResult::failure(error.kind, error.message),
        }
    }

    /// Runs a prepared call with a fitting permit.
    pub async fn run(&self, invocation: Box<dyn Invocation>) -> ToolResult {
        let permit = Permit::mint("c1".into(), invocation.accesses().to_vec());
        run(invocation, permit, self.call_context()).await
    }

    /// The same with folders of the workspace as the daemon's own, and `socket` as its socket.
    pub fn owning(mut self, config: &str, state: &str, socket: &str) -> Bench {
        let own = |path: &str| self.root().join(path);
        self.own_files = Arc::new(OwnFiles::new(&own(config), &own(state), [own(socket)]));
        self
    }

    /// What the model reads, with the workspace's own path written `ROOT`.
    pub async fn text(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        let text: String = result.llm_content.iter().filter_map(|part| part.as_text()).collect();
        text.replace(self.root().to_str().unwrap(), "ROOT")
    }
}

/// A secret, and who finds it.
pub(super) const SECRET: &str = "correct-horse-battery-staple-42";

pub(super) fn redactor() -> Redactor {
    let environment = std::iter::once(("MY_TOKEN".to_owned(), SECRET.to_owned()));
    Redactor::new(RedactorParts { environment, patterns: Vec::new() })
}

/// Not even a part of the secret is left, once the driver has hidden the whole ones.
pub(super) fn assert_hidden(text: &str) {
    let text = redactor().text(text).into_owned();
    let parts = SECRET.as_bytes().windows(6).map(|part| str::from_utf8(part).unwrap());
    let left: Vec<&str> = parts.filter(|part| text.contains(part)).collect();
    assert_eq!(left, Vec::<&str>::new(), "{text}");
}

/// `path-bytes:` for `bytes`.
pub(super) fn path_bytes(bytes: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    format!("path-bytes:{text}")
}

pub(super) fn os_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// A tool whose calls do what the test says.
pub(super) struct Probe {
    declaration: ToolDeclaration,
    panics_in: Option<&'static str>,
}

impl Probe {
    pub fn named(name: &str) -> Arc<dyn Tool> {
        Probe::panicking(name, None)
    }

    pub fn panicking(name: &str, panics_in: Option<&'static str>) -> Arc<dyn Tool> {
        let declaration = ToolDeclaration {
            name: name.into(),
            title: String::new(),
            description: String::new(),
            kind: ToolKind::Other,
            risk: protocol::Risk::Safe,
            parameters: json!({"type": "object", "properties": {"filePath": {"type": "string"}}}),
        };
        Arc::new(Probe { declaration, panics_in })
    }
}

impl Tool for Probe {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplaySafety {
        ReplaySafety::Safe
    }

    fn prepare<'a>(
        &'a self,
        _: Value,
        _: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>> {
        assert!(self.panics_in != Some("prepare"), "secret detail");
        let panics_in = self.panics_in;
        Box::pin(async move { Ok::<Box<dyn Invocation>, _>(Box::new(ProbeCall { panics_in })) })
    }
}

struct ProbeCall {
    panics_in: Option<&'static str>,
}

impl Invocation for ProbeCall {
    fn accesses(&self) -> &[ResourceAccess] {
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        String::new()
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _: Permit, _: CallContext) -> BoxFuture<'static, ToolResult> {
        assert!(self.panics_in != Some("run"), "secret detail");
        Box::pin(async move {
            assert!(self.panics_in != Some("future"), "secret detail");
            ToolResult::text("ran")
        })
    }
}

#[tokio::test]
async fn a_panic_ends_the_call_and_tells_nothing_of_our_inside() {
    let bench = Bench::new(&[]);
    for place in ["prepare", "run", "future"] {
        let registry = ToolRegistry::with(vec![Probe::panicking("probe", Some(place))]);
        let selection = ToolSelection { allow: Some(vec!["probe".into()]), ..ToolSelection::default() };
        let toolset = registry.select(&selection);
        let name = ToolName::from("probe");
        let prepared = toolset.prepare(&name, json!({}), &bench.prepare_context()).await;
        let error = match prepared.outcome {
            Err(error) => error,
            Ok(invocation) => {
                let permit = Permit::mint("c1".into(), vec![ResourceAccess::Nothing]);
                run(invocation, permit, bench.call_context()).await.error.unwrap()
            }
        };
        assert_eq!(error.kind, ToolErrorType::UnhandledException, "{place}");
        assert!(!error.message.contains("secret"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_call_does_not_run_with_a_permit_for_something_else() {
    let bench = Bench::new(&[("a.txt", "secret"), ("b.txt", "")]);
    let invocation = bench.prepare("read_file", json!({"path": "a.txt"})).await.unwrap();
    let other = ResourceAccess::Read { path: bench.root().join("b.txt") };
    let result = run(invocation, Permit::mint("c1".into(), vec![other]), bench.call_context()).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::ExecutionFailed);
}

#[tokio::test]
async fn a_stopped_run_ends_every_tool_with_cancelled() {
    let bench = Bench::new(&[("a.txt", "hello")]);
    let calls = [
        ("read_file", json!({"path": "a.txt"})),
        ("read_many_files", json!({"include": ["**"]})),
        ("list_directory", json!({})),
        ("glob", json!({"pattern": "**"})),
        ("grep", json!({"pattern": "hello"})),
        ("write_file", json!({"path": "b.txt", "content": "b"})),
        ("edit_file", json!({"path": "a.txt", "oldString": "hello", "newString": "b"})),
        ("delete_file", json!({"path": "a.txt"})),
        ("move_file", json!({"from": "a.txt", "to": "b.txt"})),
        ("save_memory", json!({"fact": "likes tea", "scope": "project"})),
        ("write_todos", json!({"todos": []})),
        ("search_docs", json!({"query": "rules"})),
    ];
    bench.cancel.cancel();
    for (tool, arguments) in calls {
        let result = bench.call(tool, arguments).await;
        assert_eq!(result.error.unwrap().kind, ToolErrorType::Cancelled, "{tool}");
        assert_eq!(result.effects, [], "{tool}");
    }
    let left: Vec<_> = fs::read_dir(bench.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["a.txt"]);
    assert_eq!(fs::read_to_string(bench.root().join("a.txt")).unwrap(), "hello");
}

#[tokio::test]
async fn a_search_beyond_its_deadline_is_timed_out() {
    let bench = Bench::new(&[("a.txt", "hello")]);
    let clock = ManualClock::starting_at(protocol::Timestamp(0));
    let cx = CallContext { deadline: Some(Duration::ZERO), clock, ..bench.call_context() };
    let invocation = bench.prepare("grep", json!({"pattern": "hello"})).await.unwrap();
    let permit = Permit::mint("c1".into(), invocation.accesses().to_vec());
    let result = run(invocation, permit, cx).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::TimedOut);
}

#[test]
fn preparing_is_ready_at_the_first_poll() {
    let bench = Bench::new(&[("a.txt", "hello")]);
    for (tool, arguments) in [
        ("read_file", json!({"path": "a.txt"})),
        ("list_directory", json!({})),
        ("glob", json!({"pattern": "*"})),
        ("grep", json!({"pattern": "x"})),
        ("write_file", json!({"path": "b.txt", "content": "b"})),
        ("edit_file", json!({"path": "a.txt", "oldString": "hello", "newString": "b"})),
        ("delete_file", json!({"path": "a.txt"})),
        ("move_file", json!({"from": "a.txt", "to": "b.txt"})),
        ("save_memory", json!({"fact": "likes tea"})),
        ("write_todos", json!({"todos": []})),
        ("ask_user", json!({"questions": [{"question": "Tea?"}]})),
        ("search_docs", json!({"query": "rules"})),
    ] {
        let prepared = bench.prepare(tool, arguments).now_or_never();
        assert!(prepared.is_some_and(|outcome| outcome.is_ok()), "{tool}");
    }
}
