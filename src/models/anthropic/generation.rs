//! What does a model of this name take? The API is one, but its generations refuse each other's settings.

use protocol::SamplingSettings;

/// The least budget for thoughts that is taken
/// (<https://platform.claude.com/docs/en/build-with-claude/extended-thinking>).
const LEAST_THINKING: u64 = 1_024;

/// Tokens that an answer has beside its thoughts when these have no bound of their own.
const LEAST_ANSWER: u64 = 1_024;

/// A number of a name with more digits is a date, e.g. in `claude-opus-4-20250514`.
const MAX_VERSION_DIGITS: usize = 2;

/// Settings as one model takes them. What it is known to refuse is left out without a word: an agent's file is for any
/// model, and a refusal would end every run of it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AnthropicSettings {
    pub max_tokens: u64,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub thoughts: ThinkingMode,
}

/// How a model is told how much to think.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingMode {
    /// Nothing is said: as is usual for the model.
    #[default]
    Unsaid,
    Budget(u64),
    /// As much as it finds right for this effort; `None` = for its usual one, which is high.
    Adaptive(Option<&'static str>),
    /// Not to be kept from thinking altogether; this is the least.
    Least,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    /// Not of Anthropic's: servers that speak this API took it over as it first was.
    Foreign,
    /// Up to 4.0.
    First,
    /// 4.1 to 4.6: temperature or `top_p`
    /// (<https://platform.claude.com/docs/en/about-claude/models/migration-guide>).
    One,
    /// From 4.7 on: no sampling settings and no budget for thoughts, an effort instead (the same page, and
    /// <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>).
    Current,
}

/// The settings, as the model takes them. `room` is what the request leaves of its window: one whose answer might be longer
/// is refused.
pub(super) fn taken(model: &str, sampling: &SamplingSettings, room: Option<u64>) -> AnthropicSettings {
    let SamplingSettings { temperature, top_p, max_output_tokens, thinking_budget } = *sampling;
    let room = room.unwrap_or(u64::MAX).max(LEAST_THINKING + LEAST_ANSWER);
    let most = most_output(model).min(room);
    let answer = max_output_tokens.unwrap_or(most).min(most);
    let generation = generation(model);
    if generation == Generation::Current {
        let thoughts = thinking_budget.map_or(ThinkingMode::Unsaid, adaptive);
        // The bound is for thoughts and answer together, so there must be room for both.
        let room = match thinking_budget {
            Some(budget) => u64::try_from(budget).unwrap_or(most),
            None => 0,
        };
        let max_tokens = answer.saturating_add(room).min(most);
        return AnthropicSettings { max_tokens, thoughts, ..AnthropicSettings::default() };
    }
    let (budget, max_tokens) = match thinking_budget {
        None | Some(0) => (None, answer),
        // As much as it likes, but for room to answer.
        Some(..0) => {
            let budget = most.saturating_sub(LEAST_ANSWER).max(LEAST_THINKING);
            (Some(budget), budget + LEAST_ANSWER)
        }
        // Thoughts count as output here, so there must be room for both.
        Some(budget @ 1..) => {
            let budget = u64::try_from(budget).unwrap_or(LEAST_THINKING).max(LEAST_THINKING);
            let budget = budget.min(most.saturating_sub(LEAST_ANSWER).max(LEAST_THINKING));
            (Some(budget), budget.saturating_add(answer).min(most).max(budget + LEAST_ANSWER))
        }
    };
    // A model that thinks refuses to be told how boldly to choose its words; others are as bold as can be at 1, where
    // other providers go on to 2.
    let temperature = temperature.filter(|_| budget.is_none()).map(|it| it.clamp(0.0, 1.0));
    let has_said_it = generation == Generation::One && temperature.is_some();
    AnthropicSettings {
        max_tokens,
        temperature,
        top_p: top_p.filter(|_| budget.is_none() && !has_said_it),
        thoughts: budget.map_or(ThinkingMode::Unsaid, ThinkingMode::Budget),
    }
}

/// A budget of tokens in the words of models that take none
/// (<https://platform.claude.com/docs/en/build-with-claude/effort>).
fn adaptive(budget: i64) -> ThinkingMode {
    match budget {
        // Some of them refuse to be kept from thinking.
        0 => ThinkingMode::Least,
        1..=4_096 => ThinkingMode::Adaptive(Some("low")),
        4_097..=16_384 => ThinkingMode::Adaptive(Some("medium")),
        16_385.. => ThinkingMode::Adaptive(Some("high")),
        // As much as it likes.
        ..0 => ThinkingMode::Adaptive(None),
    }
}

/// A name of Anthropic's without a version that is known here, such as one that does not exist yet, is taken for a current
/// one: what was taken away has never come back.
fn generation(model: &str) -> Generation {
    match version(model) {
        None => Generation::Foreign,
        Some(Some((0..=3, _) | (4, 0))) => Generation::First,
        Some(Some((4, 1..=6))) => Generation::One,
        Some(_) => Generation::Current,
    }
}

/// Major and minor, of `claude-sonnet-4-5` as of `anthropic/claude-3.7-sonnet`: the first number and, right behind it, the
/// second. `None` = it is no Claude, `Some(None)` = its name has no version.
fn version(model: &str) -> Option<Option<(u32, u32)>> {
    let (_, name) = model.split_once("claude-")?;
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= MAX_VERSION_DIGITS);
    let mut words = name.split(['-', '.', '@', ':', '_']).skip_while(|word| number(word).is_none());
    let major = words.next().and_then(number);
    let minor = words.next().and_then(number).unwrap_or(0);
    Some(major.map(|major| (major, minor)))
}

/// What a model of this name puts out at most; more is refused
/// (<https://platform.claude.com/docs/en/about-claude/models/overview>).
fn most_output(model: &str) -> u64 {
    match version(model) {
        // Somebody else's, behind an address of their own.
        None => 8_192,
        Some(Some((0..=2, _) | (3, 0..=4))) => 4_096,
        Some(Some((3, 5..=6))) => 8_192,
        Some(Some((4, 0..=1))) if model.contains("opus") => 32_000,
        Some(_) => 64_000,
    }
}

#[cfg(test)]
mod tests;
