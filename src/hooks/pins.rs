//! Which files of a workspace does a hook run, and are they what a person acknowledged?
//!
//! A command is trusted by its words, but a word that names a file of the workspace means whatever stands in that file, which
//! an agent may write. So such a file counts as somebody acknowledged it, whoever configured the hook.

mod named_words;

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{HookHandler, PinnedProgram};
use sys::{lexical::lexical, regular_file};
use trust::{AcknowledgementState, TrustRecords, digest};

/// Largest file that a hook runs; larger ones nobody has read.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Pieces of one command that are looked at.
const MOST_PIECES: usize = 256;

/// Everything that stands between the names of files in a command, quotes aside.
const BETWEEN: &[char] = &[';', '|', '&', '(', ')', '<', '>', '`', '=', ',', '{', '}'];

/// The roots, and what variables of a hook mean.
pub(super) struct PinContext<'a> {
    pub roots: &'a [String],
    pub home: &'a Path,
    /// Folders in which programs are found by their names.
    pub program_folders: &'a [PathBuf],
    pub trust: &'a TrustRecords,
    /// Read once for all hooks.
    pub digests: BTreeMap<PathBuf, Option<String>>,
}

/// The files that one hook runs.
#[derive(Debug, Default)]
pub(super) struct PinnedPrograms {
    /// The same as they are now, whether acknowledged or not; `None` = unreadable.
    pub found: Vec<(String, String, Option<String>)>,
    /// Everything that was acknowledged of them.
    pub pinned: Vec<PinnedProgram>,
    /// The outcome of words of it would name below a root, and is not there: it may be.
    pub missing: Vec<PathBuf>,
    /// The first of those that are missing that is meant for sure: it is named by the project's folder, or from the working folder.
    pub named: Option<PathBuf>,
    /// The first word of it that leads below a root and is no file: a folder, be it there or not, or more than a path.
    pub leading: Option<String>,
    /// A sentence about the first that is not what a person acknowledged.
    pub mistake: Option<String>,
    /// The first that was acknowledged and is not there any more.
    pub vanished: Option<PathBuf>,
}

