//! What the model, people and programs are told of a command that has ended.

use anstream::adapter::strip_str;
use serde_json::json;

use super::{CommandRules, CommandStarter, FinishedCommand, attend::CommandCutReason};
use crate::work;
use protocol::{
    EXIT_CODE_HEADING, MessagePart, SANDBOX_NOTE, SIGNAL_HEADING, ToolError, ToolErrorType, ToolResult,
    UNKNOWN_END_HEADING,
};
use sys::warden::{CommandExit, CommandLimit};

/// Characters of a terminal's output that people are shown with its colours.
const MAX_DISPLAY: usize = 64 << 10;

/// What the first line of a command's result may begin with that says how it ended.
const HEADINGS: &[&str] = &[EXIT_CODE_HEADING, SIGNAL_HEADING, UNKNOWN_END_HEADING];

/// The sandbox that keeps the owners of all files as they are.
const OWNERS_STAY: &str = "Landlock";

/// Words of git where its settings are covered.
const SETTINGS_IN_USE: &str = "could not write config file";

/// Words of git where it may not go to another branch.
const HEAD_STAYS: &[&str] = &["couldn't set 'HEAD'", "unable to update HEAD"];

/// How a refusal of the sandbox looks in what programs say.
const REFUSALS: &[&str] = &[
    "Permission denied",
    "Read-only file system",
    "Operation not permitted",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Connection refused",
    "Failed to connect",
    "Could not connect",
    "EACCES",
    "EROFS",
    "EPERM",
];

/// The result of a call that was one command. `is_terminal`: its output is that of a terminal. The command chose how much there is to
/// clean, so that is done on another thread than clients are served by.
pub async fn report(finished: FinishedCommand, starter: &CommandStarter, is_terminal: bool) -> ToolResult {
    let starter = starter.clone();
    work::aside(move || told(&finished, &starter, is_terminal)).await
}

fn told(finished: &FinishedCommand, starter: &CommandStarter, is_terminal: bool) -> ToolResult {
    let rules = starter.rules();
    let FinishedCommand { ended, stdout, stderr, cut, confined_by, took, told } = finished;
    let (raw, problems) = (stdout.text(), plain(&stderr.text()));
    let output = if is_terminal { terminal_text(&raw) } else { plain(&raw) };
    let mut text = heading(ended, *cut, &output);
    match (output.is_empty(), problems.is_empty()) {
        (true, true) if text.is_empty() => text.push_str("(no output)"),
        (true, true) => text.push_str("(no output)\n"),
        (false, true) => text.push_str(&output),
        (true, false) => text.push_str(&format!("stderr:\n{problems}")),
        (false, false) => {
            text.push_str(&output);
            end_line(&mut text);
            text.push_str(&format!("stderr:\n{problems}"));
        }
    }
    if !ended.left.is_empty() && cut.is_none() && ended.over.is_none() {
        end_line(&mut text);
        text.push_str(&format!(
            "[Still there when the command had ended, and ended with it: {}. What is to go on belongs into a call with \
             `background`.]",
            ended.left.join(", ")
        ));
    }
    let tells_refusal = |text: &str| REFUSALS.iter().any(|it| text.contains(it));
    // What a command that went well puts out may be about anything; its problems are its own. One of several commands may
    // have been refused something, and the last one went well.
    let failed = ended.code != Some(0);
    if let Some(name) = confined_by
        && (tells_refusal(&problems) || failed && tells_refusal(&output))
    {
        end_line(&mut text);
        text.push_str(&boundaries(name, rules));
        if let Some(folder) = starter.settings_folder() {
            text.push_str(&format!(
                "\n[The workspace `{}` is not written by commands, since programs of the person's run what lies there: change its files with \
                 the file tools, for which the person is asked. Commands write there if the person sets `sandbox.profile` to `full`.]",
                folder.display()
            ));
        }
    }
    if failed && problems.contains(SETTINGS_IN_USE) {
        end_line(&mut text);
        text.push_str(
            "[git could not change the repository's settings, because another command goes on in this workspace, in the \
             background say: kill_shell ends one; then call again.]",
        );
    }
    if failed && HEAD_STAYS.iter().any(|words| problems.contains(words) || output.contains(words)) {
        end_line(&mut text);
        text.push_str(
            "[git could not go to another branch: a script, or a command that runs something beside git, does not change `HEAD`. Call the \
             git commands by themselves, and the rest in another call.]",
        );
    }
    for told in told {
        end_line(&mut text);
        text.push_str(&format!("[{told}.]"));
    }
    let error = error(ended, *cut);
    if let Some(error) = &error {
        text = format!("{}: {}\n{text}", error.kind.as_str(), error.message);
    }
    ToolResult {
        llm_content: vec![MessagePart::text(text)],
        // A secret with orders to the terminal in it would not be found any more.
        return_display: (is_terminal && starter.redactor().text(&output) == output)
            .then(|| last_chars(&raw, MAX_DISPLAY).to_owned()),
        data: Some(json!({
            "exitCode": ended.code,
            "signal": ended.signal.map(signal_name),
            "stdoutBytes": stdout.total(),
            "stderrBytes": stderr.total(),
            "sandbox": confined_by,
            "leftBehind": ended.left,
            "tookMs": took.as_millis(),
        })),
        error,
        ..ToolResult::default()
    }
}

