//! What happens, step by step, when a script runs? Goes through every command that might run, and keeps where it would run,
//! what stands in its input, and which names mean what.

use std::{collections::HashSet, rc::Rc};

use super::{
    LONGEST_TEXT, ShellAnalysis, ShellEnvironment,
    fuel::ReadingFuel,
    grammar::{self, ShellDialect},
    meaning,
    numbers::ArithmeticVariables,
    place::WorkingDirectory,
    reading::ShellAnalysisDraft,
    scope::{CommandInput, CommandScope, FoldersSeen, ScriptWalk},
    second,
    syntax::{
        ArithmeticText, CommandJoiner, CommandNode, CompoundCommand, ScriptItem, ShellPipeline, ShellScript,
        ShellWord,
    },
    value::{self, WordValue},
};
use protocol::Risk;

mod bombs;
mod input;
mod moving;
mod simple;
mod words;

/// Scripts and commands that are run by others, one in the other.
const DEEPEST: usize = 24;
/// Commands that are looked at, some of them more than once, e.g. at each call of a function.
const MOST_STEPS: usize = 5_000;

pub(super) fn read(text: &str, around: &ShellEnvironment<'_>) -> ShellAnalysis {
    let mut walk = ScriptWalk {
        around,
        fuel: ReadingFuel::new(around.is_wanted),
        draft: ShellAnalysisDraft::new(),
        numbers: ArithmeticVariables::default(),
        traps: Vec::new(),
        visited: Vec::new(),
        descriptors: HashSet::new(),
        links: Vec::new(),
        seen: FoldersSeen::default(),
        searches_secret: false,
        depth: 0,
        steps: 0,
        letters: 0,
    };
    let mut scope = CommandScope::new(around);
    walk.text(text, ShellDialect::Bash, &mut scope);
    walk.run_traps(&scope);
    if let Some(why) = walk.numbers.danger(meaning::decides) {
        walk.draft.unknown(why);
    }
    if walk.seen.overlooked.get() {
        walk.draft.unknown("its patterns may match more names than are looked at");
    }
    if let Some(why) = walk.fuel.why_out() {
        walk.draft.unknown(why);
    }
    walk.draft.finish()
}

/// The work that each word of a command is, before it is known what the command does.
const WORDS_WORK: usize = 32;

