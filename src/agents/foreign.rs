//! What do files of other products say, read as they are? (spec 02, "Foreign files")
//!
//! Each product has a table of its fields and of its tools' names. What is read becomes a definition like any other; what
//! has no meaning here is kept for whoever writes the file back, and told. Nothing that a stranger's file says can make
//! things looser: what it allows, it allows itself only.

use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{
    definition::{self, look},
    fields::KnownFields,
    file_sections::PromptBody,
    findings::FileFindings,
    names, unsupported,
    yaml::YamlNode,
};
use protocol::{
    AgentDefinition, AgentFormat, AgentName,
    FileProblemCode::{BadValue, MissingField, UnknownField},
    InputSpec, ModelChoice, SamplingSettings, ToolName, ToolSelection, listed_tool,
};

mod claude;
mod gemini;
mod opencode;
mod tools;

pub(super) use opencode::EDITS;
pub(super) use tools::{ForeignToolNames, SelectedTools};

/// What is known of a file beside its front matter and its body.
#[derive(Clone, Copy)]
pub(super) struct ForeignFileOrigin<'a> {
    pub path: &'a Path,
    pub format: AgentFormat,
}

/// A file of another product, read.
pub(super) struct ForeignAgent {
    pub name: AgentName,
    /// The caller drops it when there was any error.
    pub definition: Option<AgentDefinition>,
    /// What stands in it that has no meaning here, as it was written.
    pub extras: Vec<(String, Value)>,
    pub standing: StartStanding,
}

/// Whether its product would start it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartStanding {
    #[default]
    Usual,
    /// The file itself switches it off.
    SwitchedOff,
    /// It runs elsewhere, which is not possible yet (spec 02, "Remote agents").
    Remote,
}

/// Reads one file: mostly one agent, of Gemini CLI's lists of remote agents several, never none.
pub(super) fn read(
    root: &YamlNode,
    body: &PromptBody<'_>,
    origin: ForeignFileOrigin<'_>,
    findings: &mut FileFindings,
) -> Vec<ForeignAgent> {
    match origin.format {
        AgentFormat::Claude => vec![claude::read(root, body, origin, findings)],
        AgentFormat::Gemini => gemini::read(root, body, origin, findings),
        AgentFormat::OpenCode => vec![opencode::read(root, body, origin, findings)],
        // Read by `definition`; here it would be an agent of no product, which is told.
        AgentFormat::Own => Vec::new(),
    }
}

/// What is common to all products, before their own fields are put in.
struct CommonAgentFields<'a> {
    fields: Option<KnownFields<'a>>,
    name: AgentName,
    title: Option<String>,
    description: Option<String>,
    unsupported: Vec<String>,
}

impl<'a> CommonAgentFields<'a> {
    /// `known` are the fields that the product has. A front matter that is no map is told, and leaves the file's name.
    fn read(
        root: &'a YamlNode,
        known: &[&str],
        origin: ForeignFileOrigin<'_>,
        findings: &mut FileFindings,
    ) -> CommonAgentFields<'a> {
        let Some(fields) = KnownFields::open_foreign(root, known, findings) else {
            let name = name_of(None, origin.path);
            return CommonAgentFields {
                fields: None,
                name,
                title: None,
                description: None,
                unsupported: Vec::new(),
            };
        };
        let written = fields.raw_text("name", findings).filter(|text| !text.trim().is_empty());
        let name = name_of(written.as_deref(), origin.path);
        if written.is_none() && origin.format != AgentFormat::OpenCode && !findings.have_error() {
            let message = format!("`name` is missing; the agent is called by its file, `{name}`");
            findings.warning(Some(root.mark), MissingField, message, Some(format!("add `name: {name}`")));
        }
        if let Some(taken) = names::taken(&name) {
            let mark = fields.get("name").map_or(root.mark, |node| node.mark);
            let message = format!("`name`: `{name}` {taken}; expected a name of the agent's own");
            findings.error_with_fix(Some(mark), BadValue, message, format!("write `name: {name}-agent`"));
        }
        let description = fields.raw_text("description", findings).filter(|text| !text.trim().is_empty());
        let title = written.filter(|written| !is_word_like(written));
        let mut unsupported = unsupported::read(root, findings);
        unsupported.extend(unsupported::read_misspelled(root, known, findings));
        CommonAgentFields { fields: Some(fields), name, title, description, unsupported }
    }

    /// What no rule of a product changes; models, limits and tools are the product's to fill in.
    fn definition(
        &self,
        fields: &KnownFields<'_>,
        (body, format): (&PromptBody<'_>, AgentFormat),
        findings: &mut FileFindings,
    ) -> AgentDefinition {
        AgentDefinition {
            format,
            description: self.description.clone(),
            color: look::foreign_color(fields, findings),
            inputs: vec![prompt("prompt")],
            query: "${prompt}".to_owned(),
            tools: ToolSelection { inherits: true, ..ToolSelection::default() },
            unsupported: self.unsupported.clone(),
            prompt_modules: body.text.is_empty(),
            hooks: definition::hooks(fields),
            // These products fill nothing in (spec 03, "The loop", 1); Gemini CLI's reader puts its own here.
            prompt: literal(body.text),
            ..AgentDefinition::named(
                self.name.clone(),
                self.title.clone().unwrap_or_else(|| names::title_case(&self.name)),
            )
        }
    }

    fn warn_of_missing_description(&self, root: &YamlNode, is_hidden: bool, findings: &mut FileFindings) {
        if self.description.is_none() && !is_hidden {
            let message = "`description` is missing: other agents cannot tell when to call this one";
            findings.warning(Some(root.mark), MissingField, message, None);
        }
    }

    /// A file of which too little could be read to make an agent of it.
    fn without_definition(self) -> ForeignAgent {
        ForeignAgent { name: self.name, definition: None, extras: Vec::new(), standing: StartStanding::Usual }
    }
}

