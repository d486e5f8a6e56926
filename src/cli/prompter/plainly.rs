//! How does a person choose from a list where the cursor cannot be moved? By numbers, in a line of the terminal's own.

use super::{FormPrompter, forms::ListPicker};
use crate::{failure::CommandFailure, human, safe_text};

impl FormPrompter<'_> {
    /// Shows the list with numbers and reads a line; whether there was one.
    pub(super) fn pick_plainly(&mut self, picker: &mut ListPicker) -> Result<bool, CommandFailure> {
        let mut text = String::new();
        for (index, item) in picker.items().iter().enumerate() {
            let tick = match (picker.is_for_several(), picker.is_ticked(index)) {
                (false, _) => "",
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
            };
            let line = format!("{:>3}  {tick}{}  {}", index + 1, item.name, item.about);
            text.push_str(&safe_text::lines(line.trim_end()));
            text.push('\n');
        }
        self.stderr.write(&text)?;
        let label = form_label(picker);
        let chosen = self.line(&label, &mut |typed| read(typed, picker))?;
        match chosen {
            None => return Ok(false),
            Some(NumberedAnswer::AsItIs) => {}
            Some(NumberedAnswer::Numbers(indexes)) => picker.choose(&indexes),
            Some(NumberedAnswer::Other(name)) => picker.choose_other(&name),
        }
        Ok(true)
    }
}

fn form_label(picker: &ListPicker) -> String {
    let how = match (picker.is_for_several(), picker.takes_others()) {
        (true, _) => "numbers; 0 for none; Enter takes what is ticked",
        (false, true) => "a number or a name; Enter takes the first",
        (false, false) => "a number; Enter takes the first",
    };
    format!("{}({how}) ", super::forms::InputForm::label(picker))
}

/// What a line says about a list.
enum NumberedAnswer {
    AsItIs,
    Numbers(Vec<usize>),
    Other(String),
}

fn read(typed: &str, picker: &ListPicker) -> Result<NumberedAnswer, String> {
    let parts: Vec<&str> = typed.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    let count = picker.items().len();
    match parts.as_slice() {
        [] if picker.is_for_several() || 0 < count => return Ok(NumberedAnswer::AsItIs),
        [] => return Err("there is nothing to choose".into()),
        ["0"] if picker.is_for_several() => return Ok(NumberedAnswer::Numbers(Vec::new())),
        [_, _, ..] if !picker.is_for_several() => return Err("one of them only".into()),
        _ => {}
    }
    let mut indexes = Vec::new();
    for part in &parts {
        let by_number = part.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_name = || picker.items().iter().position(|item| item.name == *part);
        match by_number.filter(|index| *index < count).or_else(by_name) {
            Some(index) => indexes.push(index),
            None if picker.takes_others() => return Ok(NumberedAnswer::Other((*part).to_owned())),
            None => return Err(format!("there is no `{part}` among {}", human::count(count as u64, "item"))),
        }
    }
    Ok(NumberedAnswer::Numbers(indexes))
}
