//! Which programs only read, as data, the files that they are given?
//!
//! Whoever writes such a file decides what such a program prints or shows, and nothing of what is run. Not among them is what runs its input,
//! loads settings or libraries by its options, or keeps to options that are not known here.

use std::path::Path;

use crate::plain_text::{DATA, OWN_VALUE, PlainWord};

/// A program by its name, and the options by which it only reads.
struct DataReader {
    name: &'static str,
    /// The first words behind it, of which one must stand there; none = it has no commands of its own.
    verbs: &'static [&'static str],
    options: DataOptions,
    values: ValuePlaces,
    reading: DataReading,
}

/// The way that a program takes what it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataReading {
    /// To its output, or onto the screen.
    Here,
    /// To others too: a service, a log that they read.
    Sent,
}

/// The places of words of which nobody knows what they are: one could be whatever option there is.
enum ValuePlaces {
    Nowhere,
    /// Each of its options takes the next word for its value.
    BehindOptions,
    /// It takes nothing for an option behind a word that is none.
    BehindOperand,
}

/// The options by which a program only reads, or shows what it has read.
enum DataOptions {
    /// Whatever the option.
    All,
    These {
        /// Letters without a value.
        flags: &'static str,
        /// Letters with a value, attached or behind it.
        valued: &'static str,
        /// Whole words, without `=` and what is behind it.
        long: &'static [&'static str],
    },
}

const fn plain(name: &'static str) -> DataReader {
    DataReader {
        name,
        verbs: &[],
        options: DataOptions::All,
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
    }
}

const READERS: &[DataReader] = &[
    // https://www.gnu.org/software/coreutils/manual/coreutils.html: each copies its input to its output, or parts of it.
    plain("cat"),
    plain("head"),
    plain("tail"),
    plain("cut"),
    plain("tr"),
    plain("base64"),
    // https://www.gnu.org/software/grep/manual/grep.html: patterns may be read from a file as well.
    plain("grep"),
    // https://man7.org/linux/man-pages/man1/logger.1.html
    DataReader { reading: DataReading::Sent, ..plain("logger") },
    // https://man.archlinux.org/man/notify-send.1, https://dunst-project.org/documentation/dunstify: icons and hints.
    plain("notify-send"),
    plain("dunstify"),
    // https://man.archlinux.org/man/paplay.1: a sound.
    plain("paplay"),
    // https://www.gnupg.org/documentation/manuals/gnupg/: without --homedir, --options, --agent-program and the like.
    DataReader {
        name: "gpg",
        verbs: &[],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
        options: DataOptions::These {
            flags: "dqv",
            valued: "ur",
            long: &[
                "--decrypt",
                "--quiet",
                "--batch",
                "--yes",
                "--no-tty",
                "--no-verbose",
                "--verbose",
                "--for-your-eyes-only",
                "--no-permission-warning",
                "--no-greeting",
                "--no-secmem-warning",
                "--pinentry-mode",
                "--passphrase-file",
                "--passphrase-fd",
                "--use-agent",
                "--no-use-agent",
                "--local-user",
                "--recipient",
                "--trust-model",
                "--always-trust",
                "--ignore-mdc-error",
                "--skip-verify",
                "--no-mdc-warning",
                "--try-secret-key",
                "--status-fd",
                "--logger-fd",
            ],
        },
    },
    // https://github.com/FiloSottile/age/blob/main/doc/age.1.ronn
    DataReader {
        name: "age",
        verbs: &[],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
        options: DataOptions::These { flags: "d", valued: "i", long: &["--decrypt", "--identity"] },
    },
    // https://getsops.io/docs/: without `exec-env` and `exec-file`, --config and --keyservice.
    DataReader {
        name: "sops",
        verbs: &["-d", "--decrypt", "decrypt"],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
        options: DataOptions::These {
            flags: "d",
            valued: "",
            long: &["--decrypt", "--extract", "--input-type", "--output-type", "--ignore-mac"],
        },
    },
    // https://jqlang.org/manual/: without -f and -L, by which it loads filters.
    DataReader {
        name: "jq",
        verbs: &[],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
        options: DataOptions::These {
            flags: "rejcnsSaCMR",
            valued: "",
            long: &[
                "--raw-output",
                "--raw-input",
                "--exit-status",
                "--join-output",
                "--compact-output",
                "--null-input",
                "--slurp",
                "--sort-keys",
                "--ascii-output",
                "--color-output",
                "--monochrome-output",
                "--arg",
                "--argjson",
                "--rawfile",
                "--slurpfile",
                "--tab",
                "--indent",
            ],
        },
    },
    // https://mikefarah.gitbook.io/yq: without --from-file and -i.
    DataReader {
        name: "yq",
        verbs: &[],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Here,
        options: DataOptions::These {
            flags: "reM",
            valued: "op",
            long: &["--raw-output", "--unwrapScalar", "--exit-status", "--output-format", "--input-format"],
        },
    },
    // https://curl.se/docs/manpage.html: what it sends. Without -K, which loads options, --engine, and what it writes.
    DataReader {
        name: "curl",
        verbs: &[],
        values: ValuePlaces::Nowhere,
        reading: DataReading::Sent,
        options: DataOptions::These {
            flags: "sSfLGgk46",
            valued: "dFHTXmuA",
            long: &[
                "--data",
                "--data-ascii",
                "--data-binary",
                "--data-raw",
                "--data-urlencode",
                "--json",
                "--form",
                "--form-string",
                "--header",
                "--upload-file",
                "--request",
                "--user",
                "--silent",
                "--show-error",
                "--fail",
                "--fail-with-body",
                "--location",
                "--get",
                "--max-time",
                "--connect-timeout",
                "--retry",
                "--compressed",
            ],
        },
    },
    // https://docs.ntfy.sh/subscribe/cli/, https://docs.ntfy.sh/publish/: without --config and --wait-cmd.
    DataReader {
        name: "ntfy",
        verbs: &["publish", "pub", "send", "trigger"],
        values: ValuePlaces::BehindOperand,
        reading: DataReading::Sent,
        options: DataOptions::These {
            flags: "qCF",
            valued: "tmpTDUianfeuk",
            long: &[
                "--title",
                "--message",
                "--priority",
                "--tags",
                "--tag",
                "--file",
                "--filename",
                "--icon",
                "--click",
                "--attach",
                "--quiet",
                "--markdown",
                "--delay",
                "--at",
                "--in",
                "--email",
                "--token",
                "--user",
                "--no-cache",
                "--no-firebase",
            ],
        },
    },
    // https://github.com/julienXX/terminal-notifier: without -execute, -open and -activate.
    DataReader {
        name: "terminal-notifier",
        verbs: &[],
        values: ValuePlaces::BehindOptions,
        reading: DataReading::Here,
        options: DataOptions::These {
            flags: "",
            valued: "",
            long: &["-message", "-title", "-subtitle", "-sound", "-group", "-appIcon", "-contentImage"],
        },
    },
];

