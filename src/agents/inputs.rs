//! With which values does a run start? (spec 03, "The loop", point 1)

use serde_json::{Map, Value};

use super::schema;
use config::nearest;
use protocol::{InputSpec, SchemaViolation};

/// The name of the input that a run's prompt fills.
const PROMPT: &str = "prompt";

/// The values of an agent's inputs, in the agent's order, or every rule that what was given breaks.
///
/// `prompt` is the value of the input `prompt`. An agent without such an input takes it all the same when it
/// has exactly one required text without a default: there is only one thing it can mean.
pub fn resolve(
    inputs: &[InputSpec],
    prompt: Option<&str>,
    given: Map<String, Value>,
) -> Result<Map<String, Value>, Vec<SchemaViolation>> {
    let mut violations = Vec::new();
    let mut given = given;
    for name in given.keys() {
        if !inputs.iter().any(|input| input.name == *name) {
            violations.push(unknown(name, inputs));
        }
    }
    if let Some(prompt) = prompt {
        match input_of_prompt(inputs) {
            None => violations.push(SchemaViolation {
                pointer: format!("/{PROMPT}"),
                message: format!("this agent takes no prompt; of inputs it has {}", listed(inputs)),
            }),
            Some(input) if given.contains_key(&input.name) => violations.push(SchemaViolation {
                pointer: pointer(&input.name),
                message: format!("`{}` is given twice: as the prompt and as an input", input.name),
            }),
            Some(input) => {
                given.insert(input.name.clone(), Value::String(prompt.to_owned()));
            }
        }
    }
    let mut values = Map::new();
    for input in inputs {
        match given.remove(&input.name).or_else(|| input.default.clone()) {
            Some(value) => {
                violations.extend(broken_rules(input, &value));
                values.insert(input.name.clone(), value);
            }
            None if input.required => violations.push(SchemaViolation {
                pointer: pointer(&input.name),
                message: format!("the required input `{}` is missing", input.name),
            }),
            None => {}
        }
    }
    if violations.is_empty() { Ok(values) } else { Err(violations) }
}

fn input_of_prompt(inputs: &[InputSpec]) -> Option<&InputSpec> {
    let named = inputs.iter().find(|input| input.name == PROMPT);
    if named.is_some() {
        return named;
    }
    let is_text = |input: &&InputSpec| input.schema.get("type").and_then(Value::as_str) == Some("string");
    let mut candidates =
        inputs.iter().filter(|input| input.required && input.default.is_none()).filter(is_text);
    let only = candidates.next()?;
    candidates.next().is_none().then_some(only)
}

fn broken_rules(input: &InputSpec, value: &Value) -> Vec<SchemaViolation> {
    let violations = match schema::compile(&input.schema) {
        Ok(validator) => schema::violations(&input.schema, &validator, value),
        // The schema was checked when the file was read; one that is broken all the same lets nothing pass.
        Err(mistake) => vec![mistake],
    };
    let in_place = |violation: SchemaViolation| SchemaViolation {
        pointer: format!("{}{}", pointer(&input.name), violation.pointer),
        ..violation
    };
    violations.into_iter().map(in_place).collect()
}

fn unknown(name: &str, inputs: &[InputSpec]) -> SchemaViolation {
    let near = nearest(name, inputs.iter().map(|input| input.name.as_str()));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", listed(inputs)),
    };
    SchemaViolation { pointer: pointer(name), message: format!("there is no input `{name}`; {help}") }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn listed(inputs: &[InputSpec]) -> String {
    if inputs.is_empty() {
        return "none".to_owned();
    }
    inputs.iter().map(|input| format!("`{}`", input.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn input(name: &str, required: bool, default: Option<Value>, schema: Value) -> InputSpec {
        InputSpec { name: name.into(), description: None, required, default, schema }
    }

    fn text(name: &str) -> InputSpec {
        input(name, true, None, json!({"type": "string"}))
    }

    fn check(inputs: &[InputSpec], prompt: Option<&str>, given: Value, expected: Expect) {
        let Value::Object(given) = given else { panic!("an object") };
        let told = match resolve(inputs, prompt, given) {
            Ok(values) => Value::Object(values).to_string(),
            Err(violations) => {
                let lines = violations.iter().map(|found| format!("{}: {}\n", found.pointer, found.message));
                lines.collect()
            }
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn the_prompt_fills_the_input_of_its_name() {
        check(&[text("prompt")], Some("hi"), json!({}), expect![[r#"{"prompt":"hi"}"#]]);
        check(
            &[text("other"), text("prompt")],
            Some("hi"),
            json!({"other": "x"}),
            expect![[r#"{"other":"x","prompt":"hi"}"#]],
        );
        check(&[text("prompt")], None, json!({"prompt": "hi"}), expect![[r#"{"prompt":"hi"}"#]]);
    }

    #[test]
    fn the_prompt_fills_the_one_required_text() {
        let depth = input("depth", true, None, json!({"type": "integer"}));
        let tone = input("tone", true, Some(json!("dry")), json!({"type": "string"}));
        let hint = input("hint", false, None, json!({"type": "string"}));
        check(
            &[depth, tone, hint, text("objective")],
            Some("why?"),
            json!({"depth": 1}),
            expect![[r#"{"depth":1,"tone":"dry","objective":"why?"}"#]],
        );
    }

    #[test]
    fn a_prompt_that_could_mean_two_inputs_or_none_is_refused() {
        check(
            &[text("a"), text("b")],
            Some("hi"),
            json!({}),
            expect![[r#"
            /prompt: this agent takes no prompt; of inputs it has `a`, `b`
            /a: the required input `a` is missing
            /b: the required input `b` is missing
        "#]],
        );
        check(
            &[],
            Some("hi"),
            json!({}),
            expect![[r#"
            /prompt: this agent takes no prompt; of inputs it has none
        "#]],
        );
        check(
            &[text("prompt")],
            Some("hi"),
            json!({"prompt": "ho"}),
            expect![[r#"
            /prompt: `prompt` is given twice: as the prompt and as an input
        "#]],
        );
        check(
            &[text("objective")],
            Some("hi"),
            json!({"objective": "ho"}),
            expect![[r#"
            /objective: `objective` is given twice: as the prompt and as an input
        "#]],
        );
    }

    #[test]
    fn every_violation_is_told_at_once_with_its_pointer() {
        let inputs = [
            text("objective"),
            input("files", true, None, json!({"type": "array", "items": {"type": "string"}})),
            input("depth", false, Some(json!(3)), json!({"type": "integer", "minimum": 1})),
        ];
        check(
            &inputs,
            None,
            json!({"files": ["a", 1, null], "depth": 0, "objectiv": "x", "a/b": 1}),
            expect![[r#"
                /objectiv: there is no input `objectiv`; did you mean `objective`?
                /a~1b: there is no input `a/b`; there are `objective`, `files`, `depth`
                /objective: the required input `objective` is missing
                /files/1: 1 is not of type "string"
                /files/2: null is not of type "string"
                /depth: 0 is less than the minimum of 1
            "#]],
        );
    }

    #[test]
    fn defaults_stand_in_and_what_nobody_needs_stays_away() {
        let inputs = [
            input("depth", false, Some(json!(3)), json!({"type": "integer"})),
            input("hint", false, None, json!({"type": "string"})),
        ];
        check(&inputs, None, json!({}), expect![[r#"{"depth":3}"#]]);
        check(
            &inputs,
            None,
            json!({"hint": null}),
            expect![[r#"
            /hint: null is not of type "string"
        "#]],
        );
    }
}
