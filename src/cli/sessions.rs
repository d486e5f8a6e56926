//! `subagent sessions`: which sessions are there, what is in one, and how does one end it?

pub(super) mod contexts;
mod delete;
pub(super) mod history;
mod mode;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    paging,
    paging::PagingArguments,
    palette, person, safe_text,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{
    SessionClose, SessionGet, SessionId, SessionIdParams, SessionList, SessionListParams, SessionState,
    Timestamp, WorkspaceParam,
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct SessionsArguments {
    #[command(subcommand)]
    verb: Option<SessionsVerb>,
    #[command(flatten)]
    list: SessionListArguments,
}

#[derive(Subcommand)]
enum SessionsVerb {
    /// Show a session and the contexts in it
    Show(SessionShowArguments),
    /// Show the messages of an agent in a session
    History(history::HistoryArguments),
    /// Replace older messages of a session's contexts by a summary; the history stays
    Compact(contexts::ContextArguments),
    /// Start a session's contexts anew; the history stays
    Clear(contexts::ContextArguments),
    /// Show or change how freely a session's tool calls run
    Mode(mode::ModeArguments),
    /// End a session's runs and accept no more; the history stays, except of an ephemeral session
    Close(ChangeArguments),
    /// Remove a session and everything in it; asks first
    Delete(delete::SessionDeleteArguments),
}

#[derive(Args)]
struct SessionListArguments {
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
    paging: PagingArguments,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct SessionShowArguments {
    #[command(flatten)]
    session: SessionSelector,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct ChangeArguments {
    #[command(flatten)]
    session: SessionSelector,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
struct SessionSelector {
    /// A session's id, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,
}

impl SessionSelector {
    fn find(&self, link: &mut DaemonLink) -> Result<SessionIdParams, CommandFailure> {
        Ok(SessionIdParams { session_id: ids::find_session(&self.session, link)? })
    }
}

pub(super) fn sessions(
    arguments: &SessionsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    if let Some(SessionsVerb::Delete(arguments)) = &arguments.verb {
        // No daemon is started for what is refused anyway.
        arguments.check_consent(surroundings)?;
    }
    // The log says who set a mode, or closed a session.
    link.open_named(person::answering(surroundings)?, &mut surroundings.stderr)?;
    match &arguments.verb {
        None => list(&arguments.list, link, surroundings)?,
        Some(SessionsVerb::Show(arguments)) => show(arguments, link, surroundings)?,
        Some(SessionsVerb::History(arguments)) => history::history(arguments, link, surroundings)?,
        Some(SessionsVerb::Compact(arguments)) => return contexts::compact(arguments, link, surroundings),
        Some(SessionsVerb::Clear(arguments)) => return contexts::clear(arguments, link, surroundings),
        Some(SessionsVerb::Mode(arguments)) => mode::mode(arguments, link, surroundings)?,
        Some(SessionsVerb::Close(ChangeArguments { session, format })) => {
            let params = session.find(link)?;
            let answer = link.ask_value::<SessionClose>(&params)?;
            let id = params.session_id;
            let words = || match answer.get("seq").is_some_and(|seq| !seq.is_null()) {
                true => format!("closed session {id}"),
                false => format!("session {id} was closed before"),
            };
            paging::tell(&answer, *format, words, surroundings)?;
        }
        Some(SessionsVerb::Delete(arguments)) => delete::delete(arguments, link, surroundings)?,
    }
    Ok(0)
}

fn list(
    arguments: &SessionListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let workspace = match &arguments.workspace {
        Some(folder) => match surroundings.working_folder.join(folder).to_str() {
            Some(path) => Some(WorkspaceParam::Path(path.to_owned())),
            None => {
                return Err(CommandFailure::usage("the workspace's path is not UTF-8")
                    .or_hint("roots are UTF-8; --query finds sessions by a part of their folder"));
            }
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
    if arguments.format == ListingFormat::Json {
        return paging::print_json(&answer, surroundings);
    }
    let listed: Vec<ListedSession> = paging::entries(&answer, "sessions")?;
    let text = match listed.is_empty() {
        true => "no sessions\n".to_owned(),
        false => draw(&listed, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
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
    mode: Option<String>,
    #[serde(default)]
    ephemeral: bool,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    last_active_at: Option<Timestamp>,
}

impl ListedSession {
    fn state(&self) -> &str {
        self.state.as_deref().unwrap_or(SessionState::Open.as_str())
    }

    fn status(&self) -> String {
        let state = self.state();
        if self.ephemeral { format!("{state}, ephemeral") } else { state.to_owned() }
    }
}

fn draw(sessions: &[ListedSession], stdout: &OutputWriter) -> String {
    let length = ids::short_length(sessions.iter().map(|session| session.session_id.as_str()));
    let cells = |session: &ListedSession| {
        let roots = session.roots.join(", ");
        let name = session.title.as_ref().map_or(roots.clone(), |title| format!("{title} · {roots}"));
        [
            cell(&ids::short(session.session_id.as_str(), length)),
            cell(&session.status()).painted(palette::ink(session.state())),
            cell(&human::moment_or_dash(session.last_active_at)),
            cell(session.agent.as_deref().unwrap_or("-")),
            table::first_line(&name),
        ]
    };
    let rows: Vec<[TableCell; 5]> = sessions.iter().map(cells).collect();
    let columns =
        [whole("SESSION"), free("STATE"), whole("LAST ACTIVE"), free("AGENT"), free("TITLE AND FOLDERS")];
    table::draw(columns, &rows, stdout)
}

/// The answer to `session/get`.
#[derive(Deserialize)]
struct SessionGetReply {
    session: ListedSession,
    #[serde(default)]
    contexts: Vec<ShownContext>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShownContext {
    context_id: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    parent_run_id: Option<String>,
    #[serde(default)]
    started_at: Option<Timestamp>,
    #[serde(default)]
    last_active_at: Option<Timestamp>,
    #[serde(default)]
    epoch: u32,
    #[serde(default)]
    tokens: Option<u64>,
}

impl ShownContext {
    /// What its model reads when it is asked next, and how often that became something else.
    fn read(&self) -> String {
        let Some(tokens) = self.tokens else { return "-".to_owned() };
        let tokens = human::count(tokens, "token");
        match self.epoch {
            0 => tokens,
            epoch => format!("{tokens}, shortened or cleared {}", human::count(epoch.into(), "time")),
        }
    }
}

fn show(
    arguments: &SessionShowArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let params = arguments.session.find(link)?;
    let answer: Value = link.ask_value::<SessionGet>(&params)?;
    if arguments.format == ListingFormat::Json {
        return paging::print_json(&answer, surroundings);
    }
    let SessionGetReply { session, contexts } = paging::view(&answer)?;
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        text.push_str(&format!("{label:11}  {}\n", safe_text::line(value, usize::MAX)));
    };
    field("session", session.session_id.as_str());
    if let Some(title) = &session.title {
        field("title", title);
    }
    field("state", &session.status());
    if let Some(mode) = &session.mode {
        field("mode", mode);
    }
    field("folders", &session.roots.join(", "));
    if let Some(agent) = &session.agent {
        field("agent", agent);
    }
    field("created", &human::moment_or_dash(session.created_at));
    field("last active", &human::moment_or_dash(session.last_active_at));
    if !contexts.is_empty() {
        text.push_str("\ncontexts\n");
        text.push_str(&draw_contexts(&contexts, &surroundings.stdout));
    }
    surroundings.stdout.write_drawn(&text)
}

fn draw_contexts(contexts: &[ShownContext], stdout: &OutputWriter) -> String {
    let length = ids::short_length(contexts.iter().map(|context| context.context_id.as_str()));
    let cells = |context: &ShownContext| {
        let caller =
            context.parent_run_id.as_ref().map(|run| format!("called by run {}", ids::shortest(run)));
        [
            cell(&ids::short(&context.context_id, length)),
            cell(&context.agent),
            cell(&human::moment_or_dash(context.started_at)),
            cell(&human::moment_or_dash(context.last_active_at)),
            cell(&context.read()),
            cell(&caller.unwrap_or_default()),
        ]
    };
    let rows: Vec<[TableCell; 6]> = contexts.iter().map(cells).collect();
    let columns = [
        whole("CONTEXT"),
        free("AGENT"),
        whole("STARTED"),
        whole("LAST ACTIVE"),
        free("ITS MODEL READS"),
        whole(""),
    ];
    table::draw(columns, &rows, stdout)
}
