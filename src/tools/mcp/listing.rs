//! Which tools does a server tell of, and by which names are they called here? (spec 05, "Registry"; 07)
//!
//! What a server says is read entry by entry: one that is no tool costs itself, and a warning.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use crate::{digest, parameters::is_schema};
use protocol::{McpServerConfig, McpTool, Risk, ToolKind, ToolName};
use redact::Redactor;
use schemas::is_readable;

/// Tools of one server at most.
pub const MOST_TOOLS: usize = 2_000;
/// Bytes of names, descriptions and schemas of one server's tools: each is sent with every request to a model.
const MOST_BYTES: usize = 8 << 20;
/// Characters of a tool's part of its name; longer ones are cut and made different by a digest.
const LONGEST_PART: usize = 100;
/// Characters of a digest that makes names different.
const MARK: usize = 8;
/// Warnings that are kept.
const MOST_WARNINGS: usize = 20;

/// What a server told of its tools.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpToolListing {
    /// By name.
    pub tools: Vec<McpTool>,
    pub warnings: Vec<String>,
}

/// Reads the tools that a server lists, those that its entry leaves.
pub fn read(server: &str, entry: &McpServerConfig, listed: &[Value]) -> McpToolListing {
    let (mut listing, mut bytes, mut left_out) = (McpToolListing::default(), 0, 0);
    let mut warn = |text: String| {
        if listing.warnings.len() < MOST_WARNINGS {
            listing.warnings.push(text);
        }
    };
    let mut names = HashSet::new();
    let mut tools: Vec<McpTool> = Vec::new();
    for told in listed {
        let Some(name) = told.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            warn("a tool without a name was left out".to_owned());
            continue;
        };
        if !is_wanted(entry, name) {
            continue;
        }
        if !names.insert(name) {
            warn(format!("`{}` is told twice; the first one counts", shortened(name)));
            continue;
        }
        let size = told.to_string().len();
        if MOST_TOOLS <= tools.len() || MOST_BYTES < bytes + size {
            left_out += 1;
            continue;
        }
        bytes += size;
        let text = |field: &str| told.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let parameters = match told.get("inputSchema") {
            Some(schema @ Value::Object(_)) if is_readable(schema) && is_schema(schema) => schema.clone(),
            None => json!({ "type": "object" }),
            Some(_) => {
                warn(format!(
                    "the schema of `{}` is none that can be used; any arguments are passed on",
                    shortened(name)
                ));
                json!({ "type": "object" })
            }
        };
        let (kind, risk, read_only) = judged(entry, told.get("annotations"));
        let title = Some(text("title")).filter(|title| !title.is_empty()).map(str::to_owned);
        tools.push(McpTool {
            canonical: ToolName::from(format!("mcp.{server}.{}", part(name))),
            name: name.to_owned(),
            title,
            description: text("description").to_owned(),
            parameters,
            kind,
            risk,
            read_only,
        });
    }
    if 0 < left_out {
        warn(format!(
            "{left_out} of its tools were left out: {MOST_TOOLS} are taken, of {} MiB in all",
            MOST_BYTES >> 20
        ));
    }
    make_different(&mut tools, server);
    tools.sort_by(|one, other| one.canonical.as_str().cmp(other.canonical.as_str()));
    listing.tools = tools;
    listing
}

impl McpToolListing {
    /// Hides secrets in what the server says of its tools: it is kept with each run that may use them, and shown.
    pub fn hide(&mut self, redactor: &Redactor) {
        for tool in &mut self.tools {
            for text in [Some(&mut tool.description), tool.title.as_mut()].into_iter().flatten() {
                *text = redactor.owned(std::mem::take(text));
            }
            redactor.value(&mut tool.parameters);
        }
    }
}

/// Whether the entry of a server leaves one of its tools.
fn is_wanted(entry: &McpServerConfig, name: &str) -> bool {
    let means = |pattern: &String| matches(pattern, name);
    let is_included = entry.include_tools.is_empty() || entry.include_tools.iter().any(means);
    is_included && !entry.exclude_tools.iter().any(means)
}

/// `*` stands for any letters.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(tail)
}

/// What annotations say is believed of trusted servers alone.
fn judged(entry: &McpServerConfig, annotations: Option<&Value>) -> (ToolKind, Risk, bool) {
    let hint = |name: &str| annotations.and_then(|it| it.get(name)).and_then(Value::as_bool);
    if !entry.trust {
        return (ToolKind::Other, Risk::Medium, false);
    }
    match (hint("readOnlyHint"), hint("destructiveHint"), hint("openWorldHint")) {
        (Some(true), _, Some(true)) => (ToolKind::Fetch, Risk::Safe, true),
        (Some(true), ..) => (ToolKind::Read, Risk::Safe, true),
        (_, Some(true), _) => (ToolKind::Other, Risk::High, false),
        (_, Some(false), _) => (ToolKind::Edit, Risk::Low, false),
        _ => (ToolKind::Other, Risk::Medium, false),
    }
}

/// The name as a part of ours: a dot would be one part more, and blanks stand in no list.
fn part(name: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '_',
    };
    let part: String = name.chars().map(letter).collect();
    if part.len() <= LONGEST_PART { part } else { marked(&part[..LONGEST_PART - MARK - 1], name) }
}

