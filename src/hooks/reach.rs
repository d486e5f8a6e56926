//! Could a command run a file of the workspace that its words do not name for sure: by a pattern, a variable, a folder, a path of modules,
//! or since it is started in the workspace?
//!
//! What stands in such a file is an agent's to write, and nobody acknowledged it. So a hook of the settings of which this may be is
//! confined. Words are read as a shell splits them, quotes aside; what is taken for too much is only confined.

use std::path::{Path, PathBuf};

mod agents_text;
mod apart;
mod folder_programs;
mod interpreters;
mod loading;
mod places;
mod spelled;
mod word;
mod words;

use super::{WorkspaceReach, pins::filled};
use interpreters::WordsReach;
use places::WorkspacePlaces;
use sys::lexical::lexical;
use word::{HookWord, PATTERN, Quoting};
use words::commands;

/// Programs that run what a file says that they are given, by the beginnings of their names.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "fish",
    "python",
    "pypy",
    "node",
    "deno",
    "bun",
    "perl",
    "ruby",
    "php",
    "lua",
    "Rscript",
    "julia",
    "tclsh",
    "osascript",
    "pwsh",
    "tsx",
    "ts-node",
    "java",
    "awk",
    "gawk",
    "mawk",
    "source",
    ".",
];
/// Programs that run others with what they find, or what stands in a folder that they are given.
const RUNNERS: &[&str] =
    &["xargs", "find", "fd", "parallel", "run-parts", "make", "gmake", "just", "entr", "watchexec"];
/// Words before the program's own.
const BEFORE: &[&str] = &[
    "env", "exec", "command", "nohup", "nice", "time", "timeout", "sudo", "then", "do", "else", "if",
    "while", "until", "!", "{", "builtin", "eval",
];
/// Programs and words of the shell that run nothing of what they name, nor write it anywhere as a file.
const READERS: &[&str] = &[
    "echo",
    "printf",
    "true",
    "false",
    ":",
    "read",
    "cd",
    "pwd",
    "cat",
    "head",
    "tail",
    "wc",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "jq",
    "ls",
    "stat",
    "sort",
    "uniq",
    "cut",
    "tr",
    "diff",
    "cmp",
    "date",
    "basename",
    "dirname",
    "sha256sum",
    "md5sum",
    "exit",
    "return",
    "for",
    "in",
    "select",
];
/// Texts within texts that are read.
const DEEPEST: usize = 3;

/// The words by which the text of a hook, run in the first of these folders, could run a file below one of them that it does not name. Blocks
/// for a look at the folders that its words name.
pub(super) fn of_text(
    text: &str,
    roots: &[String],
    home: &Path,
    program_folders: &[PathBuf],
) -> WorkspaceReach {
    let places = WorkspacePlaces::new(roots, home, program_folders);
    could_run(places.and_then(|places| reaching(text, &places, 0)))
}

/// The same of a command that no shell reads.
pub(super) fn of_words(
    command: &str,
    args: &[String],
    roots: &[String],
    (home, program_folders): (&Path, &[PathBuf]),
) -> WorkspaceReach {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str)).map(HookWord::literal);
    let commands = [words.collect()];
    let places = WorkspacePlaces::new(roots, home, program_folders);
    could_run(places.and_then(|places| reaching_command("", &commands, &places.within("", &commands), 0)))
}

fn could_run(words: Option<String>) -> WorkspaceReach {
    words.map_or(WorkspaceReach::Nothing, |words| WorkspaceReach::CouldRun { words })
}

/// The first command of a text that could run such a file. `outer`: the places that are known where the text is read.
fn reaching(text: &str, outer: &WorkspacePlaces<'_>, depth: usize) -> Option<String> {
    let commands = commands(text);
    reaching_command(text, &commands, &outer.within(text, &commands), depth)
}

