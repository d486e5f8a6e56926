//! `subagent logs`: what does the daemon say about itself?

use clap::Args;

use super::{
    ListingFormat, ProcessIo,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    human,
    link::DaemonLink,
    message::show_message,
    status::look,
    text_color::TextColor,
};
use client::RpcClient;
use protocol::{DaemonLogs, LogsParams, LogsResult};

/// The most lines of one answer.
const LINES_MAX: u32 = 1_000;

/// How long one question waits for a line while following. Ctrl-C is heard between two questions.
const WAIT_MS: u64 = 500;

#[derive(Args)]
pub(super) struct LogsArguments {
    /// Follow new lines until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Number of lines, newest last
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=i64::from(LINES_MAX)))]
    lines: u32,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table, conflicts_with = "follow")]
    format: ListingFormat,
}

pub(super) fn logs(
    arguments: &LogsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // A daemon that is started to be asked has nothing to tell.
    let mut client = look(link)?;
    let newest = LogsParams { after: None, limit: Some(arguments.lines), wait_ms: 0 };
    let page = client.call::<DaemonLogs>(&newest)?;
    if arguments.format == ListingFormat::Json {
        surroundings.stdout.write_json_of(&page)?;
        return Ok(0);
    }
    print(&page, surroundings)?;
    if arguments.follow { follow(page.last, &mut client, surroundings) } else { Ok(0) }
}

/// Prints the lines that come, until Ctrl-C or the daemon's end.
fn follow(mut last: u64, client: &mut RpcClient, surroundings: &mut ProcessIo) -> Result<u8, CommandFailure> {
    loop {
        if (surroundings.interrupts)() > 0 {
            return Ok(EXIT_INTERRUPTED);
        }
        let params = LogsParams { after: Some(last), limit: Some(LINES_MAX), wait_ms: WAIT_MS };
        let page = client.call::<DaemonLogs>(&params)?;
        if page.missed > 0 {
            let text = format!("not kept any more: {} between", human::count(page.missed, "line"));
            show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
        }
        print(&page, surroundings)?;
        last = page.last;
    }
}

fn print(page: &LogsResult, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    if page.lines.is_empty() {
        return Ok(());
    }
    surroundings.stdout.write_text(&page.lines.join("\n"))
}
