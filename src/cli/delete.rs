//! `subagent delete`: an agent's file goes to the trash.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ProcessIo, ReportFormat, consent, failure::CommandFailure, human, key::new_key, link::DaemonLink, list,
    paging, safe_text, scope::SubjectArguments,
};
use protocol::{
    AgentScope, AgentsDelete, AgentsDeleteParams, AgentsGet, AgentsGetParams, DeletedAgentContexts, OpenEnum,
};

#[derive(Args)]
pub(super) struct DeleteArguments {
    /// The agent; see `subagent list`
    name: String,
    #[command(flatten)]
    subject: SubjectArguments,
    /// Also clear its contexts in sessions where it has no run; the log stays
    #[arg(long)]
    contexts: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// What stdout gets: sentences, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// Which file it is.
#[derive(Deserialize)]
struct DeletionTarget {
    scope: OpenEnum<AgentScope>,
    /// Missing for an agent that is built in.
    path: Option<String>,
}

/// What became of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AgentDeleteReply {
    name: String,
    scope: OpenEnum<AgentScope>,
    path: String,
    trash: String,
    cleared: u64,
    busy: u64,
}

pub(super) fn delete(
    arguments: &DeleteArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let name = arguments.name.as_str();
    if !arguments.yes && !surroundings.has_person() {
        return Err(CommandFailure::usage("nobody can be asked here, and --yes is not given")
            .or_hint(format!("subagent delete {name} --yes")));
    }
    link.open(&mut surroundings.stderr)?;
    let workspace = surroundings.workspace();
    let mut scope = arguments.subject.scope();
    if !arguments.yes {
        let params = AgentsGetParams { name: name.into(), scope, workspace: workspace.clone() };
        let found: DeletionTarget = paging::view(&link.ask_value::<AgentsGet>(&params)?)?;
        if found.scope.known() == Some(AgentScope::Builtin) {
            return Err(CommandFailure::new(format!("{name} is built in, and cannot be deleted")).or_hint(format!(
                "switch it off in the settings: {{\"agents\": {{\"overrides\": {{\"{name}\": {{\"enabled\": false}}}}}}}}"
            )));
        }
        let meant = found.scope.known().filter(|found| scope.is_none_or(|asked| asked == *found));
        let (Some(meant), Some(path)) = (meant, &found.path) else {
            let what = format!("the daemon's answer does not say which file of {name} would be deleted");
            return Err(
                CommandFailure::new(what).or_hint("nothing was changed; `subagent stop`, then try again")
            );
        };
        // What is shown is what is deleted.
        scope = Some(meant);
        let contexts = if arguments.contexts { ", and what it remembers" } else { "" };
        let question = format!("Delete {name} ({}), {path}{contexts}?", list::place(&found.scope));
        consent::confirm(&question, "press y and then Enter to delete it, or give --yes", surroundings)?;
        // Whoever was asked may have thought for longer than an idle daemon lives.
        link.reach(&mut surroundings.stderr)?;
    }
    let contexts = if arguments.contexts { DeletedAgentContexts::Delete } else { DeletedAgentContexts::Keep };
    let idempotency_key = Some(new_key()?);
    let params = AgentsDeleteParams { name: name.into(), scope, workspace, contexts, idempotency_key };
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<AgentsDelete>(&params, stderr, &mut || interrupts() > 0)?;
    let told = told(&answer, arguments.contexts)?;
    paging::tell(&answer, arguments.format, || told, surroundings)?;
    Ok(0)
}

fn told(answer: &Value, with_contexts: bool) -> Result<String, CommandFailure> {
    let deleted: AgentDeleteReply = paging::view(answer)?;
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let place = line(list::place(&deleted.scope));
    let mut told = format!("deleted {} ({place}): {}", line(&deleted.name), line(&deleted.path));
    if !deleted.trash.is_empty() {
        told.push_str(&format!("\nits file is in the trash: {}", line(&deleted.trash)));
    }
    if !with_contexts {
        told.push_str("\nits runs and what it remembers stay; an agent of the same name goes on with that (--contexts empties it)");
    }
    if 0 < deleted.cleared {
        told.push_str(&format!(
            "\nwhat it remembered is gone in {}",
            human::count(deleted.cleared, "session")
        ));
    }
    if 0 < deleted.busy {
        let sessions = human::count(deleted.busy, "session");
        told.push_str(&format!("\nit has runs in {sessions}, where it remembers what it did"));
    }
    Ok(told)
}
