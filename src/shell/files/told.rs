//! Programs whose options are whole words: which of them name what it writes? Compilers, and programs that read `-out` as others
//! read `--out`.
//!
//! Nothing is skipped here as the value of another option, so that no option hides behind one of which nobody knows whether it
//! has a value.

use crate::{
    risk,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

use super::FileEffect;

/// Options of a program that name what it writes. Without their hyphens, of which there may be one or two.
struct OutputOptions {
    names: &'static [&'static str],
    files: &'static [&'static str],
    /// Folders in which it writes what only running it would tell.
    folders: &'static [&'static str],
    spelling: OptionSpelling,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionSpelling {
    /// In full; the value is the next word, or stands behind `=`.
    Whole,
    /// In any case.
    AnyCase,
    /// Long ones may be cut short.
    Shortened,
    /// The value of a letter may stand behind it without a blank.
    Attached,
}

const TOLD: &[OutputOptions] = &[
    OutputOptions {
        names: &["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "ld", "as", "rustc"],
        files: &["o", "output", "MF", "MJ", "aux-info", "Map"],
        folders: &["out-dir", "dumpdir", "fprofile-dir", "fprofile-generate"],
        spelling: OptionSpelling::Attached,
    },
    OutputOptions {
        names: &["go"],
        files: &[
            "o",
            "blockprofile",
            "coverprofile",
            "cpuprofile",
            "memprofile",
            "mutexprofile",
            "test.blockprofile",
            "test.coverprofile",
            "test.cpuprofile",
            "test.memprofile",
            "test.mutexprofile",
            "test.trace",
            "trace",
        ],
        folders: &["outputdir", "test.gocoverdir", "test.outputdir"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["terraform", "tofu"],
        files: &["backup", "generate-config-out", "out", "state", "state-out"],
        folders: &["chdir"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["tsc"],
        files: &["generatecpuprofile", "out", "outfile", "tsbuildinfofile"],
        folders: &["declarationdir", "generatetrace", "outdir"],
        spelling: OptionSpelling::AnyCase,
    },
    OutputOptions {
        names: &["ctest"],
        files: &["O", "output-junit", "output-log"],
        folders: &["test-dir"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["pytest", "py.test"],
        files: &[
            "benchmark-json",
            "html",
            "json-report-file",
            "junit-xml",
            "junitxml",
            "log-file",
            "report-log",
            "resultlog",
        ],
        folders: &["basetemp"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["mypy"],
        files: &["junit-xml"],
        folders: &[
            "any-exprs-report",
            "cache-dir",
            "cobertura-xml-report",
            "html-report",
            "linecount-report",
            "linecoverage-report",
            "lineprecision-report",
            "txt-report",
            "xml-report",
            "xslt-html-report",
            "xslt-txt-report",
        ],
        spelling: OptionSpelling::Shortened,
    },
    OutputOptions {
        names: &["ruff", "eslint", "stylelint"],
        files: &["cache-file", "cache-location", "o", "output-file"],
        folders: &["cache-dir"],
        spelling: OptionSpelling::Attached,
    },
    OutputOptions {
        names: &["cargo"],
        // Of its own, and of what it runs behind `--`.
        files: &["logfile", "o"],
        folders: &["artifact-dir", "build-dir", "out-dir", "target-dir"],
        spelling: OptionSpelling::Attached,
    },
    OutputOptions {
        names: &["npm", "pnpm"],
        files: &[],
        folders: &["cache", "logs-dir", "pack-destination"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["dotnet"],
        files: &["diag"],
        folders: &["artifacts-path", "o", "output", "results-directory"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["swift"],
        files: &["xunit-output"],
        folders: &["build-path", "cache-path", "scratch-path"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["gh"],
        files: &["O", "output"],
        folders: &["D", "dir"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["helm"],
        files: &[],
        folders: &["d", "destination", "output-dir"],
        spelling: OptionSpelling::Whole,
    },
    OutputOptions {
        names: &["kubectl"],
        files: &["profile-output"],
        folders: &["cache-dir", "output-directory"],
        spelling: OptionSpelling::Whole,
    },
];

/// Options of `cargo new` and its like whose next word is no folder.
const OF_NEW: &[&str] = &["--color", "--config", "--edition", "--name", "--registry", "--vcs"];

impl ScriptWalk<'_> {
    /// What a program of the table writes.
    pub(super) fn told(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        let Some(told) = TOLD.iter().find(|told| told.names.contains(&base)) else { return };
        let does = |names: &[&str]| {
            risk::sub_commands(args).any(|word| word.known().is_none_or(|text| names.contains(&text)))
        };
        // All that lies in it goes first.
        let is_emptied = matches!(base, "pytest" | "py.test") || base == "cargo" && does(&["clean"]);
        let below = if is_emptied { FileEffect::RemovesBelow } else { FileEffect::WritesBelow };
        for (at, arg) in args.iter().enumerate() {
            let next = args.get(at + 1);
            for value in told.spelling.values(arg, next, told.files) {
                self.changes(&value, FileEffect::Writes, scope);
            }
            for value in told.spelling.values(arg, next, told.folders) {
                self.changes(&value, below, scope);
            }
            // It may be any option.
            if arg.known().is_none() && arg.may_be_option() {
                self.changes(&WordValue::unknown(arg.raw()), FileEffect::Writes, scope);
            }
            for file in handed_on(base, arg, next) {
                self.changes(&WordValue::literal(&file), FileEffect::Writes, scope);
            }
        }
        if base == "cargo" && does(&["init", "new", "vendor"]) {
            self.makes_folder(args, scope);
        }
    }

    /// The operands of `cargo new`.
    fn makes_folder(&mut self, args: &[WordValue], scope: &CommandScope) {
        let is_sub_command = |arg: &WordValue| matches!(arg.known(), Some("init" | "new" | "vendor"));
        let begin = args.iter().position(is_sub_command).map_or(0, |at| at + 1);
        for (at, arg) in args.iter().enumerate().skip(begin) {
            let is_value = at > 0 && OF_NEW.iter().any(|option| args[at - 1].is(option));
            if !is_value && !arg.lead().starts_with('-') {
                self.changes(arg, FileEffect::WritesBelow, scope);
            }
        }
    }
}

/// Files in a word of several parts, as compilers hand some on: `-Wl,-Map=x`, `-Wp,-MD,x`, `--emit=link=x`, `-C incremental=x`,
/// `--cov-report=xml:x`.
fn handed_on(base: &str, arg: &WordValue, next: Option<&WordValue>) -> Vec<String> {
    const HANDED_ON: &[&str] = &["-Map", "--Map", "-MD", "-MMD", "-MF", "-o", "--output"];
    const SETTINGS: &[&str] = &["incremental=", "profile-generate=", "self-profile="];
    let text = arg.hollow();
    let next = next.map(WordValue::hollow).unwrap_or_default();
    if matches!(base, "pytest" | "py.test") {
        let report = match text.strip_prefix("--cov-report") {
            Some("") => next.as_str(),
            report => report.unwrap_or_default(),
        };
        return report.split_once(':').map(|(_, file)| file.to_owned()).into_iter().collect();
    }
    if matches!(base, "cargo" | "rustc") {
        let kinds = match text.strip_prefix("--emit") {
            Some("") => next.as_str(),
            Some(kinds) => kinds,
            None => "",
        };
        let emitted = kinds.trim_start_matches('=').split(',').filter_map(|kind| kind.split_once('='));
        let setting = match text.as_str() {
            "-C" | "-Z" | "--codegen" => next.as_str(),
            _ => text.trim_start_matches("--codegen=").trim_start_matches("-C").trim_start_matches("-Z"),
        };
        let set = SETTINGS.iter().filter_map(|name| setting.strip_prefix(name));
        return emitted.map(|(_, file)| file).chain(set).map(str::to_owned).collect();
    }
    if !["-Wl,", "-Wp,", "-Wa,"].iter().any(|beginning| text.starts_with(beginning)) {
        return Vec::new();
    }
    let parts: Vec<&str> = text.split(',').collect();
    let joined = parts.iter().filter_map(|part| part.split_once('='));
    let apart = parts.windows(2).map(|pair| (pair[0], pair[1]));
    let files = joined.chain(apart).filter(|(name, _)| HANDED_ON.contains(name));
    files.map(|(_, file)| file.to_owned()).collect()
}

impl OptionSpelling {
    /// The value of `arg` where that is one of the options, without the `-` that stands for the output.
    fn values(self, arg: &WordValue, next: Option<&WordValue>, options: &[&str]) -> Vec<WordValue> {
        let lead = arg.lead();
        let Some(name) = lead.strip_prefix('-') else { return Vec::new() };
        let is_long = name.starts_with('-');
        let name = name.strip_prefix('-').unwrap_or(name);
        let hyphens = lead.len() - name.len();
        let mut values = Vec::new();
        for option in options {
            let given = name.split_once('=').map_or(name, |(given, _)| given);
            let is_meant = match self {
                OptionSpelling::AnyCase => given.eq_ignore_ascii_case(option),
                OptionSpelling::Shortened if is_long => given.len() > 2 && option.starts_with(given),
                OptionSpelling::Whole | OptionSpelling::Attached | OptionSpelling::Shortened => {
                    given == *option
                }
            };
            if is_meant && given.len() < name.len() {
                values.push(arg.after(hyphens + given.chars().count() + 1));
            } else if is_meant {
                values.extend(next.cloned());
            } else if self == OptionSpelling::Attached
                && !is_long
                && option.len() <= 2
                && name.starts_with(option)
            {
                values.push(arg.after(1 + option.chars().count()));
            }
        }
        values.retain(|value| !value.is("-"));
        values
    }
}
