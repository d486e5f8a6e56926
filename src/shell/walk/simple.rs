//! One command with its assignments: which variables change, and what runs with which words?

use std::rc::Rc;

use super::{CommandScope, ScriptWalk};
use crate::{
    grammar::ShellDialect,
    meaning,
    syntax::{ShellAssignment, ShellWord, SimpleCommand},
    value::{self, WordValue},
};

impl ScriptWalk<'_> {
    pub(super) fn each(&mut self, name: &str, words: Option<&[ShellWord]>, scope: &mut CommandScope) {
        let mut all: Option<Vec<WordValue>> = words.map(|_| Vec::new());
        for word in words.unwrap_or_default() {
            self.inside(word, scope);
            self.is_read_alike(word, scope);
            if let Some(all) = &mut all {
                let expanded = value::values(word, &scope.known());
                if !self.fuel.burn(word.raw.len() + expanded.iter().map(WordValue::weight).sum::<usize>()) {
                    return;
                }
                all.extend(expanded);
            }
        }
        match all {
            // A pattern becomes names of files, which may be any.
            Some(values) => values.iter().for_each(|value| {
                self.numbers.assigned(name, Some(value).filter(|value| !value.is_pattern()))
            }),
            None => self.numbers.assigned(name, None),
        }
        self.renamed(name, None, scope);
    }

    /// A variable gets another value, and perhaps this one.
    pub fn renamed(&mut self, name: &str, value: Option<&str>, scope: &mut CommandScope) {
        self.renamed_for_one(name, value, scope);
        // Whoever allowed a later command by its words allowed it as it was then.
        if meaning::is_for_programs(name) {
            self.draft.sets_up();
        }
        if let Some(why) = meaning::leads_to_settings(name) {
            self.draft.unknown(format!("it sets `{name}`: {why}"));
        }
    }

    /// … for one command alone, which is told together with it. So no rule about the command by itself lets it pass.
    pub fn renamed_for_one(&mut self, name: &str, value: Option<&str>, scope: &mut CommandScope) {
        meaning::forget(name, scope);
        if let Some(why) = meaning::decides_what_runs(name, value) {
            self.draft.unknown(format!("it sets `{name}`: {why}"));
        }
    }

    /// A variable gets a value that is not known, where what follows is not told of it.
    pub(super) fn renamed_in_passing(&mut self, name: &str, scope: &CommandScope) {
        self.renamed(name, None, &mut scope.clone());
        if meaning::is_followed_variable(name) {
            self.draft.unknown(format!("it gives `{name}` a value in passing"));
        }
    }

    pub(super) fn assignment(&mut self, assignment: &ShellAssignment, scope: &CommandScope) {
        if assignment.index.is_some() || assignment.is_list {
            self.numbers.array(&assignment.name);
        }
        if let Some(index) = &assignment.index {
            self.computed(index, scope);
        }
        for word in &assignment.values {
            self.inside(word, scope);
        }
        match assignment.values.as_slice() {
            [] => {}
            // Behind what is there already, which nobody follows.
            _ if assignment.appends() => self.numbers.assigned(&assignment.name, None),
            [one] => {
                let value = value::value(one, &scope.known());
                if assignment.is_list && value.is_pattern() {
                    self.numbers.assigned(&assignment.name, None);
                } else {
                    self.numbers.assigned_word(&assignment.name, one, &value);
                }
            }
            _ => self.numbers.assigned(&assignment.name, None),
        }
    }

    pub(super) fn simple(&mut self, simple: &SimpleCommand, scope: &mut CommandScope) {
        for assignment in &simple.assignments {
            self.assignment(assignment, scope);
        }
        let mut values = Vec::new();
        for word in &simple.words {
            self.inside(word, scope);
            self.is_read_alike(word, scope);
            let expanded = value::values(word, &scope.known());
            if !self.fuel.burn(word.raw.len() + expanded.iter().map(WordValue::weight).sum::<usize>()) {
                return;
            }
            values.extend(expanded);
        }
        for value in &mut values {
            if self.may_become_option(value, scope) {
                *value = WordValue::unknown(value.raw());
            }
        }
        let input = self.redirects(&simple.redirects, scope);
        if values.is_empty() {
            for assignment in &simple.assignments {
                let value = single(assignment, scope);
                self.renamed(&assignment.name, value.as_ref().and_then(WordValue::known), scope);
            }
            return;
        }
        let before = std::mem::replace(&mut scope.input, input);
        if simple.assignments.is_empty() {
            self.run(&values, scope);
        } else {
            self.run_with(&simple.assignments, &values, scope);
        }
        scope.input = before;
    }

    /// To some shells braces in a word are letters, and so is a `~` in the middle of one.
    pub(super) fn is_read_alike(&mut self, word: &ShellWord, scope: &CommandScope) {
        if scope.dialect == ShellDialect::Posix && value::is_of_bash(word, &scope.known()) {
            self.draft.unknown("not every `sh` makes words of braces and `~` as bash does");
        }
    }

    /// A command with assignments that hold for it alone.
    fn run_with(&mut self, assignments: &[ShellAssignment], values: &[WordValue], scope: &mut CommandScope) {
        let mut inner = scope.clone();
        let mut telling = Vec::new();
        for assignment in assignments {
            let value = single(assignment, scope);
            let text = value.as_ref().and_then(WordValue::known);
            self.renamed_for_one(&assignment.name, text, &mut inner);
            if !meaning::is_harmless(&assignment.name) {
                telling.push(match text {
                    Some(text) => WordValue::literal(&format!("{}={text}", assignment.name)),
                    None => WordValue::unknown(&assignment.raw),
                });
            }
        }
        if !telling.is_empty() {
            // A rule that allows the command alone does not allow it with these.
            let words = [WordValue::literal("env")].into_iter().chain(telling).chain(values.iter().cloned());
            self.draft.command(words.map(|value| value.word()).collect());
        }
        self.run(values, &mut inner);
        *scope = CommandScope { home: scope.home.clone(), keeps_directory: scope.keeps_directory, ..inner };
        let name = values.first().and_then(WordValue::known);
        let keeps = name.is_some_and(|name| meaning::is_special(name) || scope.functions.contains_key(name));
        if keeps && scope.dialect == ShellDialect::Posix {
            // To some shells they are there behind a special builtin or a function, too.
            for assignment in assignments {
                let value = single(assignment, scope);
                self.renamed(&assignment.name, value.as_ref().and_then(WordValue::known), scope);
            }
        }
    }

    /// A function of this name, if the text defines one.
    pub fn call(&mut self, name: &str, scope: &mut CommandScope) {
        let Some(body) = scope.functions.get(name).map(Rc::clone) else { return };
        if scope.calls.iter().any(|call| call == name) {
            return;
        }
        let before = Rc::clone(&scope.calls);
        Rc::make_mut(&mut scope.calls).push(name.to_owned());
        self.command(&body, scope);
        scope.calls = before;
    }
}

/// What is assigned, where that is one text.
fn single(assignment: &ShellAssignment, scope: &CommandScope) -> Option<WordValue> {
    match assignment.values.as_slice() {
        [] => Some(WordValue::literal("")),
        [one] => Some(value::value(one, &scope.known())),
        _ => None,
    }
}
