//! `subagent usage`: what did models use, and what did that cost?

use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    message::show_message,
    paging,
    sureness::{Sureness, money},
    table::{self, TableCell, cell, free, whole},
    text_color::TextColor,
};
use protocol::{NoParams, Ping, PingResult, Timestamp, Usage, UsageGet, UsageGetParams, UsdAmount};

/// How far back is looked when nothing is said.
const USUAL_TIME: &str = "24h";

#[derive(Args)]
#[group(multiple = false)]
struct UsageSubject {
    /// All runs of this session; the beginning of the id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// This run and the runs it called; the beginning of the id is enough
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// All sessions since then: 7d, 90min, or 2026-11-20T08:00:00Z [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    since: Option<UsageSince>,
}

#[derive(Args)]
pub(super) struct UsageArguments {
    #[command(flatten)]
    of: UsageSubject,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum UsageSince {
    /// So long ago.
    Ago(Duration),
    At(Timestamp),
}

fn parse_since(text: &str) -> Result<UsageSince, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(UsageSince::Ago(ago));
    }
    let expected = "expected how long ago, e.g. 7d, 36h or 90min, or a moment, e.g. 2026-11-20T08:00:00Z";
    // A day is a moment, too: its first.
    let moment = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    moment.map(UsageSince::At).map_err(|_| expected.to_owned())
}

impl UsageSince {
    /// By the daemon's clock, which also says when something was used.
    fn moment(self, link: &mut DaemonLink) -> Result<Timestamp, CommandFailure> {
        let ago = match self {
            UsageSince::At(at) => return Ok(at),
            UsageSince::Ago(ago) => i64::try_from(ago.as_micros()).unwrap_or(i64::MAX),
        };
        let pong: PingResult = paging::view(&link.ask_value::<Ping>(&NoParams {})?)?;
        // Nothing was used before 1970.
        Ok(Timestamp(pong.at.0.saturating_sub(ago).max(0)))
    }
}

pub(super) fn usage(
    arguments: &UsageArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let UsageSubject { session, run, since } = &arguments.of;
    let params = match (session, run) {
        (Some(session), _) => {
            UsageGetParams { session_id: Some(ids::find_session(session, link)?), ..Default::default() }
        }
        (None, Some(run)) => UsageGetParams { run_id: Some(ids::find_run(run, link)?), ..Default::default() },
        (None, None) => {
            let since = match since {
                Some(since) => *since,
                None => parse_since(USUAL_TIME).map_err(CommandFailure::new)?,
            };
            UsageGetParams { since: Some(since.moment(link)?), ..Default::default() }
        }
    };
    let answer = link.ask_value::<UsageGet>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let (text, notes) = told(&answer, &surroundings.stdout)?;
    surroundings.stdout.write_drawn(&text)?;
    for note in notes {
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &note);
    }
    Ok(0)
}

/// An answer to `usage/get` as a table for `output`, and what its figures do not say themselves.
pub(super) fn told(answer: &Value, output: &OutputWriter) -> Result<(String, Vec<String>), CommandFailure> {
    let used: UsageReply = paging::view(answer)?;
    let text = match used.total.calls {
        0 => "no request to a model has been counted\n".to_owned(),
        _ => draw(&used, output),
    };
    Ok((text, used.notes()))
}

