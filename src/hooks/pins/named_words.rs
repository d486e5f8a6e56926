//! Does a name in the text of a hook stand for a file, or within a pattern, a message or code that is handed on as one word?

/// Programs that take the text behind `-c` for commands of a shell.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "fish"];
/// Programs that only print the files that they are given, to the model.
const PRINTING: &[&str] = &["cat", "head", "tail", "wc"];
/// Programs that only write or make the files that they are given.
const WRITING: &[&str] = &["tee", "mkdir", "touch"];
/// Words of code by which it may read or run a file that it names.
const OPENING: &[&str] = &[
    "open(",
    "exec",
    "eval",
    "run",
    "require",
    "import(",
    "import_module",
    "load",
    "read",
    "source",
    "Path(",
    "spawn",
    "system",
    "popen",
    "sh ",
    ". ",
    "do ",
];
/// Signs by which a word with blanks or patterns may be more than a word all the same.
const FILLED_IN: &[&str] = &["$(", "`", "<<", "$'"];

/// True if a piece of a text stands only within words that are more than it: `'a|package.json'`, `"see docs/push.md"`, `'print("x.py")'`; or only
/// behind a program that prints it. A text that nobody can take apart has none.
pub(super) fn is_within_text(text: &str, piece: &str) -> bool {
    if FILLED_IN.iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let Some(words) = words_of(text) else { return false };
    let is_program = |at: usize| at == 0 || words[at - 1].is_end;
    let begin = |at: usize| (0..=at).rev().find(|at| is_program(*at)).unwrap_or(0);
    // A shell reads such a text once more, and code may read or run a file.
    let is_run = |at: usize| {
        let has_option = 1 <= at && words[at - 1].text.starts_with('-') && words[at - 1].text.contains('c');
        let is_shell = |word: &TextWord| SHELLS.contains(&word.text.rsplit('/').next().unwrap_or_default());
        let is_evaluated = 1 <= at && words[at - 1].text == "eval";
        let opens = OPENING.iter().any(|it| words[at].text.contains(it));
        is_evaluated || opens || has_option && words[begin(at)..at].iter().any(is_shell)
    };
    // What is printed into another program may be run there.
    let is_printed = |at: usize| {
        begin(at) < at && PRINTING.contains(&words[begin(at)].text.as_str()) && !text.contains('|')
    };
    // `>> "$CLAUDE_PROJECT_DIR"/x.log`, `tee -a logs/x`
    let is_written = |at: usize| {
        let is_target = 1 <= at && words[at - 1].text.ends_with('>') || words[at].text.contains('>');
        is_target || begin(at) < at && WRITING.contains(&words[begin(at)].text.as_str())
    };
    let meets = |at: usize| {
        let word = &words[at].text;
        let is_one = !word.contains(char::is_whitespace) && !word.contains(['|', '^', '*', '?', '\\', '(']);
        word.contains(piece) && (is_one || is_run(at)) && !is_printed(at) && !is_written(at)
    };
    !(0..words.len()).any(meets)
}

struct TextWord {
    text: String,
    /// The command is over behind it.
    is_end: bool,
}

/// The words of a text without their quotes; `None` = its quotes do not end.
fn words_of(text: &str) -> Option<Vec<TextWord>> {
    let mut words: Vec<TextWord> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '\\' if letter == '"' => word.push(letters.next()?),
                        inner => word.push(inner),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            ' ' | '\t' => words.extend(word.take().map(|text| TextWord { text, is_end: false })),
            ';' | '|' | '&' | '\n' | '(' | ')' => {
                words.extend(word.take().map(|text| TextWord { text, is_end: false }));
                if let Some(last) = words.last_mut() {
                    last.is_end = true;
                }
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(|text| TextWord { text, is_end: true }));
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_patterns_messages_and_code_are_told_from_files() {
        for (text, piece) in [
            ("grep -qE 'src/generated|package.json' && exit 2", "package.json"),
            (
                "python3 -c 'import json; print(any(p in x for p in [\".env\", \"package-lock.json\"]))'",
                "package-lock.json",
            ),
            ("echo \"see docs/push.md first\" >&2; exit 2", "docs/push.md"),
            ("cat CLAUDE.md", "CLAUDE.md"),
            ("jq . >> \"$CLAUDE_PROJECT_DIR\"/.claude/x.log", "$CLAUDE_PROJECT_DIR/.claude/x.log"),
            ("jq . | tee -a \"$CLAUDE_PROJECT_DIR/logs/x.txt\"", "$CLAUDE_PROJECT_DIR/logs/x.txt"),
            ("make 2>> \"$CLAUDE_PROJECT_DIR/x.log\"", "$CLAUDE_PROJECT_DIR/x.log"),
            ("if true; then head -n 5 TODO.md; fi; cat TODO.md", "CLAUDE.md"),
        ] {
            assert!(is_within_text(text, piece), "{text}");
        }
        for (text, piece) in [
            ("sh tools/check.sh", "tools/check.sh"),
            ("bash -c 'sh tools/check.sh fast'", "tools/check.sh"),
            ("grep -f rules.txt", "rules.txt"),
            ("eval 'sh tools/x.sh'", "tools/x.sh"),
            ("cat tools/guard.sh | sh", "tools/guard.sh"),
            ("bash -o pipefail -c 'sh tools/x.sh fast'", "tools/x.sh"),
            ("python3 -c 'exec(open(\"tools/x.py\").read())'", "tools/x.py"),
            ("npx tsc -p tsconfig.json", "tsconfig.json"),
            ("sh \"$(git rev-parse --show-toplevel)/tools/x.sh\"", "tools/x.sh"),
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/a.sh --fast", "$CLAUDE_PROJECT_DIR/.claude/hooks/a.sh"),
            ("cat rules.txt | grep -f rules.txt", "rules.txt"),
            ("echo 'unended", "unended"),
        ] {
            assert!(!is_within_text(text, piece), "{text}");
        }
    }
}
