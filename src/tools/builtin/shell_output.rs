//! `shell_output`: what have this session's background commands put out? (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{BuiltInDefinition, safe};
use crate::{
    CallContext, Invocation, Permit, PrepareContext,
    commands::{BackgroundCommand, BackgroundCommands, CommandStarter},
    work,
};
use protocol::{
    CallLocation, ResourceAccess, SessionId, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
};
use sys::warden::CommandExit;

const DESCRIPTION: &str = "\
Shows what a command that was started with run_shell_command's `background` has put out so far, and whether it still runs. \
Without `id` it lists this session's background commands. Pass the number after `next:` as `from` to read only what came \
after.";

/// Bytes shown at once; what is longer is read on with `from`.
const MOST_BYTES: usize = 32 << 10;

pub struct ShellOutputTool;

impl BuiltInDefinition for ShellOutputTool {
    type Arguments = ShellOutputArguments;

    const PATHS: &'static [&'static str] = &[];

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "minLength": 1, "description": "Which one, as run_shell_command named it. Default: list all." },
                "from": { "type": "integer", "minimum": 0, "description": "The byte to begin at. Default: what is kept of the beginning." }
            },
            "additionalProperties": false
        });
        safe("shell_output", "Read background command", ToolKind::Read, DESCRIPTION, parameters)
    }

    fn check(arguments: ShellOutputArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(ShellOutputInvocation {
            arguments,
            background: CommandStarter::of(cx).background().clone(),
        }))
    }
}

#[derive(Debug, Deserialize)]
pub struct ShellOutputArguments {
    id: Option<String>,
    from: Option<u64>,
}

struct ShellOutputInvocation {
    arguments: ShellOutputArguments,
    background: BackgroundCommands,
}

impl Invocation for ShellOutputInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        match &self.arguments.id {
            Some(id) => format!("shell {id}"),
            None => "all".to_owned(),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        // The command chose how much there is to clean.
        Box::pin(work::aside(move || match &self.arguments.id {
            None => list(&self.background, &cx.session),
            Some(id) => match self.background.job(&cx.session, id) {
                Some(job) => show(&job, self.arguments.from),
                None => unknown(&self.background, &cx.session, id),
            },
        }))
    }
}

/// There is none of that name.
pub(super) fn unknown(background: &BackgroundCommands, session: &SessionId, id: &str) -> ToolResult {
    let ids: Vec<String> = background.jobs(session).iter().map(|job| format!("`{}`", job.id)).collect();
    let there = match ids.is_empty() {
        true => "there is none now".to_owned(),
        false => format!("there are {}", ids.join(", ")),
    };
    let message = format!(
        "this session has no background command `{id}`; {there}. Those of a daemon that was restarted have ended with it"
    );
    ToolResult::failure(ToolErrorType::InvalidToolParams, message)
}

/// In words, how it stands.
pub(super) fn state_told(job: &BackgroundCommand) -> String {
    match job.ended() {
        None => "running".to_owned(),
        Some(CommandExit { code: Some(code), .. }) => format!("ended, exit code {code}"),
        Some(CommandExit { signal: Some(signal), .. }) => format!("ended by signal {signal}"),
        Some(_) => "ended".to_owned(),
    }
}

fn list(background: &BackgroundCommands, session: &SessionId) -> ToolResult {
    let jobs = background.jobs(session);
    if jobs.is_empty() {
        return ToolResult::text("This session has no commands in the background.");
    }
    let mut text = String::new();
    let mut data = Vec::new();
    for job in &jobs {
        let first = job.command.lines().next().unwrap_or_default();
        text.push_str(&format!("{}: {} ({}, {} bytes)\n", job.id, first, state_told(job), job.total()));
        data.push(facts(job));
    }
    ToolResult { data: Some(json!({ "shells": data })), ..ToolResult::text(text) }
}

fn show(job: &BackgroundCommand, from: Option<u64>) -> ToolResult {
    let wanted = from.unwrap_or(0);
    let (start, mut bytes) = job.output(wanted, MOST_BYTES);
    let is_all = start + bytes.len() as u64 == job.total() && job.ended().is_some();
    // The rest of a letter comes with the next piece.
    let whole = whole_letters(&bytes);
    if !is_all && 0 < whole {
        bytes.truncate(whole);
    }
    let next = start + bytes.len() as u64;
    let mut text = format!("{}: {}\n", job.id, state_told(job));
    if wanted < start {
        text.push_str(&format!("[bytes {wanted} to {start} are not kept]\n"));
    }
    let output = anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string();
    text.push_str(if output.is_empty() { "(nothing new)" } else { &output });
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("next: {next}"));
    if next < job.total() {
        text.push_str(&format!(" (of {})", job.total()));
    }
    let mut data = facts(job);
    data["next"] = json!(next);
    ToolResult { data: Some(data), ..ToolResult::text(text) }
}

/// Bytes of UTF-8 text without a letter at the end that was cut in two.
fn whole_letters(bytes: &[u8]) -> usize {
    let is_first = |byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
    let Some(begin) = bytes.iter().rposition(is_first) else { return bytes.len() };
    let length = match bytes[begin] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    if bytes.len() < begin + length { begin } else { bytes.len() }
}

fn facts(job: &BackgroundCommand) -> Value {
    let ended = job.ended();
    json!({
        "id": job.id,
        "running": ended.is_none(),
        "exitCode": ended.as_ref().and_then(|it| it.code),
        "signal": ended.as_ref().and_then(|it| it.signal),
        "bytes": job.total(),
    })
}

#[cfg(test)]
mod tests {
    use super::whole_letters;

    #[test]
    fn no_letter_is_cut_in_two() {
        let text = "a€ü😀b";
        for end in 0..=text.len() {
            assert_eq!(whole_letters(&text.as_bytes()[..end]), text.floor_char_boundary(end), "{end}");
        }
    }
}
