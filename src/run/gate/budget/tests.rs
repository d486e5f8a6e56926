//! How much may be given to a run that has used up its budget?

use expect_test::{Expect, expect};

use super::*;

fn limits(tokens: impl Into<Option<u64>>, cents: impl Into<Option<u64>>) -> BudgetLimits {
    BudgetLimits { max_tokens: tokens.into(), max_cost: cents.into().map(cost) }
}

fn cost(cents: u64) -> UsdAmount {
    UsdAmount::from_nanos(cents * 10_000_000)
}

fn used(tokens: u64, cents: impl Into<Option<u64>>) -> BudgetUsed {
    BudgetUsed { tokens, cost: cents.into().map(cost), estimated_requests: 0, uncounted_requests: 0 }
}

fn answer(limits: Option<BudgetLimits>) -> ConfirmationAnswer {
    ConfirmationAnswer {
        confirmation: "q".into(),
        digest: String::new(),
        outcome: ConfirmationOutcome::Modify,
        grant: None,
        message: None,
        arguments: None,
        content: None,
        limits,
        answers: Vec::new(),
        name: None,
    }
}

#[test]
fn twice_as_much_is_enough_to_go_on_and_never_more_than_there_is() {
    assert_eq!(doubled(limits(100, None), &used(100, None)), limits(200, None));
    assert_eq!(doubled(limits(100, None), &used(200, None)), limits(400, None));
    assert_eq!(doubled(limits(None, 50), &used(9_999, 60)), limits(None, 100));
    assert_eq!(doubled(limits(10, 50), &used(75, 210)), limits(80, 400));
    assert_eq!(doubled(limits(u64::MAX - 1, None), &used(u64::MAX - 1, None)), limits(u64::MAX, None));
    assert_eq!(within(limits(200, 100), limits(150, None)), limits(150, 100));
    assert_eq!(within(limits(None, 100), limits(150, 60)), limits(None, 60));
}

fn refused(given: Option<BudgetLimits>, limit: BudgetLimits, expect: Expect) {
    let refused = set(&answer(given), (limit, limits(900, 90)), &used(120, 30)).unwrap_err();
    let AnswerRefusal::Invalid(violations) = refused else { panic!("{refused:?}") };
    let told: Vec<String> = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect();
    expect.assert_eq(&told.join("\n"));
}

#[test]
fn what_a_person_sets_lets_the_run_go_on_or_is_refused_with_all_that_is_wrong() {
    let given = limits(500, None);
    assert_eq!(set(&answer(Some(given)), (limits(100, None), limits(900, 90)), &used(120, 30)), Ok(given));
    refused(
        None,
        limits(100, None),
        expect!["/limits: needed with `modify`: `maxTokens`, `maxCost`, or both"],
    );
    refused(
        Some(limits(None, None)),
        limits(100, 20),
        expect![[r#"
            /limits/maxTokens: needed: it is used up, so the run could not go on without another
            /limits/maxCost: needed: it is used up, so the run could not go on without another"#]],
    );
    refused(
        Some(limits(120, 30)),
        limits(100, 20),
        expect![[r#"
        /limits/maxTokens: 120 is not beyond what is used already, 120 tokens
        /limits/maxCost: $0.3 is not beyond what is used already, $0.3"#]],
    );
    refused(
        Some(limits(901, 91)),
        limits(100, 20),
        expect![[r#"
        /limits/maxTokens: 901 is beyond what the run that called this one had left, 900 tokens
        /limits/maxCost: $0.91 is beyond what the run that called this one had left, $0.9"#]],
    );
    // A limit on what nobody may know the price of would never be met.
    refused(
        Some(limits(500, 50)),
        limits(100, None),
        expect!["/limits/maxCost: is not used up, and stays as it is"],
    );
}
