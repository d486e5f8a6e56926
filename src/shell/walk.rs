//! What happens, step by step, when a script runs? Goes through every command that might run, and keeps where it would run,
//! what stands in its input, and which names mean what.

use std::{collections::HashMap, path::PathBuf, rc::Rc};

use super::{
    LONGEST_TEXT, Reading, Surroundings,
    files::Link,
    grammar::{self, Dialect},
    meaning,
    numbers::Numbers,
    place::Place,
    reading::Draft,
    second,
    syntax::{Command, Compound, Computed, Item, Joiner, Pipeline, Script, Word},
    value::{self, Known, Value},
};
use crate::protocol::Risk;

mod bombs;
mod input;
mod moving;
mod simple;
mod words;

pub(super) use input::Input;

/// Scripts and commands that are run by others, one in the other.
const DEEPEST: usize = 24;
/// Commands that are looked at, some of them more than once, e.g. at each call of a function.
const MOST_STEPS: usize = 5_000;

pub(super) fn read(text: &str, around: &Surroundings<'_>) -> Reading {
    let mut walk = Walk {
        around,
        draft: Draft::new(),
        numbers: Numbers::default(),
        traps: Vec::new(),
        visited: Vec::new(),
        descriptors: Vec::new(),
        links: Vec::new(),
        searches_secret: false,
        depth: 0,
        steps: 0,
        letters: 0,
    };
    let mut scope = Scope::new(around);
    walk.text(text, Dialect::Bash, &mut scope);
    walk.run_traps(&scope);
    if let Some(why) = walk.numbers.danger() {
        walk.draft.unknown(why);
    }
    walk.draft.finish()
}

/// All that is found, and what holds for the whole text.
pub(super) struct Walk<'a> {
    pub around: &'a Surroundings<'a>,
    pub draft: Draft,
    pub numbers: Numbers,
    /// Scripts that run at some time later, wherever that is.
    traps: Vec<(String, Dialect)>,
    visited: Vec<Place>,
    /// Variables that hold numbers of open files.
    pub descriptors: Vec<String>,
    /// Links that the text makes.
    pub links: Vec<Link>,
    /// A search may list the daemon's secrets, for others to open.
    pub searches_secret: bool,
    pub depth: usize,
    steps: usize,
    /// Of all texts that were read, nested ones, too.
    letters: usize,
}

/// What holds where a command runs.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub place: Place,
    pub home: Option<PathBuf>,
    /// `$PWD` may have been set to something else.
    pub keeps_directory: bool,
    pub input: Input,
    functions: Rc<HashMap<String, Rc<Command>>>,
    /// Functions that are being run, so that one that calls itself ends.
    calls: Rc<Vec<String>>,
    pub dialect: Dialect,
}

impl Scope {
    fn new(around: &Surroundings<'_>) -> Scope {
        Scope {
            place: Place::new(around.directory),
            home: around.home.map(PathBuf::from),
            keeps_directory: true,
            input: Input::Outside,
            functions: Rc::default(),
            calls: Rc::default(),
            dialect: Dialect::Bash,
        }
    }

    pub fn known(&self) -> Known<'_> {
        Known {
            home: self.home.as_deref(),
            directory: self.directory(),
            has_own_cat: !self.functions.contains_key("cat"),
        }
    }

    fn directory(&self) -> Option<&std::path::Path> {
        let is_sure = self.keeps_directory && self.place.others.is_empty();
        self.place.main.as_deref().filter(|_| is_sure)
    }

    pub fn with_input(&self, input: Input) -> Scope {
        Scope { input, ..self.clone() }
    }
}

