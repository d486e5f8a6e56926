//! `subagent hooks`: which hooks are there, which of them run, and what would one say?

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat, failure::CommandFailure, link::DaemonLink,
    list::ListedProblem, message::show_message, paging, palette, paths, policy, safe_text,
    text_color::TextColor, width,
};
use protocol::{
    HooksList, HooksListParams, HooksSetEnabled, HooksSetEnabledParams, HooksTest, HooksTestParams,
    WorkspaceParam,
};

#[derive(Subcommand)]
pub(super) enum HooksVerb {
    /// List the hooks of system, user and project, and whether each runs
    List(HooksListArguments),
    /// Switch a hook on
    Enable(HookSwitchArguments),
    /// Switch a hook off, for all runs and also after a restart
    Disable(HookSwitchArguments),
    /// Run one hook by hand, and show what its answer means; the hook's command really runs
    Test(HooksTestArguments),
}

#[derive(Args)]
pub(super) struct HooksListArguments {
    /// With the hooks of the project in this folder [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct HookSwitchArguments {
    /// The hook's id; `subagent hooks list` shows it
    id: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
pub(super) struct HooksTestArguments {
    /// The hook's id; `subagent hooks list` shows it
    id: String,
    /// What it is told: arguments of a call, or facts of another event; one JSON object, or NAME=VALUE each
    #[arg(value_name = "JSON|NAME=VALUE")]
    input: Vec<String>,
    /// The tool of the call that it is told of [default: the first that the hook means]
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// The folder in which it runs [default: the current one]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// What stdout gets: what it means, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Shown where there are none.
const NONE: &str = "no hooks here\n";

/// Shown where some stand there and none can be fired.
const NONE_FIRES: &str = "no hook here can be fired; the warnings say why\n";

/// One entry of `hooks/list`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedHookView {
    id: String,
    event: String,
    source: String,
    file: String,
    line: Option<u32>,
    matcher: Option<String>,
    #[serde(rename = "if")]
    condition: Option<String>,
    runs: String,
    on_failure: String,
    timeout_seconds: f64,
    #[serde(rename = "async")]
    is_async: bool,
    state: String,
    reason: Option<String>,
    fault: Option<HookFaultView>,
    warning: Option<String>,
    confinement: Option<HookConfinementView>,
    last: Option<LastHookEndView>,
}

/// The reason why it cannot work, and what comes of that.
#[derive(Default, Deserialize)]
#[serde(default)]
struct HookFaultView {
    reason: String,
    failure: String,
}

impl HookFaultView {
    fn in_words(&self) -> String {
        let outcome = match self.failure.as_str() {
            "block" => "refuses what it guards",
            "ask" => "has you asked",
            _ => "does nothing",
        };
        format!("it cannot be asked, and {outcome}: {}", self.reason)
    }
}

/// Advice about a hook of their own that runs in a sandbox.
const OUT_OF_SANDBOX: &str = "A hook of yours in a sandbox can write the workspace alone, and has the network only where commands have it. \
     One that needs more: put it into a script of yours outside of all workspaces, such as ~/.config/subagentd/hooks/x.sh, and name that by its full path.";

/// The place where its command runs.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookConfinementView {
    confined: bool,
    reason: String,
}

impl HookConfinementView {
    fn in_words(&self) -> String {
        let place = if self.confined { "in a sandbox" } else { "outside of any sandbox, with your rights" };
        format!("{place}: {}", self.reason)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LastHookEndView {
    outcome: String,
    decision: Option<String>,
    failure_reason: Option<String>,
}

/// The answer to `hooks/test`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookTrialView {
    input: Value,
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
    duration_ms: u64,
    outcome: String,
    confinement: Option<HookConfinementView>,
    would_fire: bool,
    decision: Option<String>,
    reason: Option<String>,
    context: Vec<String>,
    arguments: Option<Value>,
    warnings: Vec<String>,
    summary: String,
}

pub(super) fn hooks(
    verb: &HooksVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        HooksVerb::List(arguments) => list(arguments, link, surroundings)?,
        HooksVerb::Enable(arguments) => switch(arguments, true, link, surroundings)?,
        HooksVerb::Disable(arguments) => switch(arguments, false, link, surroundings)?,
        HooksVerb::Test(arguments) => test(arguments, link, surroundings)?,
    }
    Ok(0)
}

fn list(
    arguments: &HooksListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let workspace = paths::read_workspace(arguments.workspace.as_deref(), surroundings)?;
    link.open(&mut surroundings.stderr)?;
    let answer = link.ask_value::<HooksList>(&HooksListParams { workspace: Some(workspace) })?;
    if arguments.format == ListingFormat::Json {
        return paging::print_json(&answer, surroundings);
    }
    let hooks: Vec<ListedHookView> = paging::entries(&answer, "hooks")?;
    let text = drawn(&hooks, &answer, &surroundings.stdout);
    surroundings.stdout.write_drawn(&text)?;
    tell_problems(&answer, surroundings)
}

