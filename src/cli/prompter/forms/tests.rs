//! Keys in, answers and rows out.

use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;
use crate::line_editor::strokes::KeyStrokeDecoder;

fn choices(takes_others: bool) -> ChoiceList {
    let items = (1..=14).map(|number| ChoiceItem { name: format!("model-{number}"), about: "Known".into() });
    let items =
        [ChoiceItem { name: "inherit".into(), about: "\x1b[2Jthe caller's".into() }].into_iter().chain(items);
    ChoiceList { label: "model: ".into(), items: items.collect(), takes_others }
}

/// What came of the last key.
fn press(form: &mut dyn InputForm, keys: &str) -> FormAction {
    let mut last = FormAction::Nothing;
    for stroke in KeyStrokeDecoder::default().decode(keys.as_bytes()) {
        last = form.press(stroke);
    }
    last
}

fn drawn(form: &dyn InputForm, columns: usize, expected: Expect) {
    let text = form.drawing(columns).draw(None, columns, None);
    let rows: Vec<String> = text.lines().map(|row| row.trim_end().replace(['\x1b', '\r'], "^")).collect();
    expected.assert_eq(&rows.join("\n"));
}

const DOWN: &str = "\x1b[B";
const UP: &str = "\x1b[A";

#[test]
fn one_is_chosen_by_arrows_or_by_what_stands_in_it() {
    let mut picker = ListPicker::one(choices(false));
    assert_eq!(press(&mut picker, "\r"), FormAction::Entered);
    assert_eq!(picker.chosen(), ["inherit"]);
    press(&mut picker, &DOWN.repeat(3));
    press(&mut picker, UP);
    assert_eq!(picker.chosen(), ["model-2"]);
    press(&mut picker, &DOWN.repeat(40));
    assert_eq!(picker.chosen(), ["model-14"], "the list ends");
    press(&mut picker, "DEL-1");
    assert_eq!(picker.chosen(), ["model-1"]);
    press(&mut picker, DOWN);
    assert_eq!(picker.chosen(), ["model-10"]);
    let pressed = press(&mut picker, "xyz\r");
    assert_eq!(pressed, FormAction::Complains("nothing in the list has `DEL-1xyz` in it".into()));
    assert_eq!(press(&mut picker, "\x15\r"), FormAction::Entered);
    assert_eq!(picker.chosen(), ["inherit"]);
    assert_eq!(press(&mut picker, "\x04"), FormAction::Leaves);
}

#[test]
fn what_stands_in_no_list_is_an_answer_where_it_may_be() {
    let mut picker = ListPicker::one(choices(true));
    assert_eq!(press(&mut picker, "own/model x\r"), FormAction::Entered);
    assert_eq!(picker.chosen(), ["own/modelx"]);
    // Also what stands in an item and is none, behind those in which it stands.
    press(&mut picker, "\x15model-");
    assert_eq!(picker.chosen(), ["model-1"]);
    press(&mut picker, "\x1b[F");
    assert_eq!(picker.chosen(), ["model-"]);
    press(&mut picker, "\x15model-3\x1b[F");
    assert_eq!(picker.chosen(), ["model-3"]);
}

#[test]
fn several_are_ticked_and_stay_in_the_order_of_the_list() {
    let mut picker =
        ListPicker::several(choices(false), &|item| matches!(item.name.as_str(), "model-2" | "model-9"));
    assert_eq!(picker.chosen(), ["model-2", "model-9"]);
    assert_eq!(press(&mut picker, &format!(" {DOWN}{DOWN} \r")), FormAction::Entered);
    assert_eq!(picker.chosen(), ["inherit", "model-9"]);
    press(&mut picker, "l-13 ");
    assert_eq!(picker.chosen(), ["inherit", "model-9", "model-13"]);
}

#[test]
fn a_long_list_is_seen_in_part_and_never_steers_the_terminal() {
    let mut picker = ListPicker::several(choices(false), &|item| item.name == "model-2");
    drawn(
        &picker,
        30,
        expect![[r#"
        ^^[Jmodel:
          space ticks, Enter takes t…
        › [ ] inherit  ^[[2Jthe call…
          [ ] model-1  Known
          [x] model-2  Known
          [ ] model-3  Known
          [ ] model-4  Known
          [ ] model-5  Known
          [ ] model-6  Known
          [ ] model-7  Known
          [ ] model-8  Known
          [ ] model-9  Known
          ⋮ 5 below^[12A^^[7C"#]],
    );
    press(&mut picker, &DOWN.repeat(7));
    drawn(
        &picker,
        30,
        expect![[r#"
        ^^[Jmodel:
          space ticks, Enter takes t…
          ⋮ 3 above
          [ ] model-3   Known
          [ ] model-4   Known
          [ ] model-5   Known
          [ ] model-6   Known
        › [ ] model-7   Known
          [ ] model-8   Known
          [ ] model-9   Known
          [ ] model-10  Known
          [ ] model-11  Known
          [ ] model-12  Known
          ⋮ 2 below^[13A^^[7C"#]],
    );
    press(&mut picker, "zzz");
    drawn(
        &picker,
        30,
        expect![[r#"
        ^^[Jmodel: zzz
          space ticks, Enter takes t…^[1A^^[10C"#]],
    );
    for columns in 1..40 {
        for row in picker.drawing(columns).draw(None, columns, None).lines() {
            assert!(width::of(row) < columns.max(COLUMNS_MIN) + 16, "{columns}: {row}");
        }
    }
}

#[test]
fn a_line_is_one_line_and_may_be_empty() {
    let mut form = LineForm::new("title: ");
    assert_eq!(press(&mut form, "\r"), FormAction::Entered);
    assert_eq!(form.text(), "");
    assert_eq!(press(&mut form, "\x1b[200~one\r\ntwo\x1b[201~\\\r"), FormAction::Entered);
    assert_eq!(form.text(), "one two\\");
    assert_eq!(press(&mut LineForm::new(""), "\x04"), FormAction::Leaves);
}

#[test]
fn a_letter_is_one_of_those_that_are_asked_for() {
    let mut form = LetterForm::new("again? ", &['e', 'd']);
    form.appears(Duration::ZERO);
    form.look(Duration::from_millis(100), 1, 1);
    assert_eq!(press(&mut form, "d"), FormAction::Nothing, "typed before it could be read");
    let watches = |form: &mut LetterForm, from: u64| {
        for now in (from..from + 1_600).step_by(400) {
            form.look(Duration::from_millis(now), 0, 0);
        }
    };
    watches(&mut form, 400);
    form.look(Duration::from_millis(2_000), 2, 2);
    assert_eq!(press(&mut form, "d"), FormAction::Nothing, "no single key");
    form.look(Duration::from_secs(4), 1, 1);
    assert_eq!(press(&mut form, "d"), FormAction::Nothing, "typed while nobody looked");
    watches(&mut form, 4_400);
    form.look(Duration::from_secs(6), 1, 1);
    assert_eq!(press(&mut form, "xs\r"), FormAction::Nothing);
    assert_eq!(press(&mut form, "D"), FormAction::Entered);
    assert_eq!(form.letter(), Some('d'));
}
