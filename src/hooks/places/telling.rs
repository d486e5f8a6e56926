//! What are people told of hooks: when they run what, and what is wrong with them or their files?

use std::path::Path;

use super::{DocumentContent, DocumentNode, Hook, HookFailurePolicy, HookState};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};
use sys::mark::{TextPosition, problem};

/// The reason why nobody can tell which hooks a file has, if there is one: readers of JSON take the last of several, people read the first.
pub(super) fn mistake_of(root: &DocumentNode, hooks: &DocumentNode, file: &Path) -> Option<FileProblem> {
    if let DocumentContent::Map(entries) = &root.content {
        let mut named = entries.iter().filter(|(key, ..)| key == "hooks");
        if let (Some((_, first, _)), Some((_, second, _))) = (named.next(), named.next()) {
            let message =
                format!("`hooks` stands in it twice, in line {first} and again; write all of them in one");
            return Some(of_file(file, *second, FileProblemCode::BadValue, message));
        }
    }
    mistake_of_hooks(hooks, file)
}

/// The same of what stands behind `hooks`.
pub(super) fn mistake_of_hooks(hooks: &DocumentNode, file: &Path) -> Option<FileProblem> {
    match &hooks.content {
        DocumentContent::Map(_) | DocumentContent::Null => None,
        _ => {
            let message = format!("`hooks`: expected an object with events, found {}", hooks.kind());
            Some(of_file(file, hooks.line, FileProblemCode::WrongType, message))
        }
    }
}

/// Says of a file of the person's own that it has no object, and so no word on hooks. People make empty ones, so that is a warning unless
/// guards of it were in force before.
pub(super) fn nothing_in(file: &Path, root: Option<&DocumentNode>, had_guards: bool) -> FileProblem {
    let Some(root) = root else {
        let (severity, message) = match had_guards {
            true => (
                ProblemSeverity::Error,
                "is empty, and its hooks guarded something before; what it may guard is refused",
            ),
            false => (ProblemSeverity::Warning, "is empty; it has no settings and no hooks"),
        };
        let found = of_file(file, 0, FileProblemCode::BadValue, message.to_owned());
        let fix = Some("put it back as it was, or write `{}` for no settings".to_owned());
        return FileProblem { severity, fix, ..found };
    };
    let message = format!("expected an object with settings, found {}", root.kind());
    // As whoever reads the settings tells it, so that it is told once.
    problem(file, Some(TextPosition { line: root.line, column: 1 }), FileProblemCode::WrongType, message)
}

/// Says that a file which had guards is not there any more.
pub(super) fn gone(file: &Path) -> FileProblem {
    let message = "is gone, and its hooks guarded something before; what it may guard is refused";
    let found = of_file(file, 0, FileProblemCode::BadValue, message.to_owned());
    let fix = Some("put it back, or write `{}` for no settings".to_owned());
    FileProblem { severity: ProblemSeverity::Error, fix, ..found }
}

fn of_file(file: &Path, line: u32, code: FileProblemCode, message: String) -> FileProblem {
    let mark = (line != 0).then_some(TextPosition { line, column: 1 });
    FileProblem { column: None, ..problem(file, mark, code, message) }
}

/// Says which hook names a file that is gone, where that stands, and what to do.
pub(super) fn problem_of_gone(hook: &Hook, gone: &Path) -> FileProblem {
    let mark = (hook.line != 0).then_some(TextPosition { line: hook.line, column: 1 });
    let becomes = match hook.on_failure {
        HookFailurePolicy::Continue => "it rests",
        HookFailurePolicy::Block => "what it guards is refused",
        HookFailurePolicy::Ask => "a person is asked",
    };
    let message = format!(
        "`{}`: the hook `{}` runs {}, which is gone since it was acknowledged; {becomes}",
        hook.event_name,
        // It is one of several things in a line.
        hook.handler.shown().replace('\n', "⏎"),
        gone.display()
    );
    let found = problem(&hook.file, mark, FileProblemCode::BadValue, message);
    FileProblem {
        column: None,
        severity: ProblemSeverity::Warning,
        fix: Some("put the file back, or take the hook out, and look with `subagent trust`".to_owned()),
        ..found
    }
}

/// Says when it runs what, for a person who is to acknowledge it.
pub(super) fn effect(hook: &Hook) -> String {
    let about = match hook.matcher.text().map(str::trim) {
        None | Some("" | "*") => String::new(),
        Some(text) => format!(" of `{text}`"),
    };
    let condition = hook.condition.as_ref().map(|it| format!(" if `{}`", it.text())).unwrap_or_default();
    match hook.state {
        HookState::NeverFires => format!("a hook of `{}`, which is never fired here", hook.event_name),
        _ => format!("at `{}`{about}{condition} it runs unasked: {}", hook.event_name, hook.handler.shown()),
    }
}
