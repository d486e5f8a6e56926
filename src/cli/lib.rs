//! The companion's commands: what `subagent` does with what a person typed (spec 12).
//!
//! A view of the daemon and nothing more: every fact comes over the public protocol. Hides argument parsing,
//! rendering and signals. Knows `protocol` and `client`, never the daemon's inside.

mod agent_color;
mod answer_guard;
mod approval_flags;
mod approvals;
mod approve;
mod asking;
mod attach;
mod cancel;
mod command_end;
mod completions;
mod config;
mod consent;
mod create;
mod daemon_flags;
mod delete;
mod doctor;
mod edit;
mod editor;
mod ending;
mod export;
mod extensions;
mod failure;
mod gc;
mod hooks;
mod human;
mod ids;
mod import;
mod inputs;
mod interrupts;
mod key;
mod keyboard;
mod line_editor;
mod link;
mod list;
mod logs;
mod mcp;
mod mcp_bridge;
mod memory;
mod memory_listing;
mod message;
mod mode;
mod models;
mod paging;
mod palette;
mod paragraphs;
mod paths;
mod person;
mod policy;
mod problem;
mod progress;
mod prompt;
mod prompter;
mod pump;
mod question;
mod queue;
mod relative;
mod reload;
mod result_text;
mod route;
mod rpc;
mod rule;
mod run;
mod run_tree;
mod runs;
mod safe_text;
mod say;
mod scope;
mod screen;
mod sessions;
mod sheet;
mod show;
mod skills;
mod span_blocks;
mod status;
mod steer;
mod stop;
mod sureness;
mod surroundings;
mod table;
mod talk;
mod templates;
mod text_color;
mod tools;
mod trace;
mod trigger;
mod trust;
mod undo;
mod unpark;
mod usage;
mod validate;
mod wait;
mod watch;
mod which_session;
mod width;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{ArgMatches, Args, Parser, Subcommand, ValueEnum};

pub use daemon_flags::{DaemonFlags, LogFormat};
use failure::{CommandFailure, EXIT_USAGE};
pub use keyboard::{KeyWaitResult, KeyboardInput};
pub use pump::main as pump;
pub use surroundings::{
    EnvironmentLookup, InputStream, InterruptCounter, MonotonicClock, OutputWriter, ProcessIo,
};

#[derive(Parser)]
#[command(
    name = "subagent",
    version,
    about = "Run agents in the background service subagentd, watch them, and answer their questions",
    after_help = "A prompt instead of a command goes to the agent whose trigger matches: subagent \"Why does this test fail?\"\n\
                  A first run without a key: subagent run codebase-investigator -p \"How are errors reported?\" --model offline"
)]
struct CliArguments {
    #[command(flatten)]
    reach: ConnectionArguments,
    /// Colours on a terminal; `auto` obeys NO_COLOR and TERM=dumb
    #[arg(long, global = true, value_enum, default_value_t = ColorMode::Auto, value_name = "WHEN", display_order = 900)]
    color: ColorMode,
    #[command(subcommand)]
    command: CliCommand,
}

/// The help's heading of the options that every command has.
const REACHING: &str = "Reaching the daemon";

/// How to reach the daemon.
#[derive(Args)]
struct ConnectionArguments {
    /// The daemon's socket [default: $SUBAGENTD_SOCKET, else subagentd/subagentd.sock in $XDG_RUNTIME_DIR]
    #[arg(long, global = true, value_name = "PATH", help_heading = REACHING)]
    socket: Option<PathBuf>,
    /// Do not start a daemon if none runs; setting $SUBAGENTD_SOCKET has the same effect
    #[arg(long, global = true, help_heading = REACHING)]
    no_spawn: bool,
}

