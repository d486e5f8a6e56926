//! How does an agent read in another product's way of writing, and what gets lost? (spec 02, "Foreign files")
//!
//! Ours says everything there is. What another product has no word for is named, never dropped in silence; what stood in a
//! file of that product and had no meaning here goes back as it was.

use serde_json::{Map, Value, json};

use super::{
    definition::{IMPORTED_FROM, in_minutes, is_field, lost_fields, own_fields, verdict_word},
    foreign::{EDITS, ForeignToolNames},
    names::title_case,
    template::{TemplatePlaceholder, placeholders},
    unsupported, write,
};
use protocol::{
    AgentDefinition, AgentFormat, AgentToolRule, SamplingSettings, ToolName, Verdict, default_tools,
};

/// A file of another product, or of ours.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedAgentFile {
    pub text: String,
    /// What the product cannot express, in words.
    pub lost: Vec<String>,
}

/// Writes an agent in this format. `extras` are the fields of its file that mean nothing here.
pub fn export(
    definition: &AgentDefinition,
    extras: &[(String, Value)],
    format: AgentFormat,
) -> ExportedAgentFile {
    let mut writer =
        ExportWriter { target: format, definition, extras, fields: Map::new(), lost: Vec::new() };
    match format {
        AgentFormat::Own => return own(definition, extras),
        AgentFormat::Claude => writer.claude(),
        AgentFormat::Gemini => writer.gemini(),
        AgentFormat::OpenCode => writer.opencode(),
    }
    // What only ours has.
    writer.lost.extend(lost_fields(definition, format).into_iter().map(str::to_owned));
    // Of another product's file, its own words mean something to that one alone.
    if definition.format == format {
        for (key, value) in extras {
            writer.fields.entry(key.clone()).or_insert_with(|| value.clone());
        }
    } else if definition.format.is_own() {
        writer.kept();
    } else if !extras.is_empty() {
        let names: Vec<String> = extras.iter().map(|(key, _)| format!("`{key}`")).collect();
        writer.lost.push(format!("fields of {}: {}", definition.format.product(), names.join(", ")));
    }
    let body = match format {
        AgentFormat::Gemini => definition.prompt.clone(),
        AgentFormat::Own | AgentFormat::Claude | AgentFormat::OpenCode => writer.literal_body(),
    };
    let ExportWriter { fields, lost, .. } = writer;
    let text = write::file(fields.iter().map(|(key, value)| (key.as_str(), value)), &body);
    ExportedAgentFile { text, lost }
}

/// Fields of other products that start programs or lift questions there.
const ACTS: [&str; 6] = ["hooks", "permissionMode", "permission", "mcpServers", "mcp_servers", "mcp-servers"];

fn own(definition: &AgentDefinition, extras: &[(String, Value)]) -> ExportedAgentFile {
    let (mut fields, mut lost) = (own_fields(definition), Vec::new());
    for (key, value) in extras.iter().filter(|(key, _)| key != "hooks" || definition.hooks.is_none()) {
        // What had no effect there has none here either, whatever it is called.
        let means_another = !definition.format.is_own() && is_field(key) && unsupported::named(key).is_none();
        match means_another {
            true => lost.push(format!("`{key}`, which means something else here")),
            false => drop(fields.entry(key.clone()).or_insert_with(|| value.clone())),
        }
    }
    if !definition.format.is_own() {
        fields.insert(IMPORTED_FROM.to_owned(), definition.format.as_str().into());
    }
    let fields = fields.iter().map(|(key, value)| (key.as_str(), value));
    ExportedAgentFile { text: write::file(fields, &definition.prompt), lost }
}

struct ExportWriter<'a> {
    target: AgentFormat,
    definition: &'a AgentDefinition,
    extras: &'a [(String, Value)],
    /// In the order of the file.
    fields: Map<String, Value>,
    lost: Vec<String>,
}

