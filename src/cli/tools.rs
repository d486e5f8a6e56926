//! `subagent tools`: lists the tools there are, calls one as a client, or prints all of an output of which an agent got head and tail.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ProcessIo, ReportFormat,
    asking::InlineConfirmations,
    command_end::CommandEnd,
    failure::{CommandFailure, EXIT_FAILED, EXIT_INTERRUPTED},
    ids,
    key::new_key,
    link::{DaemonCallError, DaemonLink},
    message::show_message,
    paging, paths, person, policy,
    question::ConfirmationView,
    run_tree::RunTree,
    safe_text,
    text_color::TextColor,
    watch::{EventOutput, SessionEventWatcher, WatchEnd, watch},
    which_session::SessionArguments,
};
use client::{CallError, MonotonicStopwatch, PendingCall, SessionFollower};
use protocol::{
    AttachFrom, AttachFromKeyword, ConfirmationId, ConfirmationList, ConfirmationListParams, Envelope,
    OutputStream, RpcMethod as _, RunCancel, RunCancelParams, RunId, SessionClose, SessionCreate,
    SessionCreateParams, SessionId, SessionIdParams, ToolsCall, ToolsCallParams, ToolsOutput,
    ToolsOutputParams, WorkspaceParam,
};

pub(super) mod listing;

/// How soon Ctrl-C is noticed at the latest where nothing is shown meanwhile.
const WAIT: Duration = Duration::from_millis(200);

/// How often it is looked whether the call waits for a person: most calls have ended by the first time.
const QUESTION_LOOK: Duration = Duration::from_secs(1);

/// Open questions of a session that are looked through for the call's own.
const QUESTIONS_LISTED: u32 = 200;

/// A look whether the answer is there.
const LOOK: Duration = Duration::from_millis(1);

/// Calls of clients are runs of agents that are called so.
const CLIENTS_AGENT: &str = "client-";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ToolsArguments {
    #[command(subcommand)]
    verb: Option<ToolsVerb>,
    #[command(flatten)]
    listing: listing::ListingArguments,
}

#[derive(Subcommand)]
enum ToolsVerb {
    /// List all tools, where they come from, and what excludes the ones that no agent gets
    List(listing::ListingArguments),
    /// Call a tool, under the same rules and questions as an agent; exits 1 if it or its command fails
    Call(CallArguments),
    /// Print the full output of a call that the agent got only in part
    Output(OutputArguments),
}