/// Folders of programs that are found by their names: there a path says no more than the name.
pub(super) const OF_SYSTEM: &[&str] = &["/bin", "/sbin", "/usr", "/opt", "/snap", "/nix", "/home/linuxbrew"];

/// True of a name that is one of these, whatever version it ends with.
pub(super) fn is_one_of(name: &str, names: &[&str]) -> bool {
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    names.contains(&name) || names.contains(&bare)
}

/// What a command does with the files among its words if its program, one of the system's by its name, only reads them.
pub(super) fn data_reading(words: &[PlainWord]) -> Option<DataReading> {
    let (program, given) = words.split_first()?;
    let program = program.literal()?;
    let is_named = !program.contains('/') || OF_SYSTEM.iter().any(|it| Path::new(program).starts_with(it));
    let name = program.rsplit('/').next().unwrap_or(program);
    let reader = READERS.iter().find(|it| is_one_of(name, &[it.name])).filter(|_| is_named);
    reader.filter(|reader| reader.only_reads(given)).map(|reader| reader.reading)
}

impl DataReader {
    fn only_reads(&self, given: &[PlainWord]) -> bool {
        let is_verb = |word: &PlainWord| word.literal().is_some_and(|text| self.verbs.contains(&text));
        if !self.verbs.is_empty() && !given.first().is_some_and(is_verb) {
            return false;
        }
        let DataOptions::These { flags, valued, long } = &self.options else { return true };
        let (mut before, mut has_operand) = (None, false);
        // Behind `--` stand no options; but not every program knows that.
        given.iter().skip(usize::from(!self.verbs.is_empty())).all(|word| {
            let text = word.text.as_str();
            let is_behind_option = before.replace(text).is_some_and(|it: &str| it.starts_with('-'));
            if text.starts_with([DATA, OWN_VALUE]) {
                return match self.values {
                    ValuePlaces::Nowhere => false,
                    ValuePlaces::BehindOptions => is_behind_option,
                    ValuePlaces::BehindOperand => has_operand,
                };
            }
            if !text.starts_with('-') || text == "-" || text == "--" {
                has_operand |= !is_behind_option;
                return true;
            }
            let name = text.split('=').next().unwrap_or(text);
            if long.contains(&name) {
                return true;
            }
            let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
                return false;
            };
            // `-sSd@file`: what is behind a letter with a value is that.
            let rest = letters.trim_start_matches(|letter| flags.contains(letter));
            rest.is_empty() || rest.starts_with(|letter| valued.contains(letter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(words: &[&str]) -> bool {
        let words: Vec<PlainWord> = words.iter().map(|text| PlainWord { text: (*text).to_owned() }).collect();
        data_reading(&words).is_some()
    }

    #[test]
    fn a_program_reads_data_by_options_that_are_known_alone() {
        for words in [
            &["cat", "-n", "x"][..],
            &["/usr/bin/head", "-n1", "x"],
            &["gpg", "-dq", "x"],
            &["gpg2", "--batch", "--quiet", "--decrypt", "x"],
            &["gpg", "--pinentry-mode", "loopback", "--passphrase-file", "p", "-d", "x"],
            &["age", "-d", "-i", "key", "x"],
            &["sops", "-d", "--extract", "[\"a\"]", "x"],
            &["jq", "-re", ".key", "x"],
            &["yq", "-r", ".a[0]", "x"],
            &["yq", "-o=json", ".key", "x"],
            &["curl", "-sSd", "@x", "https://h"],
            &["curl", "-sd@x", "https://h"],
            &["curl", "--silent", "--data-binary", "@x", "-H", "Title: a", "https://h"],
            &["ntfy", "publish", "--file", "x", "topic", "-"],
            &["notify-send", "-i", "x.png", "\0"],
            &["terminal-notifier", "-message", "a", "-appIcon", "x.png"],
            &["paplay", "x.oga"],
            &["ntfy", "publish", "-f", "x", "topic", "\0"],
            &["terminal-notifier", "-title", "a", "-message", "\0"],
        ] {
            assert!(reads(words), "{words:?}");
        }
        for words in [
            &["sh", "x"][..],
            &["~/bin/cat", "x"],
            &["/home/me/cat", "x"],
            &["./cat", "x"],
            &["gpg", "--options", "o", "-d", "x"],
            &["gpg", "--homedir=h", "-d", "x"],
            &["gpg", "-d", "--agent-program", "p", "x"],
            &["age", "-e", "-o", "x"],
            &["sops", "exec-env", "x", "c"],
            &["sops", "--config", "c", "-d", "x"],
            &["sops", "-d", "--keyservice", "k", "x"],
            &["jq", "-f", "x"],
            &["jq", "-rf", "x"],
            &["jq", "-L", "lib", ".", "x"],
            &["jq", "-Llib", ".", "x"],
            &["jq", "--from-file", "x"],
            &["jq", "\0", "x"],
            &["jq", "-r", ".x", "\0", "x"],
            &["jq", "-r", "\0", "x"],
            &["ntfy", "publish", "\0", "x"],
            &["ntfy", "publish", "-q", "\0", "x"],
            &["terminal-notifier", "\0"],
            &["yq", "-i", ".a", "x"],
            &["yq", "--from-file", "x", "y"],
            &["curl", "-K", "x"],
            &["curl", "-sKx"],
            &["curl", "--config=x"],
            &["curl", "--engine", "x", "https://h"],
            &["curl", "-so", "x", "https://h"],
            &["ntfy", "--config", "c", "publish", "topic"],
            &["ntfy", "publish", "--wait-cmd", "x"],
            &["ntfy", "subscribe", "--from-config"],
            &["terminal-notifier", "-message", "a", "-execute", "x"],
            &["sqlite3", "x", "select 1"],
            &["python3", "x"],
        ] {
            assert!(!reads(words), "{words:?}");
        }
    }
}