/// The hooks of a workspace, beside a conversation.
pub(super) fn show(
    workspace: WorkspaceParam,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let answer = link.ask_value::<HooksList>(&HooksListParams { workspace: Some(workspace) })?;
    let hooks: Vec<ListedHookView> = paging::entries(&answer, "hooks")?;
    let text = drawn(&hooks, &answer, &surroundings.stderr);
    surroundings.stderr.write_drawn(&text)?;
    tell_problems(&answer, surroundings)
}

fn drawn(hooks: &[ListedHookView], answer: &Value, out: &OutputWriter) -> String {
    let has_problems = answer.get("problems").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    match (hooks.is_empty(), has_problems) {
        (true, false) => NONE.to_owned(),
        (true, true) => NONE_FIRES.to_owned(),
        (false, _) => draw(hooks, out),
    }
}

fn tell_problems(answer: &Value, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    let problems: Vec<ListedProblem> =
        if answer.get("problems").is_some() { paging::entries(answer, "problems")? } else { Vec::new() };
    for problem in problems {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &problem.describe());
    }
    Ok(())
}

/// Each hook in a few rows: its id and state, when it runs what, where it stands.
fn draw(hooks: &[ListedHookView], stdout: &OutputWriter) -> String {
    const MARGIN: &str = "  ";
    let columns = stdout.width.unwrap_or(usize::MAX).saturating_sub(MARGIN.len()).max(20);
    let mut text = String::new();
    for hook in hooks {
        let state = safe_text::line(state_word(&hook.state), usize::MAX);
        let state = match (&hook.fault, palette::ink(&hook.state)) {
            (Some(_), _) => stdout.paint(TextColor::Yellow, &format!("{state}, but fails")),
            (None, Some(color)) => stdout.paint(color, &state),
            (None, None) => state,
        };
        text.push_str(&format!(
            "{}  {state}\n",
            stdout.paint(TextColor::Bold, &safe_text::line(&hook.id, usize::MAX))
        ));
        let about = match (&hook.matcher, &hook.condition) {
            (None, None) => String::new(),
            (Some(matcher), None) => format!(" of {matcher}"),
            (None, Some(condition)) => format!(" if {condition}"),
            (Some(matcher), Some(condition)) => format!(" of {matcher} if {condition}"),
        };
        let place = match hook.line {
            Some(line) => format!("{}:{line}", hook.file),
            None => hook.file.clone(),
        };
        let mut facts = vec![place, hook.source.clone(), failure_words(hook).to_owned()];
        // One that cannot be read is never run.
        if 0.0 < hook.timeout_seconds {
            facts.push(format!("at most {} s", hook.timeout_seconds));
        }
        if let Some(last) = &hook.last {
            let decision = last.decision.as_ref().map(|decision| format!(", {decision}")).unwrap_or_default();
            facts.push(format!("last: {}{decision}", last.outcome));
        }
        for (at, row) in
            safe_text::written(&format!("{}{about}: {}", hook.event, hook.runs)).iter().enumerate()
        {
            // No line of a command passes for a row of ours.
            let bar = if at == 0 { "" } else { "│ " };
            for row in width::wrap_exactly(row, columns - width::of(bar)) {
                text.push_str(&format!("{MARGIN}{bar}{row}\n"));
            }
        }
        let mut rows = vec![(TextColor::Dim, facts.join(" · "))];
        rows.extend(hook.confinement.iter().map(|it| (TextColor::Dim, format!("runs {}", it.in_words()))));
        let last = hook.last.as_ref().and_then(|last| last.failure_reason.as_deref());
        let odd = [
            hook.reason.clone(),
            hook.fault.as_ref().map(HookFaultView::in_words),
            hook.warning.clone(),
            last.map(|why| format!("the last time it {why}")),
        ];
        rows.extend(odd.into_iter().flatten().map(|text| (TextColor::Yellow, text)));
        for (color, row) in rows {
            for row in width::wrap_words(&safe_text::line(&row, usize::MAX), columns) {
                text.push_str(&format!("{MARGIN}{}\n", stdout.paint(color, &row)));
            }
        }
    }
    let is_confined = |hook: &ListedHookView| hook.confinement.as_ref().is_some_and(|it| it.confined);
    if hooks.iter().any(|hook| is_confined(hook) && is_own(&hook.id)) {
        for row in width::wrap_words(OUT_OF_SANDBOX, columns) {
            text.push_str(&format!("{}\n", stdout.paint(TextColor::Dim, &row)));
        }
    }
    text
}

/// True of a hook of the user's or the system's settings.
fn is_own(id: &str) -> bool {
    ["user/", "system/"].iter().any(|source| id.starts_with(source))
}

