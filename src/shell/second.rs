//! Does a second reader see the same commands? The grammar of tree-sitter, which shares nothing with ours.
//!
//! It is wrong about some texts, as any grammar of bash is, so it is not what the judging is built on. But a command that
//! only it sees is one that nobody has judged.

use std::{cell::RefCell, ops::Range};

use tree_sitter::{Node, Parser};

use super::reading::ShellAnalysisDraft;

/// Nodes of one text that are looked at. A longer text has been refused before.
const MOST_NODES: usize = 200_000;

thread_local! {
    // Perf: making a parser takes longer than most texts.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(parser());
}

fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// An error says what it sees that was not found, for people.
///
/// What stands in `documents`, the texts of here-documents, is not compared: it takes lines for their ends that are none.
pub(super) fn agrees(
    text: &str,
    documents: &[Range<usize>],
    draft: &ShellAnalysisDraft,
) -> Result<(), String> {
    let tree = PARSER.with_borrow_mut(|parser| parser.as_mut()?.parse(text, None));
    let Some(tree) = tree else { return Err("the second reader of commands does not work".to_owned()) };
    let mut cursor = tree.walk();
    for _ in 0..MOST_NODES {
        let node = cursor.node();
        if node.kind() == "command"
            && !documents.iter().any(|document| document.contains(&node.start_byte()))
            && let Some(name) = plain_name(node, text)
            && !draft.has_command(name)
        {
            return Err(format!("two ways of reading it differ: one sees a command `{name}`"));
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return Ok(());
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
    Err("it is too long for the second reader of commands".to_owned())
}

/// A command's name that nothing is quoted in and nothing has to be expanded for.
fn plain_name<'a>(command: Node<'_>, text: &'a str) -> Option<&'a str> {
    let name = command.child_by_field_name("name")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-".contains(letter);
    let name = text.get(name.byte_range())?;
    // The keyword is no command of its own.
    (name.chars().all(is_plain) && name != "coproc").then_some(name)
}
