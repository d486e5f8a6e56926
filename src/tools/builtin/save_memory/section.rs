//! Where in a memory file does a fact go?

/// Facts stand below this heading; the rest of the file is the user's.
const HEADING: &str = "## Added Memories";

/// A fact as it stands in its line: one line, without the dashes of a list.
pub fn plain(fact: &str) -> String {
    let words: Vec<&str> = fact.split_whitespace().collect();
    words.join(" ").trim_start_matches(['-', ' ']).trim_end().to_owned()
}

/// The file with the fact, once; `None` when it is there. All other bytes stay.
pub fn remembered(text: &str, fact: &str) -> Option<String> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = format!("- {}", plain(fact));
    let mut at = 0;
    let mut section = None;
    for piece in text.split_inclusive('\n') {
        let (start, content) = (at, piece.trim_end());
        at += piece.len();
        match &mut section {
            None if content == HEADING => section = Some(at),
            None => {}
            // The next heading of its rank, or a higher one.
            Some(_) if content.starts_with("# ") || content.starts_with("## ") => break,
            Some(_) if content == line => return None,
            // Behind the last line that says something.
            Some(insert_at) if !content.is_empty() => *insert_at = start + piece.len(),
            Some(_) => {}
        }
    }
    Some(match section {
        Some(at) => {
            let (before, after) = text.split_at(at);
            let opening = if before.ends_with('\n') { "" } else { end };
            // A file whose last line is open keeps it so.
            let closing = if opening.is_empty() || !after.is_empty() { end } else { "" };
            format!("{before}{opening}{line}{closing}{after}")
        }
        None => {
            let gap = match text {
                "" => String::new(),
                text if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => String::new(),
                text if text.ends_with('\n') => end.to_owned(),
                _ => format!("{end}{end}"),
            };
            format!("{text}{gap}{HEADING}{end}{line}{end}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, fact: &str, expected: &str) {
        assert_eq!(remembered(text, fact).as_deref(), Some(expected));
        assert_eq!(remembered(expected, fact), None, "a second time");
    }

    #[test]
    fn a_fact_goes_to_the_end_of_its_section_and_nothing_else_changes() {
        check("", "a", "## Added Memories\n- a\n");
        check("# Mine\ntext", "a", "# Mine\ntext\n\n## Added Memories\n- a\n");
        check("# Mine\n", "a", "# Mine\n\n## Added Memories\n- a\n");
        check("## Added Memories\n- a\n", "b", "## Added Memories\n- a\n- b\n");
        check("## Added Memories\n- a", "b", "## Added Memories\n- a\n- b");
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
    }

    #[test]
    fn a_fact_is_one_line_without_dashes() {
        assert_eq!(plain("  - - likes\n## tea\t \u{85}very  much "), "likes ## tea very much");
        assert_eq!(plain("---"), "");
        check("", "- -a\nb", "## Added Memories\n- a b\n");
    }
}
