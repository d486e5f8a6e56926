//! Does a function start itself again and again?

use crate::syntax::{CommandJoiner, CommandNode, CompoundCommand, ShellScript, ShellWord};

/// True if a function's body starts the function beside others: in the background or in a pipeline.
pub(super) fn calls_itself_beside(name: &str, body: &CommandNode) -> bool {
    fn calls(name: &str, command: &CommandNode) -> bool {
        match command {
            CommandNode::Simple(simple) => simple.words.first().and_then(ShellWord::plain) == Some(name),
            CommandNode::Function { .. } => false,
            CommandNode::Compound { body, .. } => {
                scripts(body).iter().any(|script| beside(name, script, true))
            }
        }
    }
    fn beside(name: &str, script: &ShellScript, already: bool) -> bool {
        script.items.iter().any(|item| {
            let stages = &item.pipeline.stages;
            let is_beside = already || item.joiner == CommandJoiner::Background || stages.len() > 1;
            stages.iter().any(|stage| match stage {
                CommandNode::Compound { body, .. } => {
                    scripts(body).iter().any(|script| beside(name, script, is_beside))
                }
                other => is_beside && calls(name, other),
            })
        })
    }
    match body {
        CommandNode::Compound { body, .. } => scripts(body).iter().any(|script| beside(name, script, false)),
        _ => false,
    }
}

fn scripts(compound: &CompoundCommand) -> Vec<&ShellScript> {
    match compound {
        CompoundCommand::Subshell(script) | CompoundCommand::Group(script) => vec![script],
        CompoundCommand::If(scripts) => scripts.iter().collect(),
        CompoundCommand::While { head, body } => vec![head, body],
        CompoundCommand::Each { body, .. } | CompoundCommand::Count { body, .. } => vec![body],
        CompoundCommand::Case { arms, .. } => arms.iter().map(|(_, script)| script).collect(),
        CompoundCommand::Test(_) | CompoundCommand::Computed(_) | CompoundCommand::Coprocess { .. } => {
            Vec::new()
        }
    }
}
