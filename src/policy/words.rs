//! What does a rule allow that an answer writes, in one line of plain words? Never in those of a model.

use protocol::{GrantScope, PolicyRule, ResourceAccess, ToolKind};

/// Characters of a command that is repeated; of a longer one, which the question shows, no part stands for the whole.
const REPEATED: usize = 160;

/// What an answer allows that puts the session into the mode `autoEdit`.
pub const ALLOWS_EDITS: &str = "allow edits of risk low in this workspace without asking, until this session ends or its mode is changed";

/// Which later calls the rule is about.
pub fn extent(rule: &PolicyRule) -> GrantScope {
    let is_file = |access: &ResourceAccess| {
        matches!(access, ResourceAccess::Read { .. } | ResourceAccess::Write { .. })
    };
    match (rule.command_prefix.is_empty(), &rule.args_pattern) {
        (false, _) => GrantScope::Words,
        (true, None) if rule.recursive => GrantScope::Folder,
        (true, None) if rule.accesses.iter().all(is_file) => GrantScope::File,
        (true, _) => GrantScope::Call,
    }
}

/// `allow commands that begin with "cargo test", in ~/proj from now on`.
pub fn allows(rule: &PolicyRule) -> String {
    let tool = rule.tool.first().map_or("the tool", String::as_str);
    let edits = rule.kind == Some(ToolKind::Edit) && rule.tool.len() > 1;
    let runs = rule.accesses.iter().find_map(|access| match access {
        ResourceAccess::Execute { command } => Some(command),
        _ => None,
    });
    let what = match (extent(rule), runs) {
        (GrantScope::Words, _) => {
            let words: Vec<String> =
                rule.command_prefix.iter().map(|words| format!("\"{words} …\"")).collect();
            format!(
                "commands like {} that stay in the workspace and write no other files",
                words.join(" and ")
            )
        }
        (_, Some(command)) if is_repeated(command) => format!("this very command again: {command}"),
        (_, Some(_)) => "this very command again".to_owned(),
        (GrantScope::File, None) if edits => edits_of(&rule.accesses),
        (GrantScope::Folder, None) => format!("edits of files in {} and below", touched(&rule.accesses)),
        (GrantScope::File, None) => format!("{tool} again on {}", touched(&rule.accesses)),
        (_, None) if rule.args_pattern.is_some() => format!("this very call of {tool} again"),
        (_, None) => format!("{tool} again for {}", touched(&rule.accesses)),
    };
    let place = match (&rule.session, &rule.workspace) {
        (Some(_), _) => "until this session ends".to_owned(),
        (None, Some(workspace)) => format!("from now on in {workspace}"),
        (None, None) => "from now on, everywhere".to_owned(),
    };
    format!("allow {what}, {place}")
}

/// A folder in which another file of the same call lies is made for that, and nothing else in it may be changed.
fn edits_of(accesses: &[ResourceAccess]) -> String {
    let is_above = |folder: &ResourceAccess, other: &ResourceAccess| match (folder, other) {
        (ResourceAccess::Write { path: folder }, ResourceAccess::Write { path }) => {
            path != folder && path.starts_with(folder)
        }
        _ => false,
    };
    let (made, edited): (Vec<ResourceAccess>, Vec<ResourceAccess>) =
        accesses.iter().cloned().partition(|it| accesses.iter().any(|other| is_above(it, other)));
    match (made.is_empty(), edited.is_empty()) {
        (false, false) => {
            format!("edits of {}, for which it makes the folder {}", touched(&edited), touched(&made))
        }
        _ => format!("edits of {}", touched(accesses)),
    }
}

/// Each of them whole: a path of which a part is left out may be another one.
fn touched(accesses: &[ResourceAccess]) -> String {
    let mut named: Vec<String> = accesses
        .iter()
        .map(|access| match access {
            ResourceAccess::Read { path } | ResourceAccess::Write { path } => {
                path.to_string_lossy().into_owned()
            }
            ResourceAccess::Execute { command } => command.clone(),
            ResourceAccess::Fetch { url } => url.clone(),
            ResourceAccess::Opaque { what } => format!("what {what} decides"),
            ResourceAccess::Nothing => "nothing else".to_owned(),
        })
        .collect();
    named.dedup();
    named.join(", ")
}

fn is_repeated(command: &str) -> bool {
    !command.contains('\n') && command.chars().nth(REPEATED).is_none()
}
