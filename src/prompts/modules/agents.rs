//! `agents`: which agents can be called, and when is that better than doing it oneself?

use super::PromptFacts;

/// Characters of a description in the directory; the tool's declaration has all of it.
const LONGEST_DESCRIPTION: usize = 600;
/// Agents in the directory: with more it is longer than what it saves. All of them are declared as tools.
const MOST_AGENTS: usize = 40;

const WHEN: &str = "\
Each agent is a tool of its name. It works in a context of its own and hands back a result.
- Call one when its description fits the task or a whole part of it, or when a part would fill your context with output that you \
do not need afterwards.
- Tell it all that it must know: it has seen nothing of this conversation.
- Parts that do not depend on each other are calls of one turn, which run side by side. Never let two of them change the same files.
- What one or two calls of your own would settle, do yourself. Check what an agent reports before you build on it.";

/// The directory; `None` when there is no agent to be called.
pub(in super::super) fn directory(facts: &PromptFacts) -> Option<String> {
    if facts.agents.is_empty() {
        return None;
    }
    let mut text = format!("# Agents that you can call\n{WHEN}\n");
    for agent in facts.agents.iter().take(MOST_AGENTS) {
        let words = agent.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut description: String = words.chars().take(LONGEST_DESCRIPTION).collect();
        if description.len() < words.len() {
            description.push('…');
        }
        let colon = if description.is_empty() { "" } else { ": " };
        text.push_str(&format!("\n- `{}`{colon}{description}", agent.name));
    }
    let left = facts.agents.len().saturating_sub(MOST_AGENTS);
    if left != 0 {
        text.push_str(&format!("\n- and {left} more, which stand among your tools"));
    }
    Some(text)
}
