//! `subagent run`: starts one run, shows it, prints its result, answers its exit code.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    ProcessIo,
    approval_flags::ApprovalArguments,
    approve::parse_dollars,
    asking::{InlineConfirmations, TypeaheadTarget},
    ending::RunOutcome,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    inputs,
    key::new_key,
    link::DaemonLink,
    message::show_message,
    paging,
    paths::{absolute, read_workspace, with_absolute_recording},
    person,
    route::RouteView,
    run_tree::{RunTree, live_runs},
    text_color::TextColor,
    watch::{EventOutput, SessionEventWatcher, WatchEnd, watch},
    which_session::SessionArguments,
};
use client::SessionFollower;
use protocol::{
    AttachFrom, AttachFromKeyword, Envelope, EventFilter, EventSeq, EventsList, EventsListParams,
    LimitsParams, OnBudget, OpenEnum, RpcMethod, RunCancel, RunCancelParams, RunDisposition, RunGet, RunId,
    RunIdParams, RunStart, RunStartParams, SessionId, UsdAmount,
};

mod beside;
mod words;

pub(super) use beside::PromptAttachments;
use words::{IfBusyWord, OnBudgetWord};

#[derive(Args)]
pub(super) struct RunArguments {
    /// The agent; see `subagent list`
    pub(super) agent: String,
    /// What to do; if missing, read from standard input unless that is a terminal
    #[arg(short, long, value_name = "PROMPT")]
    pub(super) prompt: Option<String>,
    /// Talk with the agent: one prompt after the other, in its context of the session. /help lists commands; --prompt
    /// is the first prompt
    #[arg(long)]
    pub(super) interactive: bool,
    #[command(flatten)]
    pub(super) beside: PromptAttachments,
    #[command(flatten)]
    pub(super) options: RunOptions,
}

/// How an agent is run, whoever chose it. What is used most comes first in the help, all else below headings.
#[derive(Args)]
pub(super) struct RunOptions {
    /// Model to use instead of the agent's; `offline` needs no key
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    pub(super) session: SessionArguments,
    /// Start it, print its id, and do not wait
    #[arg(long)]
    pub(super) detach: bool,
    /// What stdout gets: the result, the run's record, or every event with the record last
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) output_format: OutputFormat,
    /// Print a block for each span as it ends, instead of the progress: what a model said and used, what a tool got and
    /// gave, who allowed it
    #[arg(long)]
    trace: bool,
    /// The folder the agent works in [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) approval: ApprovalArguments,
    /// A skill to load before the first message; see `subagent skills list`. May be repeated
    #[arg(long = "skill", value_name = "NAME", help_heading = INPUTS)]
    skills: Vec<String>,
    /// Turns the run may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    max_turns: Option<u32>,
    /// Minutes of active time the run may take; fractions allowed
    #[arg(long, value_name = "MIN", value_parser = parse_minutes, help_heading = LIMITS)]
    timeout: Option<Duration>,
    /// Tokens the run may use, including the runs it calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = LIMITS)]
    max_tokens: Option<u64>,
    /// US dollars the run may cost, including the runs it calls, by the prices in the settings
    #[arg(long, value_name = "USD", value_parser = parse_dollars, help_heading = LIMITS)]
    max_cost: Option<UsdAmount>,
    /// What to do when tokens or money are used up
    #[arg(long, value_enum, value_name = "WHAT", help_heading = LIMITS)]
    on_budget: Option<OnBudgetWord>,
    /// An input of the agent; a value that is JSON is taken as JSON, else as text. May be repeated
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = inputs::parse_input, help_heading = INPUTS)]
    inputs: Vec<(String, Value)>,
    /// A JSON file with inputs; --input overrides it
    #[arg(long = "inputs", value_name = "FILE", help_heading = INPUTS)]
    inputs_file: Option<PathBuf>,
    /// Record every reply of the models into a new file, which `--model replay:FILE` plays
    #[arg(long, value_name = "FILE", help_heading = SELDOM)]
    pub(super) record: Option<PathBuf>,
    /// What to do if the agent is busy in this session
    #[arg(long, value_enum, default_value_t = IfBusyWord::Queue, help_heading = SELDOM)]
    if_busy: IfBusyWord,
}

/// Headings of the help.
const LIMITS: &str = "Limits";
pub(super) const INPUTS: &str = "Inputs";
const SELDOM: &str = "Seldom needed";

/// What stdout gets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

/// The view of a run while it is at work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunView {
    Progress,
    Spans,
    Envelopes,
}

