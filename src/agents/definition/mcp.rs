//! The field `mcp`: which servers of the Model Context Protocol an agent may use, those among them that each of its runs has for
//! itself (spec 07, "per-agent inline servers").

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    field_row::{FieldLoss, FieldNarrowing, FieldRow, map_schema, read_section, section, written_section},
    shapes::or_null,
};
use crate::{
    findings::FileFindings,
    yaml::{YamlContent, YamlKey, YamlNode},
};
use config::{ServerOf, ServerProblem, read_server, server_fields, server_name_problem, server_schema};
use protocol::{
    AgentDefinition, AgentMcp,
    FileProblemCode::{BadValue, UnknownField, WrongType},
};

pub(super) const MCP: FieldRow<AgentDefinition> = section!(
    "mcp", MCP_FIELDS, "Which MCP servers the agent may use. Default: those that its tools name.",
    example: "mcp: { servers: [a] }",
    narrowing: FieldNarrowing::KeysThatSoundSo,
    loss: Some(FieldLoss { what: "`mcp`", kept_by: &[], is_lost: Some(|agent| !agent.mcp.is_empty()) }),
    claim: |agent| {
        let names: Vec<&str> = agent.mcp.own.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| {
            format!("`mcp.servers`: each of its runs starts MCP servers of its own: {}", names.join(", "))
        })
    }
);

const MCP_FIELDS: &[FieldRow<AgentDefinition>] = &[FieldRow {
    name: "servers",
    meaning: || {
        String::from(
            "Names of servers that the settings have (`mcpServers`), and servers of its own by name, which are entries as \
             the settings have them and begin and end with each of its runs. Where the file says nothing of \
             `tools.allow`, it gets all their tools besides the usual ones.",
        )
    },
    schema: || {
        let server = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$" });
        let own = json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,40}$" },
            "additionalProperties": { "anyOf": [server_schema(), { "type": "null" }] },
            "maxProperties": MOST_SERVERS,
        });
        json!({
            "anyOf": [{ "type": "array", "items": { "anyOf": [server, own] }, "maxItems": MOST_SERVERS }, own],
        })
    },
    example: "mcp: { servers: [a, { b: { command: x } }] }",
    read: |fields, agent, findings| {
        if let Some(node) = fields.get("servers") {
            agent.mcp = read(node, findings);
        }
    },
    write: |agent| written(&agent.mcp),
    ..FieldRow::BLANK
}];

/// Names alone where none is its own.
fn written(mcp: &AgentMcp) -> Option<Value> {
    let listed = mcp.servers.as_ref()?;
    let told = |name: &String| match mcp.own.get(name) {
        Some(server) => json!({ name.as_str(): server_fields(server) }),
        None => json!(name),
    };
    Some(listed.iter().map(told).collect())
}

/// Servers that one agent lists at most: more is no list that somebody wrote.
const MOST_SERVERS: usize = 100;

/// Names of servers that the settings have, and servers of the agent's own: a list of names and of maps, or one map.
fn read(node: &YamlNode, findings: &mut FileFindings) -> AgentMcp {
    let mut reading = McpFieldReader { listed: Vec::new(), own: BTreeMap::new(), findings };
    match &node.content {
        YamlContent::Map(entries) => reading.own("mcp.servers", entries),
        YamlContent::List(items) => {
            // The rest is not looked at: what is wrong with it is one mistake.
            for (at, item) in items.iter().enumerate().take(MOST_SERVERS + 1) {
                reading.item(&format!("mcp.servers[{at}]"), item);
            }
        }
        YamlContent::Scalar { .. } => {
            let expected = "a list of names of servers that the settings have, or servers of its own by name";
            reading.findings.expected(node, "mcp.servers", WrongType, expected);
            return AgentMcp::default();
        }
    }
    let McpFieldReader { listed, own, findings } = reading;
    if MOST_SERVERS < listed.len() {
        let message = format!("`mcp.servers` has more than {MOST_SERVERS} servers, which are the most");
        findings.error(Some(node.mark), BadValue, message);
        return AgentMcp::default();
    }
    AgentMcp { servers: Some(listed), own }
}

struct McpFieldReader<'a> {
    listed: Vec<String>,
    own: BTreeMap<String, protocol::McpServerConfig>,
    findings: &'a mut FileFindings,
}

impl McpFieldReader<'_> {
    fn item(&mut self, path: &str, item: &YamlNode) {
        match (&item.content, item.as_raw_text()) {
            (YamlContent::Map(entries), _) => self.own(path, entries),
            (_, Some(name)) => {
                if self.is_name(path, item, name) {
                    self.list(name);
                }
            }
            _ => {
                self.findings.expected(item, path, WrongType, "the name of a server, or a server by its name")
            }
        }
    }

    /// Servers of its own by name. One that says nothing is one of the settings.
    fn own(&mut self, path: &str, entries: &[(YamlKey, YamlNode)]) {
        for (YamlKey { mark, text: name }, node) in entries.iter().take(MOST_SERVERS + 1) {
            let path = format!("{path}.{name}");
            let place = YamlNode { mark: *mark, content: node.content.clone() };
            if !self.is_name(&path, &place, name) {
                continue;
            }
            if node.is_null() {
                self.list(name);
                continue;
            }
            let (server, problems) = read_server(&node.to_json(), ServerOf::Other);
            for ServerProblem { field, message, is_warning } in problems {
                let (place, path) = match &field {
                    Some(field) => (node.at_pointer(&format!("/{field}")), format!("{path}.{field}")),
                    None => (node, path.clone()),
                };
                let message = format!("`{path}`: {message}");
                match is_warning {
                    true => self.findings.warning(Some(place.mark), UnknownField, message, None),
                    false => self.findings.error(Some(place.mark), BadValue, message),
                }
            }
            let Some(server) = server else { continue };
            self.list(name);
            if self.own.insert(name.clone(), server).is_some() {
                let message = format!("`{path}`: there is another one of this name");
                self.findings.error(Some(*mark), BadValue, message);
            }
        }
    }

    fn is_name(&mut self, path: &str, node: &YamlNode, name: &str) -> bool {
        match server_name_problem(name) {
            None => true,
            Some(problem) => {
                self.findings.error(Some(node.mark), BadValue, format!("`{path}`: {problem}"));
                false
            }
        }
    }

    fn list(&mut self, name: &str) {
        if !self.listed.iter().any(|other| other == name) {
            self.listed.push(name.to_owned());
        }
    }
}
