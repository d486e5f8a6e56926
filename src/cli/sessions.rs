//! `subagent sessions`: which sessions are there, what is in one, and how does one end it?

mod history;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Format, Output, Surroundings, failure::Failure, human, ids, link::Link, paging, paging::Paging,
    safe_text, table,
};
use crate::protocol::{
    SessionClose, SessionDelete, SessionGet, SessionId, SessionIdParams, SessionList, SessionListParams,
    SessionState, Timestamp, WorkspaceParam,
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct SessionsArguments {
    #[command(subcommand)]
    verb: Option<SessionsVerb>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Subcommand)]
enum SessionsVerb {
    /// Show a session and the contexts in it
    Show(ShowArguments),
    /// Show what an agent has been told and has said in a session
    History(history::HistoryArguments),
    /// End a session's runs and take no more; its history stays, but an ephemeral session is removed
    Close(OneSession),
    /// Remove a session and everything in it
    Delete(OneSession),
}

#[derive(Args)]
struct ListArguments {
    /// Only sessions that take work
    #[arg(long)]
    open: bool,
    /// Only sessions of exactly this folder
    #[arg(long, value_name = "DIR")]
    workspace: Option<std::path::PathBuf>,
    /// Only sessions whose title or folder contains this text
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    #[command(flatten)]
    paging: Paging,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Args)]
struct ShowArguments {
    #[command(flatten)]
    session: OneSession,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Args)]
struct OneSession {
    /// A session's id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
}

impl OneSession {
    fn find(&self, link: &mut Link) -> Result<SessionIdParams, Failure> {
        Ok(SessionIdParams { session_id: ids::find_session(&self.session, link)? })
    }
}

pub(super) fn sessions(
    arguments: &SessionsArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    match &arguments.verb {
        None => list(&arguments.list, link, surroundings)?,
        Some(SessionsVerb::Show(arguments)) => show(arguments, link, surroundings)?,
        Some(SessionsVerb::History(arguments)) => history::history(arguments, link, surroundings)?,
        Some(SessionsVerb::Close(session)) => {
            let params = session.find(link)?;
            let closed = link.ask::<SessionClose>(&params)?;
            let told = match closed.seq {
                Some(_) => format!("closed session {}", closed.session_id),
                None => format!("session {} was closed before", closed.session_id),
            };
            surroundings.stdout.write_text(&told)?;
        }
        Some(SessionsVerb::Delete(session)) => {
            let params = session.find(link)?;
            let deleted = link.ask::<SessionDelete>(&params)?;
            let events = human::count(deleted.events, "event");
            let told = format!("deleted session {} with its {events}", deleted.session_id);
            surroundings.stdout.write_text(&told)?;
        }
    }
    Ok(0)
}

fn list(arguments: &ListArguments, link: &mut Link, surroundings: &mut Surroundings) -> Result<(), Failure> {
    let workspace = match &arguments.workspace {
        Some(folder) => match surroundings.working_folder.join(folder).to_str() {
            Some(path) => Some(WorkspaceParam::Path(path.to_owned())),
            None => return Err(Failure::usage("the workspace's path is not UTF-8")),
        },
        None => None,
    };
    let params = SessionListParams {
        workspace,
        state: arguments.open.then_some(SessionState::Open),
        query: arguments.query.clone(),
        cursor: arguments.paging.cursor.clone(),
        limit: arguments.paging.limit,
    };
    let answer = link.ask_value::<SessionList>(&params)?;
    if arguments.format == Format::Json {
        return paging::print_json(&answer, surroundings);
    }
    let listed: Vec<ListedSession> = paging::entries(&answer, "sessions")?;
    let text = match listed.is_empty() {
        true => "no sessions\n".to_owned(),
        false => draw(&listed, &surroundings.stdout),
    };
    surroundings.stdout.write(&text)?;
    paging::note_more(&answer, surroundings);
    Ok(())
}

/// A session, with open states.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    session_id: SessionId,
    #[serde(default)]
    roots: Vec<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    ephemeral: bool,
    created_at: Timestamp,
    last_active_at: Timestamp,
}

impl ListedSession {
    fn standing(&self) -> String {
        let state = self.state.as_deref().unwrap_or(SessionState::Open.as_str());
        table::cell(&if self.ephemeral { format!("{state}, ephemeral") } else { state.to_owned() })
    }
}

fn draw(sessions: &[ListedSession], stdout: &Output) -> String {
    let length = ids::short_length(sessions.iter().map(|session| session.session_id.as_str()));
    let cells = |session: &ListedSession| {
        let roots = session.roots.join(", ");
        let name = session.title.as_ref().map_or(roots.clone(), |title| format!("{title} · {roots}"));
        [
            ids::short(session.session_id.as_str(), length),
            session.standing(),
            human::moment(session.last_active_at),
            table::cell(session.agent.as_deref().unwrap_or("-")),
            table::first_line(&name),
        ]
    };
    let rows: Vec<[String; 5]> = sessions.iter().map(cells).collect();
    table::draw(["SESSION", "STATE", "LAST ACTIVE", "AGENT", "TITLE AND FOLDERS"], &rows, stdout)
}

/// The answer to `session/get`.
#[derive(Deserialize)]
struct Shown {
    session: ListedSession,
    contexts: Vec<ShownContext>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownContext {
    context_id: String,
    agent: String,
    #[serde(default)]
    parent_run_id: Option<String>,
    started_at: Timestamp,
    last_active_at: Timestamp,
}

fn show(arguments: &ShowArguments, link: &mut Link, surroundings: &mut Surroundings) -> Result<(), Failure> {
    let params = arguments.session.find(link)?;
    let answer: Value = link.ask_value::<SessionGet>(&params)?;
    if arguments.format == Format::Json {
        return paging::print_json(&answer, surroundings);
    }
    let Shown { session, contexts } = Shown::deserialize(answer)
        .map_err(|error| Failure::new(format!("the daemon's session cannot be read: {error}")))?;
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        text.push_str(&format!("{label:11}  {}\n", safe_text::line(value, usize::MAX)));
    };
    field("session", session.session_id.as_str());
    if let Some(title) = &session.title {
        field("title", title);
    }
    field("state", &session.standing());
    field("folders", &session.roots.join(", "));
    if let Some(agent) = &session.agent {
        field("agent", agent);
    }
    field("created", &human::moment(session.created_at));
    field("last active", &human::moment(session.last_active_at));
    if !contexts.is_empty() {
        text.push_str("\ncontexts\n");
        text.push_str(&draw_contexts(&contexts, &surroundings.stdout));
    }
    surroundings.stdout.write(&text)
}

fn draw_contexts(contexts: &[ShownContext], stdout: &Output) -> String {
    let length = ids::short_length(contexts.iter().map(|context| context.context_id.as_str()));
    let cells = |context: &ShownContext| {
        let caller =
            context.parent_run_id.as_ref().map(|run| format!("called by run {}", ids::shortest(run)));
        [
            ids::short(&context.context_id, length),
            table::cell(&context.agent),
            human::moment(context.started_at),
            human::moment(context.last_active_at),
            caller.unwrap_or_default(),
        ]
    };
    let rows: Vec<[String; 5]> = contexts.iter().map(cells).collect();
    table::draw(["CONTEXT", "AGENT", "STARTED", "LAST ACTIVE", ""], &rows, stdout)
}
