//! Who changed the arguments of a call, one after the other?

use protocol::ArgumentChange;

use super::PERSON;
use crate::text::person;

/// `the hook user/PreToolUse/1`, `ada (pts/3) and then the hooks user/PreToolUse/1, user/PreToolUse/2`; empty where nobody changed them.
/// `changed_by`: all that a daemon of an earlier version says. `mark` marks the id of a hook.
pub fn changers_said(
    changes: &[ArgumentChange],
    changed_by: &[String],
    mark: impl Fn(&str) -> String,
    plain: impl Fn(&str) -> String,
) -> String {
    let told = changes.iter().map(|change| (change.source == PERSON, change.name.as_str()));
    let earlier = changed_by.iter().filter(|_| changes.is_empty()).map(|id| (false, id.as_str()));
    let mut said: Vec<String> = Vec::new();
    let mut hooks: Vec<&str> = Vec::new();
    let mut last = None;
    for (is_person, name) in told.chain(earlier) {
        if last.replace((is_person, name)) == Some((is_person, name)) {
            continue;
        }
        if is_person {
            said.extend(hooks_said(&std::mem::take(&mut hooks), &mark));
            said.push(plain(&person(name)));
        } else {
            hooks.push(name);
        }
    }
    said.extend(hooks_said(&hooks, &mark));
    match said.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and then {last}", before.join(", then ")),
        _ => said.concat(),
    }
}

fn hooks_said(hooks: &[&str], mark: impl Fn(&str) -> String) -> Option<String> {
    let noun = if hooks.len() == 1 { "hook" } else { "hooks" };
    let ids: Vec<String> = hooks.iter().map(|id| mark(id)).collect();
    (!hooks.is_empty()).then(|| format!("the {noun} {}", ids.join(", ")))
}
