//! `subagent mcp VERB`: which servers of the Model Context Protocol are there, how are they, and switching them by hand. Without a
//! verb it is such a server itself.

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_FAILED},
    human,
    link::DaemonLink,
    mcp_bridge::{self, BridgeArguments},
    message::show_message,
    paging, safe_text,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
};
use protocol::{
    McpConnect, McpDisconnect, McpRestart, McpServerParams, McpSetEnabled, McpSetEnabledParams, McpStatus,
    McpStatusParams, RpcMethod,
};

mod signing;
mod writing;

/// Characters of a line that a server printed.
const LONGEST_LINE: usize = 400;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct McpCommand {
    #[command(flatten)]
    bridge: BridgeArguments,
    #[command(subcommand)]
    verb: Option<McpVerb>,
}

#[derive(Subcommand)]
enum McpVerb {
    /// List the configured servers; starts none
    List(McpArguments),
    /// Show the state of servers: errors, restarts, calls, last error output
    Status(McpArguments),
    /// List the tools of servers that are ready
    Tools(McpArguments),
    /// Start a server, or retry now; exits 1 if it does not come up
    Connect(ServerArguments),
    /// Stop a server until somebody needs it
    Disconnect(ServerArguments),
    /// Restart a server; exits 1 if it does not come up
    Restart(ServerArguments),
    /// Sign in to a server: prints an address to open, and waits until you have
    Login(ServerArguments),
    /// Sign out of a server: delete its tokens, and revoke them
    Logout(ServerArguments),
    /// Enable a server that was disabled
    Enable(ServerArguments),
    /// Disable a server everywhere until it is enabled
    Disable(ServerArguments),
    /// Add a server to your settings or the folder's: a program, or a --url
    Add(writing::AddArguments),
    /// Remove a server from your settings or the folder's
    Remove(writing::RemoveArguments),
    /// Print or write a small working server to start from
    Template(writing::TemplateArguments),
}

#[derive(Args)]
struct McpArguments {
    /// Only this server
    server: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
struct ServerArguments {
    /// Its name in the settings
    server: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// A server, with open states.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpServerView {
    name: String,
    state: String,
    reason: Option<String>,
    transport: Option<String>,
    tools: u64,
    tool_names: Vec<String>,
    restarts: u64,
    warnings: Vec<String>,
    stderr: String,
    calls: McpCallStats,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpCallStats {
    calls: u64,
    errors: u64,
    p50_ms: Option<u64>,
    p99_ms: Option<u64>,
}

pub(super) fn mcp(
    command: &McpCommand,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let Some(verb) = &command.verb else {
        if surroundings.stdin.is_terminal {
            let text = "this serves tools over MCP to the program that starts it, by its standard input; to look at servers: \
                        `subagent mcp list`";
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
        }
        return mcp_bridge::bridge(&command.bridge, link, surroundings);
    };
    match verb {
        McpVerb::List(arguments) => show(arguments, link, surroundings, draw),
        McpVerb::Status(arguments) => show(arguments, link, surroundings, describe),
        McpVerb::Tools(arguments) => show(arguments, link, surroundings, name_tools),
        McpVerb::Connect(arguments) => change::<McpConnect>(arguments, true, link, surroundings),
        McpVerb::Disconnect(arguments) => change::<McpDisconnect>(arguments, false, link, surroundings),
        McpVerb::Restart(arguments) => change::<McpRestart>(arguments, true, link, surroundings),
        McpVerb::Login(arguments) => signing::login(arguments, link, surroundings),
        McpVerb::Logout(arguments) => signing::logout(arguments, link, surroundings),
        McpVerb::Enable(arguments) => switch(arguments, true, link, surroundings),
        McpVerb::Disable(arguments) => switch(arguments, false, link, surroundings),
        McpVerb::Add(arguments) => writing::add(arguments, link, surroundings),
        McpVerb::Remove(arguments) => writing::remove(arguments, link, surroundings),
        McpVerb::Template(arguments) => writing::template(arguments, link, surroundings),
    }
}

fn show(
    arguments: &McpArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
    told: fn(&[McpServerView], &OutputWriter) -> String,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpStatusParams { server: arguments.server.clone(), workspace: surroundings.workspace() };
    let answer = link.ask_value::<McpStatus>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let servers: Vec<McpServerView> = paging::entries(&answer, "servers")?;
    let text = match servers.is_empty() {
        true => "no servers; they stand in the settings under mcpServers\n".to_owned(),
        false => told(&servers, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    Ok(0)
}

fn draw(servers: &[McpServerView], stdout: &OutputWriter) -> String {
    let cells = |server: &McpServerView| {
        [
            cell(&server.name),
            state_cell(&server.state),
            cell(&server.tools.to_string()),
            cell(server.transport.as_deref().unwrap_or_default()),
            cell(server.reason.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<[TableCell; 5]> = servers.iter().map(cells).collect();
    let columns = [whole("SERVER"), whole("STATE"), whole("TOOLS"), whole("BY"), free("WHY")];
    table::draw(columns, &rows, stdout)
}

fn describe(servers: &[McpServerView], stdout: &OutputWriter) -> String {
    let mut text = draw(servers, stdout);
    for server in servers {
        let McpCallStats { calls, errors, p50_ms, p99_ms } = &server.calls;
        let mut lines = vec![format!("{calls} calls, {errors} failed, {} restarts", server.restarts)];
        if let (Some(p50), Some(p99)) = (p50_ms, p99_ms) {
            lines.push(format!("half of the calls within {p50} ms, nearly all within {p99} ms"));
        }
        lines.extend(server.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.extend(server.stderr.lines().map(|line| format!("| {line}")));
        text.push_str(&format!("\n{}\n", server.name));
        for line in lines {
            text.push_str(&format!("  {}\n", safe_text::line(&line, LONGEST_LINE)));
        }
    }
    text
}

fn name_tools(servers: &[McpServerView], _: &OutputWriter) -> String {
    let names: String =
        servers.iter().flat_map(|server| &server.tool_names).map(|name| format!("{name}\n")).collect();
    match names.is_empty() {
        true => "no server is ready; `subagent mcp connect SERVER` starts one\n".to_owned(),
        false => names,
    }
}

/// `is_to_be_ready`: it is a failure when the server is away then.
fn change<M: RpcMethod<Params = McpServerParams>>(
    arguments: &ServerArguments,
    is_to_be_ready: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpServerParams { server: arguments.server.clone(), workspace: surroundings.workspace() };
    // A server has 30 s to be there, which is no silence of the daemon's.
    let answer: Value = link.ask_slowly::<M>(&params, &mut surroundings.stderr)?;
    let server: McpServerView = paging::view(&answer)?;
    let told = || match &server.reason {
        Some(reason) => format!("{} is {}: {reason}", server.name, server.state),
        None if server.state == "ready" => {
            format!("{} is ready, with {}", server.name, human::count(server.tools, "tool"))
        }
        None => format!("{} is {}", server.name, server.state),
    };
    paging::tell(&answer, arguments.format, told, surroundings)?;
    // One that is not there, and is not about to be, says why.
    Ok(if is_to_be_ready && server.reason.is_some() { EXIT_FAILED } else { 0 })
}

fn switch(
    arguments: &ServerArguments,
    enabled: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpSetEnabledParams { server: arguments.server.clone(), enabled };
    let answer = link.ask_value::<McpSetEnabled>(&params)?;
    let word = if enabled { "on" } else { "off" };
    paging::tell(
        &answer,
        arguments.format,
        || format!("{} is switched {word}", arguments.server),
        surroundings,
    )?;
    Ok(0)
}
