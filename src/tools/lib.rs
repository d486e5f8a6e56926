//! Tools: what an agent can do (spec 05). Preparing a call may read but never write; running it consumes a
//! permit, which only the run's gate mints.

use std::{any::Any, panic::AssertUnwindSafe, path::Path, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use memory::{MemoryFileState, MemoryRules};
use models::MediaSupport;
use protocol::{
    CallId, CallLocation, ClientId, ClientToolCall, CommandConfinement, ConfirmationDetails, ExtensionRef,
    QuestionAnswer, ReplaySafety, ResourceAccess, Risk, SessionId, ShellCommand, ToolDeclaration, ToolError,
    ToolErrorType, ToolResult, ToolSource, TraceContext,
};
use redact::Redactor;
use store::LiveAppender;
use sys::clock::Clock;
use web::{WebClient, WebRules};

mod activate_skill;
mod artifacts;
pub mod attached;
mod autorun;
mod builtin;
mod commands;
mod digest;
mod discovered;
mod foreign;
mod git_settings;
mod glob_bounds;
mod large_changes;
mod lent;
mod links;
pub mod mcp;
mod model_access;
mod nearest;
mod outputs;
mod own_files;
mod parameters;
mod people;
mod program_log;
mod reads;
mod registry;
mod repositories;
mod skills;
mod spellings;
mod temporary;
#[cfg(test)]
mod tests;
mod undo;
mod walk;
mod work;
mod workspace;
mod workspace_reports;

pub use self::skills::{ActiveSkillCheck, ActiveSkillFolder, ActiveSkills};
pub use activate_skill::{
    ACTIVATE_SKILL, OfferedSkill, SkillSource, activate_skill, skill_event, skill_text,
};
pub use artifacts::{ArtifactFolder, remove_tree};
pub use attached::AttachmentContent;
pub use autorun::AutorunGuards;
pub use builtin::{MAX_INLINE_BYTES, WEB_SEARCH, whole_image};
pub use commands::{
    BackgroundCommands, CommandRules, CommandRuntime, CommandSupervision, ConfinedProgram, KeptPlaces,
    ServerCallWatch,
};
pub use discovered::{DiscoveryContext, DiscoveryResult, commands_in_force, discover};
pub use foreign::ForeignToolset;
pub use lent::{CallRedelivery, ClientToolRegistry, ToolRegistrationError};
pub use model_access::{ModelAccess, ModelAnswer, ModelConversation, ModelQuestion};
pub use nearest::nearest;
pub use outputs::OutputStore;
pub use own_files::OwnFiles;
pub use parameters::{canonical_arguments, is_schema, violations};
pub use people::{
    AnswerValidator, ElicitationOutcome, ElicitationRequest, PendingToolElicitation, ServerElicitation,
    ToolElicitation,
};
pub use program_log::ProgramLog;
pub use reads::SeenFileDigests;
pub use registry::{RunToolset, ToolExclusion, ToolLookup, ToolRegistry, ToolsetCall};
pub use repositories::{RepositoryNote, RepositoryNotes};
pub use spellings::{aliases_of, entry_allows, entry_matches};
pub use temporary::{TemporaryFolder, TemporaryFolders};
pub use undo::{InterruptedChange, InterruptedChangeState, RestoredChange, UndoError, UndoStore};
pub use walk::{FoldersWithFile, folders_with_file, outline};
pub use workspace::{
    BadRoot, ExistingFile, FileAttributes, IgnoreRules, OpenedPath, Workspace, WorkspaceError, WorkspacePath,
    WriteOutcome, WriteRequest, with_plain_paths,
};
pub use workspace_reports::{WorkspaceReport, WorkspaceReports};

/// A declaration and a factory of calls.
pub trait Tool: Send + Sync + 'static {
    fn declaration(&self) -> &ToolDeclaration;

    /// Where it comes from.
    fn source(&self) -> ToolSource {
        ToolSource::Builtin
    }

    /// What a restart may do with a call that was running.
    fn replay(&self) -> ReplaySafety;

    /// Whether calls put something out while they run, which is shown as it comes.
    fn streams(&self) -> bool {
        false
    }

    /// The client that lends it.
    fn lender(&self) -> Option<&ClientId> {
        None
    }

    /// The extension that brings it along.
    fn extension(&self) -> Option<&ExtensionRef> {
        None
    }

    /// Names of arguments that are paths into the workspace: rules see the places that they lead to.
    fn path_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks untrusted arguments: first the schema (every violation at once), then values. May read, never
    /// write. Arguments already carry canonical names (argument aliases are mapped by the registry).
    fn prepare<'a>(
        &'a self,
        arguments: Value,
        cx: &'a PrepareContext,
    ) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>>;
}

