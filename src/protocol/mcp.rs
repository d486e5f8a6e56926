//! Servers that speak the Model Context Protocol, as settings and agents' files name them, and what they told of themselves
//! (spec 07, "As a client").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ExtensionRef, Risk, ToolKind, ToolName};

/// How one server is reached, and what it is trusted with. Texts are as they were written: `${VAR}` is filled in when it is
/// started, so nothing of the environment stands in here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerConfig {
    pub transport: McpTransport,
    /// How long it may take for one call without a word about its progress.
    pub timeout_ms: u64,
    /// What it says of its tools' kind and risk is believed. No rule is skipped for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust: bool,
    /// What it must be, to be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<McpPin>,
    /// By its own names, with `*`; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_tools: Vec<String>,
    /// By its own names, with `*`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_tools: Vec<String>,
    /// Started as soon as somebody looks at a workspace, and not stopped for want of use. Of the user's own servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto_start: bool,
    /// Its program reaches the network, whatever `sandbox.network` says. Of the user's own servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// How people sign in to it, where its address wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<McpOauth>,
    /// It stands in the file, but is not used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Its texts are final: an extension brings it along, and nothing of the environment is filled in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// Its entry has mistakes: only the name counts, which is nobody else's.
    #[serde(skip)]
    pub faulty: bool,
}

/// What a server must be, to be used (spec 07, "Security").
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpPin {
    /// Of the file that its command is: `sha256:<hex>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The version that it tells of itself, and that of the package, where its command is one that gets packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl McpServerConfig {
    /// What stands for an entry with mistakes.
    pub fn faulty() -> McpServerConfig {
        let (command, args, env, cwd) = (String::new(), Vec::new(), BTreeMap::new(), None);
        McpServerConfig {
            transport: McpTransport::Stdio { command, args, env, cwd },
            timeout_ms: 0,
            trust: false,
            pin: None,
            include_tools: Vec::new(),
            exclude_tools: Vec::new(),
            auto_start: false,
            network: false,
            oauth: None,
            disabled: true,
            literal: false,
            faulty: true,
        }
    }

    /// Puts its texts through `hide`, which takes secrets out of them.
    pub fn hide(&mut self, hide: &dyn Fn(String) -> String) {
        let each = |text: &mut String| *text = hide(std::mem::take(text));
        match &mut self.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                args.iter_mut().chain(env.values_mut()).chain(cwd).chain([command]).for_each(each);
            }
            McpTransport::Http { url, headers } => headers.values_mut().chain([url]).for_each(each),
        }
    }

    /// The daemon starts it.
    pub fn is_program(&self) -> bool {
        matches!(self.transport, McpTransport::Stdio { .. })
    }
}

/// What is known beforehand of signing in to a server; the rest it tells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpOauth {
    /// What the daemon is known as there; `None` = it makes itself known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// What is asked for; `None` = what the server names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum McpTransport {
    /// A program that is started, and spoken to by its standard input and output.
    Stdio {
        command: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Below the workspace's first folder, or absolute; missing = that folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// The tools of one server that a run was planned with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerTools {
    pub server: String,
    /// Of how it was configured then: what is configured otherwise now is another server.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<McpTool>,
    /// The reason why there are none, of a server that the run asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away: Option<String>,
    /// How it is reached, if the run has it for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<McpServerConfig>,
    /// The extension that brings it along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
}

/// One tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// `mcp.<server>.<tool>`, each part of letters, digits, `_` and `-`.
    pub canonical: ToolName,
    /// As its server knows it.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
    pub kind: ToolKind,
    pub risk: Risk,
    /// Its server, which is trusted, says that it changes nothing: a call that a restart cut off may be made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}
