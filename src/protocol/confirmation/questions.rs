//! Questions that want words, and their answers (spec 05, `ask_user`; 07, elicitation).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// One question of an agent, or of a server that is at a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserQuestion {
    pub question: String,
    /// What can be chosen; empty = any text. A person may answer with a text of their own, unless `closed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Several may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi_select: bool,
    /// Nothing but the options can be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// What the answer must read as. It is sent as a text all the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: AnswerKind,
    /// An empty answer leaves it out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// What an empty answer means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<QuestionAnswer>,
}

/// What an answer must read as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AnswerKind {
    #[default]
    Text,
    Number,
    Integer,
    /// `yes` or `no`, which are the options; `true` and `false` are taken as well.
    Boolean,
}

/// A person's answer to one question, in the order of the questions: what was chosen, or a text of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum QuestionAnswer {
    One(String),
    Several(Vec<String>),
}

impl QuestionAnswer {
    /// Nothing was said.
    pub fn is_blank(&self) -> bool {
        match self {
            QuestionAnswer::One(text) => text.trim().is_empty(),
            QuestionAnswer::Several(texts) => texts.iter().all(|text| text.trim().is_empty()),
        }
    }
}
