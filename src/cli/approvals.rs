//! `subagent approvals`: which questions wait for a person, and who is asked them?

use std::{collections::BTreeSet, time::Duration};

use clap::Args;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    asking::InlineConfirmations,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    human, ids,
    link::DaemonLink,
    paging,
    paging::PagingArguments,
    person,
    question::ConfirmationView,
    safe_text,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
    watch::{EventOutput, SessionEventWatcher, WatchEnd, watch},
    width,
};
use client::{MonotonicStopwatch, SessionFollower};
use protocol::{
    AttachFrom, AttachFromKeyword, ConfirmationList, ConfirmationListParams, ConfirmationState, Envelope,
    SessionAttachParams, SessionId,
};

#[derive(Args)]
pub(super) struct ApprovalsArguments {
    /// Stay and answer in place; without a terminal, print a line for each question and decision
    #[arg(short, long, conflicts_with_all = ["limit", "cursor"])]
    watch: bool,
    /// Only questions of this session; the beginning of the id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    paging: PagingArguments,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn approvals(
    arguments: &ApprovalsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let may_ask = arguments.watch && arguments.format == ListingFormat::Table && surroundings.has_person();
    match may_ask {
        true => link.open_as(person::somebody(surroundings)?, &mut surroundings.stderr)?,
        false => link.open(&mut surroundings.stderr)?,
    }
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    if arguments.watch {
        return follow(session_id, arguments.format, link, surroundings);
    }
    let params = ConfirmationListParams {
        session_id,
        cursor: arguments.paging.cursor.clone(),
        limit: arguments.paging.limit,
        ..ConfirmationListParams::default()
    };
    let answer = link.ask_value::<ConfirmationList>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let asked: Vec<ConfirmationView> = paging::entries(&answer, "confirmations")?;
    let text = match asked.is_empty() {
        true => "no open questions\n".to_owned(),
        false => draw(&asked, &surroundings.stdout),
    };
    let stdout = &mut surroundings.stdout;
    stdout.write_drawn(&text)?;
    // A pipe gets questions only.
    if stdout.is_terminal && !asked.is_empty() {
        stdout.write_drawn("\nAnswer one: subagent approve ID, or subagent deny ID -m WHY\n")?;
    }
    paging::note_more(&answer, surroundings);
    Ok(0)
}

/// The name of a column.
const RISK: &str = "RISK";

/// Columns of a question at least, also where a terminal has no room for them.
const ROOM_LEAST: usize = 20;

/// A terminal gets at least two rows for each question, so that what is asked, and where, can be read at any width.
fn draw(asked: &[ConfirmationView], stdout: &OutputWriter) -> String {
    let length = ids::short_length(asked.iter().map(|asked| asked.confirmation_id.as_str()));
    if !stdout.is_terminal {
        return draw_lines(asked, length, stdout);
    }
    let risk_columns = asked.iter().map(|asked| width::of(&asked.risk)).max().unwrap_or(0).max(RISK.len());
    let left_of_question = length + risk_columns + table::gaps(3);
    let room =
        stdout.width.map_or(usize::MAX, |width| width.saturating_sub(left_of_question).max(ROOM_LEAST));
    let rows = asked.iter().flat_map(|asked| {
        let who = match &asked.claim {
            _ if asked.edited_by.is_some() => asked.answer_said(),
            Some(claim) => claim.answer().unwrap_or_else(|| format!("read by {}", claim.who(None))),
            None if asked.state.known() == Some(ConfirmationState::Queued) => "nobody is asked".to_owned(),
            None => String::new(),
        };
        let since = asked.created_at.map(|at| format!("since {}", human::moment(at))).unwrap_or_default();
        // It cannot be answered now: that goes before where it comes from.
        let is_answered = asked.is_answered();
        let mut about = [asked.folders(), asked.agents(), who, since];
        if is_answered {
            about.rotate_left(2);
        }
        let about: Vec<&str> = about.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let question = [
            cell(&ids::short(asked.confirmation_id.as_str(), length)),
            state_cell(&asked.risk),
            table::first_line(&asked.title),
        ];
        let about = safe_text::line(&about.join(" · "), usize::MAX);
        let about = width::wrap_words(&about, room);
        let about = about.iter().map(|row| [cell(""), cell(""), cell(row).painted(Some(TextColor::Dim))]);
        [question].into_iter().chain(about).collect::<Vec<_>>()
    });
    let rows: Vec<[TableCell; 3]> = rows.collect();
    table::draw([whole("ID"), whole(RISK), free("QUESTION")], &rows, stdout)
}

