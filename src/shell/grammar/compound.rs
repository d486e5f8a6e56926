//! Commands that have commands inside: groups, branches, loops, tests, functions.

use super::{ParseResult, Parser};
use crate::syntax::{CommandNode, CompoundCommand, ShellScript, ShellWord, WordPiece};

impl Parser<'_> {
    /// The compound command that begins here, if one does.
    pub(super) fn compound(&mut self) -> ParseResult<Option<CompoundCommand>> {
        if self.looks_at("((")
            && let Some(computed) = self.computed_between("((")?
        {
            self.bash_only("`((`")?;
            return Ok(Some(CompoundCommand::Computed(computed)));
        }
        if self.take("(") {
            let script = self.commands()?;
            self.close()?;
            return Ok(Some(CompoundCommand::Subshell(script)));
        }
        let Some(keyword) = self.keyword() else { return Ok(None) };
        self.deeper(|parser| {
            parser.take_keyword(keyword)?;
            match keyword {
                "{" => {
                    let script = parser.commands()?;
                    parser.expect_keyword("}")?;
                    Ok(Some(CompoundCommand::Group(script)))
                }
                "if" => parser.branches().map(Some),
                "while" | "until" => {
                    let head = parser.commands()?;
                    let body = parser.loop_body()?;
                    Ok(Some(CompoundCommand::While { head, body }))
                }
                "for" | "select" => parser.each(keyword).map(Some),
                "case" => parser.case().map(Some),
                "[[" => parser.test().map(Some),
                "coproc" => parser.coprocess().map(Some),
                // The name is read as a word, so that whoever calls has it.
                "function" => parser.named_function().map(Some),
                other => parser.fail(&format!("`{other}` stands where a command should be")),
            }
        })
    }

    /// A `)`; a here-document that began inside must have ended there.
    pub(super) fn close(&mut self) -> ParseResult<()> {
        if !self.documents.is_empty() && self.looks_at(")") {
            return self.fail("a here-document does not begin before its `)`");
        }
        self.expect(")")
    }

    fn branches(&mut self) -> ParseResult<CompoundCommand> {
        let mut scripts = vec![self.commands()?];
        self.expect_keyword("then")?;
        scripts.push(self.commands()?);
        loop {
            self.skip_lines()?;
            if self.take_keyword("elif")? {
                scripts.push(self.commands()?);
                self.expect_keyword("then")?;
                scripts.push(self.commands()?);
                continue;
            }
            if self.take_keyword("else")? {
                scripts.push(self.commands()?);
            }
            self.expect_keyword("fi")?;
            return Ok(CompoundCommand::If(scripts));
        }
    }

    fn loop_body(&mut self) -> ParseResult<ShellScript> {
        self.expect_keyword("do")?;
        let body = self.commands()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn each(&mut self, keyword: &str) -> ParseResult<CompoundCommand> {
        self.skip_blanks();
        if keyword == "select" {
            self.bash_only("`select`")?;
        }
        if self.looks_at("((") && keyword == "for" {
            self.bash_only("`for ((`")?;
            let Some(head) = self.computed_between("((")? else {
                return self.fail("the head of a `for ((` does not end");
            };
            self.skip_blanks();
            self.take(";");
            self.skip_lines()?;
            let body = self.braces_or_do()?;
            return Ok(CompoundCommand::Count { head, body });
        }
        let Some(name) = self.name()? else { return self.fail("a `for` has no name") };
        self.skip_lines()?;
        let words = if self.take_keyword("in")? {
            let words = self.words_of_line()?;
            self.skip_blanks();
            if !self.take(";") && !self.looks_at("\n") {
                return self.fail("the words of a `for` do not end");
            }
            Some(words)
        } else {
            self.take(";");
            None
        };
        self.skip_lines()?;
        let body = self.braces_or_do()?;
        Ok(CompoundCommand::Each { name, words, body })
    }

    fn braces_or_do(&mut self) -> ParseResult<ShellScript> {
        if self.keyword() != Some("{") {
            return self.loop_body();
        }
        self.bash_only("a loop in braces")?;
        self.take_keyword("{")?;
        let body = self.commands()?;
        self.expect_keyword("}")?;
        Ok(body)
    }

    fn words_of_line(&mut self) -> ParseResult<Vec<ShellWord>> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.word()? {
                Some(word) => words.push(word),
                None => return Ok(words),
            }
        }
    }

    fn case(&mut self) -> ParseResult<CompoundCommand> {
        self.skip_blanks();
        let Some(subject) = self.word()? else { return self.fail("a `case` has no word") };
        self.expect_keyword("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_keyword("esac")? {
                return Ok(CompoundCommand::Case { subject, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.skip_blanks();
                let Some(pattern) = self.word()? else { return self.fail("a `case` has no pattern") };
                patterns.push(pattern);
                self.skip_blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.expect(")")?;
            let script = self.script()?;
            arms.push((patterns, script));
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) {
                self.expect_keyword("esac")?;
                return Ok(CompoundCommand::Case { subject, arms });
            }
        }
    }

    /// What stands between `[[` and `]]`. Operators become words of their own.
    fn test(&mut self) -> ParseResult<CompoundCommand> {
        self.bash_only("`[[`")?;
        let mut words: Vec<ShellWord> = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_keyword("]]")? {
                return Ok(CompoundCommand::Test(words));
            }
            let is_pattern = words
                .last()
                .and_then(ShellWord::plain)
                .is_some_and(|operator| matches!(operator, "=~" | "==" | "=" | "!="));
            let operator =
                ["&&", "||", "(", ")", "<", ">"].into_iter().find(|operator| self.looks_at(operator));
            if let Some(operator) = operator
                && !is_pattern
                && !self.looks_at("<(")
                && !self.looks_at(">(")
            {
                self.take(operator);
                words.push(ShellWord {
                    raw: operator.to_owned(),
                    pieces: vec![WordPiece::Plain(operator.to_owned())],
                });
                continue;
            }
            let word = if is_pattern { self.pattern()? } else { self.word()? };
            match word {
                Some(word) => words.push(word),
                None => return self.fail("a `[[` is not closed by `]]`"),
            }
        }
    }

    fn coprocess(&mut self) -> ParseResult<CompoundCommand> {
        self.bash_only("`coproc`")?;
        self.skip_blanks();
        let before = self.at;
        let begins_compound = |parser: &Self| {
            parser.looks_at("(")
                || parser.keyword().is_some_and(|keyword| {
                    ["{", "if", "while", "until", "for", "select", "case", "[["].contains(&keyword)
                })
        };
        // A name stands only before a compound command.
        let mut name = None;
        if !begins_compound(self) {
            name = self.name()?;
            self.skip_blanks();
            if name.is_none() || !begins_compound(self) {
                name = None;
                self.at = before;
            }
        }
        let command = Box::new(self.deeper(Self::command)?);
        Ok(CompoundCommand::Coprocess { name, command })
    }

    /// `function name [()] body`, as a group that only defines.
    fn named_function(&mut self) -> ParseResult<CompoundCommand> {
        self.bash_only("`function`")?;
        self.skip_blanks();
        let name = match self.word()? {
            Some(word) => match word.plain() {
                Some(name) => name.to_owned(),
                None => return self.fail("the name of a function is computed"),
            },
            None => return self.fail("a function has no name"),
        };
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            self.expect(")")?;
        }
        let definition = self.function_body(name)?;
        Ok(CompoundCommand::Group(ShellScript::of(definition)))
    }

    /// What follows `name ()`.
    pub(super) fn function_body(&mut self, name: String) -> ParseResult<CommandNode> {
        self.skip_lines()?;
        let Some(body) = self.deeper(Self::compound)? else {
            return self.fail("the body of a function is no group of commands");
        };
        let body = self.with_redirects(body)?;
        Ok(CommandNode::Function { name, body: Box::new(body) })
    }
}