impl<'a> PinContext<'a> {
    pub fn new(
        roots: &'a [String],
        (home, program_folders): (&'a Path, &'a [PathBuf]),
        trust: &'a TrustRecords,
    ) -> PinContext<'a> {
        PinContext { roots, home, program_folders, trust, digests: BTreeMap::new() }
    }

    /// Looks at all files that a handler names. `is_own`: it is a person's own, in whose patterns and messages a name is no file's. Blocks on
    /// the file system.
    pub fn of_handler(&mut self, handler: &HookHandler, is_own: bool) -> PinnedPrograms {
        let HookHandler::Command { command, args } = handler else { return PinnedPrograms::default() };
        let texts = std::iter::once(command).chain(args.iter().flatten());
        let mut pieces: Vec<String> = match args {
            None => pieces(&without_comments(command)),
            // No shell reads these, so nothing in them is a comment.
            Some(_) => texts.flat_map(|text| pieces(text)).collect(),
        };
        let whole: Vec<&str> =
            std::iter::once(command).chain(args.iter().flatten()).map(String::as_str).collect();
        let whole = whole.join(" ");
        // A program that is found by its name is not a file of the workspace that an agent has called so, and neither is `then`, or a filter.
        pieces.retain(|piece| {
            names_file(&whole, piece)
                && (piece.contains('/') || !self.is_found_by_name(piece))
                && !(is_own && args.is_none() && named_words::is_within_text(command, piece))
        });
        self.of_pieces(pieces)
    }

    fn of_pieces(&mut self, mut pieces: Vec<String>) -> PinnedPrograms {
        let mut programs = PinnedPrograms::default();
        if MOST_PIECES < pieces.len() {
            pieces.truncate(MOST_PIECES);
            note(
                &mut programs,
                format!("it has more than {MOST_PIECES} words, so nobody can tell what it runs"),
            );
        }
        let named: Vec<PathBuf> = pieces.iter().flat_map(|piece| self.named(piece)).collect();
        let folders = self.folders(&named);
        for piece in &pieces {
            // What an agent makes there is seen as soon as it is there.
            programs.missing.extend(self.below_roots(piece).filter(|path| !path.is_file()));
            for path in self.named(piece) {
                let before = programs.missing.len();
                self.add(&path, &mut programs);
                if !self.is_path(piece) {
                    continue;
                }
                let is_more_than_path = path.to_string_lossy().contains(['$', ':', '*']);
                let is_folder = path.is_dir() && self.is_within_root(&path);
                // What may become one, too: where a hook runs must not follow from when a folder is made.
                if is_folder || before < programs.missing.len() && is_more_than_path {
                    programs.leading.get_or_insert_with(|| piece.clone());
                } else if before < programs.missing.len() {
                    programs.named.get_or_insert(path);
                }
            }
            // It may be meant from a folder to which the command goes first.
            for folder in folders.iter().filter(|_| !piece.starts_with(['/', '~', '$'])) {
                let path = lexical(&folder.join(piece));
                if path.is_file() {
                    self.add(&path, &mut programs);
                }
            }
        }
        programs
    }

    fn is_found_by_name(&self, piece: &str) -> bool {
        self.program_folders.iter().any(|folder| folder.join(piece).is_file())
    }

    /// The paths that a word may mean: from the first root, and files below each root for what stands behind words that only the shell
    /// fills in.
    fn named(&self, piece: &str) -> Vec<PathBuf> {
        let Some(first) = self.roots.first() else { return Vec::new() };
        let usual = lexical(&Path::new(first).join(filled(piece, first, self.home)));
        let mut paths = vec![usual];
        paths.extend(self.below_roots(piece).filter(|path| path.is_file()));
        paths.dedup();
        paths
    }

    /// The paths below each root that a word may mean for what stands behind words that only the shell fills in
    /// (`$(git rev-parse --show-toplevel)/x.sh`).
    fn below_roots(&self, piece: &str) -> impl Iterator<Item = PathBuf> {
        let filled = self.roots.first().map(|first| filled(piece, first, self.home)).unwrap_or_default();
        let tail = filled.rfind(['}', ')']).map_or(filled.as_str(), |at| &filled[at + 1..]);
        let tail = match tail.strip_prefix('$') {
            Some(name) => {
                name.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
            }
            None => tail,
        };
        let tail = tail.trim_start_matches('/');
        let roots = if tail != filled && !tail.is_empty() { self.roots } else { &[] };
        let tail = tail.to_owned();
        roots.iter().map(move |root| lexical(&Path::new(root).join(&tail)))
    }

    /// True of a word that can be nothing but a path in the workspace.
    fn is_path(&self, piece: &str) -> bool {
        piece.contains("PROJECT_DIR")
            || piece.starts_with("$PWD/")
            || piece.starts_with("${PWD}/")
            || piece.starts_with("./")
            || piece.starts_with("../")
            || self.roots.iter().any(|root| piece.starts_with(root.as_str()))
    }

    /// The folders of the workspace among them.
    fn folders(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        /// More of them no command goes to.
        const MOST_FOLDERS: usize = 16;
        named
            .iter()
            .filter(|path| self.is_within_root(path))
            .filter(|path| path.is_dir())
            .take(MOST_FOLDERS)
            .cloned()
            .collect()
    }

    /// True of what lies below a root, which itself does not.
    fn is_within_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root) && path != Path::new(root))
    }

    fn add(&mut self, named: &Path, programs: &mut PinnedPrograms) {
        let is_named_below = self.roots.iter().any(|root| named.starts_with(root));
        let Ok(file) = named.canonicalize() else { return self.add_vanished(named, programs) };
        if !file.is_file() {
            return;
        }
        let Some(root) = self.roots.iter().find(|root| file.starts_with(root)) else {
            if is_named_below {
                // An agent could have put the link there.
                programs.missing.push(named.to_owned());
                note(
                    programs,
                    format!("{} leads out of the workspace, to {}", named.display(), file.display()),
                );
            }
            return;
        };
        let path = below(root, &file);
        programs.missing.push(named.to_owned());
        if programs.pinned.iter().any(|known| known.named == named) {
            return;
        }
        let now = self.digests.entry(file.clone()).or_insert_with(|| current_digest(&file)).clone();
        let consent = self.trust.last_consent(root, &path, now.as_deref().unwrap_or(""));
        match (&now, consent) {
            (Some(digest), AcknowledgementState::Now) => {
                programs.pinned.push(PinnedProgram {
                    root: root.clone(),
                    path: path.clone(),
                    digest: digest.clone(),
                    named: named.to_owned(),
                });
            }
            (None, _) => note(programs, format!("{} cannot be read, or is too large", file.display())),
            (_, AcknowledgementState::Never) => {
                note(
                    programs,
                    format!("{} is a file of the workspace that nobody acknowledged", file.display()),
                );
            }
            (Some(_), AcknowledgementState::Before) => {
                note(programs, format!("{} changed after it was acknowledged", file.display()));
            }
        }
        if !programs.found.iter().any(|(known, other, _)| (known, other) == (root, &path)) {
            programs.found.push((root.clone(), path, now));
        }
    }

    /// A name that leads nowhere matters where it once led to something that was acknowledged.
    fn add_vanished(&self, named: &Path, programs: &mut PinnedPrograms) {
        for root in self.roots {
            let Ok(rest) = named.strip_prefix(root) else { continue };
            programs.missing.push(named.to_owned());
            let path = rest.to_string_lossy();
            if self.trust.consent(root, path.trim_start_matches("./"), "") == AcknowledgementState::Before {
                programs.vanished.get_or_insert_with(|| named.to_owned());
                note(programs, format!("{} vanished after it was acknowledged", named.display()));
            }
        }
    }
}

