//! In which form does the agent want its result? Read from the declaration of `complete_task`; what does not fit is
//! refused rather than forced.

use serde_json::{Map, Value, json};

use super::report::InvestigationReport;
use protocol::{COMPLETE_TASK, ToolDeclaration};

/// A form this model can answer in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OfflineAnswerForm {
    /// One argument that is an investigation report; its name.
    Investigation(String),
    /// One text; the argument's name.
    Text(String),
    /// No tool takes the result: it is the turn's text.
    Message,
}

impl OfflineAnswerForm {
    /// `None` when the agent's output is none of these.
    pub(super) fn wanted(tools: &[ToolDeclaration]) -> Option<OfflineAnswerForm> {
        let Some(complete_task) = tools.iter().find(|tool| tool.name.as_str() == COMPLETE_TASK) else {
            return Some(OfflineAnswerForm::Message);
        };
        let arguments = complete_task.parameters.get("properties")?.as_object()?;
        let mut arguments = arguments.iter();
        let (Some((name, schema)), None) = (arguments.next(), arguments.next()) else { return None };
        if is_investigation(schema) {
            return Some(OfflineAnswerForm::Investigation(name.clone()));
        }
        // A typed output that is a bare text has rules of its own; `result` is the text for people.
        (name == "result" && schema.get("type") == Some(&json!("string")))
            .then(|| OfflineAnswerForm::Text(name.clone()))
    }

    /// The arguments of `complete_task`; `None` when the result is the turn's text.
    pub(super) fn arguments(&self, report: &InvestigationReport) -> Option<Value> {
        let (name, value) = match self {
            OfflineAnswerForm::Investigation(name) => (name, investigation(report)),
            OfflineAnswerForm::Text(name) => (name, Value::String(report.to_markdown())),
            OfflineAnswerForm::Message => return None,
        };
        Some(Value::Object(Map::from_iter([(name.clone(), value)])))
    }
}

/// The report of `codebase-investigator` (spec 02, "Built in"), recognized by its fields.
fn is_investigation(schema: &Value) -> bool {
    const FIELDS: [&str; 3] = ["SummaryOfFindings", "ExplorationTrace", "RelevantLocations"];
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    FIELDS.iter().all(|field| properties.contains_key(*field))
        && required.filter_map(Value::as_str).all(|name| FIELDS.contains(&name))
}

fn investigation(report: &InvestigationReport) -> Value {
    let locations = report.locations.iter().map(|location| {
        json!({
            "FilePath": location.file_path(),
            "Reasoning": location.reasoning(),
            "KeySymbols": location.symbols,
        })
    });
    json!({
        "SummaryOfFindings": report.summary,
        "ExplorationTrace": report.trace,
        "RelevantLocations": locations.collect::<Vec<Value>>(),
    })
}