impl ScriptWalk<'_> {
    /// A text that a shell reads as its script.
    pub fn text(&mut self, text: &str, dialect: ShellDialect, scope: &mut CommandScope) {
        self.letters = self.letters.saturating_add(text.len());
        if self.letters > LONGEST_TEXT {
            return self.draft.unknown(format!("it is longer than {LONGEST_TEXT} bytes"));
        }
        if self.depth >= DEEPEST {
            return self.draft.unknown("commands run commands too many times over");
        }
        if dialect == ShellDialect::Posix
            && let Some(shell) = self.other_system_shell()
        {
            self.draft
                .unknown(format!("`sh` is `{shell}` on this system, which reads scripts in its own way"));
        }
        self.depth += 1;
        match grammar::parse(text, dialect, &self.fuel) {
            Ok((script, documents)) => {
                let before = std::mem::replace(&mut scope.dialect, dialect);
                self.script(&script, scope);
                scope.dialect = before;
                // What is not understood already needs no second reader.
                if !self.draft.is_unknown()
                    && let Err(why) = second::agrees(text, &documents, &self.draft, &self.fuel)
                {
                    self.draft.unknown(why);
                }
            }
            Err(why) => self.draft.unknown(match self.fuel.why_out() {
                Some(why) => why.to_owned(),
                None => format!("it cannot be read as a shell would: {why}"),
            }),
        }
        self.depth -= 1;
    }

    pub fn trap(&mut self, text: &str, dialect: ShellDialect) {
        self.traps.push((text.to_owned(), dialect));
    }

    /// They run at a signal or at the end, so anywhere the script has been.
    fn run_traps(&mut self, scope: &CommandScope) {
        let traps = std::mem::take(&mut self.traps);
        let places = std::mem::take(&mut self.visited);
        for (text, dialect) in traps {
            for place in places.iter().chain([&scope.place]) {
                self.text(&text, dialect, &mut CommandScope { place: place.clone(), ..scope.clone() });
            }
        }
    }

    pub fn script(&mut self, script: &ShellScript, scope: &mut CommandScope) {
        let mut begin = scope.place.clone();
        let mut before = CommandJoiner::Then;
        for item in &script.items {
            self.item(item, before, &begin, scope);
            before = item.joiner;
            if matches!(item.joiner, CommandJoiner::Then | CommandJoiner::Background) {
                // A `cd` that failed leaves it where it was.
                if scope.place != begin && !item.leaves() {
                    scope.place = scope.place.clone().or(&begin);
                }
                begin = scope.place.clone();
            }
        }
    }

    fn item(
        &mut self,
        item: &ScriptItem,
        before: CommandJoiner,
        begin: &WorkingDirectory,
        scope: &mut CommandScope,
    ) {
        match (item.joiner, before) {
            (CommandJoiner::Background, _) => self.pipeline(&item.pipeline, &mut scope.clone()),
            (_, CommandJoiner::Or) => {
                let place = scope.place.clone();
                let mut other = scope.clone();
                other.place = place.clone().or(begin);
                self.pipeline(&item.pipeline, &mut other);
                let moved = other.place != place.clone().or(begin);
                *scope = CommandScope { place: if moved { other.place.or(&place) } else { place }, ..other };
            }
            _ => self.pipeline(&item.pipeline, scope),
        }
        if !self.visited.contains(&scope.place) && !self.traps.is_empty() {
            self.visited.push(scope.place.clone());
        }
    }

    fn pipeline(&mut self, pipeline: &ShellPipeline, scope: &mut CommandScope) {
        if let Some(options) = &pipeline.time {
            self.time(options, &pipeline.stages, scope);
        }
        match pipeline.stages.as_slice() {
            [only] => self.command(only, scope),
            stages => {
                for (at, stage) in stages.iter().enumerate() {
                    let input = if at == 0 { scope.input.clone() } else { CommandInput::Pipe };
                    self.command(stage, &mut scope.with_input(input));
                }
            }
        }
    }

    /// The keyword, as a command that runs the first of what it times.
    fn time(&mut self, options: &[String], stages: &[CommandNode], scope: &CommandScope) {
        let mut words = vec![WordValue::literal("time")];
        words.extend(options.iter().map(|option| WordValue::literal(option)));
        if let Some(CommandNode::Simple(simple)) = stages.first() {
            words.extend(simple.words.iter().flat_map(|word| value::values(word, &scope.known())));
        }
        let reach = self.reach(&words, scope);
        self.draft.reaching(words.iter().map(WordValue::word).collect(), reach);
    }

    fn command(&mut self, command: &CommandNode, scope: &mut CommandScope) {
        self.steps += 1;
        if self.steps > MOST_STEPS || !self.fuel.burn(1 + scope.functions.len()) {
            return self.draft.unknown("it would take too long to follow");
        }
        if self.depth >= DEEPEST {
            return self.draft.unknown("commands stand too deep in each other");
        }
        self.depth += 1;
        match command {
            CommandNode::Simple(simple) => self.simple(simple, scope),
            CommandNode::Compound { body, redirects } => {
                let input = self.redirects(redirects, scope);
                let mut inner = scope.with_input(input);
                self.compound(body, &mut inner);
                *scope = CommandScope { input: scope.input.clone(), ..inner };
            }
            CommandNode::Function { name, body } => self.function(name, body, scope),
        }
        self.depth -= 1;
    }

    fn function(&mut self, name: &str, body: &CommandNode, scope: &mut CommandScope) {
        self.numbers.function(name);
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
        self.command(body, &mut CommandScope { calls: Rc::new(calls), ..scope.clone() });
    }

    fn compound(&mut self, body: &CompoundCommand, scope: &mut CommandScope) {
        match body {
            CompoundCommand::Subshell(script) => {
                let mut inner = scope.clone();
                self.script(script, &mut inner);
            }
            CompoundCommand::Group(script) => self.script(script, scope),
            CompoundCommand::If(scripts) => {
                for script in scripts {
                    self.perhaps(scope, |walk, scope| walk.script(script, scope));
                }
            }
            CompoundCommand::While { head, body } => self.repeated(scope, |walk, scope| {
                walk.script(head, scope);
                walk.script(body, scope);
            }),
            CompoundCommand::Each { name, words, body } => {
                self.each(name, words.as_deref(), scope);
                self.repeated(scope, |walk, scope| walk.script(body, scope));
            }
            CompoundCommand::Count { head, body } => {
                self.computed(head, scope);
                self.repeated(scope, |walk, scope| walk.script(body, scope));
            }
            CompoundCommand::Case { subject, arms } => {
                self.inside(subject, scope);
                for (patterns, script) in arms {
                    patterns.iter().for_each(|pattern| self.inside(pattern, scope));
                    self.perhaps(scope, |walk, scope| walk.script(script, scope));
                }
            }
            CompoundCommand::Test(words) => self.test(words, scope),
            CompoundCommand::Computed(computed) => self.computed(computed, scope),
            CompoundCommand::Coprocess { name, command } => {
                if let Some(name) = name {
                    self.renamed_in_passing(name, scope);
                }
                let mut inner = scope.with_input(CommandInput::Pipe);
                self.command(command, &mut inner);
            }
        }
    }

    /// Something that runs or does not.
    fn perhaps(&mut self, scope: &mut CommandScope, run: impl FnOnce(&mut Self, &mut CommandScope)) {
        let before = scope.place.clone();
        run(self, scope);
        if scope.place != before {
            scope.place = before.or(&scope.place);
        }
    }

    /// Something that runs any number of times. A second round begins where the first ended.
    fn repeated(&mut self, scope: &mut CommandScope, run: impl Fn(&mut Self, &mut CommandScope)) {
        let before = scope.place.clone();
        run(self, scope);
        if scope.place != before {
            scope.place = WorkingDirectory::unknown();
            run(self, scope);
            scope.place = WorkingDirectory::unknown();
        }
    }

    /// True if one more command may be followed into what it runs; each such is ended by [`ScriptWalk::leaves`].
    pub fn enters(&mut self, args: &[WordValue]) -> bool {
        self.steps += 1;
        if !self.fuel.burn(WORDS_WORK * args.len()) {
            return false;
        }
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

    pub fn computed(&mut self, computed: &ArithmeticText, scope: &CommandScope) {
        self.numbers.computed(computed);
        self.pieces(&computed.pieces, scope);
    }
}

impl ScriptItem {
    /// True if what stands behind it is not reached: `|| exit`.
    fn leaves(&self) -> bool {
        match self.pipeline.stages.as_slice() {
            [CommandNode::Simple(simple)] => {
                let name = simple.words.first().and_then(ShellWord::plain);
                name.is_some_and(|name| matches!(name, "exit" | "return"))
            }
            _ => false,
        }
    }
}