fn reaching_command(
    text: &str,
    commands: &[Vec<HookWord>],
    places: &WorkspacePlaces<'_>,
    depth: usize,
) -> Option<String> {
    if reads_commands(commands) {
        let mut texts = commands.iter().filter_map(|words| spelled::printed(words));
        if let Some(words) = texts
            .find_map(|text| if depth < DEEPEST { reaching(&text, places, depth + 1) } else { Some(text) })
        {
            return Some(words);
        }
    }
    let (roots, first, home) = places.folders();
    let name = |word: &HookWord| -> String {
        let text = word.text();
        text.rsplit('/').next().unwrap_or_default().to_owned()
    };
    let is_runner = |word: &HookWord| RUNNERS.contains(&name(word).as_str());
    let is_interpreter = |word: &HookWord| {
        let name = name(word);
        let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        INTERPRETERS.iter().any(|it| *it == name || *it == bare)
    };
    let runs_what_it_is_given = commands.iter().flatten().any(|word| is_runner(word) || is_interpreter(word));
    let writes = writes(text);
    // `*.md` in `case "$f" in *.py) …;; *.md) …;; esac` stands alone like a command, and is none.
    let has_arms = text.contains("esac");
    let is_arm = |words: &[HookWord]| {
        has_arms && matches!(words, [word] if word.is_pattern() && !word.text().contains('/'))
    };
    let reaches = |words: &[HookWord]| {
        let of_workspace = |word: &HookWord| {
            word.is_pattern() && fixed_folder(word, first, home).is_some_and(|it| is_below(&it, roots))
        };
        // A variable may hold anything. It leads into the workspace where a folder of that stands before it, or where the text says so.
        let leads_there = |word: &HookWord| {
            let text_of_word = word.text();
            let (fixed, rest) = text_of_word.split_once('$').unwrap_or((&text_of_word, ""));
            let is_below_folder = || {
                let folder = fixed.rsplit_once('/').map(|(folder, _)| filled(folder, first, home));
                folder.is_some_and(|folder| is_below(&lexical(&Path::new(first).join(folder)), roots))
            };
            let names = rest.trim_start_matches('{');
            let end = names.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let name = &names[..end.unwrap_or(names.len())];
            word.is_open() && (is_below_folder() || !name.is_empty() && is_given_path(text, name))
                || word.is_pattern() && of_workspace(word)
        };
        let is_folder = |word: &HookWord| {
            let path = lexical(&Path::new(first).join(filled(&word.text(), first, home)));
            is_below(&path, roots) && !roots.iter().any(|root| Path::new(root) == path) && path.is_dir()
        };
        let mut program = words.iter().skip_while(|word| {
            let text = word.text();
            BEFORE.contains(&text.as_str()) || text.contains('=') && !text.starts_with(['=', '$'])
        });
        let first_word = program.clone().next();
        // Behind a wrapper and its options it may be any.
        let is_wrapped = words.first().is_some_and(|word| BEFORE.contains(&word.text().as_str()));
        let programs: Vec<&HookWord> =
            program.clone().take(if is_wrapped { words.len() } else { 1 }).collect();
        // What these are given is compared and nothing else.
        if first_word.is_some_and(|word| matches!(word.text().as_str(), "case" | "[" | "[[" | "test")) {
            return false;
        }
        // What such a one names is run only where another command of the text runs what it is given, or what it has written.
        if !runs_what_it_is_given
            && !writes
            && first_word.is_some_and(|word| READERS.contains(&word.text().as_str()))
        {
            return false;
        }
        // A shell takes no assignment for a pattern.
        if first_word.is_some_and(leads_there) || program.clone().any(of_workspace) {
            return true;
        }
        if runs_what_it_is_given && words.iter().any(is_folder)
            || programs.iter().any(|word| loads_from_folder(&name(word), words))
        {
            return true;
        }
        let Some(at) = program.find(|word| is_interpreter(word)) else { return false };
        let is_shell = name(at).ends_with("sh");
        let mut is_code = false;
        for word in program {
            let text = word.text();
            if is_code {
                return is_shell && depth < DEEPEST && reaching(&text, places, depth + 1).is_some();
            }
            if text.starts_with('-') && text != "-" {
                // What follows is code, and no file.
                is_code = text.ends_with('c') || matches!(text.as_str(), "-e" | "-m" | "--eval" | "-p");
                continue;
            }
            // The file that is run; what stands behind it are its arguments.
            return leads_there(word);
        }
        false
    };
    let loads = |words: &[HookWord]| match loading::of_command(words, places) {
        WordsReach::Nothing => false,
        WordsReach::Workspace => true,
        // What nobody reads may be anything.
        WordsReach::Text(text) => DEEPEST <= depth || reaching(&text, places, depth + 1).is_some(),
    };
    let words = commands.iter().find(|words| !is_arm(words) && (loads(words) || reaches(words)))?;
    let shown = words.iter().map(HookWord::text).skip_while(|word| places::is_control(word));
    Some(shown.collect::<Vec<_>>().join(" "))
}