#[derive(Args)]
pub(super) struct CallArguments {
    /// The tool's name, or an alias
    tool: String,
    /// Its arguments: one JSON object, or NAME=VALUE each; a value that is JSON is taken as JSON, else as text
    #[arg(long = "args", value_name = "JSON|NAME=VALUE", num_args = 1..)]
    arguments: Vec<String>,
    /// The folder it works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    session: SessionArguments,
    /// What stdout gets: what the tool says, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
pub(super) struct OutputArguments {
    /// The full id of the call
    call: String,
    /// What stdout gets: the text as it is, or the daemon's answer with all of it
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn tools(
    ToolsArguments { verb, listing }: &ToolsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        None => listing::list(listing, link, surroundings),
        Some(ToolsVerb::List(arguments)) => listing::list(arguments, link, surroundings),
        Some(ToolsVerb::Call(arguments)) => call(arguments, link, surroundings),
        Some(ToolsVerb::Output(arguments)) => output(arguments, link, surroundings),
    }
}

/// The answer to `tools/call`, read leniently.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolsCallReply {
    call_id: String,
    result: ToolResultView,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolResultView {
    llm_content: Vec<ToolResultPartView>,
    data: Value,
    full_output: Option<Value>,
    error: Option<ToolErrorView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolResultPartView {
    text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolErrorView {
    #[serde(rename = "type")]
    kind: String,
    message: String,
}

fn call(
    arguments: &CallArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let given = policy::read_arguments(&arguments.arguments)?;
    let workspace = paths::read_workspace(arguments.workspace.as_deref(), surroundings)?;
    let (tool, session) = (arguments.tool.as_str(), &arguments.session);
    call_in(workspace, session, (tool, given), arguments.format, link, surroundings)
}

/// Calls a tool where the person stands, in a session of its own that ends with the call: nobody goes on in it.
pub(super) fn call_tool_once(
    tool: &str,
    given: Value,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let workspace = paths::read_workspace(None, surroundings)?;
    open_link(link, surroundings)?;
    let session_id = open_session(workspace, link, surroundings)?;
    let params = ToolsCallParams { session_id: session_id.clone(), tool: tool.into(), arguments: given };
    let settled = settle(&params, link, surroundings)?;
    let Some(answer) = settled else { return Ok(left_alone(surroundings)) };
    // What was done is done; a session that could not be closed is only one more in the list.
    let closing = SessionIdParams { session_id };
    if link.ask_value::<SessionClose>(&closing).is_err() {
        let id = closing.session_id;
        let text = format!("the session of this call stays open; `subagent sessions close {id}` closes it");
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    report(&answer, ReportFormat::Text, surroundings)
}

fn open_link(link: &mut DaemonLink, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    match surroundings.has_person() {
        true => link.open_as(person::somebody(surroundings)?, &mut surroundings.stderr)?,
        false => link.open(&mut surroundings.stderr)?,
    }
    Ok(())
}

/// The answer to the call; `None`: whoever waited for it does not wait any longer.
fn settle(
    params: &ToolsCallParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Option<Value>, CommandFailure> {
    match surroundings.has_person() {
        true => call_and_watch(params, link, surroundings),
        false => call_and_wait(params, link, surroundings),
    }
}

fn left_alone(surroundings: &mut ProcessIo) -> u8 {
    show_message(&mut surroundings.stderr, TextColor::Yellow, "note", "left the call to end by itself");
    EXIT_INTERRUPTED
}

fn call_in(
    workspace: WorkspaceParam,
    session: &SessionArguments,
    (tool, given): (&str, Value),
    format: ReportFormat,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let is_at_hand = surroundings.stdin.is_terminal && surroundings.stdout.is_terminal;
    open_link(link, surroundings)?;
    let session_id = match session.choose(&workspace, is_at_hand, link, surroundings)? {
        Some(session_id) => session_id,
        None => open_session(workspace, link, surroundings)?,
    };
    let params = ToolsCallParams { session_id, tool: tool.into(), arguments: given };
    let Some(answer) = settle(&params, link, surroundings)? else { return Ok(left_alone(surroundings)) };
    report(&answer, format, surroundings)
}

fn open_session(
    workspace: WorkspaceParam,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<SessionId, CommandFailure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Created {
        session_id: SessionId,
    }
    let params = SessionCreateParams {
        workspace,
        agent: None,
        title: None,
        mode: None,
        ephemeral: false,
        idempotency_key: Some(new_key()?),
    };
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<SessionCreate>(&params, stderr, &mut || interrupts() > 0)?;
    Ok(paging::view::<Created>(&answer)?.session_id)
}

/// Nobody can be asked here; whoever else is asked may take their time. `None`: Ctrl-C was pressed.
fn call_and_wait(
    params: &ToolsCallParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Option<Value>, CommandFailure> {
    (surroundings.interrupts)();
    let mut pending = link.begin::<ToolsCall>(params)?;
    let mut since = MonotonicStopwatch::start();
    let mut is_told = false;
    loop {
        if let Some(settled) = pending.poll(WAIT) {
            return read(settled).map(Some);
        }
        if !is_told && QUESTION_LOOK < since.elapsed() {
            // When the question cannot be asked for, the call's own connection says what is the matter.
            if let Some(id) = find_question(&params.session_id, link) {
                is_told = true;
                let id = ids::shortest(id.as_str());
                let text = format!("waits for a person: `subagent approve {id}` or `deny {id}`");
                show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
            }
            since = MonotonicStopwatch::start();
        }
        if (surroundings.interrupts)() > 0 {
            return Ok(None);
        }
    }
}

/// The open question of the call that this command began: of a run that was started as us, and we start one.
fn find_question(session_id: &SessionId, link: &mut DaemonLink) -> Option<ConfirmationId> {
    let me = link.known_as()?.to_owned();
    let params = ConfirmationListParams {
        session_id: Some(session_id.clone()),
        limit: QUESTIONS_LISTED,
        ..ConfirmationListParams::default()
    };
    let answer = link.ask_value::<ConfirmationList>(&params).ok()?;
    let asked: Vec<ConfirmationView> = paging::entries(&answer, "confirmations").ok()?;
    let own = asked.into_iter().find(|asked| asked.initiator.as_deref() == Some(me.as_str()))?;
    Some(own.confirmation_id)
}

/// Shows what becomes of the call, and asks in place. `None`: Ctrl-C was pressed twice.
fn call_and_watch(
    params: &ToolsCallParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Option<Value>, CommandFailure> {
    let ProcessIo { stderr, interrupts, keyboard, environment, clock, .. } = surroundings;
    let me = link.me();
    let mut view = EventOutput::progress(stderr, me.clone());
    let asking = me.clone().map(|me| InlineConfirmations::new(me, &mut **keyboard, environment, clock));
    interrupts();
    let dialer = link.dialer().clone();
    let (introduction, from) = (link.introduction().cloned(), AttachFrom::Word(AttachFromKeyword::Now));
    // First, so that nothing of the call is missed.
    let session_id = params.session_id.clone();
    let mut follow =
        SessionFollower::attach_as(introduction, &dialer, session_id, from, view.wants_deltas())?;
    let pending = link.begin::<ToolsCall>(params)?;
    let mut watcher = CallWatcher { me, pending, settled: None, own: None, is_cancelled: false };
    let end = watch(&mut follow, &mut view, interrupts, link, asking, &mut watcher)?;
    match watcher.settled {
        Some(settled) if end == WatchEnd::Over => read(settled).map(Some),
        _ => Ok(None),
    }
}

fn read(settled: Result<Box<serde_json::value::RawValue>, CallError>) -> Result<Value, CommandFailure> {
    let answer = settled.map_err(|error| match error {
        CallError::Closed => CommandFailure::unavailable("the daemon went away before it answered")
            .or_hint("the call goes on when it is back; `subagent runs` shows what came of it"),
        other => DaemonCallError::Call(other).into(),
    })?;
    serde_json::from_str(answer.get()).map_err(|error| {
        CallError::Unreadable { method: ToolsCall::NAME.into(), error: error.to_string() }.into()
    })
}

/// Waits for the answer, and sees the run as which the call is carried out.
struct CallWatcher {
    me: Option<String>,
    pending: PendingCall,
    settled: Option<Result<Box<serde_json::value::RawValue>, CallError>>,
    /// That run and those below it, once it began.
    own: Option<(RunId, RunTree)>,
    is_cancelled: bool,
}

impl CallWatcher {
    /// The first run of a client's call that we asked for: nothing else says which it is before the call ends.
    fn find(&mut self, envelope: &Envelope) {
        let begins = matches!(envelope.kind.as_str(), "run.started" | "run.queued");
        let is_call = envelope.head.agent.as_ref().is_some_and(|it| it.as_str().starts_with(CLIENTS_AGENT));
        let is_ours = envelope.head.by == self.me && self.own.is_none();
        if let Some(run_id) = envelope.run_id.clone().filter(|_| begins && is_call && is_ours) {
            self.own = Some((run_id.clone(), RunTree::below(run_id)));
        }
    }
}

impl SessionEventWatcher for CallWatcher {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
        self.find(envelope);
        match &mut self.own {
            Some((_, tree)) => tree.takes(envelope),
            // Of no run: what goes on in the session is not what was asked about.
            None => RunTree::below(RunId::from("")).takes(envelope),
        }
    }

    fn is_over(&mut self, _: &Envelope) -> bool {
        false
    }

    fn leaves_on_interrupt(&mut self, view: &mut EventOutput<'_>, link: &mut DaemonLink) -> bool {
        let Some((run_id, _)) = self.own.as_ref().filter(|_| !self.is_cancelled) else { return true };
        let params =
            RunCancelParams { run_id: run_id.clone(), reason: Some("Ctrl-C in `subagent tools`".into()) };
        // When it cannot be passed on, the next Ctrl-C leaves.
        self.is_cancelled = true;
        view.note("! cancelling the call; Ctrl-C once more leaves without waiting for its end");
        if let Err(error) = link.ask_value::<RunCancel>(&params)
            && let CommandFailure::Told { what, .. } = CommandFailure::from(error)
        {
            view.note(&format!("! the call cannot be cancelled: {}", safe_text::lines(&what)));
        }
        false
    }

    fn is_done(&mut self) -> bool {
        self.settled = self.settled.take().or_else(|| self.pending.poll(LOOK));
        self.settled.is_some()
    }
}

/// Prints what the tool said; answers the exit code.
fn report(answer: &Value, format: ReportFormat, surroundings: &mut ProcessIo) -> Result<u8, CommandFailure> {
    let ToolsCallReply { call_id, result } = paging::view(answer)?;
    let texts: Vec<&str> = result.llm_content.iter().filter_map(|part| part.text.as_deref()).collect();
    let command = CommandEnd::of_result(&result.data, &texts);
    let is_failed = result.error.is_some() || command.is_some_and(|end| end.trouble.is_some());
    let exit_code = if is_failed { EXIT_FAILED } else { 0 };
    if format == ReportFormat::Json {
        paging::print_json(answer, surroundings)?;
        return Ok(exit_code);
    }
    if let Some(ToolErrorView { kind, message }) = &result.error {
        let text = format!("the call failed, {kind}: {message}");
        show_message(&mut surroundings.stderr, TextColor::Red, "error", &text);
        return Ok(exit_code);
    }
    surroundings.stdout.write_exactly(&texts.join("\n"))?;
    if result.full_output.is_some() {
        let text = format!("this is head and tail; `subagent tools output {call_id}` prints all of it");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }
    Ok(exit_code)
}

/// One page, read leniently.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolOutputPage {
    text: String,
    next: Option<u64>,
    bytes: u64,
    total_bytes: u64,
}

fn output(
    arguments: &OutputArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let mut params = ToolsOutputParams {
        call_id: arguments.call.as_str().into(),
        session_id: None,
        stream: OutputStream::Result,
        from: 0,
    };
    let mut whole = String::new();
    loop {
        let mut answer = link.ask_value::<ToolsOutput>(&params)?;
        let page: ToolOutputPage = paging::view(&answer)?;
        match arguments.format {
            ReportFormat::Json => whole.push_str(&page.text),
            ReportFormat::Text if surroundings.stdout.is_terminal => {
                surroundings.stdout.write(&safe_text::lines(&page.text))?;
            }
            // Byte for byte.
            ReportFormat::Text => surroundings.stdout.write(&page.text)?,
        }
        if let Some(next) = page.next.filter(|next| params.from < *next) {
            params.from = next;
            continue;
        }
        if arguments.format == ReportFormat::Json {
            if let Some(fields) = answer.as_object_mut() {
                fields.insert("text".to_owned(), whole.into());
            }
            paging::print_json(&answer, surroundings)?;
        } else if surroundings.stdout.is_terminal && !page.text.ends_with('\n') {
            surroundings.stdout.write("\n")?;
        }
        if page.bytes < page.total_bytes {
            let text = format!("only the first {} of its {} bytes were kept", page.bytes, page.total_bytes);
            show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
        }
        return Ok(0);
    }
}