impl Walk<'_> {
    /// A text that a shell reads as its script.
    pub fn text(&mut self, text: &str, dialect: Dialect, scope: &mut Scope) {
        self.letters = self.letters.saturating_add(text.len());
        if self.letters > LONGEST_TEXT {
            return self.draft.unknown(format!("it is longer than {LONGEST_TEXT} bytes"));
        }
        if self.depth >= DEEPEST {
            return self.draft.unknown("commands run commands too many times over");
        }
        self.depth += 1;
        match grammar::parse(text, dialect) {
            Ok((script, documents)) => {
                let before = std::mem::replace(&mut scope.dialect, dialect);
                self.script(&script, scope);
                scope.dialect = before;
                if let Err(why) = second::agrees(text, &documents, &self.draft) {
                    self.draft.unknown(why);
                }
            }
            Err(why) => self.draft.unknown(format!("it cannot be read as a shell would: {why}")),
        }
        self.depth -= 1;
    }

    pub fn trap(&mut self, text: &str, dialect: Dialect) {
        self.traps.push((text.to_owned(), dialect));
    }

    /// They run at a signal or at the end, so anywhere the script has been.
    fn run_traps(&mut self, scope: &Scope) {
        let traps = std::mem::take(&mut self.traps);
        let places = std::mem::take(&mut self.visited);
        for (text, dialect) in traps {
            for place in places.iter().chain([&scope.place]) {
                self.text(&text, dialect, &mut Scope { place: place.clone(), ..scope.clone() });
            }
        }
    }

    pub fn script(&mut self, script: &Script, scope: &mut Scope) {
        let mut begin = scope.place.clone();
        let mut before = Joiner::Then;
        for item in &script.items {
            self.item(item, before, &begin, scope);
            before = item.joiner;
            if matches!(item.joiner, Joiner::Then | Joiner::Background) {
                // A `cd` that failed leaves it where it was.
                if scope.place != begin && !item.leaves() {
                    scope.place = scope.place.clone().or(&begin);
                }
                begin = scope.place.clone();
            }
        }
    }

    fn item(&mut self, item: &Item, before: Joiner, begin: &Place, scope: &mut Scope) {
        match (item.joiner, before) {
            (Joiner::Background, _) => self.pipeline(&item.pipeline, &mut scope.clone()),
            (_, Joiner::Or) => {
                let place = scope.place.clone();
                let mut other = scope.clone();
                other.place = place.clone().or(begin);
                self.pipeline(&item.pipeline, &mut other);
                let moved = other.place != place.clone().or(begin);
                *scope = Scope { place: if moved { other.place.or(&place) } else { place }, ..other };
            }
            _ => self.pipeline(&item.pipeline, scope),
        }
        if !self.visited.contains(&scope.place) && !self.traps.is_empty() {
            self.visited.push(scope.place.clone());
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, scope: &mut Scope) {
        if let Some(options) = &pipeline.time {
            self.time(options, &pipeline.stages, scope);
        }
        match pipeline.stages.as_slice() {
            [only] => self.command(only, scope),
            stages => {
                for (at, stage) in stages.iter().enumerate() {
                    let input = if at == 0 { scope.input.clone() } else { Input::Pipe };
                    self.command(stage, &mut scope.with_input(input));
                }
            }
        }
    }

    /// The keyword, as a command that runs the first of what it times.
    fn time(&mut self, options: &[String], stages: &[Command], scope: &Scope) {
        let mut words = vec![Value::literal("time")];
        words.extend(options.iter().map(|option| Value::literal(option)));
        if let Some(Command::Simple(simple)) = stages.first() {
            words.extend(simple.words.iter().flat_map(|word| value::values(word, &scope.known())));
        }
        let reach = self.reach(&words, scope);
        self.draft.reaching(words.iter().map(Value::word).collect(), reach);
    }

    fn command(&mut self, command: &Command, scope: &mut Scope) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return self.draft.unknown("it would take too long to follow");
        }
        if self.depth >= DEEPEST {
            return self.draft.unknown("commands stand too deep in each other");
        }
        self.depth += 1;
        match command {
            Command::Simple(simple) => self.simple(simple, scope),
            Command::Compound { body, redirects } => {
                let input = self.redirects(redirects, scope);
                let mut inner = scope.with_input(input);
                self.compound(body, &mut inner);
                *scope = Scope { input: scope.input.clone(), ..inner };
            }
            Command::Function { name, body } => self.function(name, body, scope),
        }
        self.depth -= 1;
    }

    fn function(&mut self, name: &str, body: &Command, scope: &mut Scope) {
        if meaning::is_followed(name) {
            self.draft.unknown(format!("it gives `{name}` another meaning"));
        }
        if bombs::calls_itself_beside(name, body) {
            self.draft.found(Risk::Critical, format!("`{name}` starts itself again and again (a fork bomb)"));
        }
        let functions = Rc::make_mut(&mut scope.functions);
        functions.insert(name.to_owned(), Rc::new(body.clone()));
        let mut calls = (*scope.calls).clone();
        calls.push(name.to_owned());
        self.command(body, &mut Scope { calls: Rc::new(calls), ..scope.clone() });
    }

    fn compound(&mut self, body: &Compound, scope: &mut Scope) {
        match body {
            Compound::Subshell(script) => {
                let mut inner = scope.clone();
                self.script(script, &mut inner);
            }
            Compound::Group(script) => self.script(script, scope),
            Compound::If(scripts) => {
                for script in scripts {
                    self.perhaps(scope, |walk, scope| walk.script(script, scope));
                }
            }
            Compound::While { head, body } => self.repeated(scope, |walk, scope| {
                walk.script(head, scope);
                walk.script(body, scope);
            }),
            Compound::Each { name, words, body } => {
                self.each(name, words.as_deref(), scope);
                self.repeated(scope, |walk, scope| walk.script(body, scope));
            }
            Compound::Count { head, body } => {
                self.computed(head, scope);
                self.repeated(scope, |walk, scope| walk.script(body, scope));
            }
            Compound::Case { subject, arms } => {
                self.inside(subject, scope);
                for (patterns, script) in arms {
                    patterns.iter().for_each(|pattern| self.inside(pattern, scope));
                    self.perhaps(scope, |walk, scope| walk.script(script, scope));
                }
            }
            Compound::Test(words) => self.test(words, scope),
            Compound::Computed(computed) => self.computed(computed, scope),
            Compound::Coprocess(command) => {
                let mut inner = scope.with_input(Input::Pipe);
                self.command(command, &mut inner);
            }
        }
    }

    /// Something that runs or does not.
    fn perhaps(&mut self, scope: &mut Scope, run: impl FnOnce(&mut Self, &mut Scope)) {
        let before = scope.place.clone();
        run(self, scope);
        if scope.place != before {
            scope.place = before.or(&scope.place);
        }
    }

    /// Something that runs any number of times. A second round begins where the first ended.
    fn repeated(&mut self, scope: &mut Scope, run: impl Fn(&mut Self, &mut Scope)) {
        let before = scope.place.clone();
        run(self, scope);
        if scope.place != before {
            scope.place = Place::unknown();
            run(self, scope);
            scope.place = Place::unknown();
        }
    }

    /// Whether one more command may be followed into what it runs; each such is ended by [`Walk::leaves`].
    pub fn enters(&mut self) -> bool {
        self.steps += 1;
        if self.depth >= DEEPEST || self.steps > MOST_STEPS {
            self.draft.unknown("commands run commands too many times over");
            return false;
        }
        self.depth += 1;
        true
    }

    pub fn leaves(&mut self) {
        self.depth -= 1;
    }

    pub fn computed(&mut self, computed: &Computed, scope: &Scope) {
        self.numbers.computed(computed);
        self.pieces(&computed.pieces, scope);
    }
}

impl Item {
    /// Whether what stands behind it is not reached: `|| exit`.
    fn leaves(&self) -> bool {
        match self.pipeline.stages.as_slice() {
            [Command::Simple(simple)] => {
                let name = simple.words.first().and_then(Word::plain);
                name.is_some_and(|name| matches!(name, "exit" | "return"))
            }
            _ => false,
        }
    }
}
