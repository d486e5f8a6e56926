//! `subagent gc`: says which sessions the settings `retention` do not keep, and removes them.

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, consent,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    human,
    link::{DaemonCallError, DaemonLink},
    message::show_message,
    paging, safe_text,
    table::{self, TableCell, cell, first_line, free, whole},
    text_color::TextColor,
};
use client::{CallError, MonotonicStopwatch};
use protocol::{DaemonGc, GcParams, OpenEnum, PruningReason, RpcMethod as _, Timestamp};

/// Between two looks for Ctrl-C.
const WAIT: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct GcArguments {
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// The answer to `daemon/gc`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GcReply {
    limits: LimitsView,
    sessions: Vec<PrunedSessionView>,
    more: u64,
    attached: u64,
    clock_ahead_ms: u64,
    used_bytes: u64,
    file_bytes: u64,
    given_back_bytes: u64,
    rewritten_at_next_start: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LimitsView {
    max_age_days: Option<u64>,
    max_sessions: Option<u64>,
    max_bytes: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PrunedSessionView {
    session_id: String,
    title: Option<String>,
    last_active_at: Option<Timestamp>,
    events: u64,
    bytes: u64,
    reason: OpenEnum<PruningReason>,
}

impl GcReply {
    fn count(&self) -> u64 {
        self.sessions.len() as u64 + self.more
    }
}

pub(super) fn gc(
    arguments: &GcArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let asks = !arguments.dry_run && !arguments.yes;
    if asks && !surroundings.has_person() {
        return Err(CommandFailure::usage("nobody can be asked here, and --yes is not given")
            .or_hint("`subagent gc --dry-run` says what would be removed, `subagent gc --yes` removes it"));
    }
    link.open(&mut surroundings.stderr)?;
    if asks {
        let planned: GcReply = paging::view(&removed(&GcParams { dry_run: true }, link, surroundings)?)?;
        if planned.count() != 0 {
            let list = listed(&planned, &surroundings.stdout);
            surroundings.stdout.write_drawn(&list)?;
            let sessions = human::count(planned.count(), "session");
            let question = format!("Remove {sessions}, with all that happened in them?");
            consent::confirm(
                &question,
                "press y and then Enter to remove them, or give --yes",
                surroundings,
            )?;
            // Whoever was asked may have thought for longer than an idle daemon lives.
            link.reach(&mut surroundings.stderr)?;
        }
    }
    let answer = removed(&GcParams { dry_run: arguments.dry_run }, link, surroundings)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let reply: GcReply = paging::view(&answer)?;
    // Whoever was asked has seen the list.
    let list = if asks || reply.count() == 0 { String::new() } else { listed(&reply, &surroundings.stdout) };
    surroundings.stdout.write_drawn(&format!("{list}{}\n", told(&reply, arguments.dry_run)))?;
    Ok(0)
}

/// Waits for as long as the person does: thousands of sessions take their time.
fn removed(
    params: &GcParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Value, CommandFailure> {
    (surroundings.interrupts)();
    let mut pending = link.begin::<DaemonGc>(params)?;
    let since = MonotonicStopwatch::start();
    let mut is_told = false;
    loop {
        let wait = if is_told { WAIT } else { WAIT.min(surroundings.silence) };
        if let Some(settled) = pending.poll(wait) {
            let answer = settled.map_err(DaemonCallError::Call)?;
            return serde_json::from_str(answer.get()).map_err(|error| {
                CallError::Unreadable { method: DaemonGc::NAME.into(), error: error.to_string() }.into()
            });
        }
        if !is_told && surroundings.silence <= since.elapsed() {
            is_told = true;
            let text = "waiting for the daemon, which looks at all sessions; Ctrl-C ends the wait";
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
        }
        if (surroundings.interrupts)() > 0 {
            let what = match params.dry_run {
                true => "nobody waits any more for what would be removed",
                false => "the daemon goes on removing sessions",
            };
            return Err(CommandFailure::with_code(EXIT_INTERRUPTED, what)
                .or_hint("`subagent gc --dry-run` says later what is left"));
        }
    }
}

fn listed(reply: &GcReply, stdout: &OutputWriter) -> String {
    let cells = |it: &PrunedSessionView| {
        [
            cell(&it.session_id),
            cell(&human::moment_or_dash(it.last_active_at)),
            cell(&it.events.to_string()),
            cell(&human::bytes(it.bytes)),
            cell(why(&it.reason)),
            first_line(it.title.as_deref().unwrap_or("-")),
        ]
    };
    let rows: Vec<[TableCell; 6]> = reply.sessions.iter().map(cells).collect();
    let columns =
        [whole("SESSION"), whole("LAST USED"), whole("EVENTS"), whole("SIZE"), whole("WHY"), free("TITLE")];
    let mut text = table::draw(columns, &rows, stdout);
    if reply.more != 0 {
        text.push_str(&format!("and {} more\n", human::count(reply.more, "session")));
    }
    text
}

fn why(reason: &OpenEnum<PruningReason>) -> &'static str {
    match reason.known() {
        Some(PruningReason::Age) => "too old",
        Some(PruningReason::Count) => "too many",
        Some(PruningReason::Bytes) => "no room",
        None => "-",
    }
}

fn told(reply: &GcReply, dry_run: bool) -> String {
    let LimitsView { max_age_days, max_sessions, max_bytes } = &reply.limits;
    let limits = [
        max_age_days.map(|days| format!("retention.maxAgeDays {days}")),
        max_sessions.map(|most| format!("retention.maxSessions {most}")),
        max_bytes.map(|most| format!("retention.maxBytes {most}")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let mut lines = Vec::new();
    let sessions = human::count(reply.count(), "session");
    lines.push(match (limits.is_empty(), reply.count(), dry_run) {
        (true, ..) => {
            "no limits are set, so no session is removed; say in your settings how long they are kept, e.g. \
                       {\"retention\": {\"maxAgeDays\": 90}}"
                .to_owned()
        }
        (false, 0, _) => format!("nothing to remove ({})", limits.join(", ")),
        (false, _, true) => format!("{sessions} would be removed ({})", limits.join(", ")),
        (false, _, false) => format!("removed {sessions} ({})", limits.join(", ")),
    });
    if reply.attached != 0 {
        let kept = human::count(reply.attached, "session");
        lines.push(format!("kept beyond the limits, since somebody is attached: {kept}"));
    }
    if reply.clock_ahead_ms != 0 {
        let ahead = human::duration(Duration::from_millis(reply.clock_ahead_ms));
        lines.push(format!(
            "the clock of this machine went ahead by {ahead}: sessions grow older by that once it has been so for a day"
        ));
    }
    let (used, file) = (human::bytes(reply.used_bytes), human::bytes(reply.file_bytes));
    let given = match reply.given_back_bytes {
        0 => String::new(),
        bytes => format!("; {} went back to the disk", human::bytes(bytes)),
    };
    lines.push(format!("used: {used}; the database's file: {file}{given}"));
    if reply.rewritten_at_next_start {
        lines.push(
            "an older version made the file, so it cannot become smaller yet: the next start of the daemon rewrites it".to_owned(),
        );
    }
    safe_text::lines(&lines.join("\n"))
}
