//! Which variables does the command of a hook use that have no value when it runs? What was written for another product, or pasted from a
//! plugin of it, names folders that nobody fills in here.

use super::{HookHandler, command_words::FOLDERS};

/// The beginnings of names of variables that bash sets by itself.
const SET_BY_BASH: &[&str] = &["BASH", "COMP_", "COPROC", "EPOCH", "HIST"];

/// Names of variables that bash sets by itself, and of those that hooks or all commands get.
const KNOWN: &[&str] = &[
    // Told of by itself: it never has a value.
    "CLAUDE_ENV_FILE",
    "COLUMNS",
    "DIRSTACK",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "PS4",
    "PWD",
    "RANDOM",
    "READLINE_LINE",
    "REPLY",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "TERM",
    "TMPDIR",
    "UID",
    "XDG_CACHE_HOME",
];

/// True if nobody gives a variable of this name a value: neither the shell nor whoever starts it. `has_value`: of what it is started with.
pub(super) fn is_unset(name: &str, has_value: impl Fn(&str) -> bool) -> bool {
    // Other names are those of the text's own variables.
    let is_of_environment = name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_');
    let is_known = KNOWN.contains(&name) || SET_BY_BASH.iter().any(|begin| name.starts_with(begin));
    is_of_environment && !is_known && !has_value(name)
}

/// The names, once each, in the order in which the command uses them. None where the text may set it itself.
pub(super) fn unset_variables(handler: &HookHandler, has_value: impl Fn(&str) -> bool) -> Vec<String> {
    let HookHandler::Command { command, args } = handler else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    match args {
        // No shell reads it: only names of folders are filled in.
        Some(args) => {
            let is_in = |name: &&&str| {
                let (braced, bare) = (format!("${{{name}}}"), format!("${name}"));
                std::iter::once(command)
                    .chain(args)
                    .any(|text| text.contains(&braced) || text.contains(&bare))
            };
            let names = FOLDERS.iter().filter(is_in).filter(|name| is_unset(name, &has_value));
            found.extend(names.map(|name| (*name).to_owned()));
        }
        None => {
            for name in used(command) {
                let is_new = !found.contains(&name);
                if is_new && is_unset(&name, &has_value) && !is_handled(command, &name) {
                    found.push(name);
                }
            }
        }
    }
    found
}

/// The names in a text that its shell replaces by their values, and by nothing where they have none.
fn used(text: &str) -> Vec<String> {
    // What stands in a text behind `<<` is another program's, mostly.
    if text.replace("<<<", "").contains("<<") {
        return Vec::new();
    }
    let mut names = Vec::new();
    // One for each command within a command: whether it is in double quotes there.
    let mut quoted = vec![false];
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_quoted = quoted.last().copied().unwrap_or_default();
        match letter {
            '\\' => {
                letters.next();
            }
            '\'' if !is_quoted => while letters.next().is_some_and(|letter| letter != '\'') {},
            '"' => {
                if let Some(last) = quoted.last_mut() {
                    *last = !is_quoted;
                }
            }
            '#' if !is_quoted && before.is_whitespace() => {
                while letters.next().is_some_and(|letter| letter != '\n') {}
            }
            '(' if before == '$' || !is_quoted => quoted.push(false),
            ')' if !is_quoted && 1 < quoted.len() => {
                quoted.pop();
            }
            '$' => {
                let is_braced = letters.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(letter) = letters.next_if(|it| it.is_ascii_alphanumeric() || *it == '_') {
                    name.push(letter);
                }
                // Of `${NAME:-x}` the text says what it is without a value.
                if !name.is_empty() && (!is_braced || letters.peek() == Some(&'}')) {
                    names.push(name);
                }
            }
            _ => {}
        }
        before = letter;
    }
    names
}

/// True if a text names a variable elsewhere than where its value is used: it may set it, or says what holds without one.
fn is_handled(text: &str, name: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let (front, behind) = (&text[..at], &text[at + name.len()..]);
        let is_longer = front.ends_with(is_of_name) || behind.starts_with(is_of_name);
        let is_used = match front.strip_suffix('{') {
            Some(front) => front.ends_with('$') && behind.starts_with('}'),
            None => front.ends_with('$'),
        };
        !is_longer && !is_used
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unset(command: &str, args: Option<&[&str]>) -> String {
        let args = args.map(|args| args.iter().map(|it| (*it).to_owned()).collect());
        let handler = HookHandler::Command { command: command.to_owned(), args };
        unset_variables(&handler, |name| matches!(name, "HOME" | "CLAUDE_PROJECT_DIR")).join(" ")
    }

    #[test]
    fn a_variable_without_a_value_is_found_and_no_other() {
        for (command, expected) in [
            ("node \"${CLAUDE_PLUGIN_ROOT}/x.js\"", "CLAUDE_PLUGIN_ROOT"),
            ("$CLAUDE_PLUGIN_ROOT/x.sh $CLAUDE_PLUGIN_ROOT/y $OTHER", "CLAUDE_PLUGIN_ROOT OTHER"),
            ("\"$(cat \"$A_FILE\")\" 'no $SINGLE' \\$NONE \"${B_DIR}\"", "A_FILE B_DIR"),
            ("if test -n \"$MODE\"; then exit 2; fi", "MODE"),
            // What has a value, is bash's, or is the text's own.
            ("\"$CLAUDE_PROJECT_DIR\"/x $HOME $RANDOM $PPID $BASH_VERSION ${EPOCHSECONDS} $?", ""),
            ("A=1; echo $A; for B in x; do echo $B; done; read -r C; echo $C $lower", ""),
            ("echo ${MODE:-x} $MODE", ""),
            ("awk '{print $NF}' x; \"$(jq -r '.x | $Y')\"", ""),
            ("true # $COMMENT", ""),
            ("cat <<'END'\n$TEXT\nEND", ""),
            ("cat <<< \"$WORD\"", "WORD"),
        ] {
            assert_eq!(unset(command, None), expected, "{command}");
        }
        assert_eq!(unset("node", Some(&["${CLAUDE_PLUGIN_ROOT}/x.js", "$OTHER"])), "CLAUDE_PLUGIN_ROOT");
        assert_eq!(unset("node", Some(&["${CLAUDE_PROJECT_DIR}/x.js"])), "");
    }
}
