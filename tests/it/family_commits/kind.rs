//! Which commits are of one kind? Those that write such an event: of this type, in this state, of a root run or of one
//! that another called.

use serde_json::Value;

use crate::process::text;

/// What tells events apart, beside their type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    event: String,
    /// Of `tool.state`: the state.
    to: Option<String>,
    /// Of `run.queued`: what for.
    waits_for: Option<String>,
    /// Of `tool.state`: a run is to answer the call.
    begins_child: bool,
    /// It says a turn, which tells the two `run.steered` of a message apart.
    has_turn: bool,
    is_of_child: bool,
}

impl Kind {
    pub fn of(event: &Value) -> Kind {
        let data = &event["data"];
        Kind {
            event: text(event, "type").to_owned(),
            to: data["to"].as_str().map(str::to_owned),
            waits_for: data["for"].as_str().map(str::to_owned),
            begins_child: data["childRunId"].is_string(),
            has_turn: data["turn"].is_number(),
            is_of_child: event["parentRunId"].is_string(),
        }
    }

    /// A type of which there is one kind.
    pub fn plain(event: &str, is_of_child: bool) -> Kind {
        Kind {
            event: event.to_owned(),
            to: None,
            waits_for: None,
            begins_child: false,
            has_turn: false,
            is_of_child,
        }
    }

    /// A call that a tool answers comes into this state.
    pub fn of_call(to: &str, is_of_child: bool) -> Kind {
        Kind { to: Some(to.to_owned()), ..Kind::plain("tool.state", is_of_child) }
    }

    pub fn is_wait_for_place(&self) -> bool {
        self.waits_for.as_deref() == Some("place")
    }

    /// The SQL that asks whether a row is of this kind.
    pub fn is_of(&self, row: &str) -> String {
        let literal = |text: &Option<String>| match text {
            Some(text) => format!("'{text}'"),
            None => "null".to_owned(),
        };
        let Kind { event, to, waits_for, begins_child, has_turn, is_of_child } = self;
        let (to, waits_for) = (literal(to), literal(waits_for));
        format!(
            "{row}.type = '{event}' and json_extract({row}.body, '$.to') is {to} \
             and json_extract({row}.body, '$.for') is {waits_for} \
             and (json_extract({row}.body, '$.childRunId') is not null) = {begins_child} \
             and (json_extract({row}.body, '$.turn') is not null) = {has_turn} \
             and (json_extract({row}.head, '$.parentRunId') is not null) = {is_of_child}"
        )
    }
}
