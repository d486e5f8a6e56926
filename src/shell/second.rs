//! Does a second reader see the same commands? The grammar of tree-sitter, which shares nothing with ours.
//!
//! It is wrong about some texts, as any grammar of bash is, so it is not what the judging is built on. But a command that
//! only it sees is one that nobody has judged.

use std::{
    cell::RefCell,
    ops::{ControlFlow, Range},
};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{fuel::ReadingFuel, reading::ShellAnalysisDraft};

/// Nodes of one text that are looked at. A longer text has been refused before.
const MOST_NODES: usize = 200_000;

/// The work that it is until this reader says how far it has come: a hundred of its steps. A text as long as one may be takes some
/// two thousand times as many.
const PROGRESS_WORK: usize = 400;

/// Bytes that it is given at once. Looking ahead it may read the same ones again for each of its steps, which is work, too.
const PIECE: usize = 1_024;

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
    fuel: &ReadingFuel<'_>,
) -> Result<(), String> {
    let tree = PARSER.with_borrow_mut(|parser| parsed(parser.as_mut()?, text, fuel));
    let Some(tree) = tree else {
        return Err(fuel.why_out().unwrap_or("the second reader of commands does not work").to_owned());
    };
    let mut cursor = tree.walk();
    for _ in 0..MOST_NODES {
        let node = cursor.node();
        if node.kind() == "command"
            && let Some(name) = plain_name(node, text)
            && !draft.has_command(name)
            && !documents.iter().any(|document| document.contains(&node.start_byte()))
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

/// Perf: of some texts this grammar goes through far more readings than there are letters, and in some it looks ahead to the text's end
/// with each of its steps.
fn parsed(parser: &mut Parser, text: &str, fuel: &ReadingFuel<'_>) -> Option<Tree> {
    let mut goes_on = |_: &ParseState| match fuel.burn(PROGRESS_WORK) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let mut rest = |at: usize, _| {
        let rest = if fuel.burn(PIECE) { text.as_bytes().get(at..).unwrap_or_default() } else { &[][..] };
        &rest[..rest.len().min(PIECE)]
    };
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    if tree.is_none() {
        // Else it would go on with this text instead of the next one.
        parser.reset();
    }
    // Without fuel it was not given all of the text.
    tree.filter(|_| fuel.why_out().is_none())
}

/// A command's name that nothing is quoted in and nothing has to be expanded for.
fn plain_name<'a>(command: Node<'_>, text: &'a str) -> Option<&'a str> {
    let name = command.child_by_field_name("name")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-".contains(letter);
    let name = text.get(name.byte_range())?;
    // The keyword is no command of its own.
    (name.chars().all(is_plain) && name != "coproc").then_some(name)
}
