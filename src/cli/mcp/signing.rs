//! `subagent mcp login`, `logout`: whom a server over HTTP knows.

use std::process::{Command, Stdio};

use serde::Deserialize;

use super::ServerArguments;
use crate::{
    ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_FAILED, EXIT_INTERRUPTED},
    link::DaemonLink,
    message::show_message,
    paging, safe_text,
    text_color::TextColor,
};
use protocol::{McpLogin, McpLoginParams, McpLogout, McpServerParams};

/// How long one question waits for somebody to come back; then Ctrl-C is looked at.
const WAIT_MS: u64 = 5_000;

#[derive(Default, Deserialize)]
#[serde(default)]
struct McpLoginReply {
    /// Open.
    state: String,
    url: Option<String>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpLogoutReply {
    was_signed_in: bool,
    revoked: bool,
}

pub(super) fn login(
    arguments: &ServerArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let (server, workspace) = (arguments.server.clone(), surroundings.workspace());
    let mut params = McpLoginParams { server, workspace, wait_ms: None };
    let begun: McpLoginReply = paging::view(&link.ask_value::<McpLogin>(&params)?)?;
    let url = safe_text::line(&begun.url.unwrap_or_default(), usize::MAX);
    if arguments.format == ReportFormat::Text {
        surroundings
            .stdout
            .write_text(&format!("Go to this address with a browser of this machine:\n{url}"))?;
    } else {
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &format!("go to {url}"));
    }
    open_browser(&url, surroundings);
    params.wait_ms = Some(WAIT_MS);
    loop {
        let answer = link.ask_value::<McpLogin>(&params)?;
        let McpLoginReply { state, error, .. } = paging::view(&answer)?;
        if state == "waiting" {
            if 0 < (surroundings.interrupts)() {
                return Ok(EXIT_INTERRUPTED);
            }
            continue;
        }
        let is_done = state == "done";
        let told = || match &error {
            _ if is_done => format!("you are signed in to {}", arguments.server),
            Some(error) => format!("nobody is signed in to {}: {error}", arguments.server),
            None => format!("signing in to {}: {}", arguments.server, safe_text::line(&state, usize::MAX)),
        };
        paging::tell(&answer, arguments.format, told, surroundings)?;
        return Ok(if state == "failed" || error.is_some() { EXIT_FAILED } else { 0 });
    }
}

/// Where a person sits before a screen. That there is no such program is no failure: the address was printed.
fn open_browser(url: &str, surroundings: &ProcessIo) {
    let is_set = |name: &str| (surroundings.environment)(name).is_some_and(|value| !value.is_empty());
    let has_screen = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if surroundings.has_person() && has_screen && is_web {
        let quiet = || Stdio::null();
        drop(Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn());
    }
}

pub(super) fn logout(
    arguments: &ServerArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let params = McpServerParams { server: arguments.server.clone(), workspace: surroundings.workspace() };
    let answer = link.ask_value::<McpLogout>(&params)?;
    let McpLogoutReply { was_signed_in, revoked } = paging::view(&answer)?;
    let name = &arguments.server;
    let told = || match (was_signed_in, revoked) {
        (false, _) => format!("nobody was signed in to {name}"),
        (true, true) => format!("you are signed out of {name}"),
        (true, false) => {
            format!("you are signed out of {name} here; who issued the tokens may not know of it")
        }
    };
    paging::tell(&answer, arguments.format, told, surroundings)?;
    Ok(0)
}