/// One validated call. Consumed by running, so it cannot run twice.
pub trait Invocation: Send + 'static {
    /// Everything the call may touch; the permit covers exactly this.
    fn accesses(&self) -> &[ResourceAccess];

    /// For people: what this call does, e.g. `src/main.rs, lines 1-200`.
    fn description(&self) -> String;

    fn locations(&self) -> Vec<CallLocation>;

    /// This call's own risk, where it differs from its tool's.
    fn risk(&self) -> Option<Risk> {
        None
    }

    /// Every command that the call runs, where it runs any and they can be told; rules about commands look at these.
    fn commands(&self) -> Option<&[ShellCommand]> {
        None
    }

    /// Why its commands cannot be told, of a call that runs some.
    fn unread(&self) -> Option<&str> {
        None
    }

    /// How closely it would be confined, of a call that starts a command.
    fn confinement(&self) -> Option<&CommandConfinement> {
        None
    }

    /// Makes the arguments what rules about arguments are to see: what the call does, however the model spelled it.
    fn show_to_rules(&self, _arguments: &mut Value) {}

    /// What a person is shown who is asked whether it may run; `None` = the description. With
    /// [`ConfirmationDetails::Question`] the call is a question itself: it is asked whatever rules allow, never run, and
    /// its result is what [`Invocation::answered`] makes of the answers.
    fn confirmation(&self) -> Option<ConfirmationDetails> {
        None
    }

    /// A digest of what the call would change as it is now and as it would be, so that a person's consent holds for
    /// nothing else; `None` = the arguments say it all.
    fn basis(&self) -> Option<String> {
        None
    }

    /// What the client is told that is to answer the call; `None` = no client is.
    fn lent(&self) -> Option<ClientToolCall> {
        None
    }

    /// Arguments by which this call would leave its file with just this content, or run just this command; `None` where that
    /// means nothing.
    fn with_content(&self, _content: &str) -> Option<Value> {
        None
    }

    /// What the answers to a question mean for the model. One an asked question, in order.
    fn answered(&self, _answers: &[QuestionAnswer]) -> ToolResult {
        ToolResult::failure(ToolErrorType::ExecutionFailed, "the call asked nothing")
    }

    /// Never panics on any input; whatever goes wrong is a result with an error.
    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult>;
}

/// What preparing may look at.
#[derive(Clone)]
pub struct PrepareContext {
    pub workspace: Arc<Workspace>,
    pub output: OutputLimits,
    /// For what a tool shows in part. A whole secret is found in the result; a part of one no longer is, so secrets
    /// are hidden before anything is cut.
    pub redactor: Redactor,
    /// What a tool must not change unasked, and where what it changes is kept for undo.
    pub own_files: Arc<OwnFiles>,
    /// What the model of this run has seen of which file. One a run.
    pub reads: SeenFileDigests,
    /// The skills that the model of this run has the text of. One a run.
    pub skills: ActiveSkills,
    /// Whose kept outputs may be read; `None` = no session's.
    pub session: Option<SessionId>,
    /// What commands are run with, and what they may do.
    pub commands: Arc<CommandRuntime>,
    pub command_rules: CommandRules,
    /// The way into the web, and which of it is open.
    pub web: Arc<WebClient>,
    pub web_rules: WebRules,
    /// What the model of this run takes as it is.
    pub media: MediaSupport,
    /// Whether rules say the same of two URLs, the first of which was judged; `None` = nobody can tell.
    pub same_rules: Option<SameRuleCheck>,
    /// Tells how much the model may learn of a file that a tool refuses to change; `None` = all.
    pub may_tell: Option<MayTellCheck>,
    /// Into which files facts are written.
    pub memory: MemoryTarget,
}

impl PrepareContext {
    /// The part that may be told of a file, where a call does not fit it.
    fn telling(&self, place: &WorkspacePath) -> FileTelling {
        let (path, shown) = (self.workspace.absolute(place), self.workspace.shown(place));
        self.may_tell.as_ref().map_or(FileTelling::Contents, |tells| tells(&path, &shown))
    }
}

/// The files into which facts are written that are to be remembered.
#[derive(Clone)]
pub struct MemoryTarget {
    /// Names of the user's memory files: the first that is there counts, and the first of all is made.
    pub user_names: Arc<[String]>,
    /// The same of the workspace's.
    pub project_names: Arc<[String]>,
    /// Later runs are told what the workspace's file says.
    pub is_trusted: bool,
    /// Tells what becomes of a memory file in runs that begin now. `None`: nobody knows more than the above.
    pub standing: Option<MemoryStanding>,
}

