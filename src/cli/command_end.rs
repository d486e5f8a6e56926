//! How did a command end that a call ran, and what does a person want to see of it at once? Its exit code, the end of what it
//! put out, and whether the sandbox may be why.
//!
//! A command that ends with another code than 0 is no failed call: it was run, and the model is told. People who look at what
//! goes on would take its tick for a success.

use serde::Deserialize;
use serde_json::Value;

use super::{safe_text, width};
use protocol::{EXIT_CODE_HEADING, SANDBOX_NOTE, SIGNAL_HEADING, UNKNOWN_END_HEADING};

/// Lines of the output that are shown: where most programs say what went wrong.
const LINES: usize = 5;

/// Columns of such a line where there is no terminal to say how many fit.
const COLUMNS: usize = 200;

/// What is between what a command put out and what it said on stderr.
const STDERR_HEADING: &str = "stderr:";

/// What stands for an output that there is not.
const NO_OUTPUT: &str = "(no output)";

/// What is said of a command that may have met the sandbox.
const MET_SANDBOX: &str = "! the sandbox may have refused it something; see `sandbox` in the settings";

/// The end of a command.
#[derive(Debug, PartialEq)]
pub(super) struct CommandEnd {
    /// `exit code 1`, `signal 9 (KILL)`; `None` = it ended with 0.
    pub(super) trouble: Option<String>,
    /// The last of what it put out, as it came.
    last_lines: Vec<String>,
    met_sandbox: bool,
}

/// What is read of a result's `data`. A command in the background is no end: it says whether it is `running`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CommandResultView {
    exit_code: Option<i64>,
    signal: Option<Value>,
    running: Option<bool>,
}

impl CommandEnd {
    /// Of a call's result: its `data`, and the texts of it for the model. `None` when it was no command that ended.
    pub(super) fn of_result(data: &Value, texts: &[&str]) -> Option<CommandEnd> {
        let is_command = data.get("exitCode").is_some() && data.get("signal").is_some();
        let CommandResultView { exit_code, signal, running } = CommandResultView::deserialize(data).ok()?;
        if !is_command || running.is_some() {
            return None;
        }
        let signal = signal.filter(|signal| !signal.is_null());
        let trouble = match (exit_code, signal) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit code {code}")),
            (None, Some(Value::String(signal))) => Some(format!("signal {signal}")),
            (None, Some(signal)) => Some(format!("signal {signal}")),
            (None, None) => Some("how it ended is not known".to_owned()),
        };
        Some(CommandEnd { trouble, ..CommandEnd::of_texts(texts) })
    }

    /// Of what the model was told, where that is all there is. The command's own is the last part: what a person changed
    /// stands before it.
    pub(super) fn of_texts(texts: &[&str]) -> CommandEnd {
        let text = texts.last().copied().unwrap_or_default();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let (trouble, output) = if let Some(code) = first.strip_prefix(EXIT_CODE_HEADING) {
            (Some(code).filter(|code| *code != "0").map(|code| format!("exit code {code}")), rest)
        } else if let Some(signal) = first.strip_prefix(SIGNAL_HEADING) {
            (Some(format!("signal {signal}")), rest)
        } else if first == UNKNOWN_END_HEADING {
            (Some("how it ended is not known".to_owned()), rest)
        } else {
            (None, text)
        };
        let is_said = |line: &&str| !line.trim().is_empty() && !matches!(*line, STDERR_HEADING | NO_OUTPUT);
        let mut lines = output.lines().rev().filter(is_said).peekable();
        // The daemon's note is the last line; a text like it within the output is none.
        let met_sandbox = lines.next_if(|line| line.starts_with(SANDBOX_NOTE)).is_some();
        let mut last_lines: Vec<String> = lines.take(LINES).map(str::to_owned).collect();
        last_lines.reverse();
        CommandEnd { trouble, last_lines, met_sandbox }
    }

    /// What is worth showing below the call, harmless and in at most so many columns: nothing of one that went well, but that
    /// it may have met the sandbox.
    pub(super) fn rows(&self, columns: Option<usize>) -> Vec<String> {
        let columns = columns.unwrap_or(COLUMNS);
        let is_shown = self.trouble.is_some();
        let lines = self.last_lines.iter().filter(|_| is_shown).map(String::as_str);
        let lines = lines.chain(self.met_sandbox.then_some(MET_SANDBOX));
        lines.flat_map(safe_text::rows).map(|row| width::cut(row.trim_end(), columns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOTE: &str = "[The command ran in a sandbox (Landlock): only $TMPDIR can be written.]";

    fn rows(text: &str) -> (Option<String>, Vec<String>) {
        let end = CommandEnd::of_texts(&["A person changed the call.", text]);
        let rows = end.rows(Some(20));
        (end.trouble, rows)
    }

    #[test]
    fn the_end_of_what_a_failed_command_put_out_is_shown() {
        let (trouble, shown) = rows(
            "Exit code: 101\n1\n2\n\n3\nstderr:\n4\t\u{1b}]0;x\u{7}\n5\n6 is longer than the terminal\n\n",
        );
        assert_eq!(trouble.as_deref(), Some("exit code 101"));
        assert_eq!(shown, ["2", "3", "4    ^[]0;x^G", "5", "6 is longer than th…"]);
        let killed = rows("Ended by signal 9 (KILL)\n(no output)\n");
        assert_eq!(killed, (Some("signal 9 (KILL)".to_owned()), Vec::new()));
        assert_eq!(rows("How it ended is not known\nx").1, ["x"]);
    }

    #[test]
    fn of_a_command_that_went_well_only_the_sandbox_is_worth_a_line() {
        assert_eq!(rows("Exit code 3\nmuch"), (None, Vec::new()));
        assert_eq!(rows("Exit code: 0\nExit code: 3\n"), (None, Vec::new()));
        let (trouble, shown) = rows(&format!("a\nstderr:\ntouch: Permission denied\n{NOTE}"));
        assert_eq!((trouble, shown.len()), (None, 1));
        assert!(shown[0].starts_with("! the sandbox may"), "{shown:?}");
        // Only the last line is the daemon's.
        assert_eq!(rows(&format!("Exit code: 1\n{NOTE}\nand more")).1.len(), 2);
        assert!(!CommandEnd::of_texts(&[&format!("{NOTE}\nx")]).met_sandbox);
    }

    #[test]
    fn a_result_says_itself_whether_it_is_of_a_command() {
        let of =
            |data: Value| CommandEnd::of_result(&data, &["x"]).map(|end| end.trouble.unwrap_or_default());
        assert_eq!(of(json!({"exitCode": 3, "signal": null})).as_deref(), Some("exit code 3"));
        assert_eq!(of(json!({"exitCode": null, "signal": "9 (KILL)"})).as_deref(), Some("signal 9 (KILL)"));
        assert_eq!(of(json!({"exitCode": null, "signal": 9})).as_deref(), Some("signal 9"));
        assert_eq!(
            of(json!({"exitCode": null, "signal": null})).as_deref(),
            Some("how it ended is not known")
        );
        assert_eq!(of(json!({"exitCode": 0, "signal": null})).as_deref(), Some(""));
        // In the background, or of a tool that has nothing to do with commands.
        assert_eq!(of(json!({"exitCode": 1, "signal": null, "running": false})), None);
        assert_eq!(of(json!({"shell": "1"})), None);
        assert_eq!(of(json!(null)), None);
    }
}
