//! `subagent show`: what is one agent told, which tools and inputs has it, and what is wrong with it?

use clap::{Args, ValueEnum};

use super::{Format, Output, Surroundings, failure::Failure, link::Link, list, safe_text, screen::Ink};
use crate::protocol::{AgentScope, AgentsGet, AgentsGetParams, AgentsGetResult, InputSpec};

#[derive(Args)]
pub(super) struct ShowArguments {
    /// The agent; `subagent list` shows them
    name: String,
    /// Only the agent of this place [default: the one that a run would use]
    #[arg(long, value_enum)]
    scope: Option<ScopeWord>,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// A place for agents.
#[derive(Clone, Copy, ValueEnum)]
enum ScopeWord {
    Project,
    #[value(alias = "global")]
    User,
    Builtin,
}

impl From<ScopeWord> for AgentScope {
    fn from(word: ScopeWord) -> AgentScope {
        match word {
            ScopeWord::Project => AgentScope::Project,
            ScopeWord::User => AgentScope::User,
            ScopeWord::Builtin => AgentScope::Builtin,
        }
    }
}

pub(super) fn show(
    arguments: &ShowArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    let params = AgentsGetParams {
        name: arguments.name.as_str().into(),
        scope: arguments.scope.map(Into::into),
        workspace: surroundings.workspace(),
    };
    let agent = link.ask::<AgentsGet>(&params)?;
    match arguments.format {
        Format::Json => surroundings.stdout.write_json_of(&agent)?,
        Format::Table => {
            let text = draw(&agent, &surroundings.stdout);
            surroundings.stdout.write(&text)?;
        }
    }
    Ok(0)
}

fn draw(agent: &AgentsGetResult, stdout: &Output) -> String {
    let summary = &agent.summary;
    let whole_line = |text: &str| safe_text::line(text, usize::MAX);
    let place = match summary.scope {
        AgentScope::Project => "project",
        AgentScope::User => "user",
        AgentScope::Builtin => "built in",
    };
    let path = summary.path.as_ref().map(|path| format!(", {}", path.display())).unwrap_or_default();
    let name = whole_line(summary.name.as_str());
    let name = if stdout.has_color { Ink::Bold.paint(&name) } else { name };
    let mut text = format!("{name}  {}\n", whole_line(&summary.title));
    let mut field = |label: &str, value: &str| {
        text.push_str(format!("{label:12} {}", whole_line(value)).trim_end());
        text.push('\n');
    };
    if let Some(description) = &summary.description {
        field("description", description);
    }
    field("model", &summary.model);
    field("from", &format!("{place}{path}"));
    field("status", list::status_word(summary.status));
    for reason in list::reasons(summary) {
        field("", &reason);
    }
    field("digest", &summary.digest);
    for (index, input) in agent.input_specs.iter().enumerate() {
        field(if index == 0 { "inputs" } else { "" }, &describe_input(input));
    }
    if !agent.tools.is_empty() {
        field("tools", &agent.tools.join(", "));
    }
    for (label, template) in [("query", &agent.query), ("prompt", &agent.prompt)] {
        if let Some(template) = template {
            let label = if stdout.has_color { Ink::Bold.paint(label) } else { label.to_owned() };
            text.push_str(&format!("\n{label}\n{}\n", safe_text::lines(template).trim_end()));
        }
    }
    text
}

/// `file: string, required. The file to read`
fn describe_input(input: &InputSpec) -> String {
    let kind = match input.schema.get("type") {
        Some(serde_json::Value::String(kind)) => kind.clone(),
        // Several types, or none: the schema says it best.
        _ => input.schema.to_string(),
    };
    let presence = match (&input.default, input.required) {
        (Some(default), _) => format!("default {default}"),
        (None, true) => "required".to_owned(),
        (None, false) => "optional".to_owned(),
    };
    let description = input.description.as_ref().map(|text| format!(". {text}")).unwrap_or_default();
    format!("{}: {kind}, {presence}{description}", input.name)
}