#[derive(Subcommand)]
enum CliCommand {
    #[command(flatten)]
    Agent(AgentVerb),
    /// Follow a session, or a run until it ends
    Attach(attach::AttachArguments),
    /// List runs, newest first
    Runs(runs::RunsArguments),
    /// List sessions, most recent first; show, compact, clear, close or delete one
    #[command(alias = "session")]
    Sessions(sessions::SessionsArguments),
    /// Wait for a run to end; prints its result and exits with its code, as `run` does
    Wait(wait::WaitArguments),
    /// Cancel a run, with its tools and the runs it called
    Cancel(cancel::CancelArguments),
    /// Send a message to a live run; its model reads it at the next turn
    Steer(steer::SteerArguments),
    /// Continue a parked run
    Unpark(unpark::UnparkArguments),
    /// List open questions; --watch answers them in place
    Approvals(approvals::ApprovalsArguments),
    /// Allow the call that a question is about, or answer an agent's question
    Approve(approve::ApproveArguments),
    /// Deny a question; the run continues, but a run that has used up its budget gets only one last turn
    Deny(approve::DenyArguments),
    /// List rules, check what they say about a call, or remove one
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// List hooks, switch one on or off, or run one by hand to see what it says
    #[command(subcommand)]
    Hooks(hooks::HooksVerb),
    /// List tools, call one, or print an output in full
    Tools(tools::ToolsArguments),
    /// Serve agents as tools over MCP on stdin and stdout, or manage MCP servers that agents use
    ///
    /// Without a verb it is an MCP server (Model Context Protocol): a program that starts `subagent mcp` gets each
    /// agent as a tool. The verbs manage the servers whose tools agents use.
    Mcp(mcp::McpCommand),
    /// List memory files, show what they tell agents, add a line, or edit one
    #[command(subcommand)]
    Memory(memory::MemoryVerb),
    /// List skills, show or check one, or switch one off
    Skills(skills::SkillsCommand),
    /// List extensions (skills and MCP servers in one folder), show, install, enable, disable or remove one
    #[command(subcommand, alias = "extension")]
    Extensions(extensions::ExtensionsVerb),
    /// List the models of the providers, or test one
    Models(models::ModelsArguments),
    /// List traces, show one as a waterfall, export it, or follow spans as they end
    #[command(subcommand)]
    Trace(trace::TraceVerb),
    /// Show tokens and cost: of a run, of a session, or of a period
    Usage(usage::UsageArguments),
    /// Take back what agents changed in files
    Undo(undo::UndoArguments),
    /// List, remove or promote queued runs
    #[command(subcommand)]
    Queue(queue::QueueVerb),
    /// Show the state of the daemon; never starts one
    Status(status::StatusArguments),
    /// Check the installation; exits 1 if something failed
    Doctor(doctor::DoctorArguments),
    /// Show the daemon's log; never starts one
    Logs(logs::LogsArguments),
    /// Show the settings in effect, and where each was set
    #[command(subcommand)]
    Config(config::ConfigVerb),
    /// Remove the sessions that exceed the limits in the `retention` settings, and free their disk space
    Gc(gc::GcArguments),
    /// Reload settings and rules; running agents keep their old settings
    Reload(reload::ReloadArguments),
    /// Stop the daemon; live runs continue at its next start
    Stop(stop::StopArguments),
    /// Call a method of the protocol; subscriptions stream JSON lines until Ctrl-C
    Rpc(rpc::RpcArguments),
    /// Print a completion script for your shell
    Completions(completions::CompletionsArguments),
    /// The commands for agents in one place: `subagent agents VERB` is `subagent VERB`
    #[command(subcommand)]
    Agents(AgentVerb),
    /// What `subagent "PROMPT"` is; no word stands for it
    #[command(skip)]
    Say(Box<say::SayArguments>),
}

/// What is done with agents.
#[derive(Subcommand)]
enum AgentVerb {
    /// Run an agent: progress on stderr, the result on stdout
    ///
    /// On a terminal the run continues the workspace's current session, so the agent remembers what was said there.
    /// In a pipe, and with --detach, it opens a new session. --continue, --new and --session override this.
    ///
    /// Ctrl-C once cancels the run and waits for its end; pressing it twice leaves the run running. The exit code tells how it ended:
    /// 0 GOAL, 1 ERROR, 3 MAX_TURNS, 4 TIMEOUT, 5 ERROR_NO_COMPLETE_TASK_CALL, 6 BUDGET, 7 GUARDRAIL,
    /// 8 LOOP_DETECTED, 9 UNATTENDED, 130 ABORTED, 76 a reason that only a newer daemon knows; 2 is a usage error, 69
    /// that no daemon can be reached.
    Run(Box<run::RunArguments>),
    /// List agents
    List(list::AgentListArguments),
    /// Show an agent (instructions, inputs, tools, problems), or a run (questions, changes)
    Show(show::AgentShowArguments),
    /// Check an agent, a file, or all agents; exits 1 if a check fails
    Validate(validate::ValidateArguments),
    /// Create an agent: from a template, from a file, or by answering questions
    ///
    /// On a terminal, asks for whatever is missing; Ctrl-C leaves without writing. Never replaces an agent without
    /// --force.
    Create(Box<create::CreateArguments>),
    /// Edit an agent's file in $VISUAL or $EDITOR; checked before it is written
    Edit(edit::EditArguments),
    /// Move an agent's file to the trash
    Delete(delete::DeleteArguments),
    /// Import agent files of this and other tools; exits 1 if one was rejected
    Import(import::ImportArguments),
    /// Print an agent's file, also in the format of another tool
    Export(export::ExportArguments),
    /// List templates for new agents
    Templates(templates::TemplatesArguments),
    /// Show which agent would handle a prompt, and why
    Route(route::RouteArguments),
    /// Show the system prompt and everything else a model reads before the first message; --tokens lists the parts
    Prompt(prompt::PromptArguments),
    /// Show the agents, rules, settings, skills and hooks of a project, and ask whether to trust them
    Trust(trust::TrustArguments),
}

