//! Keys in, text out: what every stroke makes of a line.

use super::{super::strokes::KeyStrokeDecoder, *};

/// What is typed leaves this text, with `|` where the cursor is; behind it what came of the last stroke.
fn typed(keys: &str) -> (String, LineAction) {
    let earlier = ["first".to_owned(), "two\nlines".to_owned()];
    let (mut line, mut last) = (LineBuffer::default(), LineAction::Nothing);
    for stroke in KeyStrokeDecoder::default().decode(keys.as_bytes()) {
        last = line.press(stroke, &earlier);
    }
    let (before, after) = line.text().split_at(line.cursor());
    (format!("{before}|{after}"), last)
}

const LEFT: &str = "\x1b[D";
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";

#[test]
fn every_stroke_changes_the_text_as_one_expects() {
    let cases = [
        ("abc\x1b[D\x1b[Dx".to_owned(), "ax|bc"),
        ("abc\x7f\x08d".to_owned(), "ad|"),
        ("abc\x01x\x05y".to_owned(), "xabcy|"),
        ("abc\x01\x04\x1b[3~".to_owned(), "|c"),
        ("one two-three\x17".to_owned(), "one |"),
        ("one two-three\x1b\x7f".to_owned(), "one |"),
        ("one two-three\x1bb\x1bbx".to_owned(), "one x|two-three"),
        ("one two\x01\x1bf\x1bd".to_owned(), "one|"),
        ("one two\x01\x1bf\x0bX\x19".to_owned(), "oneX two|"),
        ("one\x15two\x19".to_owned(), "twoone|"),
        // What one sees as a character goes at once.
        ("ae\u{301}👩\u{200d}👧🇩🇪\x7f\x7f".to_owned(), "ae\u{301}|"),
        (format!("ae\u{301}👩\u{200d}👧{LEFT}{LEFT}x"), "ax|e\u{301}👩\u{200d}👧"),
        // At either end nothing happens.
        (format!("{LEFT}\x7f\x17\x15a\x1b[C\x1b[3~\x1bf\x1bd"), "a|"),
    ];
    for (keys, expected) in cases {
        assert_eq!(typed(&keys).0, expected, "{keys:?}");
    }
}

#[test]
fn enter_sends_and_some_ways_do_not() {
    assert_eq!(typed("hello\r"), ("|".into(), LineAction::Entered("hello".into())));
    assert_eq!(typed("a\x1b\rb\r").1, LineAction::Entered("a\nb".into()), "Alt-Enter");
    assert_eq!(typed("a\\\rb\\\r\r").1, LineAction::Entered("a\nb\n".into()), "a trailing backslash");
    assert_eq!(typed("C:\\\\\r").1, LineAction::Entered("C:\\\\".into()), "two are meant");
    assert_eq!(typed("a\\\x1b[D\r").1, LineAction::Entered("a\\".into()), "only at the end");
    assert_eq!(typed("\x1b[200~one\rtwo\r\x1b[201~"), ("one\ntwo\n|".into(), LineAction::Nothing), "a paste");
    assert_eq!(typed("  \r"), ("|".into(), LineAction::Nothing), "nothing but blanks");
}

#[test]
fn ctrl_d_leaves_only_where_nothing_stands() {
    assert_eq!(typed("\x04").1, LineAction::Leaves);
    assert_eq!(typed("a\x04"), ("a|".into(), LineAction::Nothing));
}

#[test]
fn up_and_down_go_through_lines_and_then_through_earlier_inputs() {
    let cases = [
        (UP.to_owned(), "two\nlines|"),
        // The first goes up a line, the second to the input before.
        (format!("{UP}{UP}{UP}"), "first|"),
        (format!("{UP}{UP}{UP}{UP}"), "first|"),
        (format!("draft{UP}{UP}{UP}{DOWN}{DOWN}"), "draft|"),
        (format!("draft{UP}{DOWN}"), "draft|"),
        (format!("{DOWN}x"), "x|"),
        (format!("long line\x1b\rab{UP}x"), "lox|ng line\nab"),
        (format!("ab\x1b\rlong line{UP}x{DOWN}y"), "abx\nlony|g line"),
        // A changed one is a new one; the earlier input stays.
        (format!("{UP}!{UP}{UP}{DOWN}"), "two\nlines|"),
    ];
    for (keys, expected) in cases {
        assert_eq!(typed(&keys).0, expected, "{keys:?}");
    }
}

#[test]
fn what_is_too_long_is_not_taken() {
    let mut line = LineBuffer::default();
    assert!(line.insert(&"a".repeat(INPUT_MAX)));
    assert_eq!(line.press(KeyStroke::Character('b'), &[]), LineAction::TooLong);
    assert_eq!(line.press(KeyStroke::Pasted("b".into()), &[]), LineAction::TooLong);
    assert_eq!(line.text().len(), INPUT_MAX);
}
