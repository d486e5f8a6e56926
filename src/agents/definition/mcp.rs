//! The field `mcp`: which servers of the Model Context Protocol an agent may use. Those of its own are not started yet.

use super::super::{fields::Fields, findings::Findings, yaml::Content};
use crate::{
    config::server_name_problem,
    protocol::{
        AgentMcp,
        FileProblemCode::{BadValue, UnknownField, WrongType},
    },
};

pub(super) const MCP_FIELDS: &[&str] = &["servers"];

/// Servers that one agent lists at most: more is no list that somebody wrote.
pub(super) const MOST_SERVERS: usize = 100;

/// A list of names of servers that the settings have.
pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings) -> AgentMcp {
    let Some(node) = fields.get("mcp") else { return AgentMcp::default() };
    let Some(fields) = Fields::open(node, "mcp", MCP_FIELDS, findings) else { return AgentMcp::default() };
    let Some(node) = fields.get("servers") else { return AgentMcp::default() };
    if let Content::Map(_) = &node.content {
        let message = "`mcp.servers`: servers within an agent's file have no effect in this version";
        let fix = Some("put them under `mcpServers` in the settings, and list their names here".to_owned());
        findings.warning(Some(node.mark), UnknownField, message.to_owned(), fix);
        return AgentMcp::default();
    }
    let Content::List(items) = &node.content else {
        findings.expected(
            node,
            "mcp.servers",
            WrongType,
            "a list of names of servers that the settings have",
        );
        return AgentMcp::default();
    };
    if MOST_SERVERS < items.len() {
        let message = format!("`mcp.servers` has {} names; {MOST_SERVERS} are the most", items.len());
        findings.error(Some(node.mark), BadValue, message);
        return AgentMcp::default();
    }
    let mut servers: Vec<String> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let path = format!("mcp.servers[{at}]");
        match item.as_raw_text() {
            None => findings.expected(item, &path, WrongType, "the name of a server"),
            Some(name) => match server_name_problem(name) {
                Some(problem) => {
                    findings.error(Some(item.mark), BadValue, format!("`{path}`: {problem}"));
                }
                None if servers.iter().any(|other| other == name) => (),
                None => servers.push(name.to_owned()),
            },
        }
    }
    AgentMcp { servers: Some(servers) }
}
