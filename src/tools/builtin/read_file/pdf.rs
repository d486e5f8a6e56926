//! What does a PDF say, for a model that does not take it as it is?
//!
//! Reading a PDF is work for a program of its own, `pdftotext`, where the system has it. The file is a stranger's, so the
//! program runs in a sandbox, and nowhere else: it may read, write nothing and reach nobody.

use std::time::Duration;

use crate::{
    CallContext,
    commands::{
        CommandBounds, CommandCutReason, CommandRequest, CommandStarter, CommandSupervision, FinishedCommand,
        attend,
    },
};
use protocol::SandboxProfile;
use sandbox::{CommandStartError, SandboxRules};
use sys::warden::CommandLimits;

/// Of Poppler and of Xpdf; both write to standard output when told so.
const PROGRAM: &str = "pdftotext";

/// How long it may take: a book takes some seconds.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Bytes of text; a file has hardly more than its own size.
const MAX_TEXT: u64 = 8 << 20;

/// Bytes of memory and processor time that it may use.
const LIMITS: CommandLimits = CommandLimits {
    cpu_seconds: Some(30),
    memory_bytes: Some(1 << 30),
    processes: Some(8),
    open_files: Some(64),
};

/// The text of a PDF, or why it cannot be had: one clause.
pub async fn text(starter: CommandStarter, bytes: Vec<u8>, cx: &CallContext) -> Result<String, String> {
    let directory = starter.first_root().ok_or("there is no workspace")?;
    let rules =
        SandboxRules { profile: SandboxProfile::ReadOnly, network: false, required: true, limits: LIMITS };
    let starter = starter.confined(rules);
    let words = [PROGRAM, "-q", "-enc", "UTF-8", "-", "-"].map(str::to_owned).to_vec();
    let wanted = CommandRequest { input: bytes, ..CommandRequest::new(words, directory) };
    let timeout = cx.deadline.map_or(MAX_TIME, |left| left.min(MAX_TIME));
    let bounds = CommandBounds { inactivity: None, timeout: Some(timeout), max_output: Some(MAX_TEXT) };
    let running = match starter.start(wanted, &cx.session).await {
        Ok(running) => running,
        Err(CommandStartError::Required(why)) => {
            return Err(format!("{PROGRAM} is run in a sandbox only, and there is none: {why}"));
        }
        Err(error) => return Err(not_run(&error)),
    };
    let finished = attend(running, &bounds, &CommandSupervision::of(cx), starter.redactor()).await;
    of(&finished.map_err(|error| not_run(&error))?)
}

fn not_run(error: &CommandStartError) -> String {
    match error {
        CommandStartError::NotRun(why) if why.contains("there is no program") => {
            format!("{PROGRAM} is not installed (it is in the package poppler-utils)")
        }
        error => format!("{PROGRAM} was not run: {error}"),
    }
}

fn of(finished: &FinishedCommand) -> Result<String, String> {
    let FinishedCommand { ended, stdout, stderr, cut, .. } = finished;
    match cut {
        Some(CommandCutReason::Stopped) => return Err("the call was stopped".to_owned()),
        Some(
            CommandCutReason::Silent(time)
            | CommandCutReason::TooLong(time)
            | CommandCutReason::Yielded(time),
        ) => {
            return Err(format!("{PROGRAM} took more than {} s", time.as_secs()));
        }
        Some(CommandCutReason::TooMuch(bytes)) => {
            return Err(format!("its text has more than {} MiB", bytes >> 20));
        }
        None => {}
    }
    if ended.over.is_some() {
        return Err(format!("{PROGRAM} wanted more memory or time than it gets"));
    }
    if ended.code != Some(0) {
        let stderr = stderr.text();
        let complaint = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why");
        return Err(format!("{PROGRAM} cannot read it: {}", complaint.trim()));
    }
    let text = stdout.text();
    match text.trim().is_empty() {
        true => Err("there is no text in it; its pages may be pictures".to_owned()),
        // Pages end with a form feed.
        false => Ok(text.replace('\u{c}', "\n")),
    }
}
