//! `subagent approvals`: which questions wait for a person, and who is asked them?

use clap::Args;

use super::{
    Format, Output, Surroundings,
    asking::Asking,
    failure::{EXIT_INTERRUPTED, Failure},
    human, ids,
    link::Link,
    paging,
    paging::Paging,
    person,
    question::Asked,
    table::{self, Cell, cell, free, standing, whole},
    watch::{End, View, Watcher, watch},
};
use crate::{
    client::Follow,
    protocol::{
        AttachFrom, ConfirmationList, ConfirmationListParams, Envelope, FromWord, SessionAttachParams,
        SessionId,
    },
};

#[derive(Args)]
pub(super) struct ApprovalsArguments {
    /// Stay, and be asked in place on a terminal; elsewhere a line for each question and who decided
    #[arg(short, long, conflicts_with_all = ["limit", "cursor"])]
    watch: bool,
    /// Only questions of this session; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    paging: Paging,
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn approvals(
    arguments: &ApprovalsArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let may_ask = arguments.watch && arguments.format == Format::Table && surroundings.has_person();
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
    if arguments.format == Format::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let asked: Vec<Asked> = paging::entries(&answer, "confirmations")?;
    let text = match asked.is_empty() {
        true => "no open questions\n".to_owned(),
        false => draw(&asked, &surroundings.stdout),
    };
    let stdout = &mut surroundings.stdout;
    stdout.write(&text)?;
    // A pipe gets questions only.
    if stdout.is_terminal && !asked.is_empty() {
        stdout.write("\nAnswer one: subagent approve ID, or subagent deny ID -m WHY\n")?;
    }
    paging::note_more(&answer, surroundings);
    Ok(0)
}

fn draw(asked: &[Asked], stdout: &Output) -> String {
    let length = ids::short_length(asked.iter().map(|asked| asked.confirmation_id.as_str()));
    let rows: Vec<[Cell; 7]> = asked
        .iter()
        .map(|asked| {
            let state = match &asked.claim {
                Some(claim) => cell(&format!("{} by {}", asked.state.as_str(), claim.who(None))),
                None => standing(asked.state.as_str()),
            };
            [
                cell(&ids::short(asked.confirmation_id.as_str(), length)),
                cell(&human::moment_or_dash(asked.created_at)),
                cell(&asked.agents()),
                cell(if asked.tool.is_empty() { "-" } else { &asked.tool }),
                standing(&asked.risk),
                state,
                table::first_line(&asked.title),
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
    ];
    table::draw(columns, &rows, stdout)
}

/// Shows questions as they come, and asks those that are offered here, until Ctrl-C.
fn follow(
    session_id: Option<SessionId>,
    format: Format,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let Surroundings { stdout, stderr, interrupts, keyboard, environment, clock, .. } = surroundings;
    let me = link.me();
    let mut view = match format {
        Format::Table => View::progress(stderr, me.clone()),
        Format::Json => View::envelopes(stdout, stderr),
    };
    let asking = me.map(|me| Asking::new(me, &mut **keyboard, environment, clock));
    let session_id = session_id.unwrap_or_else(|| SessionAttachParams::EVERY_SESSION.into());
    let (dialer, introduction) = (link.dialer().clone(), link.introduction().cloned());
    let from = AttachFrom::Word(FromWord::Now);
    let mut follow = Follow::attach_as(introduction, &dialer, session_id, from, false)?;
    interrupts();
    match watch(&mut follow, &mut view, interrupts, link, asking, &mut QuestionWatcher)? {
        End::Left => Ok(EXIT_INTERRUPTED),
        // Whoever waits for questions has never seen enough.
        End::Over => Ok(0),
    }
}

/// Sees questions and nothing else.
struct QuestionWatcher;

impl Watcher for QuestionWatcher {
    fn concerns(&mut self, envelope: &mut Envelope) -> bool {
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

    fn leaves_on_interrupt(&mut self, _: &mut View<'_>, _: &mut Link) -> bool {
        true
    }
}
