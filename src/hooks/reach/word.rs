//! One word of a command, each letter with how it is quoted.

/// Variables that lead out of every workspace but a home, or into the project's folder, where files are known by name.
const KNOWN: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "CLAUDE_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
];
/// Letters by which a shell takes a word for a pattern.
pub(super) const PATTERN: &[char] = &['*', '?', '['];

/// One word, and whether each of its letters is quoted, so that it stands for itself.
#[derive(Debug, Default, Clone)]
pub(super) struct HookWord {
    pub(super) letters: Vec<(char, Quoting)>,
    /// It stands behind a `<` or `>`, so it is no word of its command.
    pub(super) is_target: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    None,
    /// Variables are filled in.
    Double,
    Single,
}

impl HookWord {
    /// A word that no shell reads.
    pub(super) fn literal(text: &str) -> HookWord {
        HookWord { letters: text.chars().map(|letter| (letter, Quoting::Single)).collect(), is_target: false }
    }

    pub(super) fn text(&self) -> String {
        self.letters.iter().map(|(letter, _)| letter).collect()
    }

    pub(super) fn is_pattern(&self) -> bool {
        if matches!(self.text().as_str(), "[" | "[[") {
            return false;
        }
        // Letters within `${…}` say which part of the variable's text is meant.
        let (mut depth, mut before) = (0_usize, None);
        for (letter, quoting) in &self.letters {
            match letter {
                '{' if before == Some('$') => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ if depth == 0 && *quoting == Quoting::None && PATTERN.contains(letter) => return true,
                _ => {}
            }
            before = Some(*letter);
        }
        false
    }

    /// True if it has a variable of which nobody knows what it holds.
    pub(super) fn is_open(&self) -> bool {
        let mut letters = self.letters.iter().peekable();
        while let Some((letter, quoting)) = letters.next() {
            if *letter != '$' || *quoting == Quoting::Single {
                continue;
            }
            let is_braced = letters.next_if(|(letter, _)| *letter == '{').is_some();
            let mut name = String::new();
            while let Some((letter, _)) = letters.next_if(|(it, _)| it.is_ascii_alphanumeric() || *it == '_')
            {
                name.push(*letter);
            }
            let is_plain = !is_braced || letters.peek().is_some_and(|(letter, _)| *letter == '}');
            if !is_plain || !KNOWN.contains(&name.as_str()) {
                return true;
            }
        }
        false
    }
}
