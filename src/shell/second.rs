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

/// The work that it is until this reader says how far it has come: some hundred of its steps.
const PROGRESS_WORK: usize = 1_000;

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

/// Perf: of some texts this grammar goes through far more readings than there are letters.
fn parsed(parser: &mut Parser, text: &str, fuel: &ReadingFuel<'_>) -> Option<Tree> {
    let mut goes_on = |_: &ParseState| match fuel.burn(PROGRESS_WORK) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    if tree.is_none() {
        // Else it would go on with this text instead of the next one.
        parser.reset();
    }
    tree
}

/// A command's name that nothing is quoted in and nothing has to be expanded for.
fn plain_name<'a>(command: Node<'_>, text: &'a str) -> Option<&'a str> {
    let name = command.child_by_field_name("name")?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_./+-".contains(letter);
    let name = text.get(name.byte_range())?;
    // The keyword is no command of its own.
    (name.chars().all(is_plain) && name != "coproc").then_some(name)
}

#[cfg(test)]
mod measuring {
    use super::*;
    #[test]
    fn measures() {
        let big: String = (0..300).map(|n| format!("if [ -f \"$dir/file{n}\" ]; then cp -a \"$dir/file{n}\" \"${{target:-/x}}/$(basename y{n})\" && echo \"done {n}\" >> log; else rm -rf b/{n}; fi\n")).collect();
        let texts = [
            "ls -la".to_owned(),
            "git add . && git commit -m 'x' && git push origin main".to_owned(),
            "ls a b c d e f;".repeat(1_000),
            big.clone(),
            big.repeat(2),
            "echo $((a + b * c)) \"x $y\" | grep -v z\n".repeat(2_000),
            "x ".repeat(40_000),
            format!(
                "cat <<EOF\n{}EOF\n",
                "some text of a document with $vars and \"quotes\"\n".repeat(1_500)
            ),
            format!(
                "cat <<'EOF'\n{}EOF\n",
                "some text of a document with $vars and \"quotes\"\n".repeat(1_500)
            ),
            ": ".to_owned() + &">a ".repeat(31_000),
            format!("((x={}))", "$\"".repeat(40_000)),
            format!("((x={}))", "cat <<E\nx\nE\n".repeat(7_000)),
        ];
        for text in &texts {
            let mut count = 0;
            let began = std::time::Instant::now();
            let mut goes_on = |_: &ParseState| {
                count += 1;
                if count > 30_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            PARSER.with_borrow_mut(|parser| {
                let parser = parser.as_mut().unwrap();
                let mut rest = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
                let tree = parser.parse_with_options(
                    &mut rest,
                    None,
                    Some(ParseOptions::new().progress_callback(&mut goes_on)),
                );
                if tree.is_none() {
                    parser.reset();
                }
            });
            println!(
                "MEASURE {} bytes: {count} callbacks, {:?}: {:?}",
                text.len(),
                began.elapsed(),
                &text[..30.min(text.len())]
            );
        }
    }
}