/// Names that are the same here, or differ only in how they are spelled, get a mark each.
fn make_different(tools: &mut [McpTool], server: &str) {
    let plain = |tool: &McpTool| tool.canonical.as_str().replace('-', "_");
    let (mut met, mut same) = (HashSet::new(), BTreeSet::new());
    for tool in tools.iter() {
        if !met.insert(plain(tool)) {
            same.insert(plain(tool));
        }
    }
    for tool in tools.iter_mut().filter(|tool| same.contains(&plain(tool))) {
        let own = part(&tool.name);
        let cut = &own[..own.len().min(LONGEST_PART - MARK - 1)];
        tool.canonical = ToolName::from(format!("mcp.{server}.{}", marked(cut, &tool.name)));
    }
}

fn marked(part: &str, name: &str) -> String {
    let digest = digest::of(name.as_bytes());
    let hex = digest.split(':').next_back().unwrap_or_default();
    format!("{part}_{}", &hex[..MARK.min(hex.len())])
}

fn shortened(name: &str) -> String {
    name.chars().take(64).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use config::ServerOf;
    use config::read_server;

    fn check(entry: Value, listed: Value, expected: Expect) {
        let (entry, problems) = read_server(&entry, ServerOf::User);
        assert_eq!(problems, []);
        let listing = read("s", &entry.unwrap(), listed.as_array().unwrap());
        let line = |tool: &McpTool| {
            format!("{} {:?} {:?} {}", tool.canonical, tool.kind, tool.risk, tool.parameters)
        };
        let mut lines: Vec<String> = listing.tools.iter().map(line).collect();
        lines.extend(listing.warnings.iter().map(|warning| format!("! {warning}")));
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn odd_tools_cost_themselves_and_odd_names_become_names() {
        check(
            json!({ "command": "x" }),
            json!([
                { "name": "plain", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true } },
                { "name": "with.dots and blanks" }, { "name": "mcp.other.tool" },
                { "name": "a-b", "inputSchema": { "type": 7 } }, { "name": "a_b", "inputSchema": [1] }, { "name": "a_b" },
                { "name": "" }, { "title": "no name" }, 3,
                { "name": "far", "inputSchema": { "$ref": "http://127.0.0.1:1/x" } },
                { "name": "x".repeat(200) },
            ]),
            expect![[r#"
                mcp.s.a-b_d44362d6 Other Medium {"type":"object"}
                mcp.s.a_b_648fa9b3 Other Medium {"type":"object"}
                mcp.s.far Other Medium {"type":"object"}
                mcp.s.mcp_other_tool Other Medium {"type":"object"}
                mcp.s.plain Other Medium {"type":"object"}
                mcp.s.with_dots_and_blanks Other Medium {"type":"object"}
                mcp.s.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_aa20c23e Other Medium {"type":"object"}
                ! the schema of `a-b` is none that can be used; any arguments are passed on
                ! the schema of `a_b` is none that can be used; any arguments are passed on
                ! `a_b` is told twice; the first one counts
                ! a tool without a name was left out
                ! a tool without a name was left out
                ! a tool without a name was left out
                ! the schema of `far` is none that can be used; any arguments are passed on"#]],
        );
    }

    #[test]
    fn lists_choose_by_the_servers_own_names_and_trust_believes_annotations() {
        check(
            json!({ "command": "x", "trust": true, "includeTools": ["get_*", "drop"], "excludeTools": ["*_secret"] }),
            json!([
                { "name": "get_issue", "annotations": { "readOnlyHint": true } },
                { "name": "get_page", "annotations": { "readOnlyHint": true, "openWorldHint": true } },
                { "name": "get_secret" }, { "name": "put" },
                { "name": "drop", "annotations": { "destructiveHint": true } },
                { "name": "get_odd", "annotations": { "readOnlyHint": "yes" } },
            ]),
            expect![[r#"
                mcp.s.drop Other High {"type":"object"}
                mcp.s.get_issue Read Safe {"type":"object"}
                mcp.s.get_odd Other Medium {"type":"object"}
                mcp.s.get_page Fetch Safe {"type":"object"}"#]],
        );
    }

    #[test]
    fn what_a_server_says_of_its_tools_is_kept_without_secrets() {
        let secret = format!("ghp_{}", "aB3dEf6hIjK9".repeat(3));
        let told = json!([{
            "name": "get", "title": format!("Get {secret}"), "description": format!("With {secret}."),
            "inputSchema": { "type": "object", "properties": { "key": { "type": "string", "default": secret } } },
        }]);
        let (entry, _) = read_server(&json!({ "command": "x" }), ServerOf::User);
        let mut listing = read("s", &entry.unwrap(), told.as_array().unwrap());
        listing.hide(&Redactor::new(redact::RedactorParts {
            environment: std::iter::empty(),
            patterns: Vec::new(),
        }));
        let tool = &listing.tools[0];
        assert_eq!(tool.description, "With [redacted:github].");
        assert_eq!(tool.title.as_deref(), Some("Get [redacted:github]"));
        assert!(!tool.parameters.to_string().contains("ghp_"), "{}", tool.parameters);
    }
}