fn note(programs: &mut PinnedPrograms, sentence: String) {
    programs.mistake.get_or_insert(sentence);
}

/// True if the files are still what was acknowledged; a sentence about the first that is not. Blocks on the file system.
pub(super) fn changed(programs: &[PinnedProgram]) -> Option<String> {
    programs.iter().find_map(|program| {
        let file = Path::new(&program.root).join(&program.path);
        let leads_there = program.named.canonicalize().is_ok_and(|leads_to| leads_to == file);
        let is_same = leads_there && current_digest(&file).as_ref() == Some(&program.digest);
        (!is_same).then(|| format!("{} changed after it was acknowledged", program.named.display()))
    })
}

/// The state of one file, which nobody who writes it can bring back: each change of it, and each change of its name, sets a time that
/// only the kernel sets.
pub(super) type FileState = Option<(u64, u64, i64, i64)>;

/// The state of all programs of a hook, to be compared with what it is when the hook has ended. Waits until each of them is older
/// than the kernel's clock can tell. Blocks.
pub(super) fn states(programs: &[PinnedProgram]) -> Vec<FileState> {
    /// Ticks of that clock are 10 ms at most.
    const TICK: std::time::Duration = std::time::Duration::from_millis(12);
    let now = sys::clock::file_time();
    let states: Vec<FileState> = programs.iter().map(state).collect();
    if states.iter().flatten().all(|(.., seconds, nanoseconds)| (*seconds, *nanoseconds) < now) {
        return states;
    }
    std::thread::sleep(TICK);
    programs.iter().map(state).collect()
}

fn state(program: &PinnedProgram) -> FileState {
    let it = std::fs::metadata(&program.named).ok()?;
    Some((it.dev(), it.ino(), it.ctime(), it.ctime_nsec()))
}

/// `None` = it cannot be read, or is too large.
pub(super) fn current_digest(file: &Path) -> Option<String> {
    regular_file::read_bounded(file, LARGEST).ok().flatten().map(|bytes| digest(&bytes))
}