/// The answer, as far as it is shown.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageReply {
    since: Option<Timestamp>,
    total: UsageAmountView,
    by_agent_and_model: Vec<UsageRowView>,
    unpriced_models: Vec<String>,
    truncated: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageRowView {
    agent: String,
    model: String,
    #[serde(flatten)]
    amount: UsageAmountView,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageAmountView {
    calls: u64,
    estimated_calls: u64,
    uncounted_calls: u64,
    usage: Usage,
    cost: Option<UsdAmount>,
    unpriced_tokens: u64,
}

impl UsageAmountView {
    /// Counts that are estimates, or not the whole, say so.
    fn count(&self, tokens: u64) -> TableCell {
        let is_nothing = self.usage.total() == 0;
        match tokens == 0 && !is_nothing {
            true => cell("0"),
            false => cell(&self.sureness().mark(&tokens.to_string(), is_nothing)),
        }
    }

    fn sureness(&self) -> Sureness {
        Sureness { estimated: self.estimated_calls, uncounted: self.uncounted_calls }
    }

    /// What is known of it: `>` when that is not all, `?` when it is nothing, `-` when nothing was used that has a price.
    fn money(&self) -> String {
        let sure = self.sureness();
        let is_part = self.unpriced_tokens != 0 || sure.uncounted != 0;
        let cost = self.cost.filter(|_| !is_part || self.usage.total() != 0);
        money(cost, is_part, sure).unwrap_or_else(|| "-".to_owned())
    }

    fn cells(&self, agent: &str, model: &str) -> [TableCell; 8] {
        let usage = &self.usage;
        [
            cell(agent),
            cell(model),
            cell(&self.calls.to_string()),
            self.count(usage.prompt_tokens),
            self.count(usage.cached_tokens),
            self.count(usage.output_tokens),
            self.count(usage.thought_tokens),
            cell(&self.money()),
        ]
    }
}

impl UsageReply {
    /// What the figures do not say themselves.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(self.since.map(|since| format!("from {} on", human::moment(since))));
        if self.total.estimated_calls != 0 {
            let calls = human::count(self.total.estimated_calls, "call");
            notes.push(format!("~ tokens are estimated: the providers of {calls} did not count them"));
        }
        if self.total.uncounted_calls != 0 {
            let calls = human::count(self.total.uncounted_calls, "call");
            let was = if self.total.uncounted_calls == 1 { "was" } else { "were" };
            notes.push(format!(
                "> and ? mean more than that: {calls} {was} cut off before anybody had counted it"
            ));
        }
        if self.total.unpriced_tokens != 0 {
            let (tokens, models) =
                (human::count(self.total.unpriced_tokens, "token"), self.unpriced_models.join(", "));
            notes.push(format!("what {tokens} of {models} cost is not known: `models.prices` has no price"));
        }
        if self.truncated {
            notes.push("there are more rows than are shown; the total counts all".to_owned());
        }
        notes
    }
}

fn draw(used: &UsageReply, stdout: &OutputWriter) -> String {
    let columns = [
        free("AGENT"),
        free("MODEL"),
        whole("CALLS"),
        whole("PROMPT"),
        whole("CACHED"),
        whole("OUTPUT"),
        whole("THOUGHT"),
        whole("COST"),
    ];
    let rows = used.by_agent_and_model.iter().map(|row| row.amount.cells(&row.agent, &row.model));
    let total = used.total.cells("total", "").map(|it| it.painted(Some(TextColor::Bold)));
    let rows = rows.chain([total]);
    if stdout.width.is_some_and(|width| width < table::WIDE) {
        // What was cached is a part of the prompt; without it there is room for names.
        let [agent, model, calls, prompt, _, output, thought, cost] = columns;
        let columns = [agent, model, calls, prompt, output, thought, cost];
        let rows = rows.map(|[agent, model, calls, prompt, _, output, thought, cost]| {
            [agent, model, calls, prompt, output, thought, cost]
        });
        return table::draw(columns, &rows.collect::<Vec<_>>(), stdout);
    }
    table::draw(columns, &rows.collect::<Vec<_>>(), stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spans_moments_or_days() {
        let at = |text: &str| Ok(UsageSince::At(text.parse().unwrap()));
        assert_eq!(parse_since("7d"), Ok(UsageSince::Ago(Duration::from_secs(7 * 86_400))));
        assert_eq!(parse_since("90min"), Ok(UsageSince::Ago(Duration::from_secs(5_400))));
        assert_eq!(parse_since("2026-11-20T08:00:00Z"), at("2026-11-20T08:00:00Z"));
        assert_eq!(parse_since("2026-11-20"), at("2026-11-20T00:00:00Z"));
        for bad in ["", "7", "yesterday", "2026", "-7d"] {
            assert!(parse_since(bad).unwrap_err().starts_with("expected how long ago"), "{bad}");
        }
        assert!(parse_since(USUAL_TIME).is_ok());
    }
}
