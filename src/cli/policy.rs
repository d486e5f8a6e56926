//! `subagent policy`: which rules are in force, what would they say about a call, and which can be forgotten?

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat,
    failure::CommandFailure,
    human, ids, inputs,
    link::DaemonLink,
    list::ListedProblem,
    message::show_message,
    paging, palette,
    question::card,
    rule::RuleView,
    safe_text,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
    width,
};
use protocol::{
    PolicyCheck, PolicyCheckParams, PolicyList, PolicyListParams, PolicyRemove, PolicyRemoveParams,
};

#[derive(Subcommand)]
pub(super) enum PolicyVerb {
    /// List the rules in the order in which they apply
    List(PolicyListArguments),
    /// Show what would happen to a call, and which rule decides; runs nothing
    Check(PolicyCheckArguments),
    /// Remove a rule that an answer created
    Remove(PolicyRemoveArguments),
}

#[derive(Args)]
pub(super) struct PolicyListArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct PolicyCheckArguments {
    /// The tool's name, or an alias
    tool: String,
    /// Its arguments: one JSON object, or NAME=VALUE each; a value that is JSON is taken as JSON, else as text
    #[arg(value_name = "JSON|NAME=VALUE")]
    arguments: Vec<String>,
    /// As this agent calls it [default: the session's]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// In this session; the beginning of its id is enough [default: in a new one here]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct PolicyRemoveArguments {
    /// The rule's id; `subagent policy list` shows it
    rule: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn policy(
    verb: &PolicyVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        PolicyVerb::List(arguments) => list(arguments, link, surroundings)?,
        PolicyVerb::Check(arguments) => check(arguments, link, surroundings)?,
        PolicyVerb::Remove(PolicyRemoveArguments { rule, format }) => {
            link.open(&mut surroundings.stderr)?;
            let answer = link.ask_value::<PolicyRemove>(&PolicyRemoveParams { rule_id: rule.clone() })?;
            paging::tell(&answer, *format, || format!("rule {rule} holds no more"), surroundings)?;
        }
    }
    Ok(0)
}

fn list(
    arguments: &PolicyListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let answer = link.ask_value::<PolicyList>(&PolicyListParams { workspace: surroundings.workspace() })?;
    if arguments.format == ListingFormat::Json {
        return paging::print_json(&answer, surroundings);
    }
    let rules: Vec<RuleView> = paging::entries(&answer, "rules")?;
    let text = match rules.is_empty() {
        true => {
            "no rules; what is not safe is asked about (edits are not in a session whose mode is autoEdit)\n"
                .to_owned()
        }
        false => draw(&rules, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    let problems: Vec<ListedProblem> =
        if answer.get("problems").is_some() { paging::entries(&answer, "problems")? } else { Vec::new() };
    for problem in problems {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &problem.describe());
    }
    Ok(())
}

/// Whence a rule comes, and whether it was of use.
fn from(rule: &RuleView) -> String {
    let from = [
        rule.created_by.as_ref().map(|who| format!("remembered for {who}")),
        rule.created_at.map(human::moment),
        rule.from_confirmation.as_ref().map(|id| format!("question {}", ids::shortest(id))),
        rule.from_confirmation.as_ref().map(|_| match rule.last_used_at {
            Some(at) => format!("last used {}", human::moment(at)),
            None => "never used".to_owned(),
        }),
        rule.message.clone(),
    ];
    from.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A terminal that is narrower than this has no room for a table in which one can read what a rule is about.
const TABLE_COLUMNS: usize = 140;

/// Each rule in a few rows: what it is about, whence it comes, and the id by which it is removed.
fn draw_in_words(rules: &[RuleView], columns: usize, stdout: &OutputWriter) -> String {
    const MARGIN: &str = "  ";
    let mut text = String::new();
    for rule in rules {
        let line = |text: &str| safe_text::line(text, usize::MAX);
        text.push_str(&format!("{}\n", stdout.paint(TextColor::Bold, &line(&rule.id))));
        let verdict = line(&rule.decision);
        let about = line(&rule.about());
        let about = about.strip_prefix(&format!("{verdict} ")).unwrap_or(&about);
        let from = from(rule);
        let from = [format!("{} rule", rule.tier), format!("priority {}", rule.priority), from];
        let from: Vec<String> = from.into_iter().filter(|part| !part.is_empty()).collect();
        for (at, paragraph) in [format!("{verdict} {about}"), line(&from.join(" · "))].iter().enumerate() {
            for row in width::wrap_words(paragraph, columns.saturating_sub(MARGIN.len()).max(MARGIN.len())) {
                let ink = if at == 0 { None } else { Some(TextColor::Dim) };
                let row = ink.map_or_else(|| row.clone(), |ink| stdout.paint(ink, &row));
                text.push_str(&format!("{MARGIN}{row}\n"));
            }
        }
    }
    text
}

fn draw(rules: &[RuleView], stdout: &OutputWriter) -> String {
    if let Some(columns) = stdout.width.filter(|columns| stdout.is_terminal && *columns < TABLE_COLUMNS) {
        return draw_in_words(rules, columns, stdout);
    }
    let cells = |rule: &RuleView| {
        [
            cell(&rule.id),
            cell(&rule.tier),
            state_cell(&rule.decision),
            cell(&rule.priority.to_string()),
            cell(&rule.about()),
            cell(&from(rule)),
        ]
    };
    let rows: Vec<[TableCell; 6]> = rules.iter().map(cells).collect();
    let columns =
        [whole("RULE"), whole("TIER"), whole("SAYS"), whole("PRIORITY"), free("ABOUT"), free("FROM")];
    table::draw(columns, &rows, stdout)
}

/// The answer to `policy/check`, with open verdicts, kinds and risks.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PolicyCheckReply {
    decision: String,
    rule: String,
    reason: String,
    tool: String,
    kind: String,
    risk: String,
    description: String,
    accesses: Vec<Value>,
    hooks: Vec<MatchedHookView>,
}

/// A hook that the call meets.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MatchedHookView {
    id: String,
    event: String,
    runs: String,
    deny_reason: Option<String>,
    ask_reason: Option<String>,
    skipped: Option<String>,
    warning: Option<String>,
}

