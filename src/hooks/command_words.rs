//! Which words does a shell's text consist of, where it is one simple command?

/// The words of a command; one that only its shell knows is `None`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CommandWords(Vec<Option<String>>);

impl CommandWords {
    /// The words of a command that no shell reads. `value`: of a folder that stands for itself in it.
    pub fn without_shell(
        command: &str,
        args: &[String],
        value: impl Fn(&str) -> Option<String>,
    ) -> CommandWords {
        let texts = std::iter::once(command).chain(args.iter().map(String::as_str));
        CommandWords(texts.map(|text| Some(with_folders(text, &value))).collect())
    }

    /// `None` = there is no such word, or nobody can tell what it is.
    pub fn get(&self, at: usize) -> Option<&str> {
        self.0.get(at)?.as_deref()
    }
}

/// The names of folders that products fill in where there is no shell: the project's, and those of plugins that the settings name.
pub(super) const FOLDERS: &[&str] =
    &["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "GEMINI_PROJECT_DIR"];

/// A text with the folders in it that are known. Another name stays. `value`: of a folder.
pub(super) fn with_folders(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    FOLDERS.iter().fold(text.to_owned(), |text, name| match value(name) {
        Some(folder) => text.replace(&format!("${{{name}}}"), &folder).replace(&format!("${name}"), &folder),
        None => text,
    })
}

/// The words of a text that is one command, without what it sets and where its output goes; `None` = it is more than that. `value`: of a
/// variable that is known.
pub(super) fn simple_command(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<CommandWords> {
    let mut reader = WordReader { value, words: Vec::new(), word: None, has_quotes: false, is_target: false };
    let mut letters = text.trim().chars().peekable();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), letter) => reader.put(letter),
            (_, '`') => return None,
            (None, '\'' | '"') => {
                reader.begin();
                reader.has_quotes = true;
                quote = Some(letter);
            }
            // In quotes it stands for itself before most letters.
            (Some(_), '\\') => return None,
            (None, '\\') => reader.put(letters.next()?),
            (_, '$') => {
                let mut name = String::new();
                let is_braced = letters.next_if_eq(&'{').is_some();
                while let Some(letter) = letters.next_if(|it| it.is_ascii_alphanumeric() || *it == '_') {
                    name.push(letter);
                }
                // Anything but a plain name is for the shell to tell.
                if name.is_empty() || (is_braced && letters.next() != Some('}')) {
                    return None;
                }
                reader.put_value(&name, quote.is_some());
            }
            (Some(_), letter) => reader.put(letter),
            (None, ' ' | '\t') => reader.end(),
            (None, '>' | '<') => {
                // The number before it is its own.
                if reader.word.as_ref().is_some_and(|word| {
                    word.as_ref()
                        .is_some_and(|text| !text.is_empty() && text.chars().all(|it| it.is_ascii_digit()))
                }) {
                    reader.word = None;
                }
                reader.end();
                while letters.next_if(|it| matches!(it, '>' | '<' | '&' | '|' | ' ')).is_some() {}
                reader.is_target = true;
            }
            (None, ';' | '&' | '|' | '(' | ')' | '\n') => return None,
            (None, '#') if reader.word.is_none() => return Some(reader.finish()),
            (None, '~') if reader.word.is_none() => match letters.peek() {
                None | Some('/' | ' ') => reader.put_value("HOME", true),
                Some(_) => reader.word = Some(None),
            },
            (None, '*' | '?' | '[') if reader.word.is_some() => reader.word = Some(None),
            (None, letter) => reader.put(letter),
        }
    }
    quote.is_none().then(|| reader.finish())
}

struct WordReader<F> {
    value: F,
    words: Vec<Option<String>>,
    /// The one that is read; within: `None` = nobody can tell what it is.
    word: Option<Option<String>>,
    /// Something of it stands in quotes.
    has_quotes: bool,
    /// It is a file for the output, no word of the command.
    is_target: bool,
}

impl<F: Fn(&str) -> Option<String>> WordReader<F> {
    fn begin(&mut self) {
        self.word.get_or_insert_with(|| Some(String::new()));
    }

    fn put(&mut self, letter: char) {
        self.begin();
        if let Some(Some(text)) = &mut self.word {
            text.push(letter);
        }
    }

    /// Puts the value of a variable into the word. A value that is not quoted falls into words at its blanks, which nobody can tell then.
    fn put_value(&mut self, name: &str, is_quoted: bool) {
        self.begin();
        let value = (self.value)(name).filter(|it| is_quoted || !it.contains(char::is_whitespace));
        self.word = match (self.word.take(), value) {
            (Some(Some(text)), Some(value)) => Some(Some(text + &value)),
            _ => Some(None),
        };
    }

    fn end(&mut self) {
        let Some(word) = self.word.take() else { return };
        // A value that is empty makes no word of its own.
        if !std::mem::take(&mut self.has_quotes) && word.as_deref() == Some("") {
            return;
        }
        if std::mem::take(&mut self.is_target) {
            return;
        }
        let is_first = self.words.is_empty();
        let is_setting = word.as_ref().and_then(|text| text.split_once('=')).is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
        });
        if !(is_first && (is_setting || word.as_deref() == Some("exec"))) {
            self.words.push(word);
        }
    }

    fn finish(mut self) -> CommandWords {
        self.end();
        CommandWords(self.words)
    }
}
