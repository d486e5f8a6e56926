//! Of which kind is a command, by its first words? Who allows one by its words allows those of its kind, and no others (spec 06,
//! "Outcomes").
//!
//! Pure words: what a command runs in turn, writes, or names outside of the workspace is told apart from them, and restricts
//! what is allowed by itself. A kind ends before the first argument that varies; options that make the command change
//! something, or not, are of the kind. Where the words do not say what a command does, it has none.

use crate::protocol::Word;

mod tables;

use tables::{
    AMONG_TARGETS, CHANGING, GIT, HARMLESS, LONG_BEHIND_ONE_HYPHEN, NESTED, NOT_CUT_SHORT, ONE_WORD, REMOTE,
    RUNNING, SCRIPTS, TARGETS, TRYING, WITH_SUB_COMMANDS,
};

/// Its first words: `cargo test`, `gh pr view`, `npm run build`, `cargo fmt --check`. `None` where it has no kind.
pub(super) fn kind(command: &[Word]) -> Option<Vec<&str>> {
    let words: Vec<&str> = command.iter().map(Word::known).collect::<Option<_>>()?;
    let words = without_harmless(words);
    let (program, rest) = words.split_first()?;
    let named = named(program, rest)?;
    let mut length = named;
    if TARGETS.contains(program) {
        // Each further target is something else that is done.
        length += words[named..].iter().take_while(|word| is_name(word)).count();
        let is_told =
            words[length..].iter().all(|word| AMONG_TARGETS.contains(word) || is_number_of_jobs(word));
        return is_told.then(|| words[..length].to_vec());
    }
    length += words[named..].iter().take_while(|word| tells(&words[..named.min(2)], word)).count();
    // Behind other arguments nobody would look for it.
    let is_told = !words[length..].iter().any(|word| tells(&words[..named.min(2)], word));
    // `--dry-run false` is a real one.
    let is_untried = words[length..].iter().any(|word| ["false", "0", "no", "none"].contains(word));
    let is_trying = words[..length].iter().any(|word| tries(word));
    (is_told && !(is_trying && is_untried)).then(|| words[..length].to_vec())
}

/// Whether a command is of this kind, or only tries what commands of this kind do.
pub(super) fn is_of_kind(granted: &[String], command: &[Word]) -> bool {
    let Some(kind) = kind(command) else { return false };
    let begins = kind.len() >= granted.len() && kind.iter().zip(granted).all(|(word, wanted)| word == wanted);
    begins && kind[granted.len()..].iter().all(|word| tries(word))
}

/// How many words name what the command does.
fn named(program: &str, rest: &[&str]) -> Option<usize> {
    if ONE_WORD.contains(&program) {
        return Some(1);
    }
    let (sub_command, rest) = rest.split_first().filter(|(word, _)| is_name(word))?;
    if RUNNING.contains(sub_command) && !is_script(program, sub_command) {
        return None;
    }
    let is_remote = |(of, name, letters): &(&str, &str, &[char])| {
        *of == program && name == sub_command && rest.iter().any(|word| word.contains(*letters))
    };
    if REMOTE.iter().any(is_remote) {
        return None;
    }
    let third = || rest.first().filter(|word| is_name(word) && !RUNNING.contains(*word)).map(|_| 3);
    if is_script(program, sub_command) {
        return rest.first().filter(|word| is_name(word)).map(|_| 3);
    }
    let is_nested =
        |(of, words): &&(&str, &[&str])| *of == program && (words.is_empty() || words.contains(sub_command));
    if NESTED.iter().any(|nested| is_nested(&nested)) {
        return third();
    }
    let is_known = match program {
        "git" => GIT.contains(sub_command),
        _ => WITH_SUB_COMMANDS.contains(&program) && !RUNNING.contains(sub_command),
    };
    is_known.then_some(2)
}

/// Without options that stand before what is done and change nothing of it.
fn without_harmless(mut words: Vec<&str>) -> Vec<&str> {
    for harmless in HARMLESS {
        let after = harmless.after;
        if !words.starts_with(after) {
            continue;
        }
        while let Some(option) = words.get(after.len()) {
            let taken = match option {
                option if harmless.flags.contains(option) => 1,
                option if harmless.counts_jobs && is_number_of_jobs(option) => 1,
                option if harmless.valued.contains(option) => match words.get(after.len() + 1) {
                    // Anything else behind it is no number of jobs, but one more target.
                    Some(value) if !harmless.counts_jobs || is_number(value) => 2,
                    _ => break,
                },
                _ => break,
            };
            words.drain(after.len()..after.len() + taken);
        }
    }
    words
}

/// `-j8`
fn is_number_of_jobs(word: &str) -> bool {
    word.strip_prefix("-j").is_some_and(is_number)
}

/// Whether an option is of the kind of a command that begins with these words.
fn tells(named: &[&str], word: &str) -> bool {
    let is_meant =
        |programs: &[&str]| programs.contains(&named[0]) || programs.contains(&named.join(" ").as_str());
    let takes_bundles = !LONG_BEHIND_ONE_HYPHEN.contains(&named[0]);
    tries(word)
        || untries(word)
        || CHANGING.iter().any(|(programs, options)| {
            is_meant(programs) && options.iter().any(|option| may_be(option, word, takes_bundles))
        })
}

