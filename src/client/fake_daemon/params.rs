//! Would the daemon take a call that a script received, or refuse its parameters?

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use jsonschema::Validator;
use protocol::{METHODS, MethodDoc};
use serde_json::{Map, Value};

/// The schema of a method's parameters.
struct ParamsSchema {
    method: &'static MethodDoc,
    /// Compiled when first needed, once a process: a test calls few of all methods.
    validator: OnceLock<Validator>,
}

static SCHEMAS: LazyLock<BTreeMap<&str, ParamsSchema>> = LazyLock::new(|| {
    METHODS.iter().map(|method| (method.name, ParamsSchema { method, validator: OnceLock::new() })).collect()
});

/// All that the daemon would refuse in a call, one sentence each. Missing parameters are `{}`.
pub(super) fn violations(method: &str, params: &Value) -> Vec<String> {
    let Some(schema) = SCHEMAS.get(method) else {
        return vec![format!("{method}: the daemon has no such method")];
    };
    let validator = schema
        .validator
        .get_or_init(|| jsonschema::validator_for((schema.method.params)().as_value()).unwrap());
    let empty = Value::Object(Map::new());
    let params = if params.is_null() { &empty } else { params };
    let errors = validator.iter_errors(params);
    errors.map(|error| format!("{method}: {}: {error}", error.instance_path())).collect()
}
