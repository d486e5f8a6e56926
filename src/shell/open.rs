//! One command, its words known as far as they can be: what is it, what does it touch, and what does it run in turn?

use super::{
    git, guarded,
    programs::gnu,
    reach, risk,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::CommandReach;

/// Stands for words that are added when it runs, for people. A command is told without them, too.
const MORE: &str = "(words of its input)";

impl ScriptWalk<'_> {
    /// Runs `values`, the command's name first.
    pub fn run(&mut self, values: &[WordValue], scope: &mut CommandScope) {
        let reach = self.reach(values, scope);
        self.draft.reaching(values.iter().map(WordValue::word).collect(), reach);
        if let Some((_, before)) =
            values.split_last().filter(|(last, before)| last.raw() == MORE && !before.is_empty())
        {
            self.draft.command(before.iter().map(WordValue::word).collect());
        }
        self.opened(values, scope);
    }

    /// Runs `values` with more words behind that only running it would tell.
    pub fn run_with_more(&mut self, values: &[WordValue], scope: &mut CommandScope) {
        let all: Vec<WordValue> = values.iter().cloned().chain([WordValue::unknown(MORE)]).collect();
        self.run(&all, scope);
    }

    fn opened(&mut self, values: &[WordValue], scope: &mut CommandScope) {
        let Some((first, args)) = values.split_first() else { return };
        let Some(name) = first.known().filter(|_| !first.is_pattern()) else {
            return self.draft.unknown(format!("only running it would tell what `{}` is", first.raw()));
        };
        if self.enters(args) {
            self.call(name, scope);
            let base = match name.rsplit_once('/') {
                Some((_, base)) => base,
                None => name,
            };
            let base = gnu::plain_name(base);
            if base != name {
                // A rule about the name is about each program of that name.
                let words = [WordValue::literal(base)].into_iter().chain(args.iter().cloned());
                let words: Vec<WordValue> = words.collect();
                let reach = match reach::system_program(name) {
                    Some(_) => self.reach(&words, scope),
                    None => CommandReach::Anywhere,
                };
                self.draft.reaching(words.iter().map(WordValue::word).collect(), reach);
            }
            // `git-push` is what `git push` runs.
            if let Some(name) = git::own_program(name) {
                let words = [WordValue::literal("git"), WordValue::literal(name)];
                let words: Vec<WordValue> = words.into_iter().chain(args.iter().cloned()).collect();
                self.run(&words, scope);
            }
            risk::judge(&mut self.draft, base, args);
            guarded::check(self, base, args, scope);
            self.touch(base, args, scope);
            let is_builtin = base == name && self.builtin(base, args, scope);
            if !is_builtin {
                self.open(base, args, scope);
            }
            self.leaves();
        }
    }

    /// A command that runs others, if it is one.
    fn open(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) {
        self.command_reader(base, args, scope);
        if self.shell(base, args, scope) {
            // Some take commands in options beside their programs.
            self.listed_program(base, args, scope);
            return;
        }
        let is_one = self.runner(base, args, scope) || self.program(base, args, scope);
        if !is_one && base == "git" {
            self.git(args, scope);
        }
    }
}
