//! Names there and back.

use super::*;

fn names(declared: &[&str]) -> (Vec<ToolName>, WireNames) {
    let declared: Vec<ToolName> = declared.iter().map(|name| ToolName::from(*name)).collect();
    let names = WireNames::new(&declared);
    (declared, names)
}

/// Every declared name fits, differs from the others, and comes back; answers them as written.
fn check(declared: &[&str]) -> Vec<String> {
    let (declared, names) = names(declared);
    let written: Vec<String> = declared.iter().map(|name| names.to_wire(name).into_owned()).collect();
    for (name, wire) in declared.iter().zip(&written) {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        assert!((1..=MAX_CHARS).contains(&wire.len()) && wire.chars().all(fits), "{wire}");
        assert_eq!(names.meant_by(wire.as_str().into()), *name, "{wire}");
        assert_eq!(written.iter().filter(|other| *other == wire).count(), 1, "{written:?}");
    }
    written
}

#[test]
fn names_that_fit_stay_and_dots_are_written_otherwise() {
    let written = check(&["read_file", "mcp.github.get_issue", "team.reviewer", "Grep-2", "3d", "größe"]);
    assert_eq!(written, ["read_file", "mcp__github__get_issue", "team_reviewer", "Grep-2", "_3d", "gr__e"]);
}

#[test]
fn names_that_would_be_one_are_told_apart_whatever_their_order() {
    let declared = ["a.b", "a_b", "a b", "mcp.x.y", "mcp__x__y", ""];
    let forward = check(&declared);
    assert_eq!((forward[1].as_str(), forward[4].as_str()), ("a_b", "mcp__x__y"));
    let mut reversed: Vec<&str> = declared.to_vec();
    reversed.reverse();
    let mut backward = check(&reversed);
    backward.reverse();
    assert_eq!(forward, backward);
}

#[test]
fn long_names_are_cut_and_stay_apart() {
    let (one, other) = (format!("mcp.s.{}1", "x".repeat(100)), format!("mcp.s.{}2", "x".repeat(100)));
    let written = check(&[&one, &other]);
    assert_eq!(written[0].len(), MAX_CHARS);
    check(&["é", &"é".repeat(80), &"é".repeat(81)]);
}

#[test]
fn unknown_names_come_back_as_the_model_wrote_them() {
    let (_, names) = names(&["a.b"]);
    for unknown in ["no_such_tool", "default_api:x", "a.b", ""] {
        assert_eq!(names.meant_by(unknown.into()), ToolName::from(unknown));
    }
    assert_eq!(names.to_wire(&"old.tool".into()), "old_tool");
}
