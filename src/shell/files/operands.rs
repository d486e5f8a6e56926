//! Which words of a command are files that it changes?

use std::path::Path;

use super::{
    FileEffect,
    transfers::{CURL, WGET},
};
use crate::{
    options::{OptionSpec, ParsedArguments, anywhere},
    programs::SED,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::Risk;

const REMOVE: OptionSpec = OptionSpec {
    flags: "dfiIrRv",
    long_flags: &[
        "recursive",
        "force",
        "interactive",
        "dir",
        "verbose",
        "one-file-system",
        "no-preserve-root",
        "preserve-root",
    ],
    valued: "",
    attached: "",
    long_valued: &[],
};
const COPY: OptionSpec = OptionSpec {
    flags: "abdfiHlLnPpRrsTuvxZDcC",
    valued: "tSgmo",
    attached: "",
    long_flags: &[
        "archive",
        "recursive",
        "force",
        "no-clobber",
        "no-target-directory",
        "verbose",
        "symbolic",
        "preserve",
        "parents",
        "directory",
    ],
    long_valued: &["target-directory", "suffix", "mode", "owner", "group"],
};
const LINK: OptionSpec = OptionSpec { valued: "tS", flags: "bdfFiLnPrsTv", ..COPY };
const PLAIN: OptionSpec =
    OptionSpec { flags: "", valued: "", attached: "", long_flags: &[], long_valued: &[] };

impl ScriptWalk<'_> {
    /// The operands of commands that change files.
    pub fn touch(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        match base {
            "rm" => {
                let parsed = anywhere(&REMOVE, args);
                let is_deep = parsed.has(&["r", "R", "recursive"])
                    || parsed.operands.iter().any(WordValue::may_split)
                    || parsed.unknown_options().next().is_some();
                let change = if is_deep { FileEffect::RemovesBelow } else { FileEffect::Removes };
                self.all(&parsed.operands, change, scope);
            }
            "rmdir" | "unlink" => self.all(&anywhere(&PLAIN, args).operands, FileEffect::Removes, scope),
            "shred" => self.all(
                &anywhere(&OptionSpec { valued: "ns", ..PLAIN }, args).operands,
                FileEffect::Writes,
                scope,
            ),
            "tee" => self.all(&anywhere(&PLAIN, args).operands, FileEffect::Writes, scope),
            "touch" => {
                let spec = OptionSpec { valued: "drt", long_valued: &["date", "reference", "time"], ..PLAIN };
                self.all(&anywhere(&spec, args).operands, FileEffect::Writes, scope);
            }
            "mkdir" => {
                let spec = OptionSpec { valued: "m", long_valued: &["mode"], ..PLAIN };
                self.all(&anywhere(&spec, args).operands, FileEffect::Writes, scope);
            }
            "truncate" => {
                let spec = OptionSpec { valued: "sr", long_valued: &["size", "reference"], ..PLAIN };
                self.all(&anywhere(&spec, args).operands, FileEffect::Writes, scope);
            }
            "mv" => {
                let parsed = anywhere(&COPY, args);
                self.hidden_targets(&parsed, scope);
                self.keeps_backups(&parsed, &["S", "suffix"], scope);
                self.moves_files(&parsed, scope);
            }
            "cp" => {
                let parsed = anywhere(&COPY, args);
                self.hidden_targets(&parsed, scope);
                self.keeps_backups(&parsed, &["S", "suffix"], scope);
                let (sources, target) = sources_and_target(&parsed);
                self.land_in(&sources, target.as_ref(), &parsed, scope);
                self.copies(&parsed, scope);
                self.target(&parsed, scope);
            }
            "ln" | "link" => {
                let parsed = anywhere(&LINK, args);
                self.hidden_targets(&parsed, scope);
                self.keeps_backups(&parsed, &["S", "suffix"], scope);
                let (sources, target) = sources_and_target(&parsed);
                self.land_in(&sources, target.as_ref(), &parsed, scope);
                self.target(&parsed, scope);
                self.links(&parsed, scope);
            }
            "install" => {
                let parsed = anywhere(&COPY, args);
                self.hidden_targets(&parsed, scope);
                self.keeps_backups(&parsed, &["S", "suffix"], scope);
                if parsed.has(&["d", "directory"]) {
                    self.all(&parsed.operands, FileEffect::Writes, scope);
                } else {
                    let (sources, target) = sources_and_target(&parsed);
                    self.land_in(&sources, target.as_ref(), &parsed, scope);
                    self.target(&parsed, scope);
                }
            }
            "chmod" | "chown" | "chgrp" => self.permits(base, args, scope),
            "sed" => {
                let parsed = anywhere(&SED, args);
                if parsed.has(&["i", "in-place"]) {
                    let has_script = parsed.has(&["e", "expression", "f", "file"]);
                    let files = parsed.operands.get(usize::from(!has_script)..).unwrap_or_default();
                    self.keeps_copies(parsed.value(&["i", "in-place"]), files, scope);
                    self.all(files, FileEffect::Writes, scope);
                }
            }
            "dd" => {
                for arg in args {
                    if arg.lead().starts_with("of=") {
                        self.changes(&arg.after(3), FileEffect::Writes, scope);
                    } else if arg.known().is_none() && "of=".starts_with(&arg.lead()) {
                        self.changes(arg, FileEffect::Writes, scope);
                    }
                }
            }
            "curl" => self.downloads(args, scope),
            "wget" => {
                let parsed = anywhere(&WGET, args);
                self.named(&parsed, &["O", "output-document"], FileEffect::Writes, scope);
                let is_told = ["O", "output-document", "P", "directory-prefix", "spider", "version", "help"];
                if parsed.has(&["r", "recursive", "m", "mirror", "p", "page-requisites", "i", "x"]) {
                    self.unpacks_here(scope);
                } else if !parsed.has(&is_told) {
                    self.takes_names_of_addresses(&parsed, &parsed.operands, scope);
                }
                self.outputs(base, args, scope);
            }
            "find" => self.finds(args, scope),
            _ => self.outputs(base, args, scope),
        }
    }

    /// Files that are kept: the old one goes beside the target, under a name with the suffix behind.
    pub(super) fn keeps_backups(&mut self, parsed: &ParsedArguments, names: &[&str], scope: &CommandScope) {
        let Some(suffix) = parsed.value(names) else { return };
        let folder = parsed.value(&["t", "target-directory"]).or(parsed.operands.last());
        let below = folder.into_iter().flat_map(|folder| {
            parsed.operands.iter().filter_map(|source| Some(folder.joined(&source.last_name()?)))
        });
        let files: Vec<WordValue> = below.chain(parsed.operands.iter().cloned()).collect();
        for file in &files {
            match (file.known().filter(|_| !file.is_pattern()), suffix.known()) {
                (Some(name), Some(suffix)) => {
                    self.changes(&WordValue::literal(&format!("{name}{suffix}")), FileEffect::Writes, scope)
                }
                _ => self.changes(&WordValue::unknown(suffix.raw()), FileEffect::Writes, scope),
            }
        }
    }

    /// Words that may be options which name what is written, as `-t` and `-o` do.
    pub(super) fn hidden_targets(&mut self, parsed: &ParsedArguments, scope: &CommandScope) {
        for word in parsed.unknown_options() {
            self.changes(&WordValue::unknown(word.raw()), FileEffect::Writes, scope);
        }
    }

    /// `sed` puts what was there where the suffix says, when that has a `/` or a `*`, and beside the file otherwise.
    fn keeps_copies(&mut self, suffix: Option<&WordValue>, files: &[WordValue], scope: &CommandScope) {
        match suffix.map(|suffix| (suffix, suffix.known())) {
            None => {}
            Some((_, Some(text))) if !text.contains(['/', '*']) => {
                for file in files {
                    let copy = match file.known().filter(|_| !file.is_pattern()) {
                        Some(name) => WordValue::literal(&format!("{name}{text}")),
                        None => WordValue::unknown(file.raw()),
                    };
                    self.changes(&copy, FileEffect::Writes, scope);
                }
            }
            Some((_, Some(text))) => {
                let folder = text.rsplit_once('/').map_or(".", |(folder, _)| folder);
                let folder = if folder.is_empty() { "/" } else { folder };
                self.changes(&WordValue::literal(folder), FileEffect::WritesBelow, scope);
            }
            Some((suffix, None)) => self.changes(suffix, FileEffect::Writes, scope),
        }
    }

    fn all(&mut self, operands: &[WordValue], change: FileEffect, scope: &CommandScope) {
        for operand in operands {
            self.changes(operand, change, scope);
        }
    }

    fn moves_files(&mut self, parsed: &ParsedArguments, scope: &CommandScope) {
        let named = parsed.value(&["t", "target-directory"]).cloned();
        let (sources, target) = match (&named, parsed.operands.split_last()) {
            (Some(target), _) => (parsed.operands.as_slice(), Some(target.clone())),
            (None, Some((target, sources))) => (sources, Some(target.clone())),
            (None, None) => (&[][..], None),
        };
        self.all(sources, FileEffect::Removes, scope);
        if let Some(target) = target {
            self.land_in(sources, Some(&target), parsed, scope);
            self.changes(&target, FileEffect::WritesBelow, scope);
            self.take_links_along(sources, &target, scope);
        }
    }

    /// A whole tree may bring what lands on the daemon's own, deep below the target.
    fn copies(&mut self, parsed: &ParsedArguments, scope: &CommandScope) {
        let (sources, target) = sources_and_target(parsed);
        let Some(target) = target else { return };
        self.take_links_along(&sources, &target, scope);
        if !parsed.has(&["r", "R", "a", "recursive", "archive"]) {
            return;
        }
        for source in &sources {
            let name = source.known().filter(|_| !source.is_pattern()).and_then(|text| {
                // `x/.` is what lies in it, under its own names.
                let is_contents = text.ends_with("/.") || text.ends_with("/..") || matches!(text, "." | "..");
                Path::new(text).file_name().filter(|_| !is_contents)
            });
            match name {
                Some(name) if !parsed.has(&["T", "no-target-directory"]) => {
                    let inside = match target.known() {
                        Some(text) if !target.is_pattern() => {
                            WordValue::literal(&format!("{text}/{}", name.to_string_lossy()))
                        }
                        _ => target.clone(),
                    };
                    self.judge_quietly(&inside, FileEffect::WritesBelow, scope);
                }
                _ => self.judge_quietly(&target, FileEffect::WritesBelow, scope),
            }
        }
    }

    /// Links that were made before go where the folders go that they lie in.
    fn take_links_along(&mut self, sources: &[WordValue], target: &WordValue, scope: &CommandScope) {
        if self.links.is_empty() {
            return;
        }
        let to = self.targets(target, scope);
        for source in sources {
            let from = self.targets(source, scope);
            self.renamed_link(&from, &to);
        }
    }

    /// What is written below a link that the text made itself is written where the link leads.
    fn links(&mut self, parsed: &ParsedArguments, scope: &CommandScope) {
        let (sources, target) = sources_and_target(parsed);
        let sources = if sources.is_empty() { parsed.operands.clone() } else { sources };
        let is_symbolic = parsed.has(&["s", "symbolic"]);
        for source in &sources {
            let name = source.known().and_then(|text| Path::new(text).file_name()?.to_str());
            let own = name.map(WordValue::literal);
            // A link of this name, or in this folder under its own name.
            let within = match (&target, name) {
                (Some(target), Some(name)) => {
                    target.known().map(|text| WordValue::literal(&format!("{text}/{name}")))
                }
                _ => own,
            };
            for link in target.iter().cloned().chain(within) {
                self.linked(source, &link, is_symbolic, scope);
            }
        }
    }

    fn target(&mut self, parsed: &ParsedArguments, scope: &CommandScope) {
        if let Some(target) = parsed.value(&["t", "target-directory"]) {
            return self.changes(&target.clone(), FileEffect::Writes, scope);
        }
        match parsed.operands.as_slice() {
            [] => {}
            // A link of the same name, here.
            [only] => {
                let name = only.known().and_then(|text| Path::new(text).file_name()?.to_str());
                let value = name.map_or_else(|| WordValue::unknown(only.raw()), WordValue::literal);
                self.changes(&value, FileEffect::Writes, scope);
            }
            [.., target] => self.changes(target, FileEffect::Writes, scope),
        }
    }

    fn permits(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        const PERMIT: OptionSpec = OptionSpec {
            flags: "cfvRhHLPd",
            valued: "",
            attached: "",
            long_flags: &[
                "recursive",
                "changes",
                "silent",
                "quiet",
                "verbose",
                "dereference",
                "no-dereference",
                "preserve-root",
                "no-preserve-root",
            ],
            long_valued: &["reference", "from"],
        };
        // `chmod -x file`: a mode that looks like an option.
        let is_mode = |arg: &WordValue| {
            base == "chmod"
                && arg.known().is_some_and(|text| {
                    text.len() > 1
                        && text.starts_with('-')
                        && !text.starts_with("--")
                        && text[1..].chars().all(|letter| "rwxXstugo,=+-01234567".contains(letter))
                })
        };
        let has_mode = args.iter().any(is_mode);
        let others: Vec<WordValue> = args.iter().filter(|arg| !is_mode(arg)).cloned().collect();
        let parsed = anywhere(&PERMIT, &others);
        let is_named = has_mode || parsed.has(&["reference"]);
        let is_deep = parsed.has(&["R", "recursive"]) || parsed.unknown_options().next().is_some();
        let change = if is_deep { FileEffect::WritesBelow } else { FileEffect::Writes };
        let files = parsed.operands.get(usize::from(!is_named)..).unwrap_or_default();
        self.all(files, change, scope);
    }

    fn downloads(&mut self, args: &[WordValue], scope: &CommandScope) {
        let parsed = anywhere(&CURL, args);
        self.hidden_targets(&parsed, scope);
        self.named(
            &parsed,
            &[
                "o",
                "output",
                "D",
                "dump-header",
                "c",
                "cookie-jar",
                "trace",
                "trace-ascii",
                "stderr",
                "etag-save",
                "libcurl",
                "hsts",
                "alt-svc",
            ],
            FileEffect::Writes,
            scope,
        );
        // Whatever it writes lands there.
        self.named(&parsed, &["output-dir"], FileEffect::WritesBelow, scope);
        if parsed.has(&["O", "remote-name", "remote-name-all", "J", "remote-header-name"]) {
            let addresses = parsed.options.iter().filter(|option| option.name == "url");
            let addresses = addresses.filter_map(|option| option.value.clone());
            let addresses: Vec<WordValue> = addresses.chain(parsed.operands.iter().cloned()).collect();
            self.takes_names_of_addresses(&parsed, &addresses, scope);
        }
        let formats =
            parsed.options.iter().filter(|option| matches!(option.name.as_str(), "w" | "write-out"));
        for format in formats.filter_map(|option| option.value.as_ref()) {
            // `%output{FILE}`; a format may be read from a file, too.
            if format.known().is_none_or(|text| text.contains("%output{") || text.starts_with('@')) {
                self.changes(&WordValue::unknown(format.raw()), FileEffect::Writes, scope);
            }
        }
        if parsed.has(&["K", "config"]) {
            self.draft.found(Risk::High, "`curl` reads more options from a file, which may write anywhere");
        }
    }

    /// Files under the last names of addresses, unless who answers chooses the names.
    fn takes_names_of_addresses(
        &mut self,
        parsed: &ParsedArguments,
        addresses: &[WordValue],
        scope: &CommandScope,
    ) {
        const NAMED_BY_OTHERS: &[&str] =
            &["output-dir", "J", "remote-header-name", "content-disposition", "trust-server-names"];
        for address in addresses {
            let name = address.known().and_then(|text| text.split(['?', '#']).next()?.rsplit('/').next());
            let value = match name {
                Some(name) if !parsed.has(NAMED_BY_OTHERS) => {
                    WordValue::literal(if name.is_empty() { "index.html" } else { name })
                }
                _ => WordValue::unknown(address.raw()),
            };
            self.changes(&value, FileEffect::Writes, scope);
        }
    }

    fn finds(&mut self, args: &[WordValue], scope: &CommandScope) {
        const FILTERS_NOT: &[&str] = &[
            "-delete",
            "-depth",
            "-d",
            "-xdev",
            "-mount",
            "-maxdepth",
            "-mindepth",
            "-print",
            "-print0",
            "-follow",
            "-L",
            "-P",
            "-H",
        ];
        let begin = args.iter().position(|arg| !matches!(arg.known(), Some("-L" | "-P" | "-H"))).unwrap_or(0);
        let end = args[begin..]
            .iter()
            .position(|arg| arg.lead().starts_with(['-', '(', '!']))
            .map_or(args.len(), |at| begin + at);
        let mut starts = args[begin..end].to_vec();
        if starts.is_empty() {
            starts.push(WordValue::literal("."));
        }
        self.searches(&starts, args, scope);
        self.lands_found(args, scope);
        for (at, arg) in args.iter().enumerate() {
            if matches!(arg.known(), Some("-fprint" | "-fprint0" | "-fprintf" | "-fls"))
                && let Some(file) = args.get(at + 1)
            {
                self.changes(file, FileEffect::Writes, scope);
            }
        }
        if args.iter().any(|arg| arg.is("-delete")) {
            let is_filter = |arg: &WordValue| {
                let is_number =
                    arg.known().is_some_and(|text| text.chars().all(|digit| digit.is_ascii_digit()));
                !is_number && arg.known().is_none_or(|text| !FILTERS_NOT.contains(&text))
            };
            let filters = args[end..].iter().any(is_filter);
            let change = if filters { FileEffect::WritesBelow } else { FileEffect::RemovesBelow };
            self.draft.found(Risk::High, "`find -delete` removes whole trees");
            self.all(&starts, change, scope);
        }
    }
}

/// The words of `cp` and `ln` before the target, and the target, unless there is only one word.
fn sources_and_target(parsed: &ParsedArguments) -> (Vec<WordValue>, Option<WordValue>) {
    match (parsed.value(&["t", "target-directory"]), parsed.operands.split_last()) {
        (Some(target), _) => (parsed.operands.clone(), Some(target.clone())),
        (None, Some((target, sources))) if !sources.is_empty() => (sources.to_vec(), Some(target.clone())),
        _ => (Vec::new(), None),
    }
}
