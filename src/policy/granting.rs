//! Of which kind is a command, by its first words? Who allows one by its words allows those of its kind, and no others (spec 06,
//! "Outcomes").
//!
//! Pure words: what a command runs in turn, writes, or names outside of the workspace is told apart from them, and restricts
//! what is allowed by itself. A kind ends before the first argument that varies; options that make the command change
//! something, or not, are of the kind. A command has one only where each of its words is known: with any other option it might
//! run or write something else.

use protocol::CommandWord;

mod tables;

use tables::{AMONG_TARGETS, CommandKind, HARMLESS, KINDS, REMOTE, TARGETS};

/// Its first words: `cargo test`, `gh pr view`, `npm run build`, `cargo fmt --check`. `None` where it has no kind.
pub(super) fn kind(command: &[CommandWord]) -> Option<Vec<&str>> {
    let words: Vec<&str> = command.iter().map(CommandWord::known).collect::<Option<_>>()?;
    let words = without_harmless(words);
    let (program, rest) = words.split_first()?;
    if TARGETS.contains(program) {
        // Each further target is something else that is done.
        let length = 1 + rest.iter().take_while(|word| is_name(word)).count();
        let is_told = |word: &str| AMONG_TARGETS.contains(&word) || is_number_of_jobs(word);
        return (length > 1 && words[length..].iter().all(|word| is_told(word)))
            .then(|| words[..length].to_vec());
    }
    let (kind, named) = KINDS.iter().find_map(|kind| Some((kind, kind.named(&words)?)))?;
    let is_of_kind = |word: &&&str| has(&kind.trying, word) || has(&kind.changing, word);
    let length = named + words[named..].iter().take_while(is_of_kind).count();
    let is_known = kind.knows(&words[length..]) && !names_remote(&words[..named], &words[named..]);
    // `--check false` checks nothing.
    let is_untried = words[length..].iter().any(|word| ["false", "0", "no", "none"].contains(word));
    let is_trying = words[named..length].iter().any(|word| has(&kind.trying, word));
    (is_known && !(is_trying && is_untried)).then(|| words[..length].to_vec())
}

/// True if a command is of this kind, or only tries what commands of this kind do.
pub(super) fn is_of_kind(granted: &[String], command: &[CommandWord]) -> bool {
    let Some(kind) = kind(command) else { return false };
    let begins = kind.len() >= granted.len() && kind.iter().zip(granted).all(|(word, wanted)| word == wanted);
    let tries = |word: &&str| KINDS.iter().any(|row| row.named(&kind).is_some() && has(&row.trying, word));
    begins && kind[granted.len()..].iter().all(tries)
}

impl CommandKind {
    /// The number of words that name what is done; `None` where the command is not of this kind.
    fn named(&self, words: &[&str]) -> Option<usize> {
        let begins: Vec<&str> = self.begins.split(' ').collect();
        let is_one = |(one_of, word): (&&str, &&str)| one_of.split('|').any(|name| name == *word);
        if words.len() < begins.len() || !begins.iter().zip(words).all(is_one) {
            return None;
        }
        match self.is_script {
            true => words.get(begins.len()).filter(|word| is_name(word)).map(|_| begins.len() + 1),
            false => Some(begins.len()),
        }
    }

    /// True where each of these words leaves the command what it is.
    fn knows(&self, words: &[&str]) -> bool {
        let separator = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let (before, behind) = words.split_at(separator);
        // Programs read more of their words from such a file.
        let is_file_of_words = |word: &&str| word.starts_with('@') && !self.begins.starts_with("git ");
        let behind = behind.get(1..).unwrap_or_default();
        let is_known_behind = |word: &&str| match &self.behind {
            Some(options) => !word.starts_with('-') || is_one_of(options, word),
            // Operands, whatever they look like.
            None => true,
        };
        !words.iter().any(is_file_of_words)
            && before.iter().all(|word| !word.starts_with('-') || *word == "-" || self.has_option(word))
            && behind.iter().all(is_known_behind)
    }

    fn has_option(&self, word: &str) -> bool {
        is_one_of(&self.options, word) || self.has_letters(word)
    }

    /// `-la`, `-A3`, `-20`
    fn has_letters(&self, word: &str) -> bool {
        let letters = word.trim_start_matches('-');
        let bare = letters.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let is_number = bare.is_empty() && !letters.is_empty() && takes_number(&self.begins);
        let is_one_hyphen = word.len() - letters.len() == 1;
        let is_known = |letter: char| self.letters.contains(letter);
        let are_known =
            letters.chars().all(|letter| is_known(letter) || !bare.is_empty() && letter.is_ascii_digit());
        is_one_hyphen && !letters.is_empty() && (is_number || are_known)
    }
}

/// True if an option is one of these, alone or with a value behind `=`.
fn is_one_of(options: &[String], word: &str) -> bool {
    has(options, word.split_once('=').map_or(word, |(name, _)| name))
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|other| other == word)
}

/// True if a number is an option of commands that begin so: how many lines or commits are shown.
fn takes_number(begins: &str) -> bool {
    ["head", "tail", "git log|shortlog|show|rev-list", "git stash list|show"].contains(&begins)
}

/// True if a word behind the kind's own names another machine, or what is written in the repository.
fn names_remote(kind: &[&str], words: &[&str]) -> bool {
    let kind = kind.join(" ");
    let letters = REMOTE.iter().filter(|(of, _)| *of == kind).flat_map(|(_, letters)| *letters);
    letters.into_iter().any(|letter| words.iter().any(|word| word.contains(*letter)))
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

    fn words(command: &str) -> Vec<CommandWord> {
        command.split_whitespace().map(|word| CommandWord::Known(word.to_owned())).collect()
    }

    #[test]
    fn the_table_can_be_read() {
        assert!(KINDS.len() > 50, "{}", KINDS.len());
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
            ("git add -n .", "git add -n"),
            ("black --diff src", "black --diff"),
            ("npm run lint -- --quiet", "npm run lint"),
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
            "yarn node build.js",
            "yarn workspace web run x",
            "pnpm recursive run x",
            "pnpm tsx x",
            "cargo watch -x test",
            "cargo test -- --logfile=x",
            "cargo clippy -- -C linker=x",
            "mix eval x",
            "mix do test",
            "dotnet build @x",
            "dotnet script x",
            "npm run lint -prefix=x",
            "npm run lint ---script-shell=x",
            "npm run lint -- --fix",
            "npm audit",
            "npm version",
            "cargo publish -n",
            "go test -coverprofile=x",
            "go vet -fix",
            "pytest --debug=x",
            "pytest --cov-report=html:x",
            "eslint --cache --cache-location x",
            "swift package reset",
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
            ("git add", "git add -n ."),
            ("npm test", "npm test -- --grep x"),
        ] {
            assert!(is_granted(granted, command), "{granted}: {command}");
        }
        for (granted, command) in [
            ("cargo fmt --check", "cargo fmt"),
            ("git add -n", "git add ."),
            ("black --diff", "black src"),
            ("isort -c", "isort src"),
            ("go mod tidy -diff", "go mod tidy"),
            ("git fetch --dry-run", "git fetch --dry-run=false"),
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