/// The path below a root.
pub(super) fn below(root: &str, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

/// Everything that may be names of files in a command: once with quotes taken as part of a word, once as ends of words.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let text = &without_outputs(text);
    let plain = text.replace(['"', '\''], "").replace('\\', "");
    let is_end = |letter: char| letter.is_whitespace() || BETWEEN.contains(&letter);
    // `${NAME}` is one word: its braces are none that end words.
    let braced = |text: &str| text.replace("${", "\u{1}").replace('}', "\u{2}");
    let split = |text: &str, also: &[char]| -> Vec<String> {
        let text = braced(text);
        let parts = text.split(|letter: char| is_end(letter) || also.contains(&letter));
        parts.map(|part| part.replace('\u{1}', "${").replace('\u{2}', "}")).collect()
    };
    let mut all = split(&plain, &[]);
    all.extend(split(text, &['"', '\'']));
    // Names that have blanks stand in quotes.
    all.extend(text.split(['"', '\'']).map(|part| part.trim().to_owned()));
    all.retain(|piece| !piece.is_empty() && !piece.starts_with('-') && piece != "." && piece != "..");
    all.sort();
    all.dedup();
    all
}

/// A command without its comments, which run nothing. A text in which it is hard to tell where quotes end, or where a `#` begins a
/// comment, stays whole.
fn without_comments(text: &str) -> String {
    if ["<<", "`", "$'", "\\", "(", "${", "$["].iter().any(|hard| text.contains(hard)) {
        return text.to_owned();
    }
    let mut left = String::new();
    let (mut quote, mut is_comment, mut before) = (None, false, '\n');
    for letter in text.chars() {
        is_comment = match (quote, letter) {
            // To a shell other blanks are letters.
            (None, '#') => is_comment || matches!(before, ' ' | '\t' | '\n'),
            (_, '\n') => false,
            _ => is_comment,
        };
        if !is_comment {
            quote = match (quote, letter) {
                (None, '"' | '\'') => Some(letter),
                (Some(open), letter) if open == letter => None,
                (quote, _) => quote,
            };
            left.push(letter);
        }
        before = letter;
    }
    left
}

/// A command without the files that it writes: what it makes itself is nothing that it runs.
fn without_outputs(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('>') {
        left.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches('>').trim_start_matches(['|', ' ']);
        // What is quoted may be anything but an output.
        let is_plain = !after.starts_with(['"', '\'', '&', '(', '$', '`']);
        let end = after
            .find(|letter: char| letter.is_whitespace() || ";|&)".contains(letter))
            .unwrap_or(after.len());
        left.push(' ');
        rest = if is_plain { &after[end..] } else { after };
    }
    left + rest
}

/// A word with the home and the workspace in the places of `~` and of the variables that stand for them.
pub(super) fn filled(word: &str, root: &str, home: &Path) -> String {
    let home = home.to_string_lossy();
    let mut text = match word.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => word.to_owned(),
    };
    let of_workspace =
        ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "PROJECT_DIR", "PWD"].map(|name| (name, root));
    for (name, folder) in of_workspace.into_iter().chain([("HOME", &*home)]) {
        text = text.replace(&format!("${{{name}}}"), folder).replace(&format!("${name}"), folder);
    }
    text
}

/// Words of a shell, programs and options behind which a file stands, whatever its name.
const BEFORE_FILES: &[&str] = &[
    ".", "source", "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "perl", "ruby",
    "php", "lua", "deno", "bun", "tsx", "uv", "run", "env", "exec", "-f", "--file", "cd",
];
/// Ends of names that are files'.
const ENDS_OF_FILES: &[&str] = &[
    "awk", "bash", "bats", "c", "cfg", "cjs", "conf", "csv", "cts", "env", "fish", "go", "ini", "jq", "js",
    "json", "jsonc", "jsx", "ksh", "list", "lua", "md", "mjs", "mts", "php", "pl", "pm", "ps1", "py", "pyw",
    "r", "rb", "rs", "rules", "sed", "sh", "sql", "tcl", "toml", "ts", "tsv", "tsx", "txt", "xml", "yaml",
    "yml", "zsh",
];
/// Beginnings of types of media, which look like paths.
const MEDIA: &[&str] =
    &["application/", "text/", "image/", "audio/", "video/", "multipart/", "font/", "message/"];

