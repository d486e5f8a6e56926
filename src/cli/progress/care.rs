//! What do the events say that are about the care a run takes: of its context, its budget, its way, its model?

use serde::Deserialize;

use super::{Progress, with};
use crate::{
    cli::{
        human,
        screen::{Ink, Screen},
    },
    protocol::{BudgetLimits, Cost, Envelope},
};

impl Progress {
    /// Shows one event of this kind; answers whether it was one.
    pub(super) fn show_care(&mut self, envelope: &Envelope, screen: &mut Screen<'_>) -> bool {
        match envelope.kind.as_str() {
            "model.consulting" => self.is_asking_model = true,
            "model.fallback" => with(envelope, |data: Fallback| {
                // Why was told when the model was given up.
                let text = format!("{} takes over from {}", data.to, data.from);
                self.line(envelope, screen, Ink::Yellow, "!", &text);
            }),
            "model.routed" => with(envelope, |data: Routed| {
                let (ink, sign) = if data.by == "default" { (Ink::Yellow, "!") } else { (Ink::Dim, "·") };
                let text = format!("{} serves: {}", data.model, data.reason);
                self.line(envelope, screen, ink, sign, &text);
            }),
            "context.compressed" => with(envelope, |data: Compressed| {
                if let Some((ink, sign, text)) = data.told() {
                    self.line(envelope, screen, ink, sign, &text);
                }
            }),
            "run.toolsChanged" => with(envelope, |data: ToolsChanged| {
                let names = |sign: &str, names: &[String]| -> Vec<String> {
                    names.iter().map(|name| format!("{sign}{name}")).collect()
                };
                let all =
                    [names("+", &data.added), names("-", &data.removed), names("~", &data.changed)].concat();
                let shown = all.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(" ");
                let more = if MOST_NAMES < all.len() { " …" } else { "" };
                self.line(
                    envelope,
                    screen,
                    Ink::Dim,
                    "·",
                    &format!("other tools from now on: {shown}{more}"),
                );
            }),
            "context.cleared" => self.line(envelope, screen, Ink::Dim, "·", "the context begins anew"),
            "loop.detected" => with(envelope, |data: Circle| {
                // Where it stops the run, that is told next.
                if !data.stops {
                    let text = format!("{}; it is told so", data.message);
                    self.line(envelope, screen, Ink::Yellow, "!", &text);
                }
            }),
            "budget.warning" => with(envelope, |data: Budget| {
                let text = match (&data.used, &data.limit) {
                    (Amount::Tokens(used), Amount::Tokens(limit)) => {
                        format!("{} of {limit} are used up", human::count(*used, "token"))
                    }
                    (Amount::Money(used), Amount::Money(limit)) => format!("{used} of {limit} are used up"),
                    _ => "little is left of a budget".to_owned(),
                };
                self.line(envelope, screen, Ink::Yellow, "!", &text);
            }),
            "budget.raised" => with(envelope, |data: Raised| {
                let BudgetLimits { max_tokens, max_cost } = data.limits;
                let tokens = max_tokens.map(|tokens| human::count(tokens, "token"));
                let cost = max_cost.map(|cost| cost.to_string());
                let limits: Vec<String> = tokens.into_iter().chain(cost).collect();
                let text = format!("the budget was raised to {}", limits.join(" and "));
                self.line(envelope, screen, Ink::Dim, "·", &text);
            }),
            _ => return false,
        }
        true
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fallback {
    from: String,
    to: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Routed {
    model: String,
    by: String,
    reason: String,
}

/// Names of tools in one line.
const MOST_NAMES: usize = 6;

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolsChanged {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Compressed {
    status: String,
    tokens_before: u64,
    tokens_after: u64,
    message: Option<String>,
}

impl Compressed {
    fn told(&self) -> Option<(Ink, &'static str, String)> {
        let failed = self.status.strip_prefix("COMPRESSION_FAILED_");
        match (self.status.as_str(), failed) {
            ("COMPRESSED", _) => {
                let counts = human::change_of_tokens(self.tokens_before, self.tokens_after);
                let text = format!("the context was shortened: {counts}");
                Some((Ink::Dim, "·", text))
            }
            ("NOOP", _) => None,
            (status, failed) => {
                let why = self.message.as_deref().unwrap_or(failed.unwrap_or(status));
                Some((Ink::Yellow, "!", format!("the context could not be shortened: {why}")))
            }
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Circle {
    message: String,
    stops: bool,
}

#[derive(Deserialize)]
struct Budget {
    used: Amount,
    limit: Amount,
}

#[derive(Deserialize)]
struct Raised {
    limits: BudgetLimits,
}

/// Open: what is neither is an amount all the same.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Tokens(u64),
    Money(Cost),
    Other(serde::de::IgnoredAny),
}