impl RunOptions {
    /// Refuses `--trace` where nothing would show it.
    fn check_trace(&self) -> Result<(), CommandFailure> {
        let (flag, hint) = match self.output_format {
            _ if !self.trace => return Ok(()),
            _ if self.detach => {
                ("--detach", "nobody waits for its spans; `subagent trace tail RUN` shows them")
            }
            OutputFormat::StreamJson => (
                "--output-format stream-json",
                "that prints every event instead; `subagent trace tail RUN --format json` prints spans",
            ),
            OutputFormat::Text | OutputFormat::Json => return Ok(()),
        };
        Err(CommandFailure::usage(format!("--trace does not go with {flag}")).or_hint(hint))
    }

    pub(super) fn view(&self) -> RunView {
        match self.output_format {
            OutputFormat::StreamJson => RunView::Envelopes,
            OutputFormat::Text | OutputFormat::Json if self.trace => RunView::Spans,
            OutputFormat::Text | OutputFormat::Json => RunView::Progress,
        }
    }
}

/// The longest time a run can be given on the command line, in minutes: a year.
const MAX_MINUTES: f64 = 525_600.0;

pub(super) fn parse_minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "expected a number of minutes".to_owned())?;
    if minutes > 0.0 && minutes <= MAX_MINUTES {
        return Ok(Duration::from_secs_f64(minutes * 60.0));
    }
    Err(format!("expected more than 0 and at most {MAX_MINUTES} minutes"))
}

/// One prompt, one run, one result.
pub(super) fn run_once(
    agent: &str,
    (prompt, beside): (Option<&str>, &PromptAttachments),
    arguments: &RunOptions,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    arguments.check_trace()?;
    // Standard input is read for the prompt, so whether somebody sits there is seen before.
    let is_at_hand = surroundings.stdin.is_terminal && surroundings.stdout.is_terminal && !arguments.detach;
    let may_ask = surroundings.has_person()
        && !arguments.detach
        && !arguments.approval.is_headless()
        && arguments.output_format != OutputFormat::StreamJson;
    let workspace = read_workspace(arguments.workspace.as_deref(), surroundings)?;
    let mut params = read_params(agent, (prompt, beside), arguments, surroundings)?;
    match may_ask {
        true => link.open_as(person::somebody(surroundings)?, &mut surroundings.stderr)?,
        // Nobody can be asked here, but the trace says who started it.
        false => link.open_named(person::answering(surroundings)?, &mut surroundings.stderr)?,
    }
    params.session_id = arguments.session.choose(&workspace, is_at_hand, link, surroundings)?;
    params.workspace = params.session_id.is_none().then_some(workspace);
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<RunStart>(&params, stderr, &mut || interrupts() > 0)?;
    let started: RunStartReply = paging::view(&answer)?;
    if let Some(route) = &started.routed {
        route.tell(surroundings)?;
    }
    show_disposition(&started, surroundings);
    if arguments.detach {
        return show_detached(&started, &answer, arguments.output_format, surroundings);
    }
    let from = find_beginning(&started, params.session_id.is_none(), link, surroundings)?;
    let (end, stop_message, shown) =
        follow(&started, from, arguments.view(), TypeaheadTarget::Nowhere, link, surroundings)?;
    let run_id = &started.run_id;
    if end == WatchEnd::Left {
        let text = format!("left the run to end by itself; `subagent attach {run_id}` shows it");
        show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
        return Ok(EXIT_INTERRUPTED);
    }
    let record = fetch_record(run_id, link, surroundings)?;
    report(&record, arguments.output_format, stop_message.as_deref(), shown.as_deref(), surroundings)
}

/// What is read of the answer to `run/start`; what became of the request is open.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunStartReply {
    #[serde(default)]
    disposition: OpenEnum<RunDisposition>,
    pub(super) run_id: RunId,
    pub(super) session_id: SessionId,
    #[serde(default)]
    agent: String,
    /// The run that is cancelled for it.
    #[serde(default)]
    interrupts: Option<String>,
    /// Why it is this agent, when nobody named one.
    #[serde(default)]
    routed: Option<RouteView>,
}

/// Prints the record of a run that has ended, as was asked for; answers the exit code.
pub(super) fn report(
    record: &RawValue,
    format: OutputFormat,
    stop_message: Option<&str>,
    shown: Option<&str>,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let value: Value = serde_json::from_str(record.get()).map_err(unreadable)?;
    let ending = RunOutcome::deserialize(&value).map_err(unreadable)?;
    match format {
        OutputFormat::Text => return ending.report(stop_message, shown, surroundings),
        OutputFormat::Json => surroundings.stdout.write_json(&format!("{value:#}"))?,
        OutputFormat::StreamJson => surroundings.stdout.write_json(record.get())?,
    }
    Ok(ending.exit_code())
}