impl MatchedHookView {
    fn describe(&self) -> String {
        let when = match self.event.as_str() {
            "PreToolUse" => "is asked before it is judged".to_owned(),
            "PermissionRequest" => "is asked before you are".to_owned(),
            "PostToolUse" => "is told afterwards".to_owned(),
            "PostToolUseFailure" => "is told if it fails".to_owned(),
            event => format!("at {event}"),
        };
        let what = match (&self.deny_reason, &self.ask_reason, &self.skipped) {
            (Some(why), ..) => format!("refuses what it guards: {why}"),
            (_, Some(why), _) => format!("fails, so you are asked: {why}"),
            (.., Some(why)) => format!("is passed over: {why}"),
            _ => format!("{when}: {}", safe_text::written(&self.runs).concat()),
        };
        let warning = self.warning.as_ref().map(|warning| format!("; {warning}")).unwrap_or_default();
        format!("{} {what}{warning}", self.id)
    }
}

fn check(
    arguments: &PolicyCheckArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let call = read_arguments(&arguments.arguments)?;
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let workspace = surroundings.workspace().filter(|_| session_id.is_none());
    let params = PolicyCheckParams {
        tool: arguments.tool.as_str().into(),
        arguments: call,
        agent: arguments.agent.as_deref().map(Into::into),
        session_id,
        workspace,
    };
    let answer = link.ask_slowly::<PolicyCheck>(&params, &mut surroundings.stderr)?;
    if arguments.format == ListingFormat::Json {
        return paging::print_json(&answer, surroundings);
    }
    let text = draw_checked(&paging::view(&answer)?, &surroundings.stdout);
    surroundings.stdout.write_drawn(&text)
}

fn draw_checked(checked: &PolicyCheckReply, stdout: &OutputWriter) -> String {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let decision = line(&checked.decision);
    let decision = match palette::ink(&checked.decision) {
        Some(ink) => stdout.paint(ink, &decision),
        None => decision,
    };
    let mut text = format!("{decision}  {} {}\n", line(&checked.tool), line(&checked.description));
    let mut field = |label: &str, value: &str| {
        text.push_str(format!("{label:8}  {value}").trim_end());
        text.push('\n');
    };
    field("because", &line(&checked.reason));
    field("rule", &line(&checked.rule));
    field("kind", &format!("{}, risk {}", line(&checked.kind), line(&checked.risk)));
    for (at, access) in card::accesses(&checked.accesses).iter().enumerate() {
        field(if at == 0 { "touches" } else { "" }, access);
    }
    for (at, hook) in checked.hooks.iter().enumerate() {
        field(if at == 0 { "hooks" } else { "" }, &line(&hook.describe()));
    }
    text
}

/// A call's arguments: one JSON object, or `NAME=VALUE` each.
pub(super) fn read_arguments(given: &[String]) -> Result<Value, CommandFailure> {
    if let [text] = given
        && text.trim_start().starts_with('{')
    {
        return serde_json::from_str(text).map_err(|error| {
            CommandFailure::usage(format!("the arguments are no JSON: {error}"))
                .or_hint("give one JSON object, or NAME=VALUE each")
        });
    }
    let read = |text: &String| {
        inputs::parse_input(text).map_err(|error| {
            CommandFailure::usage(format!("{text:?} is no argument: {error}"))
                .or_hint("give one JSON object, or NAME=VALUE each")
        })
    };
    Ok(Value::Object(given.iter().map(read).collect::<Result<Map<_, _>, _>>()?))
}