/// The one input that agents of other products have.
fn prompt(name: &str) -> InputSpec {
    InputSpec {
        name: name.to_owned(),
        description: None,
        required: true,
        default: None,
        schema: serde_json::json!({ "type": "string" }),
    }
}

/// As a template that says just this.
pub(super) fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// The id behind what stands as a name, else behind the file's (spec 02, rule 4). Names of which nothing is left, e.g. in
/// another script, have one that is made from them, so that no two are the same.
pub(super) fn name_of(written: Option<&str>, path: &Path) -> AgentName {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let found = written.and_then(names::slug).or_else(|| names::slug(&stem));
    found.unwrap_or_else(|| {
        let digest = Sha256::digest(written.unwrap_or(&stem).as_bytes());
        let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        AgentName::from(format!("agent-{digits}"))
    })
}

/// Fields that a product has and this version does nothing with: told, and kept.
fn tell_without_effect(fields: &KnownFields<'_>, names: &[&str], findings: &mut FileFindings) {
    for name in names {
        if let (Some(key), Some(_)) = (fields.key(name), fields.get(name)) {
            let message = format!("`{}` has no effect here; it is kept", key.text);
            findings.warning(Some(key.mark), UnknownField, message, None);
        }
    }
}

/// Words with dashes between them, which read better as a title; anything else is kept as it was written.
fn is_word_like(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    let is_no_text = ["null", "true", "false", "yes", "no", "on", "off"].contains(&name);
    !is_no_text
        && name.len() <= names::LONGEST_NAME
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.split('-').all(is_word)
}

/// A model by its name alone; `inherit` names none.
fn model(fields: &KnownFields<'_>, findings: &mut FileFindings) -> ModelChoice {
    let name = fields.raw_text("model", findings);
    let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty() && *name != "inherit");
    ModelChoice { name: name.map(Into::into), sampling: SamplingSettings::default() }
}

fn max_turns(name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<u32> {
    fields.whole(name, 1, u32::MAX.into(), findings).and_then(|turns| u32::try_from(turns).ok())
}

/// What the field `tools` allows and takes away; `None` = it says nothing of what is allowed. A field that is there, but
/// empty, allows nothing: nobody gets a tool by a slip.
fn listed_tools(
    fields: &KnownFields<'_>,
    names: ForeignToolNames,
    findings: &mut FileFindings,
) -> (Option<SelectedTools>, SelectedTools) {
    match (fields.get("tools"), fields.key("tools")) {
        (Some(node), _) => tools::read(node, names, findings),
        (None, Some(key)) => {
            let message = "`tools` is empty: the agent gets none";
            let fix = "leave the field out for all tools, or write `tools: []` for none";
            findings.warning(Some(key.mark), BadValue, message, Some(fix.to_owned()));
            (Some(SelectedTools::default()), SelectedTools::default())
        }
        (None, None) => (None, SelectedTools::default()),
    }
}

/// Tools that a file's list leaves or takes away, put together.
fn put_in(definition: &mut AgentDefinition, allowed: Option<SelectedTools>, denied: SelectedTools) {
    let deny_all = denied.inherits;
    if let Some(SelectedTools { mut names, inherits, agents, narrowings }) = allowed {
        // What comes along anyway need not be named.
        names.retain(|name| !inherits || listed_tool(name.as_str()).is_none());
        let allow = Some(names).filter(|names| !inherits || !names.is_empty());
        definition.tools = ToolSelection { allow, inherits, agents, ..ToolSelection::default() };
        definition.narrowings.extend(narrowings);
    }
    deny(definition, denied.names);
    if denied.agents {
        definition.tools.agents = false;
    }
    if deny_all {
        let deny = vec!["*".into()];
        definition.tools = ToolSelection { allow: Some(Vec::new()), deny, ..ToolSelection::default() };
    }
    definition.narrowings.extend(denied.narrowings);
}

/// Takes tools away, each once.
fn deny(definition: &mut AgentDefinition, tools: impl IntoIterator<Item = ToolName>) {
    let denied = &mut definition.tools.deny;
    for tool in tools {
        if !denied.contains(&tool) {
            denied.push(tool);
        }
    }
}
