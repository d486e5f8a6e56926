//! `subagent route`: which agent would a prompt go to that names none, and why? And how a run tells it.

use clap::Args;
use serde::Deserialize;

use super::{
    ListingFormat, ProcessIo, failure::CommandFailure, ids, inputs, link::DaemonLink, message::show_message,
    paging, safe_text, table, text_color::TextColor, trigger::ShownTrigger,
};
use protocol::{AgentsRoute, AgentsRouteParams};

#[derive(Args)]
pub(super) struct RouteArguments {
    /// The prompt; if missing, read from standard input unless that is a terminal
    prompt: Option<String>,
    /// Route as in this session; the beginning of the id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// Where a prompt goes, and why.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RouteView {
    agent: String,
    trigger: Option<ShownTrigger>,
    matched: Vec<String>,
    runners_up: Vec<RunnerUpView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunnerUpView {
    agent: String,
    trigger: ShownTrigger,
    matched: Vec<String>,
}

impl RouteView {
    /// Says where a run went that named no agent.
    pub(super) fn tell(&self, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
        if surroundings.stderr.is_for_programs {
            return Ok(());
        }
        let why = match self.trigger {
            Some(_) => format!("matched: {}", self.matched.join(", ")),
            None => "no trigger fits".to_owned(),
        };
        let agent = safe_text::line(&self.agent, table::NAME_CHARACTERS);
        let why = safe_text::line(&why, table::TEXT_CHARACTERS);
        surroundings.stderr.write_text(&format!("Auto-routing to: {agent} ({why})"))
    }
}

pub(super) fn route(
    arguments: &RouteArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let prompt = match &arguments.prompt {
        Some(prompt) => Some(prompt.clone()),
        None => inputs::read_text("the prompt", &mut surroundings.stdin)?,
    };
    let Some(prompt) = prompt.filter(|prompt| !prompt.trim().is_empty()) else {
        return Err(CommandFailure::usage("there is no prompt")
            .or_hint("subagent route \"Why does this test fail?\"; or pipe it in"));
    };
    link.open(&mut surroundings.stderr)?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let workspace = if session_id.is_none() { surroundings.workspace() } else { None };
    let answer = link.ask_value::<AgentsRoute>(&AgentsRouteParams { prompt, workspace, session_id })?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let text = draw(&paging::view(&answer)?);
    surroundings.stdout.write_drawn(&text)?;
    // Whoever reads a file of it wants the answer alone.
    if surroundings.stdout.is_terminal {
        let text = "nothing was started: subagent \"PROMPT\" does, and subagent run NAME overrules it";
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
    }
    Ok(0)
}

fn draw(route: &RouteView) -> String {
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        text.push_str(&format!("{label:11}  {}\n", safe_text::line(value, usize::MAX)));
    };
    field("agent", if route.agent.is_empty() { "-" } else { &route.agent });
    match &route.trigger {
        Some(trigger) => {
            field("trigger", &trigger.describe());
            field("matched", &route.matched.join(", "));
        }
        None => field("trigger", "none fits, so it is the usual agent"),
    }
    for (index, other) in route.runners_up.iter().enumerate() {
        let label = if index == 0 { "runners-up" } else { "" };
        let RunnerUpView { agent, trigger, matched } = other;
        field(label, &format!("{agent} · {} · matched: {}", trigger.describe(), matched.join(", ")));
    }
    text
}
