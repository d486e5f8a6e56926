//! What begins with `$`, and backticks.

use super::{DEEPEST, ParseResult, Parser, ends_with_name, is_name, is_of_name, word::flush};
use crate::syntax::{self, ArithmeticText, ShellScript, WordPiece};

impl Parser<'_> {
    /// What the `$` or backtick here begins; `None` when the `$` is only itself (and is gone past).
    pub(super) fn dollar(&mut self, quoted: bool) -> ParseResult<Option<WordPiece>> {
        if self.looks_at("`") {
            let script = self.backticks(quoted)?;
            return Ok(Some(WordPiece::Substitution { script, quoted }));
        }
        self.expect("$")?;
        match self.peek() {
            Some('\\') if self.looks_at("\\\n") => self.fail("a line ends within an expansion"),
            Some('(') => {
                if self.looks_at("((")
                    && let Some(computed) = self.computed_between("((")?
                {
                    return Ok(Some(WordPiece::Arithmetic(computed)));
                }
                let script = self.parenthesised()?;
                Ok(Some(WordPiece::Substitution { script, quoted }))
            }
            Some('{') => self.braces(quoted).map(Some),
            Some('[') => self.fail("`$[` is an old spelling that is not read"),
            Some('\'') if !quoted => {
                self.bash_only("`$'`")?;
                self.escaped().map(|text| Some(WordPiece::Quoted(text)))
            }
            Some('"') if !quoted => {
                // Nothing is translated but by a catalogue, and the variables that name one are not let pass. The `$` is
                // gone, and the double quotes that follow are read next.
                self.bash_only("`$\"`")?;
                Ok(Some(WordPiece::Quoted(String::new())))
            }
            Some(special) if "@*#?-$!".contains(special) || special.is_ascii_digit() => {
                self.bump();
                Ok(Some(WordPiece::Variable { name: special.to_string(), quoted }))
            }
            _ => {
                let name = self.name_letters();
                self.is_whole_name(&name)?;
                Ok((!name.is_empty()).then_some(WordPiece::Variable { name, quoted }))
            }
        }
    }

    /// To bash a name goes on behind a line that is joined.
    fn is_whole_name(&self, name: &str) -> ParseResult<()> {
        if !name.is_empty() && self.looks_at("\\\n") {
            self.fail("a line ends within a name")
        } else {
            Ok(())
        }
    }

    /// `( … )`, a script.
    pub(super) fn parenthesised(&mut self) -> ParseResult<ShellScript> {
        self.expect("(")?;
        // What is pending outside begins at the next line end, which may be in here: refused rather than guessed.
        if !self.documents.is_empty() {
            return self.fail("a substitution stands between a here-document and its text");
        }
        self.substitutions += 1;
        let script = self.script()?;
        self.close()?;
        self.substitutions -= 1;
        Ok(script)
    }

    fn backticks(&mut self, quoted: bool) -> ParseResult<ShellScript> {
        self.expect("`")?;
        let mut inside = String::new();
        loop {
            match self.bump() {
                None => return self.fail("a backtick is not closed"),
                Some('`') => break,
                Some('\\') => match self.bump() {
                    Some(escaped @ ('`' | '\\' | '$')) => inside.push(escaped),
                    Some('"') if quoted => inside.push('"'),
                    Some(other) => inside.extend(['\\', other]),
                    None => return self.fail("a backtick is not closed"),
                },
                Some(letter) => inside.push(letter),
            }
        }
        self.inner(&inside)?.whole()
    }

    /// `$'…'` with its escapes, from the `'`.
    fn escaped(&mut self) -> ParseResult<String> {
        self.expect("'")?;
        let mut text = String::new();
        loop {
            match self.bump() {
                None => return self.fail("a `$'` is not closed"),
                Some('\'') => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('a') => text.push('\x07'),
                    Some('b') => text.push('\x08'),
                    Some('e' | 'E') => text.push('\x1b'),
                    Some('f') => text.push('\x0c'),
                    Some('v') => text.push('\x0b'),
                    Some(itself @ ('\\' | '\'' | '"' | '?')) => text.push(itself),
                    Some('x') => text.push(self.numbered(16, 2)?),
                    Some('u') => text.push(self.numbered(16, 4)?),
                    Some('U') => text.push(self.numbered(16, 8)?),
                    Some('0'..='7') => {
                        self.at -= 1;
                        text.push(self.numbered(8, 3)?);
                    }
                    _ => return self.fail("an escape in `$'` is not read"),
                },
                Some(letter) => text.push(letter),
            }
        }
    }

    /// A letter by its number. Bytes that are no letters by themselves are refused.
    fn numbered(&mut self, radix: u32, most: usize) -> ParseResult<char> {
        let digits: String =
            self.rest().chars().take(most).take_while(|digit| digit.is_digit(radix)).collect();
        self.at += digits.len();
        let number = u32::from_str_radix(&digits, radix).ok();
        let is_byte = radix == 8 || most == 2;
        match number.and_then(char::from_u32) {
            Some(letter) if letter != '\0' && (!is_byte || letter.is_ascii()) => Ok(letter),
            _ => self.fail("an escape in `$'` is no letter"),
        }
    }

    /// `${ … }`, from the `{`.
    fn braces(&mut self, quoted: bool) -> ParseResult<WordPiece> {
        self.expect("{")?;
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            return self.fail("`${` begins with a blank");
        }
        let is_indirect = self.looks_at("!");
        let is_length = self.looks_at("#") && !self.looks_at("#}");
        if is_indirect || is_length {
            self.bump();
        }
        let mut name = self.name_letters();
        if name.is_empty() {
            match self.peek() {
                Some(special) if "@*#?-$!".contains(special) => {
                    self.bump();
                    name.push(special);
                }
                Some(digit) if digit.is_ascii_digit() => {
                    while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
                        name.push(digit);
                        self.bump();
                    }
                }
                _ => return self.fail("`${` has no name"),
            }
        }
        if !is_indirect && !is_length && self.take("}") {
            return Ok(WordPiece::Variable { name, quoted });
        }
        if self.looks_at("\\\n") {
            return self.fail("a line ends within an expansion");
        }
        let mut used = ArithmeticText::default();
        if is_indirect {
            // Its value is read as a name, and a name may have a computed index.
            if !is_name(&name) {
                used.open_name = Some(format!("${{!{name}}}"));
            }
            used.names.push(name.clone());
        }
        if self.take("[") {
            match self.index()? {
                Some(index) => used.and(index),
                None => return self.fail("the index in `${` does not end"),
            }
        }
        if self.looks_at("\\\n") || self.looks_at(":\\\n") {
            return self.fail("a line ends within an expansion");
        }
        if self.looks_at("@") && !self.looks_at("@}") {
            return self.fail("`${name@…}` may run what the value says");
        }
        let sets = self.looks_at("=") || self.looks_at(":=");
        let name = if is_length { String::new() } else { name };
        let is_cut =
            self.looks_at(":") && !["-", "=", "?", "+"].iter().any(|sign| self.rest()[1..].starts_with(sign));
        if is_cut {
            self.bump();
            used.and(self.computed_until(&["}"])?);
            self.expect("}")?;
            let parts = vec![WordPiece::Plain(":".to_owned())];
            return Ok(WordPiece::Expansion { name, parts, used, sets: false });
        }
        let parts = self.until_brace(quoted)?;
        Ok(WordPiece::Expansion { name, parts, used, sets })
    }

    /// The rest of a `${ … }`, from its operator, which is the first of them where there is one.
    fn until_brace(&mut self, quoted: bool) -> ParseResult<Vec<WordPiece>> {
        self.deeper(|parser| {
            let mut parts = Vec::new();
            let mut plain = String::new();
            loop {
                let Some(letter) = parser.peek() else { return parser.fail("a `${` is not closed") };
                if matches!(letter, '}' | '\'' | '"' | '$' | '`') {
                    flush(&mut plain, &mut parts);
                }
                match letter {
                    '}' => {
                        parser.bump();
                        return Ok(parts);
                    }
                    '\\' => {
                        parser.bump();
                        plain.extend(parser.bump());
                    }
                    // Within double quotes a `'` is only itself, or not, depending on the operator.
                    '\'' if quoted => return parser.fail("there is a `'` in a quoted `${`"),
                    '\'' => parts.push(WordPiece::Quoted(parser.single_quoted()?)),
                    '"' => {
                        if quoted {
                            parser.bash_only("quotes in a quoted `${`")?;
                        }
                        parser.bump();
                        parser.double_quoted(&mut parts)?;
                    }
                    '$' | '`' => parts.extend(parser.dollar(quoted)?),
                    '<' | '>' if parser.looks_at("<(") || parser.looks_at(">(") => {
                        return parser.fail("there is a process substitution in a `${`");
                    }
                    _ => plain.extend(parser.bump()),
                }
            }
        })
    }

    /// What is computed between `((` and `))`; `None`, and nothing read, when it is two groups of commands.
    pub(super) fn computed_between(&mut self, opening: &str) -> ParseResult<Option<ArithmeticText>> {
        let before = self.at;
        self.expect(opening)?;
        let computed = self.computed(&[")"], true)?;
        match computed {
            Some(computed) if self.take("))") => Ok(Some(computed)),
            _ => {
                self.at = before;
                Ok(None)
            }
        }
    }

    /// An array's index, from behind the `[` to behind the `]`; `None` when it does not end on its line.
    pub(super) fn index(&mut self) -> ParseResult<Option<ArithmeticText>> {
        let computed = self.computed(&["]", "\n", " ", ";", "&", "|", "<", ">"], false)?;
        Ok(if self.take("]") { computed } else { None })
    }

    fn computed_until(&mut self, ends: &[&str]) -> ParseResult<ArithmeticText> {
        match self.computed(ends, false)? {
            Some(computed) => Ok(computed),
            None => self.fail("what is computed does not end"),
        }
    }

    /// Reads up to one of `ends` that stands outside of parentheses and brackets. `None` at the text's end, or, for what
    /// stands between `((` and `))`, where a single `)` says that it is no computation.
    fn computed(&mut self, ends: &[&str], is_double: bool) -> ParseResult<Option<ArithmeticText>> {
        self.step()?;
        let begin = self.at;
        self.deeper(|parser| {
            let mut computed = ArithmeticText::default();
            let mut open = Vec::new();
            let mut has_single_quotes = false;
            let mut is_beside = false;
            loop {
                if open.is_empty() && ends.iter().any(|end| parser.looks_at(end)) {
                    if is_double && !parser.looks_at("))") {
                        return Ok(None);
                    }
                    if has_single_quotes {
                        return parser.fail("there is a `'` in what is computed");
                    }
                    computed.sets = syntax::sets(&parser.text[begin..parser.at]);
                    return Ok(Some(computed));
                }
                let Some(letter) = parser.peek() else { return Ok(None) };
                let is_beside_before = std::mem::take(&mut is_beside);
                match letter {
                    '(' | '[' => {
                        if open.len() >= DEEPEST {
                            return parser.fail("brackets stand too deep in each other");
                        }
                        open.push(if letter == '(' { ')' } else { ']' });
                        parser.bump();
                    }
                    ')' | ']' => {
                        if open.pop() != Some(letter) {
                            return if is_double { Ok(None) } else { parser.fail("brackets do not match") };
                        }
                        parser.bump();
                    }
                    '\'' => {
                        has_single_quotes = true;
                        parser.single_quoted()?;
                    }
                    '"' | '$' | '`' => {
                        // Beside a name it is a part of another one.
                        let from = parser.at;
                        if from > begin && (is_beside_before || ends_with_name(&parser.text[begin..from])) {
                            computed.open_name.get_or_insert_with(|| parser.text[begin..from].to_owned());
                        }
                        if letter == '"' {
                            parser.bump();
                            parser.double_quoted(&mut computed.pieces)?;
                        } else {
                            computed.pieces.extend(parser.dollar(true)?);
                        }
                        if parser.peek().is_some_and(is_of_name) {
                            computed.open_name.get_or_insert_with(|| parser.text[from..parser.at].to_owned());
                        }
                        is_beside = true;
                        continue;
                    }
                    '\\' => {
                        let before = parser.text[..parser.at].chars().next_back();
                        parser.bump();
                        if parser.bump() != Some('\n') {
                            return parser.fail("there is a `\\` in what is computed");
                        }
                        // To bash what stands on both sides is one, a name or an operator, say.
                        let is_apart =
                            |letter: Option<char>| letter.is_none_or(|letter| letter.is_ascii_whitespace());
                        if !is_apart(before) && !is_apart(parser.peek()) {
                            return parser.fail("a line ends within a name, a number or an operator");
                        }
                    }
                    _ if letter.is_ascii_alphabetic() || letter == '_' => {
                        let name = parser.name_letters();
                        computed.names.push(name);
                    }
                    _ if letter.is_ascii_digit() => {
                        // Of another base, or hexadecimal: its letters are no names.
                        while parser
                            .peek()
                            .is_some_and(|digit| digit.is_ascii_alphanumeric() || "#@_".contains(digit))
                        {
                            parser.bump();
                        }
                    }
                    _ => {
                        parser.bump();
                    }
                }
            }
        })
    }
}
