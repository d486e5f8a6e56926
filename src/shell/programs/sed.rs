//! Does a sed script do more than print, delete and replace?

/// True if a sed script only prints, deletes and replaces. What is not read counts as more.
pub(super) fn sed_only_edits(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        let Some(behind) = sed_address(rest) else { return false };
        rest = behind.trim_start_matches([' ', '\t', '!']);
        let Some(command) = rest.chars().next() else { return false };
        rest = &rest[command.len_utf8()..];
        match command {
            '{' => {}
            'p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' => {}
            'q' | 'Q' | 'l' => {
                rest = rest.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit())
            }
            'a' | 'i' | 'c' => {
                // A text goes to the end of its line, and on behind a `\` that no other one quotes.
                loop {
                    let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
                    rest = behind;
                    let goes_on = line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
                    if !goes_on || rest.is_empty() {
                        break;
                    }
                }
                continue;
            }
            // GNU sed ends a label at a blank, others at the line's end. What is not a plain name is not read.
            ':' | 'b' | 't' | 'T' => {
                let is_of_label = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
                rest = rest.trim_start_matches([' ', '\t']).trim_start_matches(is_of_label);
            }
            's' | 'y' => {
                let Some(behind) = sed_between(rest, 2) else { return false };
                rest = behind;
                if command == 's' {
                    rest = rest.trim_start_matches(|letter: char| {
                        letter.is_ascii_digit() || "gpiIM".contains(letter)
                    });
                }
            }
            _ => return false,
        }
        let behind = rest.trim_start_matches([' ', '\t']);
        if !(behind.is_empty() || behind.starts_with([';', '\n', '}', '#']) || command == '{') {
            return false;
        }
    }
}

/// What stands behind an address or two; `None` when it is not read.
fn sed_address(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let before = rest;
        rest = if let Some(behind) = rest.strip_prefix('/') {
            let behind = sed_until(behind, '/')?;
            behind.trim_start_matches(['I', 'M'])
        } else if let Some(behind) = rest.strip_prefix('$') {
            behind
        } else {
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || "~+".contains(letter))
        };
        if rest.len() == before.len() {
            return Some(rest);
        }
        match rest.trim_start_matches(' ').strip_prefix(',') {
            Some(behind) => rest = behind.trim_start_matches(' '),
            None => return Some(rest),
        }
    }
}

/// Behind so many texts that end with the first letter of `text`.
fn sed_between(text: &str, count: usize) -> Option<&str> {
    let end = text.chars().next().filter(|end| end.is_ascii_punctuation() && *end != '\\')?;
    let mut rest = &text[1..];
    for _ in 0..count {
        rest = sed_until(rest, end)?;
    }
    Some(rest)
}

fn sed_until(text: &str, end: char) -> Option<&str> {
    // Perf: looked for once, not at each bracket.
    let last_class = ["[:", "[.", "[="].iter().filter_map(|class| text.rfind(class)).max();
    let (mut close, mut end_at) = (None, None);
    let first_from = |known: Option<usize>, at: usize, letter: char| {
        let is_behind = known.is_some_and(|known| at <= known);
        if is_behind { known } else { Some(text[at..].find(letter).map_or(usize::MAX, |found| at + found)) }
    };
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
            }
            // In brackets the end may be a letter or not, depending on the program.
            // One that begins with a bracket that closes, or holds a class, ends further behind than it seems.
            '[' if text[at..].starts_with("[]") || text[at..].starts_with("[^]") => return None,
            '[' if last_class.is_some_and(|class| at < class) => return None,
            '[' => {
                close = first_from(close, at, ']');
                end_at = first_from(end_at, at, end);
                if close != Some(usize::MAX) && end_at < close {
                    return None;
                }
                if letter == end {
                    return Some(&text[at + end.len_utf8()..]);
                }
            }
            _ if letter == end => return Some(&text[at + end.len_utf8()..]),
            _ => {}
        }
    }
    None
}
