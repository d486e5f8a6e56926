//! The fields `prompt` and `memory`: does the system prompt begin with the daemon's own modules, and is the agent told what
//! memory files say? (spec 08)

use serde_json::json;

use super::{
    field_row::{FieldLoss, FieldRow, map_schema, read_section, section, written_section},
    shapes::{FieldShape, FlagShape, or_null},
};
use crate::{fields::KnownFields, findings::FileFindings, unsupported};
use protocol::{AgentDefinition, AgentFormat, FileProblemCode::MissingField};

pub(super) const PROMPT: FieldRow<AgentDefinition> = section!("prompt", PROMPT_FIELDS, "What the system prompt is made of.", example: "prompt: { modules: true }");

const PROMPT_FIELDS: &[FieldRow<AgentDefinition>] = &[FieldRow {
    name: "modules",
    meaning: || {
        String::from(
            "Whether the system prompt begins with the daemon's own modules, which the text of the file follows. Default: \
             true for a file without text, else false.",
        )
    },
    schema: || FlagShape.schema(),
    example: "prompt: { modules: true }",
    read: |fields, agent, findings| {
        let Some(modules) = fields.flag("modules", findings) else { return };
        agent.prompt_modules = modules;
        if !modules && agent.prompt.is_empty() {
            let message = "the file has no text after the front matter and says `prompt.modules: false`, so the agent has no \
                           system prompt";
            findings.warning(Some(fields.mark()), MissingField, message, None);
        }
    },
    write: |agent| (agent.prompt_modules != agent.prompt.is_empty()).then_some(agent.prompt_modules.into()),
    loss: Some(FieldLoss {
        what: "the daemon's own system prompt (`prompt.modules`)",
        kept_by: &[],
        is_lost: Some(|agent| agent.prompt_modules),
    }),
    ..FieldRow::BLANK
}];

/// Of `memory` only `{ include: false }` is carried out. What else stands there is told as what is not.
pub(super) const MEMORY: FieldRow<AgentDefinition> = FieldRow {
    name: "memory",
    meaning: || {
        String::from(
            "`include: false`: the agent does not get the memory files. Anything else in this field cannot be carried out in \
             this version: then the agent is not started.",
        )
    },
    example: "memory: { include: false }",
    read: |fields, agent, findings| agent.omits_memory = omits_memory(fields, findings),
    write: |agent| agent.omits_memory.then(|| json!({ (unsupported::INCLUDE): false })),
    written_behind: Some("prompt"),
    loss: Some(FieldLoss { what: "`memory.include`", kept_by: &[AgentFormat::Claude], is_lost: None }),
    ..FieldRow::BLANK
};

fn omits_memory(fields: &KnownFields<'_>, findings: &mut FileFindings) -> bool {
    let Some(node) = fields.get("memory").filter(|node| !unsupported::is_left_out("memory", node)) else {
        return false;
    };
    if node.says_nothing() {
        return false;
    }
    let fields = KnownFields::open(node, "memory", &[unsupported::INCLUDE], findings);
    fields.and_then(|fields| fields.flag(unsupported::INCLUDE, findings)) == Some(false)
}