/// True of a word of a text that may name a file of the workspace. A name alone does where it has a file's end, or where only a file can
/// stand; one with `/` where it is neither an address, nor a type of media, nor a pattern.
fn names_file(text: &str, piece: &str) -> bool {
    if piece.contains('/') {
        let is_media =
            MEDIA.iter().any(|it| piece.strip_prefix(it).is_some_and(|rest| !rest.contains(['/', '.'])));
        let is_address = ["http:", "https:", "file:", "ws:", "wss:"].iter().any(|it| piece.starts_with(it));
        return !is_media && !is_address && !piece.contains(['^', '\\', '|', '+']);
    }
    let end = Path::new(piece).extension().and_then(|end| end.to_str()).map(str::to_ascii_lowercase);
    let has_end = end.is_some_and(|end| ENDS_OF_FILES.contains(&end.as_str()));
    has_end || {
        let is_end =
            |letter: char| letter.is_whitespace() || BETWEEN.contains(&letter) || "\"'".contains(letter);
        let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
        let name = |word: &&str| BEFORE_FILES.contains(&word.rsplit('/').next().unwrap_or_default());
        let is_behind = |at: usize| {
            let before = words[..at].iter().rev().find(|word| !word.starts_with('-') || name(word));
            words[at] == piece && before.is_some_and(name)
        };
        (0..words.len()).any(is_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_found_in_quotes_variables_and_lists() {
        for (command, expected) in [
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/a.sh --fast", "/w/.claude/hooks/a.sh"),
            ("python3 ${CLAUDE_PROJECT_DIR}/b.py", "/w/b.py"),
            ("bash './my scripts/c.sh'", "./my scripts/c.sh"),
            ("cd x&&./d.sh", "./d.sh"),
            ("$(pwd)/d.sh", "/d.sh"),
            ("env A=e.sh sh e.sh", "e.sh"),
            ("~/bin/f", "/home/me/bin/f"),
            ("cat ~", "/home/me"),
            ("sh $PROJECT_DIR/b.sh", "/w/b.sh"),
            ("cat<g.txt", "g.txt"),
        ] {
            let found: Vec<String> =
                pieces(command).iter().map(|piece| filled(piece, "/w", Path::new("/home/me"))).collect();
            assert!(found.iter().any(|it| it == expected), "{command}: {found:?}");
        }
    }

    /// An agent must not switch a hook off by a file that is called like a program of its command.
    #[test]
    fn program_that_is_found_by_its_name_is_no_file_of_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().canonicalize().unwrap().join(path);
        for path in ["w", "bin"] {
            std::fs::create_dir(at(path)).unwrap();
        }
        for path in ["w/jq", "w/guard.sh", "bin/jq"] {
            std::fs::write(at(path), "x").unwrap();
        }
        let (roots, folders) = ([at("w").to_str().unwrap().to_owned()], [at("bin")]);
        let trust = TrustRecords::default();
        let mut pins = PinContext {
            roots: &roots,
            home: Path::new("/home/me"),
            program_folders: &folders,
            trust: &trust,
            digests: BTreeMap::new(),
        };
        for (command, named) in
            [("jq . >> ~/log", &[][..]), ("./jq .", &["jq"]), ("sh guard.sh", &["guard.sh"])]
        {
            let command = HookHandler::Command { command: command.to_owned(), args: None };
            let found: Vec<String> =
                pins.of_handler(&command, true).found.into_iter().map(|(_, path, _)| path).collect();
            assert_eq!(found, named, "{command:?}");
        }
    }

    #[test]
    fn words_of_a_comment_name_no_file() {
        for (command, is_named) in [
            ("# when package.json changes\nnpm install", false),
            ("npm install # of package.json", false),
            ("npm install\n  # of package.json\n", false),
            ("sh '# package.json'", true),
            ("sh \"\n# package.json\n\"", true),
            ("sh x#package.json ; cat package.json", true),
            ("echo \\' # ' ; sh package.json", true),
            ("cat <<E\n# package.json\nE", true),
            ("echo ${#x} package.json", true),
            ("echo ${x:- # } package.json", true),
            ("# one\nsh package.json", true),
        ] {
            let found = pieces(&without_comments(command)).iter().any(|piece| piece.contains("package.json"));
            assert_eq!(found, is_named, "{command}");
        }
    }
}