/// Everything but where the run goes on.
pub(super) fn read_params(
    agent: &str,
    (prompt, beside): (Option<&str>, &PromptAttachments),
    arguments: &RunOptions,
    surroundings: &mut ProcessIo,
) -> Result<RunStartParams, CommandFailure> {
    let inputs = inputs::collect(arguments.inputs_file.as_deref(), &arguments.inputs)?;
    let prompt = match prompt {
        Some(prompt) => Some(prompt.to_owned()),
        None if inputs.contains_key("prompt") || beside.has_prompt() => None,
        None => inputs::read_text("the prompt", &mut surroundings.stdin)?,
    };
    let mut params = RunStartParams {
        session_id: None,
        workspace: None,
        agent: Some(agent.into()),
        definition: None,
        if_busy: arguments.if_busy.into(),
        idempotency_key: Some(new_key()?),
        prompt,
        inputs,
        limits: LimitsParams {
            max_turns: arguments.max_turns,
            max_time_ms: arguments
                .timeout
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)),
            max_tokens: arguments.max_tokens,
            max_cost: arguments.max_cost,
            on_budget: arguments.on_budget.map(OnBudget::from),
            ..LimitsParams::default()
        },
        approval: arguments.approval.params(),
        model: arguments.model.as_deref().map(|model| with_absolute_recording(model).into()),
        record: arguments.record.as_deref().map(|file| absolute(file, surroundings)).transpose()?,
        server_prompt: None,
        attachments: Vec::new(),
        // As other programs do that are started within a span.
        traceparent: (surroundings.environment)("TRACEPARENT").and_then(|text| text.into_string().ok()),
        skills: arguments.skills.clone(),
    };
    beside.fill(&mut params, surroundings)?;
    Ok(params)
}

/// Says so when the run did not simply start.
pub(super) fn show_disposition(started: &RunStartReply, surroundings: &mut ProcessIo) {
    let RunStartReply { agent, run_id, interrupts, .. } = started;
    let text = match started.disposition.known() {
        Some(RunDisposition::Started) => return,
        Some(RunDisposition::Queued) if let Some(other) = interrupts => {
            format!("cancelling run {other} of {agent}, which is not over; this one begins after it")
        }
        Some(RunDisposition::Queued) => {
            format!("queued: {agent} has a run in this session that is not over; this one begins after it")
        }
        Some(RunDisposition::Steered) => {
            format!("said to run {run_id} of {agent}, which is not over; following it")
        }
        None => {
            format!("the daemon answers `{}` for run {run_id}; following it", started.disposition.as_str())
        }
    };
    show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
}

