//! Which words of a command are options, which are their values, and where does the rest begin?

use super::value::WordValue;

/// The options of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OptionSpec {
    /// Letters that stand alone.
    pub flags: &'static str,
    /// Letters that have a value, in the same word or the next.
    pub valued: &'static str,
    /// Letters whose value, if any, is in the same word.
    pub attached: &'static str,
    pub long_flags: &'static [&'static str],
    /// With a value behind `=` or in the next word.
    pub long_valued: &'static [&'static str],
}

/// One option: its letter or long name, and its value.
#[derive(Debug, Clone)]
pub(super) struct ParsedOption {
    pub name: String,
    pub value: Option<WordValue>,
}

/// What stands among a command's words.
#[derive(Debug, Default)]
pub(super) struct ParsedArguments {
    pub options: Vec<ParsedOption>,
    pub operands: Vec<WordValue>,
    /// The reason why nobody can tell where the operands begin; they are then what stands from the word on that is not known.
    pub unclear: Option<String>,
    /// Words before a `--` of which nobody can tell whether they are options: not known, in quotes or not, or a pattern that may
    /// find the name of one. They are among the operands, too. Only of [`anywhere`].
    pub maybe_options: Vec<WordValue>,
}

impl ParsedArguments {
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.contains(&option.name.as_str()))
    }

    /// The [`ParsedArguments::maybe_options`] whose text is not known.
    pub fn unknown_options(&self) -> impl Iterator<Item = &WordValue> {
        self.maybe_options.iter().filter(|word| word.known().is_none())
    }

    pub fn value(&self, names: &[&str]) -> Option<&WordValue> {
        self.options.iter().rev().find(|option| names.contains(&option.name.as_str()))?.value.as_ref()
    }
}

/// Reads options up to the first word that is none, as commands do that run the rest. An option that is not listed is an
/// error: nobody could tell where the rest begins.
pub(super) fn leading(spec: &OptionSpec, args: &[WordValue]) -> Result<ParsedArguments, String> {
    read(spec, args, true)
}

/// Reads options wherever they stand. One that is not listed counts as a flag.
pub(super) fn anywhere(spec: &OptionSpec, args: &[WordValue]) -> ParsedArguments {
    // Only leading options can be mistaken.
    read(spec, args, false).unwrap_or_default()
}

fn read(spec: &OptionSpec, args: &[WordValue], is_leading: bool) -> Result<ParsedArguments, String> {
    let mut parsed = ParsedArguments::default();
    let mut at = 0;
    let mut begin = 0;
    loop {
        // Options and values that may be no word, or several, move all that stands behind.
        if is_leading
            && let Some(word) = args[begin..at.min(args.len())].iter().find(|word| word.may_be_many())
        {
            parsed
                .unclear
                .get_or_insert_with(|| format!("nobody can tell how many words `{}` is", word.raw()));
        }
        let Some(arg) = args.get(at) else { break };
        begin = at;
        at += 1;
        if !is_leading && (arg.may_be_option() || arg.may_find_option()) {
            parsed.maybe_options.push(arg.clone());
        }
        let Some(text) = arg.known() else {
            if is_leading && arg.may_be_option() {
                parsed.unclear = Some(format!("nobody can tell whether `{}` is an option", arg.raw()));
            }
            parsed.operands.push(arg.clone());
            if is_leading {
                break;
            }
            continue;
        };
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            at += long_option(spec, arg, long, &args[at..], is_leading, &mut parsed)?;
            continue;
        }
        let is_short = text.len() > 1 && text.starts_with('-');
        if !is_short {
            parsed.operands.push(arg.clone());
            if is_leading {
                break;
            }
            continue;
        }
        at += short_options(spec, arg, text, &args[at..], is_leading, &mut parsed)?;
    }
    parsed.operands.extend(args[at.min(args.len())..].iter().cloned());
    Ok(parsed)
}

/// How many of the words behind are its value.
fn long_option(
    spec: &OptionSpec,
    arg: &WordValue,
    long: &str,
    behind: &[WordValue],
    is_leading: bool,
    parsed: &mut ParsedArguments,
) -> Result<usize, String> {
    let (given, value) = match long.split_once('=') {
        Some((name, _)) => (name, Some(arg.after(name.chars().count() + 3))),
        None => (long, None),
    };
    let all = || spec.long_flags.iter().chain(spec.long_valued).copied();
    // Unless one is meant by its whole name, the first that begins so.
    let name = all().find(|name| *name == given).or_else(|| all().find(|name| name.starts_with(given)));
    let Some(name) = name else {
        if is_leading {
            return Err(format!("its option `{}` is not known", arg.raw()));
        }
        parsed.options.push(ParsedOption { name: given.to_owned(), value });
        return Ok(0);
    };
    let takes_next = value.is_none() && spec.long_valued.contains(&name);
    let value = if takes_next { behind.first().cloned() } else { value };
    parsed.options.push(ParsedOption { name: name.to_owned(), value });
    Ok(usize::from(takes_next))
}

fn short_options(
    spec: &OptionSpec,
    arg: &WordValue,
    text: &str,
    behind: &[WordValue],
    is_leading: bool,
    parsed: &mut ParsedArguments,
) -> Result<usize, String> {
    let count = text.chars().count();
    for (at, letter) in text.chars().enumerate().skip(1) {
        let is_last = at + 1 == count;
        let rest = || Some(arg.after(at + 1)).filter(|_| !is_last);
        let name = letter.to_string();
        if spec.valued.contains(letter) {
            let value = if is_last { behind.first().cloned() } else { rest() };
            parsed.options.push(ParsedOption { name, value });
            return Ok(usize::from(is_last));
        }
        if spec.attached.contains(letter) {
            parsed.options.push(ParsedOption { name, value: rest() });
            return Ok(0);
        }
        if is_leading && !spec.flags.contains(letter) {
            return Err(format!("its option `{}` is not known", arg.raw()));
        }
        parsed.options.push(ParsedOption { name, value: None });
    }
    Ok(0)
}

/// Options of git itself that a value follows in the next word.
const GIT_VALUED: &[&str] = &[
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--exec-path",
    "--config-env",
    "--attr-source",
];

/// The words behind git's own options, the sub-command first.
pub(super) fn behind_git_options(args: &[WordValue]) -> &[WordValue] {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.known() else { break };
        if !text.starts_with('-') {
            break;
        }
        at += if GIT_VALUED.contains(&text) { 2 } else { 1 };
    }
    args.get(at..).unwrap_or_default()
}
