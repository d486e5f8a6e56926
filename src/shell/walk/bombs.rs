//! Does a function start itself again and again?

use crate::shell::syntax::{Command, Compound, Joiner, Script, Word};

/// Whether a function's body starts the function beside others: in the background or in a pipeline.
pub(super) fn calls_itself_beside(name: &str, body: &Command) -> bool {
    fn calls(name: &str, command: &Command) -> bool {
        match command {
            Command::Simple(simple) => simple.words.first().and_then(Word::plain) == Some(name),
            Command::Function { .. } => false,
            Command::Compound { body, .. } => scripts(body).iter().any(|script| beside(name, script, true)),
        }
    }
    fn beside(name: &str, script: &Script, already: bool) -> bool {
        script.items.iter().any(|item| {
            let stages = &item.pipeline.stages;
            let is_beside = already || item.joiner == Joiner::Background || stages.len() > 1;
            stages.iter().any(|stage| match stage {
                Command::Compound { body, .. } => {
                    scripts(body).iter().any(|script| beside(name, script, is_beside))
                }
                other => is_beside && calls(name, other),
            })
        })
    }
    match body {
        Command::Compound { body, .. } => scripts(body).iter().any(|script| beside(name, script, false)),
        _ => false,
    }
}

fn scripts(compound: &Compound) -> Vec<&Script> {
    match compound {
        Compound::Subshell(script) | Compound::Group(script) => vec![script],
        Compound::If(scripts) => scripts.iter().collect(),
        Compound::While { head, body } => vec![head, body],
        Compound::Each { body, .. } | Compound::Count { body, .. } => vec![body],
        Compound::Case { arms, .. } => arms.iter().map(|(_, script)| script).collect(),
        Compound::Test(_) | Compound::Computed(_) | Compound::Coprocess(_) => Vec::new(),
    }
}