/// An option by which a command only says what it would do.
fn tries(word: &str) -> bool {
    TRYING.contains(&word) || ["--dry-run=client", "--dry-run=server"].contains(&word)
}

/// One that may take such an option back: `--no-check`, `--check=false`.
fn untries(word: &str) -> bool {
    let plain = word.strip_prefix("--no-").map(|rest| format!("--{rest}"));
    let is_meant = |word: &str| TRYING.iter().any(|option| may_be(option, word, false));
    is_meant(word) || plain.is_some_and(|plain| is_meant(&plain))
}

/// Whether a word may be this option: with a value behind it, cut short as programs let long ones be, or among other letters.
fn may_be(option: &str, word: &str, takes_bundles: bool) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    if word.starts_with("--") {
        return 2 < name.len() && option.starts_with(name) && !NOT_CUT_SHORT.contains(&name);
    }
    name == option
        || takes_bundles && option.len() == 2 && word.starts_with('-') && word.contains(&option[1..])
}

/// Whether the word behind is a script of the workspace.
fn is_script(program: &str, word: &str) -> bool {
    SCRIPTS.iter().any(|(of, words)| *of == program && words.contains(&word))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit())
}

/// A name, not an option, a path, an assignment or a pattern.
fn is_name(text: &&str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "-_:+.".contains(letter);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.chars().all(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<Word> {
        command.split_whitespace().map(|word| Word::Known(word.to_owned())).collect()
    }

    #[test]
    fn a_kind_ends_before_what_varies() {
        for (command, expected) in [
            ("cargo test --lib", "cargo test"),
            ("cargo -q test", "cargo test"),
            ("git --no-pager -C src log -3", "git log"),
            ("gh pr view 12", "gh pr view"),
            ("git stash list --stat", "git stash list"),
            ("npm run --silent build", "npm run build"),
            ("make -j8 -k test", "make test"),
            ("make test lint -s", "make test lint"),
            ("pytest -q tests", "pytest"),
            ("eslint --fix src", "eslint --fix"),
            ("cargo fmt --check", "cargo fmt --check"),
            ("npm publish --dry-run", "npm publish --dry-run"),
        ] {
            assert_eq!(kind(&words(command)).unwrap().join(" "), expected, "{command}");
        }
        for command in [
            "cargo",
            "git",
            "git stash",
            "git checkout x",
            "git push",
            "gh pr",
            "gh 12 view",
            "docker run x",
            "npm run",
            "npm run $X/y",
            "make -j deploy test x/y",
            "npm publish --dry-run false",
            "gh api user",
            "git fetch . +HEAD:refs/heads/keep",
            "git fetch git@example.org:x",
            "git commit -m x --amen",
            "git shortlog HEAD --outp=x",
            "prettier . -lw",
            "kubectl get pods",
            "docker compose logs web",
            "mypy x",
            "go build ./x -o x",
            "make test SHELL=sh",
            "make -f x test",
            "make test ./x",
            "eslint src --fix",
            "cargo fmt -p x --check",
            "python x",
            "bash x",
            "cargo run",
            "cargo +nightly test",
            "rm x",
            "./x",
            "kubectl exec x",
            "cargo fmt --check x --no-check",
            "cargo rustc -- -o x",
            "cargo clippy -- -ox",
            "cargo test -- --logfile=x",
            "mix do run -e x",
            "mix eval x",
            "yarn node x",
            "yarn workspace a exec x",
            "yarn workspaces foreach exec x",
            "pnpm recursive exec x",
            "dotnet build x -p:PreBuildEvent=x",
            "dotnet msbuild x",
            "swift package",
            "swift build -c release -Xlinker x",
            "go vet ./x -fix",
            "eslint src -f x.js",
            "prettier --check src --plugin=x.js",
            "git fetch origin --prune-tags",
        ] {
            assert_eq!(kind(&words(command)), None, "{command}");
        }
    }

    #[test]
    fn a_grant_is_about_its_kind_and_what_only_tries_it() {
        let is_granted = |granted: &str, command: &str| {
            is_of_kind(&granted.split(' ').map(str::to_owned).collect::<Vec<String>>(), &words(command))
        };
        for (granted, command) in [
            ("cargo fmt", "cargo fmt --check"),
            ("cargo test", "cargo test x -- --nocapture"),
            ("make test", "make -j 8 test"),
        ] {
            assert!(is_granted(granted, command), "{granted}: {command}");
        }
        for (granted, command) in [
            ("cargo fmt --check", "cargo fmt"),
            ("npm publish --dry-run", "npm publish --dry-run=false"),
            ("make test", "make test deploy"),
            ("git stash", "git stash drop"),
            ("eslint", "eslint src --fix"),
            ("eslint", "eslint --fix"),
            ("find", "find . -delete"),
            // Made by an earlier version, which knew less of what the words do.
            ("gh pr", "gh pr merge 12"),
        ] {
            assert!(!is_granted(granted, command), "{granted}: {command}");
        }
    }
}
