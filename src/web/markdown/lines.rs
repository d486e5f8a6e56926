//! How does the converted text look at last? Without blanks at the ends of lines and without more than one empty line.

/// Outside of code blocks: line ends alone at the ends of lines, one empty line at most.
pub(super) fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    let mut n_empty = 0;
    for line in text.lines() {
        let start = line.trim_start();
        match fence {
            Some(marks) => {
                // As long as it began, and nothing behind it.
                if start.trim_end() == marks {
                    fence = None;
                }
                tidy.push_str(line);
                tidy.push('\n');
                continue;
            }
            None if start.starts_with("```") => {
                let length = start.len() - start.trim_start_matches('`').len();
                fence = Some(&start[..length]);
            }
            None => {}
        }
        // Blanks without width are for browsers.
        let line = line.trim_end_matches(|letter: char| letter.is_whitespace() || letter == '\u{200b}');
        // An item of which nothing is left.
        if start.trim_end() == "-" {
            continue;
        }
        n_empty = if line.is_empty() { n_empty + 1 } else { 0 };
        if n_empty <= 1 && (!line.is_empty() || !tidy.is_empty()) {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.truncate(tidy.trim_end().len());
    tidy
}