impl ExportWriter<'_> {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    /// What a file of ours has and nobody here knows or carries out.
    fn kept(&mut self) {
        self.hooks();
        let from =
            self.extras.iter().find(|(key, _)| key == IMPORTED_FROM).and_then(|(_, from)| from.as_str());
        for (key, value) in self.extras.iter().filter(|(key, _)| key != IMPORTED_FROM) {
            // It goes back to where it came from, and nothing acts anywhere else that did not act there.
            let goes = match from {
                Some(from) => from == self.target.as_str(),
                None => !ACTS.contains(&key.as_str()) && unsupported::named(key).is_none(),
            };
            if goes {
                self.fields.entry(key.clone()).or_insert_with(|| value.clone());
            } else {
                let of = from.map(|from| format!(", of {from}")).unwrap_or_default();
                self.lost.push(format!("`{key}`{of}: write it yourself if it shall count there"));
            }
        }
    }

    /// Hooks start programs: they go back to where they came from, and nowhere else.
    fn hooks(&mut self) {
        let Some(hooks) = &self.definition.hooks else { return };
        let from = self.definition.imported_from.unwrap_or(self.definition.format);
        match from == self.target {
            true => self.put("hooks", hooks.clone()),
            false => self.lose("`hooks`: write it yourself if it shall count there"),
        }
    }

    fn lose(&mut self, what: &str) {
        self.lost.push(what.to_owned());
    }

    fn put_name_and_description(&mut self) {
        let AgentDefinition { name, description, .. } = self.definition;
        self.put("name", name.as_str());
        if let Some(description) = description {
            self.put("description", description.as_str());
        }
    }

    fn claude(&mut self) {
        self.put_name_and_description();
        let AgentDefinition { title, name, model, limits, color, .. } = self.definition;
        if *title != title_case(name) && title != name.as_str() {
            self.lose("`title`");
        }
        let names = ForeignToolNames::of(AgentFormat::Claude);
        let allowed = self.allowed(names);
        // `*` says nothing of single calls.
        let is_listed = allowed.as_ref().is_some_and(|allowed| !allowed.iter().any(|entry| entry == "*"));
        if let Some(allowed) = allowed {
            // An empty text would be no list to its reader.
            match allowed.is_empty() {
                true => self.put("tools", json!([])),
                false => self.put("tools", allowed.join(", ")),
            }
        }
        let denied = self.denied(names, is_listed);
        if !denied.is_empty() {
            self.put("disallowedTools", denied.join(", "));
        }
        if !self.definition.skills.is_empty() {
            self.put("skills", self.definition.skills.join(", "));
        }
        self.lose_asks();
        if let Some(name) = &model.name {
            self.put("model", name.as_str());
        }
        if model.sampling != SamplingSettings::default() {
            self.lose("`model.temperature` and other sampling settings");
        }
        if let Some(turns) = limits.max_turns {
            self.put("maxTurns", turns);
        }
        if limits.max_time_ms.is_some() {
            self.lose("`run.maxTimeMinutes`");
        }
        if let Some(color) = color {
            self.put("color", color.as_str());
        }
    }

    fn gemini(&mut self) {
        self.put("kind", "local");
        self.put_name_and_description();
        let AgentDefinition { title, name, model, limits, color, .. } = self.definition;
        if *title != title_case(name) {
            self.put("display_name", title.as_str());
        }
        let names = ForeignToolNames::of(AgentFormat::Gemini);
        if let Some(allowed) = self.allowed_without_narrowings(names) {
            self.put("tools", allowed);
        }
        if self.definition.tools.agents {
            self.lose("`tools.agents`: it may call no agents there");
        }
        if !self.denied(names, true).is_empty() {
            self.lose("`tools.deny`");
        }
        if !self.definition.narrowings.is_empty() {
            self.lose("what its file says of single calls (`approval.rules`)");
        }
        if let Some(name) = &model.name {
            self.put("model", name.as_str());
        }
        if let Some(temperature) = model.sampling.temperature {
            self.put("temperature", temperature);
        }
        let sampling = model.sampling;
        if sampling.top_p.is_some()
            || sampling.max_output_tokens.is_some()
            || sampling.thinking_budget.is_some()
        {
            self.lose("sampling settings but the temperature");
        }
        if let Some(turns) = limits.max_turns {
            self.put("max_turns", turns);
        }
        if let Some(time) = limits.max_time_ms {
            self.put("timeout_mins", in_minutes(time));
        }
        if let Some(color) = color {
            self.put("color", color.as_str());
        }
    }

    fn opencode(&mut self) {
        let AgentDefinition { name, title, description, model, limits, hidden, color, .. } = self.definition;
        if let Some(description) = description {
            self.put("description", description.as_str());
        }
        if *title != title_case(name) {
            self.lose("`title`");
        }
        // Filled in below where its own file said something else.
        if !self.extras.iter().any(|(key, _)| key == "mode") {
            self.put("mode", "subagent");
        }
        if *hidden {
            self.put("hidden", true);
        }
        if let Some(name) = &model.name {
            self.put("model", name.as_str());
        }
        if let Some(temperature) = model.sampling.temperature {
            self.put("temperature", temperature);
        }
        if let Some(top_p) = model.sampling.top_p {
            self.put("top_p", top_p);
        }
        if model.sampling.max_output_tokens.is_some() || model.sampling.thinking_budget.is_some() {
            self.lose("sampling settings but `temperature` and `topP`");
        }
        if let Some(turns) = limits.max_turns {
            self.put("steps", turns);
        }
        if limits.max_time_ms.is_some() {
            self.lose("`run.maxTimeMinutes`");
        }
        let names = ForeignToolNames::of(AgentFormat::OpenCode);
        let mut tools = Map::new();
        if let Some(allowed) = self.allowed_without_narrowings(names) {
            if !self.definition.tools.inherits {
                tools.insert("*".to_owned(), false.into());
            }
            let named = allowed.into_iter().filter(|tool| tool != "*");
            tools.extend(named.map(|tool| (tool, true.into())));
        }
        if self.definition.tools.agents {
            tools.insert("task".to_owned(), true.into());
        }
        // One word for all that changes files.
        let denied = &self.definition.tools.deny;
        let no_edits = EDITS.iter().all(|edit| denied.iter().any(|tool| tool.as_str() == *edit));
        let edits: Vec<&str> = EDITS.iter().filter_map(|edit| names.foreign(edit)).collect();
        let denied = self.denied_names(names).into_iter();
        let denied = denied.filter(|tool| !no_edits || !edits.contains(&tool.as_str()));
        tools.extend(denied.map(|tool| (tool, false.into())));
        if !tools.is_empty() {
            self.put("tools", tools);
        }
        let mut permission = permission(&self.definition.narrowings, names);
        if no_edits {
            permission.insert("edit".to_owned(), "deny".into());
        }
        if !permission.is_empty() {
            self.put("permission", permission);
        }
        if let Some(color) = color {
            self.put("color", color.as_str());
        }
    }

    /// The entries of a list of what is allowed, with what is said of single calls; `None` = all there is.
    fn allowed(&mut self, names: ForeignToolNames) -> Option<Vec<String>> {
        let narrowings = &self.definition.narrowings;
        let allowed = self.allowed_without_narrowings(names)?;
        let in_part = |tool: &str| -> Vec<String> {
            let of_tool = |it: &&AgentToolRule| names.foreign(it.tool.as_str()) == Some(tool);
            let lifted = narrowings.iter().filter(of_tool).filter(|it| it.decision == Verdict::Allow);
            lifted.filter_map(|it| Some(format!("{tool}({})", it.about.as_ref()?))).collect()
        };
        let mut entries = Vec::new();
        for tool in allowed {
            let parts = in_part(&tool);
            if parts.is_empty() { entries.push(tool) } else { entries.extend(parts) }
        }
        if self.definition.tools.agents {
            entries.push("Agent".to_owned());
        }
        Some(entries)
    }

    /// The product's names of what is allowed; what it has no name for is told, but for names of servers' tools and agents.
    fn allowed_without_narrowings(&mut self, names: ForeignToolNames) -> Option<Vec<String>> {
        let tools = &self.definition.tools;
        let allow: Vec<ToolName> = match &tools.allow {
            None if tools.inherits && !tools.agents => return None,
            None if tools.inherits => Vec::new(),
            Some(allow) if allow.len() == 1 && allow[0].as_str() == "*" => return None,
            Some(allow) => allow.clone(),
            // Other products start such agents by calls.
            None => default_tools(true).map(ToolName::from).collect(),
        };
        let mut entries: Vec<String> = tools.inherits.then(|| "*".to_owned()).into_iter().collect();
        for tool in &allow {
            match names.written(tool) {
                Some(name) if !entries.contains(&name) => entries.push(name),
                Some(_) => {}
                None => self.lost.push(format!("the tool `{tool}`")),
            }
        }
        Some(entries)
    }

    fn denied_names(&self, names: ForeignToolNames) -> Vec<String> {
        let mut denied: Vec<String> = Vec::new();
        for name in self.definition.tools.deny.iter().filter_map(|tool| names.written(tool)) {
            if !denied.contains(&name) {
                denied.push(name);
            }
        }
        denied
    }

    /// With calls that are forbidden whatever else is allowed. `is_listed`: there is a list of what is allowed.
    fn denied(&mut self, names: ForeignToolNames, is_listed: bool) -> Vec<String> {
        let mut denied = self.denied_names(names);
        let narrowings = &self.definition.narrowings;
        for AgentToolRule { tool, about, decision } in narrowings {
            let is_lifted = |it: &AgentToolRule| it.tool == *tool && it.decision == Verdict::Allow;
            let name = names.written(tool).filter(|_| *decision == Verdict::Deny);
            match (name, about) {
                (Some(name), Some(about)) => denied.push(format!("{name}({about})")),
                // What is forbidden but for some calls stands in the list of what is allowed.
                (Some(_), None) if is_listed && narrowings.iter().any(is_lifted) => {}
                (Some(name), None) => {
                    if narrowings.iter().any(is_lifted) {
                        self.lost
                            .push(format!("calls of `{tool}` that are allowed although the others are not"));
                    }
                    denied.push(name);
                }
                _ => {}
            }
        }
        denied
    }

    fn lose_asks(&mut self) {
        if self.definition.narrowings.iter().any(|it| it.decision == Verdict::Ask) {
            self.lose("calls that ask first (`approval.rules`)");
        }
    }

    /// The prompt for a product that fills nothing in.
    fn literal_body(&mut self) -> String {
        let prompt = &self.definition.prompt;
        let mut named: Vec<&str> =
            placeholders(prompt).map(|TemplatePlaceholder { name, .. }| name).collect();
        named.dedup();
        if !named.is_empty() {
            let named: Vec<String> = named.iter().map(|name| format!("`${{{name}}}`")).collect();
            self.lost.push(format!("what the prompt has filled in: {}", named.join(", ")));
        }
        prompt.replace("$${", "${")
    }
}

/// OpenCode's map of what is asked and refused, in the order in which a later word beats an earlier one.
fn permission(narrowings: &[AgentToolRule], names: ForeignToolNames) -> Map<String, Value> {
    let mut permission: Map<String, Value> = Map::new();
    for AgentToolRule { tool, about, decision } in narrowings {
        let Some(name) = names.written(tool) else { continue };
        let cases = permission.entry(name).or_insert_with(|| json!({}));
        if let Some(cases) = cases.as_object_mut() {
            cases.insert(about.clone().unwrap_or_else(|| "*".to_owned()), verdict_word(*decision).into());
        }
    }
    permission
}
