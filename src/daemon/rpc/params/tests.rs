//! The schemas and types of every method agree with each other.

use super::*;
use crate::protocol::{EventsList, METHODS, RunStart};

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
    assert!(!ParamsShape::of::<crate::protocol::AgentsList>().is_narrower_than_type);
}

#[test]
fn free_objects_have_no_unknown_fields() {
    let shape = ParamsShape::of::<RunStart>();
    let params = r#"{"workspace":"/","agent":"a","inputs":{"x":{"y":1}},"limits":{"maxTruns":1}}"#;
    let (_, unknown) = shape.read::<crate::protocol::RunStartParams>(Some(params), false).unwrap();
    let fields: Vec<_> =
        unknown.iter().map(|one| (one.field.as_str(), one.did_you_mean.as_deref())).collect();
    assert_eq!(fields, [("/limits/maxTruns", Some("maxTurns"))]);
}