/// True if one of these is a shell that reads its commands from where another command puts them out.
fn reads_commands(commands: &[Vec<HookWord>]) -> bool {
    commands.iter().any(|words| {
        let mut words = words.iter().map(HookWord::text).skip_while(|text| BEFORE.contains(&text.as_str()));
        let is_shell = words.next().is_some_and(|program| {
            let name = program.rsplit('/').next().unwrap_or_default();
            name.ends_with("sh") && INTERPRETERS.contains(&name)
        });
        is_shell && words.all(|word| word.starts_with('-') && !word.ends_with('c'))
    })
}

/// True if a text gives this variable a value of its own that is a path from where the text is run.
fn is_given_path(text: &str, name: &str) -> bool {
    text.match_indices(&format!("{name}=")).any(|(at, found)| {
        let is_whole = !text[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        let value = text[at + found.len()..].trim_start_matches(['"', '\'']);
        is_whole && value.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '.')
    })
}

/// True if a text may write what a command puts out into a file.
fn writes(text: &str) -> bool {
    let mut outputs = text.split('>').skip(1).map(|behind| behind.trim_start_matches(['|', ' ']));
    outputs.any(|behind| !behind.is_empty() && !behind.starts_with('&') && !behind.starts_with("/dev/null"))
}

/// True of a Python that takes modules from the folder it is started in. That it takes none is said in its environment, which some options and
/// wrappers have it ignore.
fn loads_from_folder(program: &str, words: &[HookWord]) -> bool {
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text().as_str()));
    let is_python = program.starts_with("python") || program.starts_with("pypy");
    let texts: Vec<String> = words.iter().map(HookWord::text).collect();
    // Letters of options may stand together: `-Ec`. What stands behind `-c` is code.
    let options = texts.iter().skip(1).take_while(|text| !text.ends_with('c') || !text.starts_with('-'));
    let letters = |letter: char| {
        let is_so =
            |text: &&String| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        options.clone().any(|text| is_so(&text))
            || texts.iter().any(|text| is_so(&text) && text.ends_with('c'))
    };
    let is_cleared = has(&["-i", "-", "--ignore-environment"])
        && texts.iter().any(|text| text == "env" || text.ends_with("/env"));
    let is_told = texts.iter().any(|text| text.contains("PYTHONSAFEPATH"));
    is_python && !letters('I') && !letters('P') && (letters('E') || is_cleared || is_told)
}

/// The folder that a pattern searches: what stands before its first letter that is one.
fn fixed_folder(word: &HookWord, first: &str, home: &Path) -> Option<PathBuf> {
    let fixed: String = word
        .letters
        .iter()
        .take_while(|(letter, quoting)| *quoting != Quoting::None || !PATTERN.contains(letter))
        .map(|(letter, _)| letter)
        .collect();
    let folder = fixed.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = if fixed.starts_with('/') && folder.is_empty() { "/" } else { folder };
    // Nobody can tell where a variable leads.
    let folder = Some(filled(folder, first, home)).filter(|folder| !folder.contains('$'))?;
    Some(lexical(&Path::new(first).join(folder)))
}

