//! The daemon's own command line (spec 12), read here because only the command-line floor knows the parser.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Parser, ValueEnum};

/// Runs AI agents in the background. Clients such as `subagent` attach to watch them and to answer their questions.
#[derive(Debug, Parser)]
#[command(
    name = "subagentd",
    version,
    about,
    after_help = "Clients find the daemon by its socket; see `subagent --help`."
)]
pub struct DaemonFlags {
    /// Settings to read instead of $XDG_CONFIG_HOME/subagentd/settings.json
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A setting that wins over files and environment, e.g. run.maxTurns=20; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub settings: Vec<(String, String)>,
    /// Check the settings, print every mistake, and exit with 1 if there is one
    #[arg(long)]
    pub check_config: bool,
    /// Where to listen [default: subagentd/subagentd.sock in $XDG_RUNTIME_DIR, else /tmp/subagentd-UID/subagentd.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Folder for the database, the token and other state [default: $XDG_STATE_HOME/subagentd]
    #[arg(long, value_name = "PATH")]
    pub state_dir: Option<PathBuf>,
    /// Serve HTTP and WebSocket on a loopback address as well, e.g. 127.0.0.1:7787; requests must send the token
    /// from the file `token` in the state folder
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Connect standard input and output with the daemon, starting one when none listens; it outlives this process
    #[arg(long, conflicts_with_all = ["listen", "log_format", "ready_fd", "exit_when_idle"])]
    pub stdio: bool,
    /// Format of the logs on stderr; RUST_LOG sets the level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// An inherited file descriptor that gets the line `ready` once the daemon listens
    #[arg(long, value_name = "N")]
    pub ready_fd: Option<u32>,
    /// End after 15 minutes without clients and runs
    #[arg(long)]
    pub exit_when_idle: bool,
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, e.g. run.maxTurns=20")?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

/// How logs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

impl LogFormat {
    pub fn is_json(self) -> bool {
        self == LogFormat::Json
    }
}
