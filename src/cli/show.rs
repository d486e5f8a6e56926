//! `subagent show`: what is one agent told, which tools and inputs has it, and what is wrong with it? Or: what did one run
//! ask people, and which files did it change?

mod run;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, agent_color, failure::CommandFailure, hooks, human, ids,
    link::DaemonLink, list, list::ListedAgent, paging, safe_text, scope::AgentScopeWord,
    text_color::TextColor, trigger::ShownTrigger,
};
use protocol::{AgentScope, AgentsGet, AgentsGetParams, ErrorKind, Timestamp};

#[derive(Args)]
pub(super) struct AgentShowArguments {
    /// An agent's name, or a run's id or the beginning of it
    #[arg(value_name = "AGENT|RUN")]
    name: String,
    /// Only the agent of this place [default: the one that a run would use]
    #[arg(long, value_enum)]
    scope: Option<AgentScopeWord>,
    /// The same as --scope user
    #[arg(long, conflicts_with = "scope")]
    global: bool,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn show(
    arguments: &AgentShowArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsGetParams {
        name: arguments.name.as_str().into(),
        scope: arguments.scope.map(Into::into).or(arguments.global.then_some(AgentScope::User)),
        workspace: surroundings.workspace(),
    };
    let answer = match link.ask_value::<AgentsGet>(&params) {
        // Agents come first: a name may look like the beginning of an id.
        Err(error) if error.is_refusal(ErrorKind::NotFound) && ids::may_be_id(&arguments.name) => {
            return match ids::match_run(&arguments.name, link)? {
                Some(run_id) => run::show_run(run_id, arguments.format, link, surroundings),
                None if ids::is_whole(&arguments.name) => {
                    run::show_run(arguments.name.as_str().into(), arguments.format, link, surroundings)
                }
                None => Err(error.into()),
            };
        }
        answer => answer?,
    };
    match arguments.format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            let agent: ShownAgent = paging::view(&answer)?;
            surroundings.stdout.write_drawn(&draw(&agent, &surroundings.stdout))?;
            // By their letters: no row that was only broken looks like a line of them.
            let texts = draw_texts(&agent, &surroundings.stdout);
            surroundings.stdout.write(&texts)?;
        }
    }
    Ok(0)
}

/// The answer to `agents/get`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ShownAgent {
    #[serde(flatten)]
    summary: ListedAgent,
    prompt: Option<String>,
    query: Option<String>,
    input_specs: Vec<ShownInput>,
    tools: Vec<String>,
    sandbox: Option<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    triggers: Vec<UsedTrigger>,
    /// The same as its file could say it.
    definition: Value,
}

/// A trigger, and what came of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UsedTrigger {
    #[serde(flatten)]
    trigger: ShownTrigger,
    hits: u64,
    overrides: u64,
}

impl UsedTrigger {
    /// `debug: bug, crash · priority 10 · 4 hits, 1 of them given to another agent`
    fn describe(&self) -> String {
        let hits = human::count(self.hits, "hit");
        let others = match self.overrides {
            0 => String::new(),
            others => format!(", {others} of them given to another agent"),
        };
        format!("{} · {hits}{others}", self.trigger.describe())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ShownInput {
    name: String,
    description: Option<String>,
    required: bool,
    #[serde(rename = "default")]
    value: Option<Value>,
    schema: Value,
}

fn draw(agent: &ShownAgent, stdout: &OutputWriter) -> String {
    let summary = &agent.summary;
    let whole_line = |text: &str| safe_text::line(text, usize::MAX);
    let place = list::place(&summary.scope);
    let path = summary.path.as_ref().map(|path| format!(", {path}")).unwrap_or_default();
    let name = stdout.paint(TextColor::Bold, &whole_line(&summary.name));
    let dot = agent_color::dot(summary.color.as_deref(), stdout);
    let dot = dot.map(|dot| format!("{dot} ")).unwrap_or_default();
    let mut text = format!("{dot}{name}  {}\n", whole_line(&summary.title));
    let mut field = |label: &str, value: &str| {
        text.push_str(format!("{label:12} {}", whole_line(value)).trim_end());
        text.push('\n');
    };
    if let Some(description) = &summary.description {
        field("description", description);
    }
    field("model", &summary.model);
    if let Some(color) = &summary.color {
        field("color", color);
    }
    field("from", &format!("{place}{path}"));
    field("status", summary.status.as_str());
    for reason in list::reasons(summary) {
        field("", &reason);
    }
    field("digest", &summary.digest);
    for (label, at) in [("created", agent.created_at), ("changed", agent.updated_at)] {
        if let Some(at) = at {
            field(label, &human::moment(at));
        }
    }
    for (index, input) in agent.input_specs.iter().enumerate() {
        field(if index == 0 { "inputs" } else { "" }, &describe_input(input));
    }
    if !agent.tools.is_empty() {
        field("tools", &agent.tools.join(", "));
    }
    for (index, trigger) in agent.triggers.iter().enumerate() {
        field(if index == 0 { "triggers" } else { "" }, &trigger.describe());
    }
    for (index, hook) in hooks::of_definition(&agent.definition).iter().enumerate() {
        field(if index == 0 { "hooks" } else { "" }, &safe_text::written(hook).concat());
    }
    if let Some(profile) = &agent.sandbox {
        field("sandbox", &format!("{profile}; the settings may confine its commands further"));
    }
    text
}

/// The texts that it is told, by their letters.
fn draw_texts(agent: &ShownAgent, stdout: &OutputWriter) -> String {
    let mut text = String::new();
    for (label, template) in [("query", &agent.query), ("prompt", &agent.prompt)] {
        if let Some(template) = template {
            let label = stdout.paint(TextColor::Bold, label);
            text.push_str(&format!("\n{label}\n{}\n", safe_text::lines(template).trim_end()));
        }
    }
    text
}

/// `file: string, required. The file to read`
fn describe_input(input: &ShownInput) -> String {
    let kind = match input.schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        // Several types, or none: the schema says it best.
        _ => input.schema.to_string(),
    };
    let presence = match (&input.value, input.required) {
        (Some(default), _) => format!("default {default}"),
        (None, true) => "required".to_owned(),
        (None, false) => "optional".to_owned(),
    };
    let description = input.description.as_ref().map(|text| format!(". {text}")).unwrap_or_default();
    format!("{}: {kind}, {presence}{description}", input.name)
}
