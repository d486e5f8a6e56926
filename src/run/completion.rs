//! `complete_task`: how it is declared, and what counts as a valid result (spec 03, "The loop", 6).

use serde_json::{Value, json};

use protocol::{
    COMPLETE_TASK, CompletionResult, OutputSpec, Risk, ToolDeclaration, ToolError, ToolErrorType, ToolKind,
};

/// The one argument of a run without typed output.
const RESULT: &str = "result";

/// What a run's `complete_task` takes, with its schema compiled once.
pub struct CompletionTool {
    output: Option<OutputSpec>,
    declaration: ToolDeclaration,
    validator: jsonschema::Validator,
}

/// The output schema is no valid JSON Schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the agent's output schema is not valid: {0}")]
pub struct BadOutputSchema(pub String);

impl CompletionTool {
    pub fn new(output: Option<&OutputSpec>) -> Result<CompletionTool, BadOutputSchema> {
        let (name, schema, description) = match output {
            Some(output) => (output.name.as_str(), output.schema.clone(), output.description.as_deref()),
            None => {
                let schema = json!({ "type": "string", "minLength": 1, "description": "Your result." });
                (RESULT, schema, None)
            }
        };
        let parameters = json!({
            "type": "object",
            "properties": { name: schema },
            "required": [name],
            "additionalProperties": false,
        });
        if !schemas::is_readable(&parameters) {
            return Err(BadOutputSchema("it names parts of itself too often".to_owned()));
        }
        let validator =
            jsonschema::validator_for(&parameters).map_err(|error| BadOutputSchema(error.to_string()))?;
        let mut text =
            "Hands in your result and ends your work. Call it once, when the task is done; nothing \
                        you say outside of it reaches whoever asked."
                .to_owned();
        if let Some(description) = description {
            text.push_str(&format!(" `{name}`: {description}"));
        }
        let declaration = ToolDeclaration {
            name: COMPLETE_TASK.into(),
            title: "Complete task".to_owned(),
            description: text,
            kind: ToolKind::Other,
            risk: Risk::Safe,
            parameters,
        };
        Ok(CompletionTool { output: output.cloned(), declaration, validator })
    }

    pub fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    /// The result in `arguments`, or every violation at once.
    pub fn check(&self, arguments: &Value) -> Result<CompletionResult, ToolError> {
        if !schemas::is_bearable(&self.declaration.parameters, arguments) {
            let message = "the result was not accepted: the output's schema makes it too much work to check; give a simpler one";
            return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message: message.to_owned() });
        }
        let violations: Vec<String> = self
            .validator
            .iter_errors(arguments)
            .map(|error| format!("{}: {error}", pointer(&error.instance_path().to_string())))
            .collect();
        if !violations.is_empty() {
            let message = format!("the result was not accepted:\n- {}", violations.join("\n- "));
            return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message });
        }
        match &self.output {
            Some(spec) => {
                let output = arguments.get(&spec.name).cloned().unwrap_or(Value::Null);
                let result = agents::format_output(spec, &output);
                Ok(CompletionResult { result, output: Some(output) })
            }
            None => {
                let text = arguments.get(RESULT).and_then(Value::as_str).unwrap_or_default();
                if text.trim().is_empty() {
                    let message = "the result was not accepted:\n- /result: it is empty".to_owned();
                    return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message });
                }
                Ok(CompletionResult { result: text.to_owned(), output: None })
            }
        }
    }
}

/// The empty pointer means the whole; for a reader it needs a word.
fn pointer(pointer: &str) -> &str {
    if pointer.is_empty() { "(arguments)" } else { pointer }
}
