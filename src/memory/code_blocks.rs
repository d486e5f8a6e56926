//! Which lines of a Markdown text stand in a fenced block of code?

/// The lines of a text with whether each is code.
pub(super) struct CodeLines {
    /// One flag a line; a fence is code as well.
    pub is_code: Vec<bool>,
    /// The line that opens a block which nothing closes: code to whoever renders it, most likely a slip of whoever wrote it.
    pub unclosed: Option<usize>,
}

impl CodeLines {
    pub fn of(text: &str) -> CodeLines {
        let mut is_code = Vec::new();
        let mut open: Option<(char, usize, usize)> = None;
        for (n, line) in text.split_inclusive('\n').enumerate() {
            let content = line.trim_end();
            match (open, fence(content)) {
                (None, Some((letter, length))) => open = Some((letter, length, n)),
                // It is closed by as many of its own, with nothing behind them.
                (Some((letter, length, _)), Some((other, longer)))
                    if letter == other
                        && length <= longer
                        && content.trim().chars().all(|it| it == letter) =>
                {
                    is_code.push(true);
                    open = None;
                    continue;
                }
                _ => {}
            }
            is_code.push(open.is_some());
        }
        CodeLines { is_code, unclosed: open.map(|(_, _, line)| line) }
    }
}

fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let letter = line.chars().next().filter(|letter| ['`', '~'].contains(letter))?;
    let length = line.chars().take_while(|it| *it == letter).count();
    // A line with code in it is no fence.
    let is_fence = 3 <= length && !(letter == '`' && line[length..].contains('`'));
    is_fence.then_some((letter, length))
}
