//! Where in a text that a person wrote is this byte, and how is a mistake there told?

use std::path::Path;

use protocol::{FileProblem, FileProblemCode, ProblemSeverity};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
}

impl TextPosition {
    /// Where the byte `offset` of `text` stands.
    pub fn at(text: &str, offset: usize) -> TextPosition {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let lines_before = before[..line_start].bytes().filter(|byte| *byte == b'\n').count();
        TextPosition {
            line: one_based(lines_before),
            column: one_based(before[line_start..].chars().count()),
        }
    }
}

/// Counts from one; files are too short for the number to reach its end.
pub fn one_based(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1)
}

/// An error in a file; `None` means the file as a whole.
pub fn problem(
    path: &Path,
    mark: Option<TextPosition>,
    code: FileProblemCode,
    message: impl Into<String>,
) -> FileProblem {
    FileProblem {
        path: path.to_owned(),
        line: mark.map(|mark| mark.line),
        column: mark.map(|mark| mark.column),
        severity: ProblemSeverity::Error,
        code,
        message: message.into(),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let text = "a\nöü x\r\nend";
        let cases = [(0, (1, 1)), (2, (2, 1)), (7, (2, 4)), (text.len(), (3, 4)), (999, (3, 4))];
        for (offset, (line, column)) in cases {
            assert_eq!(TextPosition::at(text, offset), TextPosition { line, column }, "offset {offset}");
        }
    }
}