/// How listings are printed. With `json` stdout has the answer of the daemon as it came, and stderr nothing but an error
/// object.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListingFormat {
    Table,
    Json,
}

/// How what was done is told; `json` as above.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Text,
    Json,
}

/// Whether there are colours.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ColorMode {
    Auto,
    Always,
    Never,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let mut surroundings = ProcessIo::of_this_process();
    ExitCode::from(run(std::env::args_os(), &mut surroundings))
}

/// Runs one command line (with the program's name first) and answers the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, surroundings: &mut ProcessIo) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let parsed = match say::has_prompt(&arguments) {
        true => parse(arguments, surroundings).map(|line: say::PromptLine| {
            let command = CliCommand::Say(Box::new(line.say));
            CliArguments { reach: line.reach, color: line.color, command }
        }),
        false => parse(arguments, surroundings),
    };
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => return show_usage(&error, surroundings),
    };
    for output in [&mut surroundings.stdout, &mut surroundings.stderr] {
        output.has_color = match arguments.color {
            ColorMode::Auto => output.has_color,
            ColorMode::Always => true,
            ColorMode::Never => false,
        };
    }
    match execute(arguments, surroundings) {
        Ok(exit_code) => exit_code,
        Err(failure) => failure.report(&mut surroundings.stderr),
    }
}

fn parse<P: Parser>(arguments: Vec<OsString>, surroundings: &mut ProcessIo) -> Result<P, clap::Error> {
    let matches = P::command().try_get_matches_from(arguments)?;
    surroundings.stderr.is_for_programs = asks_for_json(&matches);
    P::from_arg_matches(&matches)
}

/// Whether a program reads what the command says: asked of whichever command it is, so that none forgets to tell.
fn asks_for_json(matches: &ArgMatches) -> bool {
    let is_json = |id: &str| {
        let given = matches.try_get_raw(id).ok().flatten();
        given.into_iter().flatten().any(|format| format == "json" || format == "stream-json")
    };
    is_json("format")
        || is_json("output_format")
        || matches.subcommand().is_some_and(|(_, matches)| asks_for_json(matches))
}