/// Where the events of the run begin. A new session has no others; in one that goes on, those of the past would have
/// to be read through.
pub(super) fn find_beginning(
    started: &RunStartReply,
    is_new_session: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<AttachFrom, CommandFailure> {
    let start = AttachFrom::Word(AttachFromKeyword::Start);
    match started.disposition.known() {
        // It has been under way for some time; what it does now is in the snapshot.
        Some(RunDisposition::Steered) => return Ok(AttachFrom::Word(AttachFromKeyword::Now)),
        Some(RunDisposition::Started | RunDisposition::Queued) | None if is_new_session => return Ok(start),
        Some(RunDisposition::Started | RunDisposition::Queued) | None => {}
    }
    let filter = EventFilter { run_id: Some(started.run_id.clone()), ..EventFilter::default() };
    let params = EventsListParams { filter, from: EventSeq(0), log_id: None, limit: 1, wait_ms: 0 };
    let gives_up = &mut || (surroundings.interrupts)() > 0;
    let answer = link.ask_until_answered(EventsList::NAME, &params, gives_up)?;
    // Only the place is needed; what the event says may be of a newer daemon.
    let page: Value = serde_json::from_str(answer.get()).map_err(unreadable)?;
    let first = page.pointer("/events/0/seq").and_then(Value::as_i64);
    Ok(first.map_or(start, |first| AttachFrom::Seq(EventSeq(first - 1))))
}

fn show_detached(
    started: &RunStartReply,
    answer: &Value,
    format: OutputFormat,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let run_id = &started.run_id;
    match format {
        OutputFormat::Text => {
            let text = format!("the run goes on in the background; `subagent attach {run_id}` shows it");
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
            surroundings.stdout.write_text(run_id.as_str())?;
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            surroundings.stdout.write_json(&answer.to_string())?;
        }
    }
    Ok(0)
}

/// Shows the run until it ends or is left; also answers why the daemon stopped it, and the text shown last.
pub(super) fn follow(
    started: &RunStartReply,
    from: AttachFrom,
    shown: RunView,
    aside: TypeaheadTarget,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(WatchEnd, Option<String>, Option<String>), CommandFailure> {
    let ProcessIo { stdout, stderr, interrupts, keyboard, environment, clock, .. } = surroundings;
    let me = link.me();
    let mut view = match shown {
        RunView::Progress => EventOutput::progress(stderr, me.clone()),
        RunView::Spans => EventOutput::spans(stderr),
        RunView::Envelopes => EventOutput::envelopes(stdout, stderr),
    };
    let asking = me.map(|me| {
        let mut asking = InlineConfirmations::new(me, &mut **keyboard, environment, clock);
        asking.keep_aside(aside);
        asking
    });
    // From here on Ctrl-C means the run, and so does one that came since it was started.
    let mut early = interrupts();
    let mut interrupts = || std::mem::take(&mut early).saturating_add(interrupts());
    let dialer = link.dialer().clone();
    let (introduction, session_id) = (link.introduction().cloned(), started.session_id.clone());
    let mut follow =
        SessionFollower::attach_as(introduction, &dialer, session_id, from, view.wants_deltas())?;
    let run_id = &started.run_id;
    let tree = RunTree::below(run_id.clone());
    let mut watcher = RunWatcher { run_id, tree, cancel: CancelState::Unwanted };
    let end = watch(&mut follow, &mut view, &mut interrupts, link, asking, &mut watcher)?;
    let EventOutput::Progress { progress, .. } = &view else { return Ok((end, None, None)) };
    Ok((end, progress.stop_message().map(str::to_owned), progress.last_text().map(str::to_owned)))
}

/// Waits for one run's end; passes the person's wish to cancel on.
struct RunWatcher<'run> {
    run_id: &'run RunId,
    tree: RunTree,
    cancel: CancelState,
}

#[derive(PartialEq, Eq)]
enum CancelState {
    Unwanted,
    /// Not yet known to the daemon, which may be away.
    Wanted,
    Acknowledged,
}

impl SessionEventWatcher for RunWatcher<'_> {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
        self.tree.takes(envelope)
    }

    fn is_over(&mut self, envelope: &Envelope) -> bool {
        match envelope.kind.as_str() {
            "run.completed" => envelope.run_id.as_ref() == Some(self.run_id),
            "signal.snapshot" => !live_runs(&envelope.data).contains(self.run_id),
            _ => false,
        }
    }

    fn leaves_on_interrupt(&mut self, view: &mut EventOutput<'_>, link: &mut DaemonLink) -> bool {
        if self.cancel != CancelState::Unwanted {
            return true;
        }
        view.note("! cancelling the run; Ctrl-C once more leaves without waiting for its end");
        self.cancel = CancelState::Wanted;
        self.pass_on(view, link);
        false
    }

    fn pause(&mut self, view: &mut EventOutput<'_>, link: &mut DaemonLink) {
        if self.cancel == CancelState::Wanted {
            self.pass_on(view, link);
        }
    }
}

impl RunWatcher<'_> {
    fn pass_on(&mut self, view: &mut EventOutput<'_>, link: &mut DaemonLink) {
        let params =
            RunCancelParams { run_id: self.run_id.clone(), reason: Some("Ctrl-C in `subagent run`".into()) };
        match link.ask_value::<RunCancel>(&params) {
            Ok(_) => self.cancel = CancelState::Acknowledged,
            // Asked again at the next pause.
            Err(error) if error.is_passing() => {}
            Err(error) => {
                self.cancel = CancelState::Acknowledged;
                if let CommandFailure::Told { what, .. } = CommandFailure::from(error) {
                    view.note(&format!("! the run cannot be cancelled: {}", super::safe_text::lines(&what)));
                }
            }
        }
    }
}

/// The run's record as the daemon sends it, also when the daemon is just being restarted.
pub(super) fn fetch_record(
    run_id: &RunId,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Box<RawValue>, CommandFailure> {
    let params = RunIdParams { run_id: run_id.clone() };
    link.ask_until_answered(RunGet::NAME, &params, &mut || (surroundings.interrupts)() > 0)
}

pub(super) fn unreadable(error: serde_json::Error) -> CommandFailure {
    CommandFailure::new(format!("the daemon's answer about the run cannot be read: {error}")).or_hint(
        "daemon and `subagent` may be of different versions; `subagent rpc run/get` prints it as it is",
    )
}
