//! Where in a memory file does a fact stand that an agent wrote down? (spec 05, `save_memory`)

use super::code_blocks::CodeLines;

/// Facts stand below this heading; the rest of the file is the user's.
const HEADING: &str = "## Added Memories";

/// A fact as it stands in its line: one line, without the dashes of a list.
pub fn plain_fact(fact: &str) -> String {
    let words: Vec<&str> = fact.split_whitespace().collect();
    words.join(" ").trim_start_matches(['-', ' ']).trim_end().to_owned()
}

/// The text of a memory file with the fact, once; `None` when it is there. All other bytes stay.
pub fn with_fact(text: &str, fact: &str) -> Option<String> {
    let line = format!("- {}", plain_fact(fact));
    let mut facts = FactLines::of(text);
    let mut at = 0;
    let mut insert_at = None;
    let mut is_past = false;
    for piece in text.split_inclusive('\n') {
        let (start, content) = (at, piece.trim_end());
        at += piece.len();
        match facts.next(content) {
            FactLine::Heading if insert_at.is_none() => insert_at = Some(at),
            // A second section: what it says is known too, but nothing is added to it.
            FactLine::Heading | FactLine::Behind => is_past = true,
            FactLine::Below if content == line => return None,
            // Behind the last line that says something.
            FactLine::Below if !content.is_empty() && !is_past => insert_at = Some(start + piece.len()),
            FactLine::Below | FactLine::Elsewhere => {}
        }
    }
    Some(match insert_at {
        Some(at) => {
            let (before, after) = text.split_at(at);
            let end = line_end(before);
            let opening = if before.ends_with('\n') { "" } else { end };
            // A file whose last line is open keeps it so.
            let closing = if opening.is_empty() || !after.is_empty() { end } else { "" };
            format!("{before}{opening}{line}{closing}{after}")
        }
        None => {
            let end = line_end(text);
            let last = text.split_inclusive('\n').next_back().unwrap_or_default();
            let gap = match text {
                "" => String::new(),
                text if !text.ends_with('\n') => format!("{end}{end}"),
                _ if last.trim().is_empty() => String::new(),
                _ => end.to_owned(),
            };
            format!("{text}{gap}{HEADING}{end}{line}{end}")
        }
    })
}

/// The end of the last line that has one.
fn line_end(text: &str) -> &'static str {
    match text.rfind('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The part of a line in the facts of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FactLine {
    Elsewhere,
    Heading,
    Below,
    /// The first one that is none of them any more.
    Behind,
}

/// Tells of line after line.
pub(super) struct FactLines {
    code: CodeLines,
    line: usize,
    is_below: bool,
}

impl FactLines {
    pub fn of(text: &str) -> FactLines {
        FactLines { code: CodeLines::of(text), line: 0, is_below: false }
    }

    /// The text's next line, without what ends it.
    pub fn next(&mut self, content: &str) -> FactLine {
        let n = self.line;
        self.line += 1;
        let is_closed = self.code.unclosed.is_none_or(|line| n < line);
        if is_closed && self.code.is_code.get(n).copied().unwrap_or(false) {
            return if self.is_below { FactLine::Below } else { FactLine::Elsewhere };
        }
        // The next heading of its rank, or a higher one.
        let ends = content.starts_with("# ") || content.starts_with("## ");
        match (self.is_below, content == HEADING) {
            (_, true) => {
                self.is_below = true;
                FactLine::Heading
            }
            (true, false) if ends => {
                self.is_below = false;
                FactLine::Behind
            }
            (true, false) => FactLine::Below,
            (false, false) => FactLine::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, fact: &str, expected: &str) {
        assert_eq!(with_fact(text, fact).as_deref(), Some(expected));
        assert_eq!(with_fact(expected, fact), None, "a second time");
    }

    #[test]
    fn a_fact_goes_to_the_end_of_its_section_and_nothing_else_changes() {
        check("", "a", "## Added Memories\n- a\n");
        check("# Mine\ntext", "a", "# Mine\ntext\n\n## Added Memories\n- a\n");
        check("# Mine\n", "a", "# Mine\n\n## Added Memories\n- a\n");
        check("# Mine\n\r\n", "a", "# Mine\n\r\n## Added Memories\r\n- a\r\n");
        check("## Added Memories\n- a\n", "b", "## Added Memories\n- a\n- b\n");
        check("## Added Memories\n- a", "b", "## Added Memories\n- a\n- b");
        check("## Added Memories", "b", "## Added Memories\n- b");
        check(
            "## Added Memories\n\n- a\n\n\n## Next\n- b\n",
            "b",
            "## Added Memories\n\n- a\n- b\n\n\n## Next\n- b\n",
        );
        check(
            "## Added Memories\n### Sub\ntext \n\n# Top\n",
            "b",
            "## Added Memories\n### Sub\ntext \n- b\n\n# Top\n",
        );
        check("x\r\n## Added Memories\r\n- a\r\n", "b", "x\r\n## Added Memories\r\n- a\r\n- b\r\n");
        // Of two sections the first grows, and both are known.
        let twice = "## Added Memories\n- a\n## Added Memories\n- b\n# x\n## Added Memories\n- c\n";
        check(twice, "d", &twice.replacen("- a\n", "- a\n- d\n", 1));
        assert_eq!((with_fact(twice, "b"), with_fact(twice, "c")), (None, None));
        // A line ends as the one before it.
        check("x\r\n## Added Memories\n- a\n", "b", "x\r\n## Added Memories\n- a\n- b\n");
    }

    #[test]
    fn a_heading_in_code_is_none_but_one_that_follows_an_open_fence_is() {
        let code = "```md\n## Added Memories\n- x\n```\n";
        check(code, "x", &format!("{code}\n## Added Memories\n- x\n"));
        check(
            "## Added Memories\n```\n# no heading\n```\n",
            "b",
            "## Added Memories\n```\n# no heading\n```\n- b\n",
        );
        check("~~~\nnever closed\n", "b", "~~~\nnever closed\n\n## Added Memories\n- b\n");
    }

    #[test]
    fn a_fact_is_one_line_without_dashes() {
        assert_eq!(plain_fact("  - - likes\n## tea\t \u{85}very  much "), "likes ## tea very much");
        assert_eq!(plain_fact("---"), "");
        check("", "- -a\nb", "## Added Memories\n- a b\n");
    }
}