fn execute(arguments: CliArguments, surroundings: &mut ProcessIo) -> Result<u8, CommandFailure> {
    // Needs no daemon, nor a place where one could be.
    if let CliCommand::Completions(arguments) = &arguments.command {
        return completions::completions(arguments, surroundings);
    }
    let mut link = link::DaemonLink::new(&arguments.reach, surroundings)?;
    match arguments.command {
        CliCommand::Agent(verb) | CliCommand::Agents(verb) => {
            execute_on_agents(verb, &mut link, surroundings)
        }
        CliCommand::Say(arguments) => say::say(&arguments, &mut link, surroundings),
        CliCommand::Attach(arguments) => attach::attach(&arguments, &mut link, surroundings),
        CliCommand::Runs(arguments) => runs::runs(&arguments, &mut link, surroundings),
        CliCommand::Sessions(arguments) => sessions::sessions(&arguments, &mut link, surroundings),
        CliCommand::Wait(arguments) => wait::wait(&arguments, &mut link, surroundings),
        CliCommand::Cancel(arguments) => cancel::cancel(&arguments, &mut link, surroundings),
        CliCommand::Steer(arguments) => steer::steer(&arguments, &mut link, surroundings),
        CliCommand::Unpark(arguments) => unpark::unpark(&arguments, &mut link, surroundings),
        CliCommand::Approvals(arguments) => approvals::approvals(&arguments, &mut link, surroundings),
        CliCommand::Approve(arguments) => approve::approve(&arguments, &mut link, surroundings),
        CliCommand::Deny(arguments) => approve::deny(&arguments, &mut link, surroundings),
        CliCommand::Policy(verb) => policy::policy(&verb, &mut link, surroundings),
        CliCommand::Hooks(verb) => hooks::hooks(&verb, &mut link, surroundings),
        CliCommand::Tools(arguments) => tools::tools(&arguments, &mut link, surroundings),
        CliCommand::Mcp(command) => mcp::mcp(&command, &mut link, surroundings),
        CliCommand::Memory(verb) => memory::memory(&verb, &mut link, surroundings),
        CliCommand::Skills(command) => skills::skills(&command, &mut link, surroundings),
        CliCommand::Extensions(verb) => extensions::extensions(&verb, &mut link, surroundings),
        CliCommand::Models(arguments) => models::models(&arguments, &mut link, surroundings),
        CliCommand::Trace(verb) => trace::trace(&verb, &mut link, surroundings),
        CliCommand::Usage(arguments) => usage::usage(&arguments, &mut link, surroundings),
        CliCommand::Undo(arguments) => undo::undo(&arguments, &mut link, surroundings),
        CliCommand::Queue(verb) => queue::queue(&verb, &mut link, surroundings),
        CliCommand::Status(arguments) => status::status(&arguments, &mut link, surroundings),
        CliCommand::Doctor(arguments) => doctor::doctor(&arguments, &mut link, surroundings),
        CliCommand::Logs(arguments) => logs::logs(&arguments, &mut link, surroundings),
        CliCommand::Stop(arguments) => stop::stop(&arguments, &mut link, surroundings),
        CliCommand::Config(verb) => config::config(&verb, &mut link, surroundings),
        CliCommand::Gc(arguments) => gc::gc(&arguments, &mut link, surroundings),
        CliCommand::Reload(arguments) => reload::reload(&arguments, &mut link, surroundings),
        CliCommand::Completions(arguments) => completions::completions(&arguments, surroundings),
        CliCommand::Rpc(arguments) => rpc::rpc(&arguments, &mut link, surroundings),
    }
}

fn execute_on_agents(
    verb: AgentVerb,
    link: &mut link::DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        AgentVerb::Run(arguments) => {
            let run::RunArguments { agent, prompt, interactive, beside, options } = &*arguments;
            match interactive {
                true => talk::talk(agent, prompt.as_deref(), options, link, surroundings),
                false => run::run_once(agent, (prompt.as_deref(), beside), options, link, surroundings),
            }
        }
        AgentVerb::List(arguments) => list::list(&arguments, link, surroundings),
        AgentVerb::Show(arguments) => show::show(&arguments, link, surroundings),
        AgentVerb::Validate(arguments) => validate::validate(&arguments, link, surroundings),
        AgentVerb::Create(arguments) => create::create(&arguments, link, surroundings),
        AgentVerb::Edit(arguments) => edit::edit(&arguments, link, surroundings),
        AgentVerb::Delete(arguments) => delete::delete(&arguments, link, surroundings),
        AgentVerb::Import(arguments) => import::import(&arguments, link, surroundings),
        AgentVerb::Export(arguments) => export::export(&arguments, link, surroundings),
        AgentVerb::Templates(arguments) => templates::templates(&arguments, link, surroundings),
        AgentVerb::Route(arguments) => route::route(&arguments, link, surroundings),
        AgentVerb::Prompt(arguments) => prompt::prompt(&arguments, link, surroundings),
        AgentVerb::Trust(arguments) => trust::trust(&arguments, link, surroundings),
    }
}

/// clap's own messages: help and version go to stdout, everything else is a usage error.
fn show_usage(error: &clap::Error, surroundings: &mut ProcessIo) -> u8 {
    let is_asked_for = !error.use_stderr();
    let (output, exit_code) = match is_asked_for {
        true => (&mut surroundings.stdout, 0),
        false => (&mut surroundings.stderr, EXIT_USAGE),
    };
    let styled = error.render();
    let text = match output.has_color {
        true => styled.ansi().to_string(),
        false => styled.to_string(),
    };
    // Broken between words: the help's rows are long.
    match output.write(&message::in_rows(&text, output.width)) {
        Ok(()) => exit_code,
        Err(failure) => failure.report(&mut surroundings.stderr),
    }
}

#[cfg(test)]
mod tests;
