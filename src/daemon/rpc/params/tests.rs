//! The schemas and types of every method agree with each other.

use serde::Deserialize as _;

use super::*;
use protocol::{EventsList, METHODS, RunStart, RunStartParams};

#[test]
fn every_schema_can_be_compiled() {
    for method in METHODS {
        let schema = (method.params)().to_value();
        assert!(jsonschema::validator_for(&schema).is_ok(), "{}", method.name);
    }
}

#[test]
fn only_bounds_that_types_do_not_have_cost_a_validation() {
    assert!(ParamsShape::of::<EventsList>().is_narrower_than_type);
    assert!(!ParamsShape::of::<protocol::AgentsList>().is_narrower_than_type);
}

#[test]
fn free_objects_have_no_unknown_fields() {
    let shape = ParamsShape::of::<RunStart>();
    let params = r#"{"workspace":"/","agnet":"a","inputs":{"x":{"y":1}},"colour":"red"}"#;
    let (_, unknown) = shape.read(Some(params), false, &|it| RunStartParams::deserialize(it)).unwrap();
    let fields: Vec<_> =
        unknown.iter().map(|one| (one.field.as_str(), one.did_you_mean.as_deref())).collect();
    assert_eq!(fields, [("/agnet", Some("agent")), ("/colour", None)]);
}

#[test]
fn nothing_that_holds_an_agent_back_is_lost() {
    let shape = ParamsShape::of::<RunStart>();
    let refused = |params: Value| {
        let parse = |it: &Value| RunStartParams::deserialize(it);
        let error = shape.read(Some(&params.to_string()), false, &parse).map(|_| ()).unwrap_err();
        let violations = error.data.details.unwrap()["violations"].clone();
        let violations = violations.as_array().unwrap().clone();
        let line =
            |it: &Value| format!("{}: {}", it["pointer"].as_str().unwrap(), it["message"].as_str().unwrap());
        violations.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let told = [
        json!({ "limits": { "maxCostUsd": 1, "maxTimeMinutes": 5 } }),
        json!({ "limits": { "maxTurns": 0, "onBudget": "ask" } }),
        json!({ "approval": { "headles": true } }),
        json!({ "limit": { "maxTurns": 1 }, "colour": "red" }),
        json!({ "maxTurns": 1, "max_cost_usd": 2 }),
        json!({ "mode": "plan" }),
    ]
    .map(refused);
    expect_test::expect![[r#"
        /limits/maxCostUsd: unknown field; did you mean `maxCost`? `limits` has `maxTurns`, `maxTimeMs`, `maxTokens`, `maxCost`, `onBudget`, `graceMs`, `maxDepth`
        /limits/maxTimeMinutes: unknown field; `limits` has `maxTurns`, `maxTimeMs`, `maxTokens`, `maxCost`, `onBudget`, `graceMs`, `maxDepth`

        /limits/maxTurns: value is less than the minimum of 1

        /approval/headles: unknown field; did you mean `headless`? `approval` has `headless`, `mode`, `autoApprove`, `audience`, `onDetached`, `deadlineMs`, `onDeadline`

        /limit: unknown field; did you mean `limits`?

        /maxTurns: unknown field; did you mean `maxTurns` in `limits`?
        /max_cost_usd: unknown field; did you mean `maxCost` in `limits`?

        /mode: unknown field; did you mean `mode` in `approval`?"#]].assert_eq(&told.join("\n\n"));
    // Short words are like too many others, and a later client may mean something else.
    for harmless in [r#"{"workspace":"/","node":1}"#, r#"{"workspace":"/","retries":{"maxTurns":1}}"#] {
        assert!(
            shape.read(Some(harmless), false, &|it| RunStartParams::deserialize(it)).is_ok(),
            "{harmless}"
        );
    }
}
