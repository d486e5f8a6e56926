//! What does an awk program do besides computing?

/// What it does at worst.
pub(super) enum AwkDoes {
    Computes,
    Writes,
    Runs,
}

/// Words behind which no value stands, so that `/` begins an expression to match.
const BEFORE_VALUES: &[&str] = &["print", "printf", "return", "else", "do", "exit", "delete", "in"];
/// Words whose `(…)` is a condition: behind it a statement begins, which may be an expression to match.
const BEFORE_CONDITIONS: &[&str] = &["if", "while", "for"];
/// Keywords of some awks that are names in others, so that nobody can tell what a `/` behind them, or behind their `(…)`, begins.
const OF_SOME: &[&str] = &["switch", "case", "default", "func", "BEGINFILE", "ENDFILE", "nextfile"];
/// Words that are no values, or whose value awks do not agree on: what `/` means behind them is not read.
const UNCLEAR: &[&str] =
    &["BEGIN", "END", "next", "break", "continue", "function", "length", "getline", "if", "while", "for"];

/// What stands before a `/`, and so what it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlashContext {
    /// It divides.
    Value,
    /// It begins an expression to match.
    Operator,
    /// Nobody can tell, or awks differ.
    Unclear,
}

/// Reads an awk program as far as texts, expressions to match and comments go.
pub(super) fn awk_does(program: &str) -> AwkDoes {
    let Some(code) = without_texts(program) else { return AwkDoes::Runs };
    let has_pipe = code.replace("||", "  ").contains('|');
    let runs = ["system", "getline", "@", "extension"].iter().any(|word| code.contains(word));
    if has_pipe || runs {
        return AwkDoes::Runs;
    }
    let writes = |statement: &str| {
        let print = statement.find("print");
        print.is_some_and(|print| statement[print..].contains('>'))
    };
    let code = without_breaks(&code);
    if code.split([';', '}', '\n']).any(writes) { AwkDoes::Writes } else { AwkDoes::Computes }
}

/// The code with a blank for each end of a line behind which its statement goes on.
fn without_breaks(code: &str) -> String {
    let (mut joined, mut open, mut last) = (String::new(), 0_usize, '\n');
    for letter in code.chars() {
        match letter {
            '(' | '[' => open += 1,
            ')' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        // `,`, `&&` and `||`; some awks take a line as going on behind `?` and `:` as well.
        let goes_on = letter == '\n' && (0 < open || ",&|?:".contains(last));
        joined.push(if goes_on { ' ' } else { letter });
        if !letter.is_whitespace() {
            last = letter;
        }
    }
    joined
}

/// The program with an empty text for each text and expression to match; `None` when it is not surely read. What is taken for
/// a division and is none, or the other way round, would hide code in what looks like a text.
fn without_texts(program: &str) -> Option<String> {
    let mut code = String::new();
    let mut rest = program;
    let mut before = SlashContext::Operator;
    // What stands before a `/` behind the `)` of each `(` that is open.
    let mut open: Vec<SlashContext> = Vec::new();
    let mut word = "";
    while let Some(letter) = rest.chars().next() {
        let behind = &rest[letter.len_utf8()..];
        let last_word = std::mem::take(&mut word);
        match letter {
            '"' => {
                rest = behind_text(behind)?;
                code.push_str(" \"\" ");
                before = SlashContext::Value;
                continue;
            }
            '/' => match before {
                SlashContext::Operator => {
                    rest = behind_expression(behind)?;
                    code.push_str(" \"\" ");
                    before = SlashContext::Value;
                    continue;
                }
                SlashContext::Value => before = SlashContext::Operator,
                SlashContext::Unclear => return None,
            },
            '#' => {
                rest = behind.find('\n').map_or("", |end| &behind[end..]);
                continue;
            }
            // A line that goes on; elsewhere it has no meaning that all awks agree on.
            '\\' => {
                rest = behind.strip_prefix('\n').or_else(|| behind.strip_prefix("\r\n"))?;
                code.push(' ');
                continue;
            }
            '(' => {
                open.push(match last_word {
                    _ if BEFORE_CONDITIONS.contains(&last_word) => SlashContext::Operator,
                    _ if OF_SOME.contains(&last_word) => SlashContext::Unclear,
                    _ => SlashContext::Value,
                });
                before = SlashContext::Operator;
            }
            ')' => before = open.pop().unwrap_or(SlashContext::Value),
            ']' => before = SlashContext::Value,
            // `a++ / 2` divides, `a + /b/` does not.
            '+' | '-' | '$' => before = SlashContext::Unclear,
            '\n' => before = SlashContext::Operator,
            blank if blank.is_whitespace() => word = last_word,
            _ if is_of_word(letter) => {
                let end = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
                word = &rest[..end];
                before = match word {
                    _ if BEFORE_VALUES.contains(&word) => SlashContext::Operator,
                    _ if UNCLEAR.contains(&word) || OF_SOME.contains(&word) => SlashContext::Unclear,
                    _ => SlashContext::Value,
                };
                code.push_str(word);
                rest = &rest[end..];
                continue;
            }
            _ if "{};,!~&|=<>?:*%^[".contains(letter) => before = SlashContext::Operator,
            _ => before = SlashContext::Unclear,
        }
        code.push(letter);
        rest = behind;
    }
    Some(code)
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '.'
}

fn behind_text(text: &str) -> Option<&str> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return Some(&text[at + 1..]),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Behind the `/` that ends an expression to match. In brackets a `/` ends it in some awks and not in others.
fn behind_expression(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let letter = rest.chars().next()?;
        let behind = &rest[letter.len_utf8()..];
        rest = match letter {
            '\n' => return None,
            '/' => return Some(behind),
            '\\' => {
                let quoted = behind.chars().next().filter(|letter| *letter != '\n')?;
                &behind[quoted.len_utf8()..]
            }
            '[' => behind_brackets(behind)?,
            _ => behind,
        };
    }
}

fn behind_brackets(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('^').unwrap_or(text);
    let mut rest = inside.strip_prefix(']').unwrap_or(inside);
    loop {
        let letter = rest.chars().next()?;
        let behind = &rest[letter.len_utf8()..];
        rest = match letter {
            ']' => return Some(behind),
            '/' | '\n' => return None,
            '\\' => {
                let quoted = behind.chars().next().filter(|letter| !matches!(letter, '\n' | '/'))?;
                &behind[quoted.len_utf8()..]
            }
            '[' => {
                // A class by its name, e.g. `[:alpha:]`.
                let (name, behind) = behind.strip_prefix(':')?.split_once(":]")?;
                name.chars().all(|letter| letter.is_ascii_alphabetic()).then_some(behind)?
            }
            _ => behind,
        };
    }
}
