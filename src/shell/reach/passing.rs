//! Commands beside which others do what they do without them: they print what they read of their input or what stands in
//! their words, or go to another folder.

use crate::{meaning, value::WordValue};

/// Flags that a program may have here, each a letter, and whether it may have one more word, which is no file.
struct Passing {
    names: &'static [&'static str],
    flags: &'static str,
    words: usize,
}

/// By the manuals of GNU coreutils and grep: none of these flags names a file, writes one or runs anything.
const PASSING: &[Passing] = &[
    Passing { names: &["head", "tail"], flags: "ncqvz", words: 0 },
    Passing { names: &["wc"], flags: "lwcmL", words: 0 },
    Passing { names: &["cat"], flags: "AbeEnstTuv", words: 0 },
    Passing { names: &["sort"], flags: "bdfghiMnRrVkuz", words: 0 },
    Passing { names: &["uniq"], flags: "cdDiuzfsw", words: 0 },
    Passing { names: &["cut"], flags: "bcdfnsz", words: 0 },
    Passing { names: &["tr"], flags: "cCdst", words: 2 },
    Passing { names: &["grep", "egrep", "fgrep"], flags: "EFGPivwxcohnbqsaTzABCm", words: 1 },
    Passing { names: &["true", "false", "pwd", ":"], flags: "", words: 0 },
    Passing { names: &["break", "continue", "exit", "sleep"], flags: "", words: 1 },
];

/// Long options that say nothing but how something is printed.
const LONG: &[&str] =
    &["--color=never", "--color=auto", "--color=always", "--line-buffered", "--lines", "--bytes"];

/// Programs that limit or measure the command in their words, which is told as one of its own.
const AROUND: &[&str] = &["timeout", "nice"];

/// True if a command of these words, all of which are known and of the workspace, passes on and no more.
pub(super) fn passes(name: &str, args: &[WordValue]) -> bool {
    let words: Vec<&str> = args.iter().filter_map(WordValue::known).collect();
    match name {
        "cd" => matches!(words.as_slice(), [folder] if !folder.starts_with('-')),
        // Its other options name files, and what is written there.
        "time" => words.iter().find(|word| **word != "-p").is_some_and(|command| !command.starts_with('-')),
        "command" => words.first().is_some_and(|first| !first.starts_with('-')),
        "env" => assigns_harmless(&words),
        // Its text is read like what stands around it.
        "bash" | "sh" => matches!(words.as_slice(), ["-c", _]),
        "set" => words.iter().all(|word| SETTINGS.contains(word)),
        _ if AROUND.contains(&name) => true,
        _ => PASSING.iter().any(|passing| passing.names.contains(&name) && passing.has_only(&words)),
    }
}

/// Of the shell itself: when it stops and what it prints.
const SETTINGS: &[&str] =
    &["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-o", "-eo", "-euo", "-euxo", "pipefail"];

/// `env NAME=value … command`, where none of the variables decides what commands do.
fn assigns_harmless(words: &[&str]) -> bool {
    let is_harmless = |word: &str| word.split_once('=').is_some_and(|(name, _)| meaning::is_harmless(name));
    let command = words.iter().find(|word| !is_harmless(word));
    command.is_some_and(|command| !command.starts_with('-') && !command.contains('='))
}

impl Passing {
    fn has_only(&self, words: &[&str]) -> bool {
        let mut others = 0;
        let mut is_value = false;
        for word in words {
            let may_be_value = std::mem::replace(&mut is_value, word.starts_with('-'));
            let is_number = may_be_value
                && !word.is_empty()
                && word.chars().all(|letter| letter.is_ascii_digit() || letter == '+');
            match word.strip_prefix('-') {
                _ if is_number || LONG.contains(word) => {}
                Some(flags) if !flags.is_empty() => {
                    let is_flag = |letter: char| {
                        letter.is_ascii_digit() || letter == ',' || self.flags.contains(letter)
                    };
                    if flags.starts_with('-') || !flags.chars().all(is_flag) {
                        return false;
                    }
                }
                _ => others += 1,
            }
        }
        others <= self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(command: &str) -> bool {
        let mut words = command.split_whitespace();
        let name = words.next().unwrap();
        super::passes(name, &words.map(WordValue::literal).collect::<Vec<WordValue>>())
    }

    #[test]
    fn what_only_prints_what_it_reads_passes() {
        for command in [
            "head -50",
            "tail -n 20",
            "tail -n +3",
            "wc -l",
            "cat",
            "sort -rn -k2,3",
            "uniq -c",
            "cut -f1,3",
            "tr a b",
            "grep -n failed",
            "grep -A 3 -E panicked|failed",
            "true",
            "cd src",
            "timeout 60 cargo test",
            "time -p cargo test",
            "grep --color=never -i error",
            "env RUST_BACKTRACE=1 CI=1 cargo test",
            "command ls -l",
            "set -euo pipefail",
            "break",
            "exit 1",
        ] {
            assert!(passes(command), "{command}");
        }
        for command in [
            "cat src/lib.rs",
            "tail -f log",
            "head file",
            "sort -o out",
            "sort -oout",
            "sort --compress-program=x",
            "uniq a b",
            "grep x file",
            "grep -r x",
            "grep -f patterns",
            "grep --include=x y",
            "cut -d : -f1 file",
            "cd",
            "cd -",
            "cd -P x",
            "tee out",
            "xargs rm",
            "sed p",
            "awk x",
            "tail --retry",
            "wc --files0-from=x",
            "sudo true x",
            "bash",
            "bash x",
            "bash -lc x",
            "env -i x",
            "env PATH=x ls",
            "env CI=1",
            "command -v x",
            "time -o out cargo test",
            "time -p -o out cargo test",
            "time -p --output=out cargo test",
            "set -- a",
        ] {
            assert!(!passes(command), "{command}");
        }
    }
}
