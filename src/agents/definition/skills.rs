//! The field `skills`: which skills do its runs begin with? (spec 08, "Skills")

use serde_json::json;

use super::{
    field_row::{FieldLoss, FieldRow},
    shapes::text,
};
use crate::{
    fields::{self, KnownFields},
    findings::FileFindings,
    yaml::YamlContent,
};
use protocol::{
    AgentDefinition, AgentFormat,
    FileProblemCode::{BadValue, WrongType},
};

pub(super) const SKILLS: FieldRow<AgentDefinition> = FieldRow {
    name: "skills",
    meaning: || {
        format!(
            "Names of skills that its runs begin with, at most {MOST_SKILLS}: what they say stands before the first message."
        )
    },
    schema: || {
        let list = json!({ "type": "array", "maxItems": MOST_SKILLS, "items": text() });
        json!({ "anyOf": [{ "type": ["string", "null"] }, list] })
    },
    example: "skills: [pdf, csv]",
    read: |fields, agent, findings| agent.skills = names(fields, findings),
    write: |agent| (!agent.skills.is_empty()).then(|| json!(agent.skills)),
    loss: Some(FieldLoss { what: "`skills`", kept_by: &[AgentFormat::Claude], is_lost: None }),
    ..FieldRow::BLANK
};

/// Skills of one agent: their texts stand in each of its requests.
const MOST_SKILLS: usize = 32;

/// Names in a list, or in a text with commas between them; each once.
pub(in super::super) fn names(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Vec<String> {
    let Some(node) = fields.get("skills") else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    };
    match &node.content {
        YamlContent::List(nodes) => {
            for (number, node) in nodes.iter().enumerate() {
                if let Some(text) = fields::text(node, &format!("skills[{number}]"), findings) {
                    add(text);
                }
            }
        }
        YamlContent::Scalar { text, .. } => add(text),
        YamlContent::Map(_) => findings.expected(node, "skills", WrongType, "a list of names of skills"),
    }
    if MOST_SKILLS < names.len() {
        let message = format!("`skills` names more than {MOST_SKILLS}");
        findings.error(Some(node.mark), BadValue, message);
        names.truncate(MOST_SKILLS);
    }
    names
}
