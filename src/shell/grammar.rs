//! How does bash read this text? Its grammar, by hand, so that nothing is read otherwise than bash would.
//!
//! It reads what bash reads and refuses the rest: whatever is not surely understood is an error, never a guess.

use std::ops::Range;

use super::{
    fuel::ReadingFuel,
    syntax::{CommandJoiner, CommandNode, CompoundCommand, ScriptItem, ShellPipeline, ShellScript},
};

mod compound;
mod dollar;
mod redirect;
pub(super) use simple::{ends_with_name, is_name, is_of_name};

mod simple;
mod word;

/// Scripts within scripts and commands within commands. Nobody writes so many, and each takes stack.
const DEEPEST: usize = 40;

/// Whose grammar?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellDialect {
    Bash,
    /// `sh`, which may be bash or not: what only bash has is refused.
    Posix,
}

/// The reason why a text was not understood, in words for people.
pub(super) type SyntaxProblem = String;

type ParseResult<T> = Result<T, SyntaxProblem>;

/// Reads a whole script; answers also where its here-documents stand.
pub(super) fn parse(
    text: &str,
    dialect: ShellDialect,
    fuel: &ReadingFuel<'_>,
) -> ParseResult<(ShellScript, Vec<Range<usize>>)> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        dialect,
        substitutions: 0,
        documents: Vec::new(),
        texts: Vec::new(),
        fuel,
        joins_badly: false,
    };
    let script = parser.whole();
    // Without fuel it may have seemed to end where it does not.
    match fuel.why_out() {
        Some(why) => Err(why.to_owned()),
        None => Ok((script?, parser.texts)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    dialect: ShellDialect,
    /// Substitutions that this text, or this place of it, stands in.
    substitutions: usize,
    /// Here-documents whose texts begin after the line's end, oldest first.
    documents: Vec<redirect::PendingHereDocument>,
    /// Where the texts of here-documents stand, with the lines that end them.
    texts: Vec<Range<usize>>,
    /// Shared with texts within this one. Without any the text ends here.
    fuel: &'a ReadingFuel<'a>,
    /// A line was joined where bash, which joins lines before it reads anything, may have seen another operator.
    joins_badly: bool,
}

/// Words that end a list of commands when they stand where a command would.
const CLOSERS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// Words that begin something, or are refused, when they stand where a command would.
const OPENERS: &[&str] = &[
    "!", "time", "if", "while", "until", "for", "select", "case", "function", "{", "[[", "coproc", "in", "]]",
];

impl<'a> Parser<'a> {
    /// For a text within this one.
    fn inner<'b>(&self, text: &'b str) -> ParseResult<Parser<'b>>
    where
        'a: 'b,
    {
        if self.depth >= DEEPEST {
            return self.fail("commands stand too deep in each other");
        }
        let Parser { depth, dialect, substitutions, fuel, .. } = *self;
        let (documents, texts) = (Vec::new(), Vec::new());
        let depth = depth + 1;
        Ok(Parser { text, at: 0, depth, dialect, substitutions, documents, texts, fuel, joins_badly: false })
    }

    fn whole(&mut self) -> ParseResult<ShellScript> {
        if self.text.contains('\0') {
            return self.fail("there is a NUL byte in it");
        }
        let script = self.script()?;
        if self.joins_badly {
            return Err("a line ends, with a `\\`, within an operator".to_owned());
        }
        match self.peek() {
            None if self.documents.is_empty() => Ok(script),
            None => self.fail("a here-document does not begin"),
            Some(other) => self.fail(&format!("there is a `{other}` where no command can be")),
        }
    }

    fn fail<T>(&self, why: &str) -> ParseResult<T> {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Err(format!("{why} (line {line})"))
    }

    /// Something that not every shell reads as bash does.
    fn bash_only(&self, what: &str) -> ParseResult<()> {
        match self.dialect {
            ShellDialect::Bash => Ok(()),
            ShellDialect::Posix => self.fail(&format!("not every `sh` reads {what} as bash does")),
        }
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= DEEPEST {
            return self.fail("commands stand too deep in each other");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn looks_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    fn bump(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.go_past(letter.len_utf8());
        Some(letter)
    }

    /// Goes past so many bytes, of those that stand here; to the end where there is no fuel left.
    fn go_past(&mut self, count: usize) {
        self.at = if self.fuel.burn(count) { self.at + count } else { self.text.len() };
    }

    /// Goes past `text` if it stands here.
    fn take(&mut self, text: &str) -> bool {
        let is_here = self.looks_at(text);
        if is_here {
            self.go_past(text.len());
        }
        is_here
    }

    fn expect(&mut self, text: &str) -> ParseResult<()> {
        if self.take(text) { Ok(()) } else { self.fail(&format!("a `{text}` is missing")) }
    }

    /// Blanks, joined lines, and a comment up to the end of its line.
    fn skip_blanks(&mut self) {
        loop {
            if self.looks_at("\\\n") {
                let is_of_operator = |letter: char| "()<>&|;-".contains(letter);
                let before = self.text[..self.at].chars().next_back();
                let behind = self.rest()[2..].chars().next();
                self.joins_badly |= before.is_some_and(is_of_operator)
                    && behind.is_some_and(|next| is_of_operator(next) || next == '\\');
                self.go_past(2);
            } else if !(self.take(" ") || self.take("\t")) {
                break;
            }
        }
        if self.looks_at("#") {
            self.go_past(self.rest().find('\n').unwrap_or(self.rest().len()));
        }
    }

    /// Blanks and line ends; at a line end the texts of here-documents are read.
    fn skip_lines(&mut self) -> ParseResult<()> {
        self.skip_blanks();
        while self.looks_at("\n") {
            self.line_end()?;
            self.skip_blanks();
        }
        Ok(())
    }

    fn line_end(&mut self) -> ParseResult<()> {
        self.expect("\n")?;
        self.read_documents()
    }

    /// The reserved word that stands here, without going past it.
    fn keyword(&self) -> Option<&'static str> {
        let mut word = String::new();
        let mut rest = self.rest();
        loop {
            if let Some(after) = rest.strip_prefix("\\\n") {
                rest = after;
                continue;
            }
            match rest.chars().next() {
                Some(letter) if letter.is_ascii_lowercase() || "{}!][".contains(letter) => {
                    word.push(letter);
                    rest = &rest[1..];
                }
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => break,
                Some(_) => return None,
            }
        }
        CLOSERS.iter().chain(OPENERS).copied().find(|keyword| *keyword == word)
    }

    fn take_keyword(&mut self, keyword: &str) -> ParseResult<bool> {
        if self.keyword() != Some(keyword) {
            return Ok(false);
        }
        let word = self.word()?;
        match word.and_then(|word| word.plain().map(|plain| plain == keyword)) {
            Some(true) => Ok(true),
            _ => self.fail(&format!("a `{keyword}` cannot be read")),
        }
    }

    fn expect_keyword(&mut self, keyword: &str) -> ParseResult<()> {
        self.skip_lines()?;
        if self.take_keyword(keyword)? { Ok(()) } else { self.fail(&format!("a `{keyword}` is missing")) }
    }

    /// Commands up to the end, a `)`, a `;;` or a word that closes.
    fn script(&mut self) -> ParseResult<ShellScript> {
        self.deeper(|parser| {
            let mut items = Vec::new();
            loop {
                parser.skip_lines()?;
                if parser.is_at_end_of_list() {
                    return Ok(ShellScript { items });
                }
                let pipeline = parser.pipeline()?;
                let joiner = parser.joiner()?;
                items.push(ScriptItem { pipeline, joiner });
                if joiner == CommandJoiner::And || joiner == CommandJoiner::Or {
                    parser.skip_lines()?;
                    if parser.is_at_end_of_list() {
                        return parser.fail("a command is missing after `&&` or `||`");
                    }
                }
            }
        })
    }

    /// A script that must have a command in it.
    fn commands(&mut self) -> ParseResult<ShellScript> {
        let script = self.script()?;
        if script.items.is_empty() { self.fail("a command is missing") } else { Ok(script) }
    }

    fn is_at_end_of_list(&self) -> bool {
        matches!(self.peek(), None | Some(')'))
            || self.looks_at(";;")
            || self.looks_at(";&")
            || self.keyword().is_some_and(|keyword| CLOSERS.contains(&keyword))
    }

    fn joiner(&mut self) -> ParseResult<CommandJoiner> {
        self.skip_blanks();
        if self.looks_at(";;") || self.looks_at(";&") {
            return Ok(CommandJoiner::Then);
        }
        if self.take("&&") {
            return Ok(CommandJoiner::And);
        }
        if self.take("||") {
            return Ok(CommandJoiner::Or);
        }
        if self.take("&") {
            return Ok(CommandJoiner::Background);
        }
        if self.take(";") || matches!(self.peek(), None | Some('\n' | ')')) {
            return Ok(CommandJoiner::Then);
        }
        // A group's end may follow without anything between: `{ (a) }`.
        if self.keyword().is_some_and(|keyword| CLOSERS.contains(&keyword)) {
            return Ok(CommandJoiner::Then);
        }
        self.fail("two commands stand beside each other")
    }

    fn pipeline(&mut self) -> ParseResult<ShellPipeline> {
        let mut time = None;
        loop {
            self.skip_blanks();
            if self.take_keyword("!")? {
                continue;
            }
            if time.is_none() && self.take_keyword("time")? {
                self.bash_only("`time`")?;
                time = Some(self.time_options()?);
                continue;
            }
            break;
        }
        let mut stages = Vec::new();
        self.skip_blanks();
        if time.is_some() && (self.is_at_end_of_list() || matches!(self.peek(), Some('\n' | ';' | '&'))) {
            return Ok(ShellPipeline { time, stages });
        }
        loop {
            stages.push(self.command()?);
            self.skip_blanks();
            if self.looks_at("||") || !(self.take("|&") || self.take("|")) {
                return Ok(ShellPipeline { time, stages });
            }
            self.skip_lines()?;
        }
    }

    fn time_options(&mut self) -> ParseResult<Vec<String>> {
        let mut options = Vec::new();
        loop {
            self.skip_blanks();
            let before = self.at;
            if !self.looks_at("-") {
                return Ok(options);
            }
            match self.word()?.as_ref().and_then(|word| word.plain()) {
                Some(option @ ("-p" | "--")) => options.push(option.to_owned()),
                _ => {
                    // Not its own: it is the name of what is timed.
                    self.at = before;
                    return Ok(options);
                }
            }
        }
    }

    fn command(&mut self) -> ParseResult<CommandNode> {
        self.skip_blanks();
        if let Some(compound) = self.compound()? {
            return self.with_redirects(compound);
        }
        self.simple()
    }

    fn with_redirects(&mut self, body: CompoundCommand) -> ParseResult<CommandNode> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(CommandNode::Compound { body, redirects }),
            }
        }
    }
}