/// What becomes of the memory file at a path in runs that begin now; `None` where no run looks at it. Blocks on the file system.
pub type MemoryStanding = Arc<dyn Fn(&Path) -> Option<MemoryFileState> + Send + Sync>;

impl Default for MemoryTarget {
    /// The settings' own defaults, in a workspace that nobody trusts.
    fn default() -> MemoryTarget {
        let names: Arc<[String]> = MemoryRules::default().names.into();
        MemoryTarget {
            user_names: Arc::clone(&names),
            project_names: names,
            is_trusted: false,
            standing: None,
        }
    }
}

/// Whether whatever let a call have its first URL lets it have the second one, as rules are when it is asked.
pub type SameRuleCheck = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

/// Tells how much a refusal may say of a file that the call would have changed. Takes the file's path with links followed, and the path as
/// rules see it.
pub type MayTellCheck = Arc<dyn Fn(&Path, &str) -> FileTelling + Send + Sync>;

/// The part of a file that a model may learn from a refusal to change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTelling {
    /// The lines in it: the agent could read it with nobody asked.
    Contents,
    /// That the change does not fit.
    Fit,
    /// Nothing, until the agent has read it as it reads any file.
    Nothing,
}

/// How long outputs are.
#[derive(Debug, Clone, Copy)]
pub struct OutputLimits {
    /// Characters that the model gets of one (setting `tools.output.maxChars`).
    pub max_chars: usize,
}

/// A tool that finds things puts out so many times what the model gets; that is cut, and can be paged through. Whoever
/// finds more has searched for too much.
const WHOLE_BUDGETS: usize = 100;

impl OutputLimits {
    /// The same, for an output of which a model may get that many characters whatever the setting says.
    #[must_use]
    pub fn at_least(self, max_chars: usize) -> OutputLimits {
        OutputLimits { max_chars: self.max_chars.max(max_chars) }
    }

    /// Characters that a tool which lists what it finds puts out at most.
    pub fn whole_chars(self) -> usize {
        // Characters have up to four bytes.
        self.max_chars.saturating_mul(WHOLE_BUDGETS).min(outputs::MAX_KEPT_BYTES / 4).max(self.max_chars)
    }
}

impl Default for OutputLimits {
    fn default() -> OutputLimits {
        OutputLimits { max_chars: 40_000 }
    }
}

/// What a running call gets.
#[derive(Clone)]
pub struct CallContext {
    /// What is kept for undo is kept by session.
    pub session: SessionId,
    /// Fires when the run stops; a call that does not end within two seconds is dropped.
    pub cancel: CancellationToken,
    /// Time left for the call; `None` = the tool's own bound.
    pub deadline: Option<Duration>,
    pub clock: Arc<dyn Clock>,
    /// Where a call that streams puts what people see while it runs; `None` = nobody looks.
    pub output: Option<LiveAppender>,
    /// For a call that a client answers: how it is told again.
    pub retelling: CallRedelivery,
    /// Whom it may ask what it cannot tell by itself; `None` = nobody.
    pub model_access: Option<Arc<dyn ModelAccess>>,
    /// How it asks a person while it runs.
    pub people: ToolElicitation,
    /// Its span, for whatever does its work elsewhere.
    pub span: Option<TraceContext>,
}

/// Proof that exactly these accesses of this call were judged and `executing` was committed.
#[derive(Debug)]
pub struct Permit {
    call: CallId,
    accesses: Vec<ResourceAccess>,
}

impl Permit {
    /// Only `run/gate.rs` may call this; a tidy test holds it to that.
    pub fn mint(call: CallId, accesses: Vec<ResourceAccess>) -> Permit {
        Permit { call, accesses }
    }

    pub fn call(&self) -> &CallId {
        &self.call
    }
}

/// Runs a prepared call, if what it will touch is what was permitted. A panic ends the call, not the run.
pub async fn run(invocation: Box<dyn Invocation>, permit: Permit, cx: CallContext) -> ToolResult {
    if invocation.accesses() != permit.accesses {
        let message = "what the call would touch is not what was judged; it was not run";
        return ToolResult::failure(ToolErrorType::ExecutionFailed, message);
    }
    let running = async { invocation.run(permit, cx).await };
    match AssertUnwindSafe(running).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            let error = panicked(panic.as_ref());
            ToolResult::failure(error.kind, error.message)
        }
    }
}

/// What the model learns of a panic: that it was not its fault, and nothing of our inside.
fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    tracing::error!(panic = text.as_deref().unwrap_or("(no text)"), "a tool panicked");
    let message = "the tool failed by a defect of its own; other arguments may work".to_owned();
    ToolError { kind: ToolErrorType::UnhandledException, message }
}
