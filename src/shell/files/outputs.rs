//! Programs that write where their options or their last words say, by table: which of their words are files?

use crate::{
    options::{OptionSpec, ParsedArguments, anywhere, leading},
    place::PathTarget,
    runners::TIME,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

use super::FileEffect;

pub(super) const NONE: OptionSpec =
    OptionSpec { flags: "", valued: "", attached: "", long_flags: &[], long_valued: &[] };

/// One program, or several with the same options.
struct OutputProgram {
    names: &'static [&'static str],
    /// Enough of its options to tell values from operands.
    spec: OptionSpec,
    /// Options that name a file it writes.
    files: &'static [&'static str],
    /// Options that name a folder in which it writes what only running it would tell.
    folders: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy)]
enum Operands {
    /// It writes none of them.
    Read,
    /// It writes this one, counted from 0.
    Writes(usize),
    /// It writes the last one of several, or in it.
    LastBelow,
    /// It unpacks what the first names: here, unless an option names a folder.
    Unpacks,
}

const OUTPUTS: &[OutputProgram] = &[
    OutputProgram {
        names: &["sort"],
        spec: OptionSpec {
            valued: "kStoT",
            long_valued: &[
                "output",
                "key",
                "buffer-size",
                "field-separator",
                "temporary-directory",
                "compress-program",
                "files0-from",
                "batch-size",
                "parallel",
                "random-source",
            ],
            ..NONE
        },
        files: &["o", "output"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["shuf"],
        spec: OptionSpec { valued: "ino", long_valued: &["output", "input-range", "head-count"], ..NONE },
        files: &["o", "output"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["uniq"],
        spec: OptionSpec {
            valued: "fsw",
            long_valued: &["skip-fields", "skip-chars", "check-chars", "group", "all-repeated"],
            ..NONE
        },
        files: &[],
        folders: &[],
        operands: Operands::Writes(1),
    },
    OutputProgram {
        names: &["xxd"],
        spec: OptionSpec { valued: "cglosnR", ..NONE },
        files: &[],
        folders: &[],
        operands: Operands::Writes(1),
    },
    OutputProgram {
        names: &["objcopy"],
        spec: OptionSpec { valued: "IOFBjR", ..NONE },
        files: &[],
        folders: &[],
        operands: Operands::Writes(1),
    },
    OutputProgram {
        names: &["split"],
        spec: OptionSpec {
            valued: "abCnlt",
            long_valued: &["suffix-length", "bytes", "line-bytes", "number", "lines", "separator", "filter"],
            ..NONE
        },
        files: &[],
        folders: &[],
        operands: Operands::Writes(1),
    },
    OutputProgram {
        names: &["csplit"],
        spec: OptionSpec { valued: "fbn", long_valued: &["prefix", "suffix-format", "digits"], ..NONE },
        files: &["f", "prefix"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["less"],
        spec: OptionSpec { valued: "oObhjkpPtTxyzD", long_valued: &["log-file", "LOG-FILE", "tag"], ..NONE },
        files: &["o", "O", "log-file", "LOG-FILE"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["tree"],
        spec: OptionSpec { valued: "LPIoHT", ..NONE },
        files: &["o"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["iconv"],
        spec: OptionSpec { valued: "fto", long_valued: &["from-code", "to-code", "output"], ..NONE },
        files: &["o", "output"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["patch"],
        spec: OptionSpec {
            valued: "idopBDFrxYzVg",
            long_valued: &[
                "input",
                "directory",
                "output",
                "strip",
                "reject-file",
                "fuzz",
                "prefix",
                "suffix",
            ],
            ..NONE
        },
        files: &["o", "output", "r", "reject-file"],
        folders: &["d", "directory"],
        operands: Operands::Writes(0),
    },
    // Other letters have a value for some of them and none for others: in the same word it is no letter, in the next no option.
    OutputProgram {
        names: &["bison", "flex", "strip", "dot", "pandoc", "gpg", "gpg2", "xmllint", "xsltproc", "sdiff"],
        spec: OptionSpec { valued: "o", attached: "DILTUlx", long_valued: &["output"], ..NONE },
        files: &["o", "output"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["tcpdump"],
        spec: OptionSpec { valued: "w", attached: "BCEFGTVWcijmMQrsyz", ..NONE },
        files: &["w"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["awk", "gawk", "mawk"],
        spec: OptionSpec {
            valued: "FvfeEilbW",
            attached: "odp",
            long_valued: &["field-separator", "assign", "file", "source", "exec", "include", "load"],
            long_flags: &["pretty-print", "dump-variables", "profile"],
            ..NONE
        },
        files: &["o", "d", "p", "pretty-print", "dump-variables", "profile"],
        folders: &[],
        operands: Operands::Read,
    },
    OutputProgram {
        names: &["zip"],
        spec: OptionSpec { valued: "xiPtbn", ..NONE },
        files: &[],
        folders: &[],
        operands: Operands::Writes(0),
    },
    OutputProgram {
        names: &["unzip"],
        spec: OptionSpec { valued: "dxP", ..NONE },
        files: &[],
        folders: &["d"],
        operands: Operands::Unpacks,
    },
    OutputProgram {
        names: &["rsync"],
        spec: OptionSpec {
            valued: "efTBM",
            long_valued: &[
                "rsh",
                "filter",
                "exclude",
                "include",
                "exclude-from",
                "include-from",
                "files-from",
                "log-file",
                "temp-dir",
                "partial-dir",
                "backup-dir",
                "port",
                "bwlimit",
                "timeout",
                "chmod",
            ],
            ..NONE
        },
        files: &["log-file"],
        folders: &["T", "temp-dir", "partial-dir", "backup-dir"],
        operands: Operands::LastBelow,
    },
    OutputProgram {
        names: &["scp"],
        spec: OptionSpec { valued: "cDFiJloPSX", ..NONE },
        files: &[],
        folders: &[],
        operands: Operands::LastBelow,
    },
    OutputProgram {
        names: &["wget"],
        spec: super::transfers::WGET,
        files: &[
            "o",
            "output-file",
            "a",
            "append-output",
            "save-cookies",
            "warc-file",
            "rejected-log",
            "hsts-file",
        ],
        folders: &["P", "directory-prefix"],
        operands: Operands::Read,
    },
];

/// True if `patch` is told where to work, or what to write.
fn parsed_folder(args: &[WordValue]) -> bool {
    args.iter().any(|arg| ["-d", "--d", "-o", "--o"].iter().any(|option| arg.lead().starts_with(option)))
}

/// True if a letter is among short options.
fn has_letter(args: &[WordValue], letter: char) -> bool {
    let is_short = |lead: &str| lead.starts_with('-') && !lead.starts_with("--");
    args.iter().map(WordValue::lead).any(|lead| is_short(&lead) && lead.contains(letter))
}

impl ScriptWalk<'_> {
    /// What a program of the table writes.
    pub(super) fn outputs(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        self.told(base, args, scope);
        match base {
            "tar" | "bsdtar" | "gtar" => return self.archives(args, scope),
            "git" => return self.git_writes(args, scope),
            "time" => return self.measures(args, scope),
            "split" | "csplit" => self.cuts(base, args, scope),
            "tree" if has_letter(args, 'R') => {
                self.changes(&WordValue::literal("."), FileEffect::WritesBelow, scope)
            }
            "file" => return self.compiles_magic(args, scope),
            "patch" if !parsed_folder(args) => self.unpacks_here(scope),
            "openssl" => return self.follow(args, &["-out", "-keyout", "-writerand"], scope),
            _ => {}
        }
        let Some(output) = OUTPUTS.iter().find(|output| output.names.contains(&base)) else { return };
        let parsed = anywhere(&output.spec, args);
        let has_options = !output.files.is_empty() || !output.folders.is_empty();
        // awk takes none behind its program, and what stands in the program's place is asked about elsewhere.
        if has_options && !base.ends_with("awk") {
            self.hidden_targets(&parsed, scope);
        }
        if base == "patch" {
            self.keeps_backups(&parsed, &["z", "suffix"], scope);
        }
        self.named(&parsed, output.files, FileEffect::Writes, scope);
        self.named(&parsed, output.folders, FileEffect::WritesBelow, scope);
        match output.operands {
            Operands::Read => {}
            Operands::Writes(at) => {
                // One that may be several words moves the others.
                let before = parsed.operands.get(..at).unwrap_or_default();
                let moved = before.iter().find(|operand| operand.may_split());
                if let Some(file) = parsed.operands.get(at).or(moved).filter(|file| !file.is("-")) {
                    self.changes(file, FileEffect::Writes, scope);
                }
            }
            Operands::LastBelow => {
                let last = parsed.operands.last().filter(|_| parsed.operands.len() > 1);
                let is_remote = |target: &WordValue| target.lead().contains(':');
                if let Some(target) = last.filter(|target| !is_remote(target)) {
                    self.changes(target, FileEffect::WritesBelow, scope);
                }
            }
            Operands::Unpacks => {
                let only_lists = parsed.has(&["l", "v", "p", "t", "Z", "z"]);
                if !only_lists && !parsed.has(output.folders) {
                    self.unpacks_here(scope);
                }
            }
        }
    }

    /// `split` and `csplit` write files whose names begin with what they are told, or with `x`.
    fn cuts(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        let Some(output) = OUTPUTS.iter().find(|output| output.names.contains(&base)) else { return };
        let parsed = anywhere(&output.spec, args);
        let (named, endings): (_, &[&str]) = match base {
            "csplit" => (parsed.value(&["f", "prefix"]), &["b", "suffix-format"]),
            _ => (parsed.operands.get(1), &["additional-suffix"]),
        };
        let beginning = named.cloned().unwrap_or_else(|| WordValue::literal("x"));
        let has_ending = parsed.has(endings);
        for target in self.targets(&beginning, scope).into_iter().filter(|target| target.pattern.is_empty()) {
            let Some(name) = target.path.file_name().and_then(|name| name.to_str()) else { continue };
            // Of letters that count the pieces alone, no other name becomes one of those.
            if !has_ending && !name.starts_with('.') {
                continue;
            }
            let letters = name.chars().map(|letter| (letter, false)).chain([('*', true)]);
            let folder = target.path.parent().unwrap_or(&target.path).to_owned();
            let target = PathTarget::at(folder, vec![letters.collect()]);
            self.judge_target(&target, FileEffect::Writes);
        }
    }

    /// `time -o x command`: behind its own options the words are the command's.
    fn measures(&mut self, args: &[WordValue], scope: &CommandScope) {
        // An option that is not known is told where the command is looked for.
        let Ok(parsed) = leading(&TIME, args) else { return };
        self.named(&parsed, &["o", "output"], FileEffect::Writes, scope);
    }

    /// `file -C -m x/magic` writes `magic.mgc`, here.
    fn compiles_magic(&mut self, args: &[WordValue], scope: &CommandScope) {
        const FILE: OptionSpec = OptionSpec {
            valued: "FPefm",
            long_valued: &["exclude", "exclude-quiet", "files-from", "magic-file", "parameter", "separator"],
            long_flags: &["compile", "checking-printout"],
            ..NONE
        };
        let parsed = anywhere(&FILE, args);
        let may_compile = parsed.has(&["C", "compile"]) || args.iter().any(WordValue::may_be_option);
        if may_compile {
            let names = match parsed.value(&["m", "magic-file"]).map(WordValue::known) {
                None => "magic",
                Some(Some(names)) => names,
                Some(None) => return self.changes(&WordValue::unknown("-m"), FileEffect::Writes, scope),
            };
            for name in names.split(':') {
                let name = name.rsplit('/').next().unwrap_or(name);
                self.changes(&WordValue::literal(&format!("{name}.mgc")), FileEffect::Writes, scope);
            }
        }
    }

    /// What an archive brings lands in this folder: that is the ordinary case and no finding, but where the folder is bad.
    pub fn unpacks_here(&mut self, scope: &CommandScope) {
        self.judge_quietly(&WordValue::literal("."), FileEffect::WritesBelow, scope);
    }

    /// The words behind these words.
    fn follow(&mut self, args: &[WordValue], names: &[&str], scope: &CommandScope) {
        for pair in args.windows(2) {
            let is_named = match pair[0].known() {
                Some(text) => names.contains(&text),
                None => pair[0].may_be_option(),
            };
            if is_named && !pair[1].is("-") {
                self.changes(&pair[1], FileEffect::Writes, scope);
            }
        }
    }

    /// Files or folders that options name; `-` is the output.
    pub fn named(
        &mut self,
        parsed: &ParsedArguments,
        names: &[&str],
        change: FileEffect,
        scope: &CommandScope,
    ) {
        let given = parsed.options.iter().filter(|option| names.contains(&option.name.as_str()));
        let files: Vec<WordValue> =
            given.filter_map(|option| option.value.clone()).filter(|file| !file.is("-")).collect();
        for file in &files {
            self.changes(file, change, scope);
        }
    }
}