fn heading(ended: &CommandExit, cut: Option<CommandCutReason>, output: &str) -> String {
    if cut.is_some() || ended.over.is_some() {
        return String::new();
    }
    match (ended.code, ended.signal) {
        // What it puts out must not pass for how it ended.
        (Some(0), _) if HEADINGS.iter().any(|heading| output.starts_with(heading)) => {
            format!("{EXIT_CODE_HEADING}0\n")
        }
        (Some(0), _) => String::new(),
        (Some(code), _) => format!("{EXIT_CODE_HEADING}{code}\n"),
        (None, Some(signal)) => format!("{SIGNAL_HEADING}{}\n", signal_name(signal)),
        (None, None) => format!("{UNKNOWN_END_HEADING}\n"),
    }
}

/// Why the command did not come to its own end.
fn error(ended: &CommandExit, cut: Option<CommandCutReason>) -> Option<ToolError> {
    let (kind, message) = match (cut, ended.over) {
        (Some(CommandCutReason::Stopped), _) => (
            ToolErrorType::Cancelled,
            "the command was stopped; what it put out until then follows".to_owned(),
        ),
        (Some(CommandCutReason::Yielded(time)), _) => (
            ToolErrorType::TimedOut,
            format!(
                "git was ended, since it changes settings and other commands of this workspace had waited for it for {} s; see that it \
                 reads nothing that does not end, and call again",
                time.as_secs()
            ),
        ),
        (Some(CommandCutReason::Silent(time)), _) => (
            ToolErrorType::TimedOut,
            format!(
                "the command put out nothing for {} s and was ended. It may wait for input, which nobody gives; or start it \
                 with `background`",
                time.as_secs_f64()
            ),
        ),
        (Some(CommandCutReason::TooLong(time)), _) => (
            ToolErrorType::TimedOut,
            format!(
                "the command took more than {} s and was ended; start what takes longer with `background`",
                time.as_secs_f64()
            ),
        ),
        (Some(CommandCutReason::TooMuch(bytes)), _) => (
            ToolErrorType::ExecutionFailed,
            format!("the command put out more than {} MiB and was ended; let it write less", bytes >> 20),
        ),
        (None, Some(limit)) => {
            let (what, setting) = match limit {
                CommandLimit::Cpu => ("processor time", "cpuSeconds"),
                CommandLimit::Memory => ("memory", "memoryMb"),
                CommandLimit::Processes => ("processes", "processes"),
            };
            (
                ToolErrorType::ExecutionFailed,
                format!("the command used more {what} than `sandbox.limits.{setting}` allows and was ended"),
            )
        }
        (None, None) => return None,
    };
    Some(ToolError { kind, message })
}

/// What the model should know when it may have met the sandbox.
fn boundaries(name: &str, rules: &CommandRules) -> String {
    use protocol::SandboxProfile::{Full, ReadOnly, WorkspaceWrite};
    let writable = match rules.confinement.profile {
        ReadOnly => "only $TMPDIR can be written",
        WorkspaceWrite => "only the workspace and $TMPDIR can be written",
        Full => "files are as open as to the daemon's user",
    };
    let network = match rules.confinement.network {
        true => "",
        false => ", there is no network",
    };
    // Landlock does not look at owners, so that nothing may change them.
    let owners = match name.starts_with(OWNERS_STAY) {
        true => ", owners of files cannot be changed, not even in the workspace",
        false => "",
    };
    format!(
        "{SANDBOX_NOTE}{name}): {writable}{network}{owners}, no socket file can be connected to, and keys, passwords and the daemon's own files cannot be seen; of \
         the person's variables it gets the usual ones and those that `sandbox.environment` names. If it failed for that, do \
         not look for a way around: say what you need, so that the person can do it or change `sandbox.profile`, \
         `sandbox.network`, `sandbox.sockets` or `sandbox.environment` (which names e.g. RUSTUP_HOME).]"
    )
}

/// Without colours and other orders to a terminal.
fn plain(text: &str) -> String {
    strip_str(text).to_string()
}

/// What is left on a terminal when all was written: without orders, and of a line that was written again and again the last.
pub fn terminal_text(raw: &str) -> String {
    let text = plain(raw).replace("\r\n", "\n");
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
    text.split('\n').map(last).collect::<Vec<_>>().join("\n")
}

fn last_chars(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// As `kill -l` has it.
pub fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        7 => "BUS",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        24 => "XCPU",
        25 => "XFSZ",
        31 => "SYS",
        _ => return number.to_string(),
    };
    format!("{number} ({name})")
}
