//! Which settings go out to which model.

use super::*;

#[test]
fn names_tell_the_generation() {
    let cases = [
        ("claude-instant-1.2", Generation::First, 4_096),
        ("claude-2.1", Generation::First, 4_096),
        ("claude-3-opus-20240229", Generation::First, 4_096),
        ("claude-3-haiku-20240307", Generation::First, 4_096),
        ("claude-3-5-haiku-latest", Generation::First, 8_192),
        ("claude-3-7-sonnet-latest", Generation::First, 64_000),
        ("anthropic/claude-3.7-sonnet", Generation::First, 64_000),
        ("claude-sonnet-4-20250514", Generation::First, 64_000),
        ("claude-opus-4-0", Generation::First, 32_000),
        ("claude-opus-4-20250514", Generation::First, 32_000),
        ("claude-opus-4-1-20250805", Generation::One, 32_000),
        ("claude-haiku-4-5", Generation::One, 64_000),
        ("claude-sonnet-4-5-20250929", Generation::One, 64_000),
        ("anthropic.claude-opus-4-6-v1", Generation::One, 64_000),
        ("claude-opus-4-7", Generation::Current, 64_000),
        ("claude-sonnet-5", Generation::Current, 64_000),
        ("claude-sonnet-5-5", Generation::Current, 64_000),
        ("claude-sonnet-5@20260301", Generation::Current, 64_000),
        ("claude-opus-10", Generation::Current, 64_000),
        // Without a version, or of a family that nobody here has heard of.
        ("claude-mythos-preview", Generation::Current, 64_000),
        ("claude-novel", Generation::Current, 64_000),
        ("somebody-elses-4-5", Generation::Foreign, 8_192),
    ];
    for (model, expected, most) in cases {
        assert_eq!((generation(model), most_output(model)), (expected, most), "{model}");
    }
}

#[test]
fn a_current_model_is_told_an_effort_and_nothing_else() {
    let cases = [
        (None, Some(2_000), ThinkingMode::Unsaid, 2_000),
        (None, None, ThinkingMode::Unsaid, 64_000),
        (Some(0), Some(2_000), ThinkingMode::Least, 2_000),
        (Some(1), Some(2_000), ThinkingMode::Adaptive(Some("low")), 2_001),
        (Some(10_000), Some(2_000), ThinkingMode::Adaptive(Some("medium")), 12_000),
        (Some(20_000), Some(60_000), ThinkingMode::Adaptive(Some("high")), 64_000),
        (Some(i64::MAX), Some(2_000), ThinkingMode::Adaptive(Some("high")), 64_000),
        (Some(-1), Some(2_000), ThinkingMode::Adaptive(None), 64_000),
    ];
    for (thinking_budget, max_output_tokens, thoughts, max_tokens) in cases {
        let sampling =
            SamplingSettings { temperature: Some(0.3), top_p: Some(0.9), max_output_tokens, thinking_budget };
        let expected = AnthropicSettings { max_tokens, thoughts, ..AnthropicSettings::default() };
        assert_eq!(taken("claude-sonnet-5-5", &sampling, None), expected, "{thinking_budget:?}");
    }
}

#[test]
fn only_one_sampling_setting_is_told_where_two_are_refused() {
    let both = SamplingSettings { temperature: Some(0.3), top_p: Some(0.9), ..SamplingSettings::default() };
    let one = SamplingSettings { temperature: None, ..both };
    let told = |model: &str, sampling: &SamplingSettings| {
        let taken = taken(model, sampling, None);
        (taken.temperature, taken.top_p)
    };
    for model in ["claude-opus-4-0", "claude-3-5-haiku-latest", "somebody-elses"] {
        assert_eq!(told(model, &both), (Some(0.3), Some(0.9)), "{model}");
    }
    for model in ["claude-opus-4-1", "claude-haiku-4-5", "claude-sonnet-4-6"] {
        assert_eq!(told(model, &both), (Some(0.3), None), "{model}");
        assert_eq!(told(model, &one), (None, Some(0.9)), "{model}");
    }
    let thinking = SamplingSettings { thinking_budget: Some(2_000), ..both };
    assert_eq!(told("claude-haiku-4-5", &thinking), (None, None));
}

#[test]
fn an_answer_may_be_as_long_as_there_is_room() {
    let budget = |taken: &AnthropicSettings| match taken.thoughts {
        ThinkingMode::Budget(budget) => budget,
        _ => 0,
    };
    let cases = [
        (None, None, None, 64_000, 0),
        (None, None, Some(100_000), 64_000, 0),
        (None, None, Some(21_041), 21_041, 0),
        (Some(4_000), None, Some(21_041), 4_000, 0),
        (Some(4_000), Some(30_000), Some(21_041), 21_041, 20_017),
        (None, Some(-1), Some(10_000), 10_000, 8_976),
        // So much is always asked for: whether it fits the provider knows best.
        (None, Some(30_000), Some(0), 2_048, 1_024),
        (None, None, Some(0), 2_048, 0),
    ];
    for (max_output_tokens, thinking_budget, room, max_tokens, thoughts) in cases {
        let sampling = SamplingSettings { max_output_tokens, thinking_budget, ..SamplingSettings::default() };
        let taken = taken("claude-haiku-4-5", &sampling, room);
        assert_eq!((taken.max_tokens, budget(&taken)), (max_tokens, thoughts), "{sampling:?} {room:?}");
    }
    let sampling = SamplingSettings { thinking_budget: Some(20_000), ..SamplingSettings::default() };
    assert_eq!(taken("claude-opus-5", &sampling, Some(9_000)).max_tokens, 9_000);
}