fn draw_lines(asked: &[ConfirmationView], length: usize, stdout: &OutputWriter) -> String {
    let rows: Vec<[TableCell; 8]> = asked
        .iter()
        .map(|asked| {
            let state = match &asked.claim {
                _ if asked.edited_by.is_some() => cell(&asked.answer_said()),
                Some(claim) => cell(
                    &claim
                        .answer()
                        .unwrap_or_else(|| format!("{} by {}", asked.state.as_str(), claim.who(None))),
                ),
                None => state_cell(asked.state.as_str()),
            };
            [
                cell(&ids::short(asked.confirmation_id.as_str(), length)),
                cell(&human::moment_or_dash(asked.created_at)),
                cell(&asked.agents()),
                cell(if asked.tool.is_empty() { "-" } else { &asked.tool }),
                state_cell(&asked.risk),
                state,
                table::first_line(&asked.title),
                cell(&asked.folders()),
            ]
        })
        .collect();
    let columns = [
        whole("ID"),
        whole("SINCE"),
        free("AGENT"),
        free("TOOL"),
        whole("RISK"),
        free("STATE"),
        free("TITLE"),
        free("FOLDER"),
    ];
    table::draw(columns, &rows, stdout)
}

/// Shows questions as they come, and asks those that are offered here, until Ctrl-C.
fn follow(
    session_id: Option<SessionId>,
    format: ListingFormat,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let ProcessIo { stdout, stderr, interrupts, keyboard, environment, clock, .. } = surroundings;
    let me = link.me();
    let mut view = match format {
        ListingFormat::Table => EventOutput::progress(stderr, me.clone()),
        ListingFormat::Json => EventOutput::envelopes(stdout, stderr),
    };
    let asking = me.map(|me| InlineConfirmations::new(me, &mut **keyboard, environment, clock));
    let session_id = session_id.unwrap_or_else(|| SessionAttachParams::EVERY_SESSION.into());
    let (dialer, introduction) = (link.dialer().clone(), link.introduction().cloned());
    let from = AttachFrom::Word(AttachFromKeyword::Now);
    let mut follow = SessionFollower::attach_as(introduction, &dialer, session_id, from, false)?;
    interrupts();
    let mut watcher = QuestionWatcher { at_work: BTreeSet::new(), quiet: MonotonicStopwatch::start() };
    match watch(&mut follow, &mut view, interrupts, link, asking, &mut watcher)? {
        WatchEnd::Left => Ok(EXIT_INTERRUPTED),
        // Whoever waits for questions has never seen enough.
        WatchEnd::Over => Ok(0),
    }
}

/// Shows questions and nothing else; of runs it only counts those that nobody called.
struct QuestionWatcher {
    at_work: BTreeSet<String>,
    /// Since the last question came or went.
    quiet: MonotonicStopwatch,
}

impl QuestionWatcher {
    fn count(&mut self, envelope: &Envelope) {
        let is_root = envelope.head.parent_run_id.is_none();
        match (envelope.kind.as_str(), &envelope.run_id) {
            ("signal.snapshot", _) => {
                let runs = envelope.data.get("runs").and_then(Value::as_array);
                let text = |run: &Value, key: &str| run.get(key).and_then(Value::as_str).map(str::to_owned);
                let is_at_work = |run: &&Value| {
                    text(run, "parentRunId").is_none()
                        && !matches!(text(run, "state").as_deref(), Some("queued" | "ended"))
                };
                let runs = runs.into_iter().flatten().filter(is_at_work);
                self.at_work = runs.filter_map(|run| text(run, "runId")).collect();
            }
            ("run.started", Some(run_id)) if is_root => {
                self.at_work.insert(run_id.to_string());
            }
            ("run.completed", Some(run_id)) => {
                self.at_work.remove(run_id.as_str());
            }
            (kind, _) if kind.starts_with("confirmation.") => self.quiet = MonotonicStopwatch::start(),
            _ => {}
        }
    }
}

impl SessionEventWatcher for QuestionWatcher {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
        self.count(envelope);
        if envelope.kind == "signal.snapshot" {
            if let Some(snapshot) = envelope.data.as_object_mut() {
                for key in ["session", "runs", "openItems", "openCalls", "queue"] {
                    snapshot.remove(key);
                }
            }
            return true;
        }
        envelope.kind.starts_with("confirmation.")
            || matches!(envelope.kind.as_str(), "signal.caughtUp" | "signal.claim" | "signal.confirmation")
    }

    fn is_over(&mut self, envelope: &Envelope) -> bool {
        // The only session that is followed was removed.
        envelope.kind == "session.deleted"
    }

    fn leaves_on_interrupt(&mut self, _: &mut EventOutput<'_>, _: &mut DaemonLink) -> bool {
        true
    }

    fn resting(&self) -> Option<(String, Duration)> {
        let runs = match self.at_work.len() {
            0 => "no runs at work".to_owned(),
            count => format!("{} at work", human::count(count as u64, "run")),
        };
        Some((format!("no open questions · {runs}"), self.quiet.elapsed()))
    }
}
