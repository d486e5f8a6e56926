//! Of which parts is a prompt made?

/// One part: a module, an agent's own text, the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPart {
    /// For people and programs, e.g. `coreMandates`.
    pub name: String,
    /// Where its words come from: a file's path, or what wrote it.
    pub source: String,
    /// Empty when it is off.
    pub text: String,
    /// The reason why it is not there.
    pub off: Option<String>,
}

impl PromptPart {
    pub fn new(name: &str, source: &str, text: String) -> PromptPart {
        PromptPart { name: name.to_owned(), source: source.to_owned(), text, off: None }
    }

    pub fn off(name: &str, source: &str, why: &str) -> PromptPart {
        PromptPart { off: Some(why.to_owned()), ..PromptPart::new(name, source, String::new()) }
    }
}

/// The text that they make together: one blank line between two parts, and an end of line behind the last.
pub fn joined(parts: &[PromptPart]) -> String {
    let texts: Vec<&str> =
        parts.iter().map(|part| part.text.trim_end()).filter(|text| !text.is_empty()).collect();
    let mut text = texts.join("\n\n");
    text.push('\n');
    text
}
