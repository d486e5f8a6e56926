//! What do the events say that are about the safeguards of a run: of its context, its budget, its way, its model?

use serde::Deserialize;

use super::{ProgressState, with};
use crate::{human, screen::ProgressScreen, text_color::TextColor};
use protocol::{BudgetLimits, Envelope, UsdAmount};

impl ProgressState {
    /// Shows one event of this kind; answers whether it was one.
    pub(super) fn show_care(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) -> bool {
        match envelope.kind.as_str() {
            "sideCall.started" => self.is_asking_model = true,
            "model.fallback" => with(envelope, |data: ModelFallbackView| {
                // Why was told when the model was given up.
                let text = format!("{} takes over from {}", data.to, data.from);
                self.line(envelope, screen, TextColor::Yellow, "!", &text);
            }),
            "model.routed" => with(envelope, |data: ModelRoutedView| {
                let (ink, sign) =
                    if data.by == "default" { (TextColor::Yellow, "!") } else { (TextColor::Dim, "·") };
                let text = format!("{} serves: {}", data.model, data.reason);
                self.line(envelope, screen, ink, sign, &text);
            }),
            "context.compressed" => with(envelope, |data: ContextCompressedView| {
                if let Some((ink, sign, text)) = data.told() {
                    self.line(envelope, screen, ink, sign, &text);
                }
            }),
            "run.toolsChanged" => with(envelope, |data: ToolsChangedView| {
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
                    TextColor::Dim,
                    "·",
                    &format!("other tools from now on: {shown}{more}"),
                );
            }),
            "hook.started" => with(envelope, |data: HookStartedView| {
                // Nobody waits for one that goes on beside the run.
                if !data.is_async {
                    let text = format!("waits for the hook {}", data.hook_id);
                    self.line(envelope, screen, TextColor::Dim, "·", &text);
                }
            }),
            "context.cleared" => self.line(envelope, screen, TextColor::Dim, "·", "the context begins anew"),
            "loop.detected" => with(envelope, |data: LoopDetectedView| {
                // Where it stops the run, that is told next.
                if !data.stops {
                    let text = format!("{}; it is told so", data.message);
                    self.line(envelope, screen, TextColor::Yellow, "!", &text);
                }
            }),
            "budget.warning" => with(envelope, |data: BudgetWarningView| {
                let text = match (&data.used, &data.limit) {
                    (BudgetAmountView::Tokens(used), BudgetAmountView::Tokens(limit)) => {
                        format!("{} of {limit} are used up", human::count(*used, "token"))
                    }
                    (BudgetAmountView::Money(used), BudgetAmountView::Money(limit)) => {
                        format!("{used} of {limit} are used up")
                    }
                    _ => "little is left of a budget".to_owned(),
                };
                self.line(envelope, screen, TextColor::Yellow, "!", &text);
            }),
            "budget.raised" => with(envelope, |data: BudgetRaisedView| {
                let BudgetLimits { max_tokens, max_cost } = data.limits;
                let tokens = max_tokens.map(|tokens| human::count(tokens, "token"));
                let cost = max_cost.map(|cost| cost.to_string());
                let limits: Vec<String> = tokens.into_iter().chain(cost).collect();
                let text = format!("the budget was raised to {}", limits.join(" and "));
                self.line(envelope, screen, TextColor::Dim, "·", &text);
            }),
            _ => return false,
        }
        true
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelFallbackView {
    from: String,
    to: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelRoutedView {
    model: String,
    by: String,
    reason: String,
}

/// Names of tools in one line.
const MOST_NAMES: usize = 6;

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolsChangedView {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContextCompressedView {
    status: String,
    tokens_before: u64,
    tokens_after: u64,
    message: Option<String>,
}

impl ContextCompressedView {
    fn told(&self) -> Option<(TextColor, &'static str, String)> {
        let failed = self.status.strip_prefix("COMPRESSION_FAILED_");
        match (self.status.as_str(), failed) {
            ("COMPRESSED", _) => {
                let counts = human::change_of_tokens(self.tokens_before, self.tokens_after);
                let text = format!("the context was shortened: {counts}");
                Some((TextColor::Dim, "·", text))
            }
            ("NOOP", _) => {
                let why = self.message.as_deref()?;
                Some((TextColor::Yellow, "!", format!("the context was not shortened: {why}")))
            }
            (status, failed) => {
                let why = self.message.as_deref().unwrap_or(failed.unwrap_or(status));
                Some((TextColor::Yellow, "!", format!("the context could not be shortened: {why}")))
            }
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HookStartedView {
    hook_id: String,
    #[serde(rename = "async")]
    is_async: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoopDetectedView {
    message: String,
    stops: bool,
}

#[derive(Deserialize)]
struct BudgetWarningView {
    used: BudgetAmountView,
    limit: BudgetAmountView,
}

#[derive(Deserialize)]
struct BudgetRaisedView {
    limits: BudgetLimits,
}

/// Open: what is neither is an amount all the same.
#[derive(Deserialize)]
#[serde(untagged)]
enum BudgetAmountView {
    Tokens(u64),
    Money(UsdAmount),
    Other(serde::de::IgnoredAny),
}
