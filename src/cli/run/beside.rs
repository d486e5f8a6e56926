//! What is given to a run beside a prompt of one's own.

use std::path::Path;

use clap::Args;

use super::INPUTS;
use crate::{ProcessIo, failure::CommandFailure, paths::absolute};
use protocol::{PromptAttachment, RunStartParams, ServerPrompt};

#[derive(Args, Default)]
pub(crate) struct PromptAttachments {
    /// Give the model a file of the workspace, or a resource of an MCP server as SERVER=URI. May be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "interactive", help_heading = INPUTS)]
    attach: Vec<String>,
    /// Instead of --prompt: a prompt of an MCP server
    #[arg(long, value_name = "SERVER/NAME", conflicts_with_all = ["prompt", "interactive"], help_heading = INPUTS)]
    mcp_prompt: Option<String>,
    /// An argument of that prompt. May be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "mcp_prompt", help_heading = INPUTS)]
    mcp_argument: Vec<String>,
}

impl PromptAttachments {
    /// Nothing is read from standard input then.
    pub(super) fn has_prompt(&self) -> bool {
        self.mcp_prompt.is_some()
    }

    pub(super) fn fill(
        &self,
        params: &mut RunStartParams,
        surroundings: &ProcessIo,
    ) -> Result<(), CommandFailure> {
        for what in &self.attach {
            params.attachments.push(attachment(what, surroundings)?);
        }
        let Some(prompt) = &self.mcp_prompt else { return Ok(()) };
        let (server, name) = parted(prompt, '/', "--mcp-prompt SERVER/NAME")?;
        let arguments = self.mcp_argument.iter().map(|it| parted(it, '=', "--mcp-argument NAME=VALUE"));
        let arguments = arguments.collect::<Result<_, CommandFailure>>()?;
        params.server_prompt = Some(ServerPrompt { server, name, arguments });
        Ok(())
    }
}

/// A file that is there goes before a resource.
fn attachment(what: &str, surroundings: &ProcessIo) -> Result<PromptAttachment, CommandFailure> {
    let is_server = |name: &str| {
        !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'))
    };
    match what.split_once('=').filter(|(server, _)| is_server(server)) {
        Some((server, uri)) if !surroundings.working_folder.join(what).exists() => {
            let (server, uri) = (Some(server.to_owned()), Some(uri.to_owned()));
            Ok(PromptAttachment { server, uri, ..PromptAttachment::default() })
        }
        _ => {
            let path = Some(absolute(Path::new(what), surroundings)?);
            Ok(PromptAttachment { path, ..PromptAttachment::default() })
        }
    }
}

fn parted(text: &str, at: char, form: &str) -> Result<(String, String), CommandFailure> {
    match text.split_once(at).filter(|(before, _)| !before.is_empty()) {
        Some((before, after)) => Ok((before.to_owned(), after.to_owned())),
        None => Err(CommandFailure::usage(format!("`{text}` is not what {form} takes"))
            .or_hint("see `subagent run --help`")),
    }
}
