//! `subagent "PROMPT"`: a prompt in the place of a command goes to the agent whose triggers fit (spec 12).

use std::{cell::LazyCell, ffi::OsString};

use clap::{Arg, Args, Command, CommandFactory as _, Parser};

use super::{
    ColorMode, ConnectionArguments, ProcessIo,
    failure::CommandFailure,
    link::DaemonLink,
    run::{self, PromptAttachments, RunOptions},
};

/// The agent that the daemon chooses.
const ROUTED: &str = "auto";

/// A command line whose command is a prompt.
#[derive(Parser)]
#[command(
    name = "subagent",
    version,
    override_usage = "subagent \"PROMPT\" [OPTIONS]",
    about = "Runs the agent whose triggers fit the prompt; all else is as with `subagent run`"
)]
pub(super) struct PromptLine {
    #[command(flatten)]
    pub(super) reach: ConnectionArguments,
    /// Colours on a terminal; `auto` obeys NO_COLOR and TERM=dumb
    #[arg(long, value_enum, default_value_t = ColorMode::Auto, value_name = "WHEN")]
    pub(super) color: ColorMode,
    #[command(flatten)]
    pub(super) say: SayArguments,
}

#[derive(Args)]
pub(super) struct SayArguments {
    /// What to do
    prompt: String,
    /// This agent, whatever the prompt says [default: the one whose triggers fit, else the usual one]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    options: RunOptions,
}

pub(super) fn say(
    arguments: &SayArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let SayArguments { prompt, agent, options } = arguments;
    let said = (Some(prompt.as_str()), &PromptAttachments::default());
    run::run_once(agent.as_deref().unwrap_or(ROUTED), said, options, link, surroundings)
}

/// Whether a prompt stands where a command is expected: a text with white space in it, or what follows `--`. One word is a
/// command, or a mistake.
pub(super) fn has_prompt(arguments: &[OsString]) -> bool {
    // Nearly every line begins with a word.
    let known = LazyCell::new(PromptLine::command);
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        if text == "--" {
            return rest.next().is_some();
        }
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            return text.contains(char::is_whitespace);
        };
        let (is_known, takes_next) = match option.strip_prefix('-') {
            Some(long) => {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, v)| (name, Some(v)));
                let found = find(&known, &|known| known.get_long() == Some(name));
                (found.is_some(), value.is_none() && found.is_some_and(takes_value))
            }
            None => {
                let found = find(&known, &|known| option.chars().next() == known.get_short());
                (found.is_some(), option.chars().count() == 1 && found.is_some_and(takes_value))
            }
        };
        if !is_known {
            return false;
        }
        if takes_next {
            rest.next();
        }
    }
    false
}

/// An option that may stand before a prompt.
fn find<'a>(known: &'a Command, is_it: &dyn Fn(&Arg) -> bool) -> Option<&'a Arg> {
    known.get_arguments().find(|argument| is_it(argument))
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_told_from_a_command() {
        let is_prompt = |line: &[&str]| {
            let line = std::iter::once(&"subagent").chain(line).map(|word| OsString::from(*word));
            has_prompt(&line.collect::<Vec<_>>())
        };
        for line in [
            &["fix the bug"][..],
            &["fix\tit", "--detach"],
            &["--socket", "/a b", "fix it"],
            &["--socket=/a b", "--no-spawn", "fix it"],
            &["--color", "never", "--model", "offline", "fix it"],
            &["--", "fix"],
            &["--agent", "x", "--", "--help"],
        ] {
            assert!(is_prompt(line), "{line:?}");
        }
        for line in [
            &[][..],
            &["fix"],
            &["list"],
            &["run", "scout", "-p", "fix it"],
            &["--socket", "/a b", "list"],
            &["--socket", "/a b"],
            &["--help", "fix it"],
            &["--frobnicate", "fix it"],
            &["-x", "fix it"],
            &["-", "fix it"],
            &["--"],
        ] {
            assert!(!is_prompt(line), "{line:?}");
        }
    }
}
