//! How dangerous is a command by its name and options? The table says it; this reads the table.

use super::{options, reading::ShellAnalysisDraft, value::WordValue};
use protocol::Risk;

mod table;

pub(super) use table::rows;

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct RiskRow {
    pub names: &'static [&'static str],
    pub when: RiskCondition,
    pub risk: Risk,
    /// What it does, for people: continues "`name` …".
    pub what: &'static str,
}

/// Which calls of a command a row is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum RiskCondition {
    Always,
    /// The name is longer: `mkfs.ext4`.
    NameBegins,
    /// Any of these options: `-r` alone or among others, `--recursive` or what it may be shortened to.
    Option(&'static [&'static str]),
    /// The first word that is no option, or the second where the first may be an option's value.
    SubCommand(&'static [&'static str]),
    /// Two words behind each other, e.g. of `python -m pip install`.
    Words(&'static [(&'static str, &'static str)]),
    /// A sub-command of git, with any of these options; with none it is about all of them.
    Git(&'static str, &'static [&'static str]),
    /// A word that begins so.
    WordBegins(&'static [&'static str]),
}

pub(super) fn judge(draft: &mut ShellAnalysisDraft, base: &str, args: &[WordValue]) {
    for row in rows() {
        let is_named = match row.when {
            RiskCondition::NameBegins => row.names.iter().any(|name| base.starts_with(name)),
            _ => row.names.contains(&base),
        };
        if is_named && row.when.is_met(args) {
            draft.found(row.risk, format!("`{base}` {}", row.what));
        }
    }
}

impl RiskCondition {
    fn is_met(self, args: &[WordValue]) -> bool {
        match self {
            RiskCondition::Always | RiskCondition::NameBegins => true,
            RiskCondition::Option(options) => {
                options_of(args).any(|arg| options.iter().any(|option| is_option(arg, option)))
            }
            RiskCondition::SubCommand(names) => sub_commands(args).any(|arg| match arg.known() {
                Some(text) => names.contains(&text),
                // It may be any.
                None => true,
            }),
            RiskCondition::Words(pairs) => args.windows(2).any(|pair| {
                let may_be = |arg: &WordValue, word: &str| {
                    arg.known().map_or_else(|| arg.may_split(), |text| text == word)
                };
                pairs.iter().any(|(one, other)| may_be(&pair[0], one) && may_be(&pair[1], other))
            }),
            RiskCondition::Git(name, options) => {
                let Some((sub_command, args)) = options::behind_git_options(args).split_first() else {
                    return false;
                };
                match sub_command.known() {
                    Some(text) if text != name => false,
                    None => true,
                    Some(_) => options.is_empty() || RiskCondition::Option(options).is_met(args),
                }
            }
            RiskCondition::WordBegins(beginnings) => {
                args.iter().any(|arg| beginnings.iter().any(|beginning| arg.lead().starts_with(beginning)))
            }
        }
    }
}

/// Behind `--` no word is an option.
fn options_of(args: &[WordValue]) -> impl Iterator<Item = &WordValue> {
    args.iter().take_while(|arg| !arg.is("--"))
}

/// True if a word is this option, has its letter among others, or may become it.
fn is_option(arg: &WordValue, option: &str) -> bool {
    let lead = arg.lead();
    if arg.known().is_none() && (arg.may_split() || lead.is_empty()) {
        return true;
    }
    if option.starts_with("--") {
        let given = lead.split_once('=').map_or(lead.as_str(), |(name, _)| name);
        return given.len() > 2 && option.starts_with(given);
    }
    match option.strip_prefix('-') {
        Some(letter) => lead.starts_with('-') && !lead.starts_with("--") && lead[1..].contains(letter),
        // `+ref`
        None => lead.starts_with(option),
    }
}

/// The word that may be a sub-command, and the one behind it where the first may be an option's value.
pub(super) fn sub_commands(args: &[WordValue]) -> impl Iterator<Item = &WordValue> {
    // `cargo +nightly install`
    let is_word = |arg: &WordValue| !arg.lead().starts_with(['-', '+']);
    let first = args.iter().position(is_word);
    let follows_option = first.is_some_and(|at| {
        at > 0 && args[at - 1].lead().starts_with('-') && !args[at - 1].lead().contains('=')
    });
    let second = first.filter(|_| follows_option).and_then(|first| {
        args.iter().enumerate().skip(first + 1).find(|(_, arg)| is_word(arg)).map(|(at, _)| at)
    });
    [first, second].into_iter().flatten().map(|at| &args[at])
}