/// Sentences about the hooks of an agent's file, one each, as `definition` of `agents/get` has it.
pub(super) fn of_definition(definition: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let Some(hooks) = definition.get("hooks").filter(|hooks| !hooks.is_null()) else { return told };
    for (event, groups) in hooks.as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let about = group["matcher"].as_str().filter(|it| !matches!(it.trim(), "" | "*"));
            let about = about.map(|matcher| format!(" of {matcher}")).unwrap_or_default();
            for hook in group["hooks"].as_array().into_iter().flatten() {
                // In full where it is more than a command line: what is not seen cannot be trusted.
                let is_line = hook["type"] == "command" && hook["args"].is_null();
                let line = hook["command"].as_str().filter(|_| is_line);
                let runs = line.map_or_else(|| hook.to_string(), str::to_owned);
                let condition = hook["if"].as_str().map(|rule| format!(" if {rule}")).unwrap_or_default();
                told.push(format!("{event}{about}{condition}: {runs}"));
            }
        }
    }
    // In full where it has another shape: what is not seen cannot be trusted.
    if told.is_empty() {
        told.push(hooks.to_string());
    }
    told
}

fn failure_words(hook: &ListedHookView) -> &'static str {
    match (hook.is_async, hook.on_failure.as_str()) {
        (true, _) => "runs in the background",
        (false, "block") => "if it fails, what it guards is refused",
        (false, "ask") => "if it fails, you are asked",
        (false, _) => "if it fails, you are warned",
    }
}

fn state_word(state: &str) -> &str {
    match state {
        "neverFires" => "never fires",
        other => other,
    }
}

fn switch(
    arguments: &HookSwitchArguments,
    enabled: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let HookSwitchArguments { id, format } = arguments;
    let workspace = surroundings.workspace();
    link.open(&mut surroundings.stderr)?;
    let params = HooksSetEnabledParams { id: id.clone(), enabled, workspace };
    let answer = link.ask_value::<HooksSetEnabled>(&params)?;
    let state = if enabled { "on" } else { "off" };
    paging::tell(&answer, *format, || format!("hook {id} is {state}"), surroundings)
}

fn test(
    arguments: &HooksTestArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let HooksTestArguments { id, input, tool, workspace, format } = arguments;
    let workspace = paths::read_workspace(workspace.as_deref(), surroundings)?;
    let input = if input.is_empty() { None } else { policy::read_arguments(input)?.as_object().cloned() };
    link.open(&mut surroundings.stderr)?;
    let params = HooksTestParams { id: id.clone(), workspace, tool: tool.clone(), input };
    let answer = link.ask_slowly::<HooksTest>(&params, &mut surroundings.stderr)?;
    let trial: HookTrialView = paging::view(&answer)?;
    let columns = surroundings.stdout.width;
    let words = || in_words(&trial, is_own(id), columns);
    paging::tell(&answer, *format, words, surroundings)
}

/// The answer to `hooks/test`: what it means, how the hook ended, what it was told, and what it said.
fn in_words(trial: &HookTrialView, is_own: bool, columns: Option<usize>) -> String {
    const LABEL: usize = 10;
    let room = columns.map(|columns| columns.saturating_sub(LABEL).max(20));
    let mut lines = Vec::new();
    let mut put = |label: &str, text: &str| {
        let text = safe_text::lines(text.trim_end());
        // Data keeps its blanks; a sentence is broken between words.
        let is_data = matches!(label, "told" | "stdout" | "stderr" | "arguments");
        let rows = text.split('\n').flat_map(|row| match room {
            Some(room) if is_data => width::wrap_exactly(row, room),
            Some(room) => width::wrap_words(row, room),
            None => vec![row.to_owned()],
        });
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        if !text.is_empty() {
            lines.push(format!("{label:<9} {}", rows.join("\n          ")));
        }
    };
    put("means", &trial.summary);
    let decision = trial.decision.as_deref().unwrap_or_default();
    match decision.is_empty() || trial.would_fire {
        true => put("decision", decision),
        false => put("decision", &format!("{decision} (only if it were asked)")),
    }
    put("reason", trial.reason.as_deref().unwrap_or_default());
    for context in &trial.context {
        put("context", context);
    }
    if let Some(arguments) = &trial.arguments {
        put("arguments", &arguments.to_string());
    }
    for warning in &trial.warnings {
        put("warning", warning);
    }
    let code = trial.exit_code.map(|code| format!("exit code {code}, ")).unwrap_or_default();
    put("ended", &format!("{code}{} in {} ms", trial.outcome, trial.duration_ms));
    let runs = trial.confinement.as_ref().map(HookConfinementView::in_words).unwrap_or_default();
    put("runs", &runs);
    if is_own && trial.confinement.as_ref().is_some_and(|it| it.confined) {
        put("", OUT_OF_SANDBOX);
    }
    put("told", &trial.input.to_string());
    put("stdout", &trial.stdout);
    put("stderr", &trial.stderr);
    lines.join("\n")
}
