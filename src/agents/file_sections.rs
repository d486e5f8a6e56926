//! Where in an agent's file does the front matter end and the prompt begin? (spec 02, rule 2)

use config::{TextPosition, one_based};

/// The text between the fences.
pub(super) struct FrontMatter<'a> {
    pub text: &'a str,
    /// In the file, in bytes.
    pub offset: usize,
    pub first_line: u32,
}

/// The text after the fences, without blank lines around it.
pub(super) struct PromptBody<'a> {
    pub text: &'a str,
    /// The whole file, and where in it the body begins: for places in messages.
    whole: &'a str,
    pub offset: usize,
}

impl PromptBody<'_> {
    /// Takes what stands below the front matter.
    pub fn of(below: &str) -> PromptBody<'_> {
        body(below, 0)
    }

    /// The position in the file of the body's byte `offset`.
    pub fn mark(&self, offset: usize) -> TextPosition {
        TextPosition::at(self.whole, self.offset + offset)
    }
}

/// The reason why a text has no front matter, and the line that shows it.
pub(super) struct NoFence {
    pub line: u32,
    pub message: &'static str,
}

/// The first line that is not blank opens the front matter, `---` or `...` closes it (spec 02, rule 2).
pub(super) fn split(text: &str) -> Result<(FrontMatter<'_>, PromptBody<'_>), NoFence> {
    let (mut offset, mut opening) = (0, None);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches([' ', '\t', '\n']);
        let end = offset + line.len();
        match opening {
            None if content.is_empty() => {}
            None if content == "---" => opening = Some((one_based(number), end)),
            None => {
                let message = "has no front matter: the first line must be `---`";
                return Err(NoFence { line: one_based(number), message });
            }
            Some((fence_line, start)) if matches!(content, "---" | "...") => {
                let front_matter =
                    FrontMatter { text: &text[start..offset], offset: start, first_line: fence_line + 1 };
                return Ok((front_matter, body(text, end)));
            }
            Some(_) => {}
        }
        offset = end;
    }
    Err(match opening {
        Some((line, _)) => NoFence { line, message: "the front matter is never closed by a line `---`" },
        None => NoFence { line: 1, message: "is empty" },
    })
}

fn body(whole: &str, start: usize) -> PromptBody<'_> {
    let rest = &whole[start..];
    let first_text = rest.len() - rest.trim_start().len();
    let first_line = rest[..first_text].rfind('\n').map_or(0, |newline| newline + 1);
    PromptBody { text: rest[first_line..].trim_end(), whole, offset: start + first_line }
}
