//! What does an awk program do besides computing?

/// What it does at worst.
pub(super) enum AwkDoes {
    Computes,
    Writes,
    Runs,
}

/// Reads an awk program as far as texts, expressions to match and comments go.
pub(super) fn awk_does(program: &str) -> AwkDoes {
    let mut code = String::new();
    let mut letters = program.chars().peekable();
    // An expression to match stands where no value does; behind a value `/` divides.
    let mut before = '{';
    while let Some(letter) = letters.next() {
        let end = match letter {
            '"' => Some('"'),
            '/' if "{;(,!~&|\n".contains(before) => Some('/'),
            '#' => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                None
            }
            _ => None,
        };
        if let Some(end) = end {
            loop {
                match letters.next() {
                    Some('\\') => {
                        letters.next();
                    }
                    Some(letter) if letter == end => break,
                    Some('\n') | None => return AwkDoes::Runs,
                    Some(_) => {}
                }
            }
            code.push_str(" \"\" ");
            before = '"';
        } else if letter != '#' {
            code.push(letter);
            if !letter.is_whitespace() || letter == '\n' {
                before = letter;
            }
        }
    }
    let has_pipe = code.replace("||", "  ").contains('|');
    let runs = ["system", "getline", "@", "extension"].iter().any(|word| code.contains(word));
    if has_pipe || runs {
        return AwkDoes::Runs;
    }
    let writes = |statement: &str| {
        let print = statement.find("print");
        print.is_some_and(|print| statement[print..].contains('>'))
    };
    if code.split([';', '}', '\n']).any(writes) { AwkDoes::Writes } else { AwkDoes::Computes }
}