fn is_below(path: &Path, roots: &[String]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_run_a_file_of_the_workspace_is_told_from_what_takes_one_as_an_argument() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("tools")).unwrap();
        let roots = [root.to_str().unwrap().to_owned()];
        let home = Path::new("/home/ann");
        for text in [
            "sh tools/gua*.sh",
            ". tools/gu?rd.sh",
            "for f in tools/*.sh; do sh $f; done",
            "find tools -name '*.sh' -exec sh {} \\;",
            "ls tools/*.sh | head -1 | xargs sh",
            "T=tools; sh $T/guard.sh",
            "sh -c \"sh tools/${X:-guard}.sh\"",
            "python3 tools",
            "make -C tools",
            "sh \"$CLAUDE_PROJECT_DIR\"/tools/*.sh",
            "echo x; run-parts \"$CLAUDE_PROJECT_DIR/tools\"",
            "python3 -E -c 'import json'",
            "python3 -Ec 'import json'",
            "env -i /usr/bin/python3 -c 'import json'",
            "env -u PYTHONSAFEPATH python3 -c 'import json'",
            "PYTHONSAFEPATH= python3 -c 'import json'",
            "cat tools/*.sh > /home/ann/x; /home/ann/x",
            "[[ -f x ]] && sh tools/*.sh",
        ] {
            assert_ne!(of_text(text, &roots, home, &[]), WorkspaceReach::Nothing, "{text}");
        }
        for text in [
            "jq -r '.tool_input.file_path | select(test(\"[.]ts$\"))'",
            "python3 -I -E -c 'import json'",
            "python3 -Ic 'import json'",
            "python3 ~/.claude/hooks/check.py \"$FILE\"",
            "python3 -c \"import json, sys; print(json.load(sys.stdin)['x'])\"",
            "bash \"$HOME/.claude/hooks/guard.sh\" $ARGS",
            "notify-send 'done?' \"$MSG\"",
            "ls /etc/*.conf",
            "grep -E '^[a-z]*$' tools/list",
            "cat > /dev/null # sh $T/*",
            "curl -s https://example.com/?a=b --data \"$X\"",
            // What a variable of nobody's holds, and what a program finds in its folder, is the person's to know; the manual says so.
            "node -e 'require(\"fs\").writeFileSync(\"x\", \"\")'",
            "_R=\"${CLAUDE_PLUGIN_ROOT}\"; [ -z \"$_R\" ] && _R=\"$HOME/.claude/plugins/x\"; node \"$_R/run.js\"",
            "python3.11 -u \"$SCRIPT\"",
            "$T/guard.sh",
            "true",
            "[[ 1 == 1 ]] && echo \"${BASH_VERSION:+bash}\" > /home/ann/shell",
            "case \"$FILE\" in *.py) notify-send \"$FILE\" ;; esac",
            "case \"$FILE\" in *.py) notify-send py ;; (*.md|*.txt) sh ~/text.sh ;; esac",
            "for v in \"${X:-$HOME/.claude}/plugins\"/[0-9]*/; do [ -d \"$v\" ] && node \"$v/run.js\"; done",
            "N=${FILE##*/}; M=${N%%[!0-9]*}; [ -n \"$M\" ] && node \"$HOME/run.js\" \"${N%%.*}\" ${M%*}",
            "if [[ \"$FILE\" == *.lock ]]; then echo no 2>/dev/null; exit 2; fi",
            "cat *.md | wc -l >&2",
        ] {
            // A letter of a pattern that no quotes hide is one for the shell, too.
            let text = text.replace("/?a", "/%3Fa");
            assert_eq!(of_text(&text, &roots, home, &[]), WorkspaceReach::Nothing, "{text}");
        }
    }
}
