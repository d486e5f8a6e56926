//! What do keys make of a line, a list or a letter that is asked for, and what is to be seen of it? Pure: strokes in, rows out.

use std::time::Duration;

use super::key_timing::{KeyTiming, NOT_YET, row};
use crate::{
    line_editor::{
        drawing::LineLayout,
        line::{self, LineBuffer},
        strokes::KeyStroke,
    },
    safe_text, width,
};

/// Items of a list that are seen at a time: it must not push itself off the screen, from where it could not be erased.
const ITEMS_SHOWN: usize = 10;

/// Names are drawn so wide at most, so that what is said about them stands in one column.
const NAME_COLUMNS_MAX: usize = 40;

/// Columns of the narrowest terminal that is drawn for.
const COLUMNS_MIN: usize = 8;

/// What a stroke came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormAction {
    Nothing,
    /// The answer is whole.
    Entered,
    Leaves,
    Complains(String),
}

/// What a person fills in.
pub(super) trait InputForm {
    /// It is drawn where it was not before: at first, and after the command was stopped.
    fn appears(&mut self, _now: Duration) {}
    /// A look at the keyboard brought so many bytes, which are so many strokes; each is pressed then.
    fn look(&mut self, _now: Duration, _bytes: usize, _strokes: usize) {}
    /// Whether time alone changes what is to be seen.
    fn is_settling(&self) -> bool {
        false
    }
    fn press(&mut self, stroke: KeyStroke) -> FormAction;
    fn label(&self) -> &str;
    fn drawing(&self, columns: usize) -> LineLayout;
    /// What stays to be seen once it is entered.
    fn answered(&self, columns: usize) -> LineLayout;
}

/// One line of text.
pub(super) struct LineForm {
    label: String,
    line: LineBuffer,
}

impl LineForm {
    pub(super) fn new(label: &str) -> LineForm {
        LineForm { label: label.to_owned(), line: LineBuffer::default() }
    }

    /// Pasted lines are one.
    pub(super) fn text(&self) -> String {
        self.line.text().replace('\n', " ")
    }
}

impl InputForm for LineForm {
    fn press(&mut self, stroke: KeyStroke) -> FormAction {
        match stroke {
            KeyStroke::Enter => return FormAction::Entered,
            KeyStroke::NewLine | KeyStroke::Tab | KeyStroke::BackTab | KeyStroke::ClearScreen => {
                return FormAction::Nothing;
            }
            _ => {}
        }
        match self.line.press(stroke, &[]) {
            line::LineAction::Leaves => FormAction::Leaves,
            line::LineAction::TooLong => FormAction::Complains("there is no room for more".to_owned()),
            // The strokes that lead there were taken above.
            line::LineAction::Nothing
            | line::LineAction::Entered(_)
            | line::LineAction::Completes
            | line::LineAction::LeavesMode
            | line::LineAction::ClearsScreen => FormAction::Nothing,
        }
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn drawing(&self, columns: usize) -> LineLayout {
        LineLayout::of(&self.label, self.line.text(), self.line.cursor(), columns)
    }

    fn answered(&self, columns: usize) -> LineLayout {
        LineLayout::of(&self.label, self.line.text(), self.line.text().len(), columns)
    }
}

/// One of a few letters.
pub(super) struct LetterForm {
    label: String,
    letters: Vec<char>,
    typed: Option<char>,
    timing: KeyTiming,
}

impl LetterForm {
    pub(super) fn new(label: &str, letters: &[char]) -> LetterForm {
        LetterForm {
            label: label.to_owned(),
            letters: letters.to_vec(),
            typed: None,
            timing: KeyTiming::default(),
        }
    }

    pub(super) fn letter(&self) -> Option<char> {
        self.typed
    }
}

impl InputForm for LetterForm {
    fn appears(&mut self, now: Duration) {
        self.timing.shown(now);
    }

    fn look(&mut self, now: Duration, bytes: usize, strokes: usize) {
        let _begins_anew = self.timing.look(now, bytes, strokes);
    }

    fn is_settling(&self) -> bool {
        !self.timing.takes_keys()
    }

    fn press(&mut self, stroke: KeyStroke) -> FormAction {
        match stroke {
            KeyStroke::Character(typed) if self.timing.counts() => {
                let typed = typed.to_ascii_lowercase();
                self.typed = Some(typed).filter(|typed| self.letters.contains(typed));
                if self.typed.is_some() { FormAction::Entered } else { FormAction::Nothing }
            }
            KeyStroke::EndOfInput => FormAction::Leaves,
            _ => FormAction::Nothing,
        }
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn drawing(&self, columns: usize) -> LineLayout {
        // Nothing long is typed behind it, so the label has the line.
        match self.typed {
            Some(typed) => row(&format!("{}{typed}", self.label), columns),
            None if self.is_settling() => row(&format!("{}{NOT_YET}", self.label), columns),
            None => row(&format!("{}› ", self.label), columns),
        }
    }

    fn answered(&self, columns: usize) -> LineLayout {
        self.drawing(columns)
    }
}

/// What can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChoiceItem {
    /// The answer.
    pub(crate) name: String,
    /// What it is, for whoever chooses.
    pub(crate) about: String,
}

/// A list to choose from.
pub(crate) struct ChoiceList {
    pub(crate) label: String,
    pub(crate) items: Vec<ChoiceItem>,
    /// What is typed and stands in no item may be the answer.
    pub(crate) takes_others: bool,
}

/// A list from which one or several are chosen; what is typed shows only the items in which it stands.
pub(super) struct ListPicker {
    label: String,
    items: Vec<ChoiceItem>,
    /// Of each item, where several can be chosen.
    ticked: Option<Vec<bool>>,
    takes_others: bool,
    typed: String,
    /// Among what is shown: the items, then what is typed where that may be the answer.
    at: usize,
}

impl ListPicker {
    pub(super) fn one(choices: ChoiceList) -> ListPicker {
        let ChoiceList { label, items, takes_others } = choices;
        ListPicker { label, items, ticked: None, takes_others, typed: String::new(), at: 0 }
    }

    pub(super) fn several(choices: ChoiceList, is_ticked: &dyn Fn(&ChoiceItem) -> bool) -> ListPicker {
        let ticked = choices.items.iter().map(is_ticked).collect();
        ListPicker { ticked: Some(ticked), takes_others: false, ..ListPicker::one(choices) }
    }

    pub(super) fn items(&self) -> &[ChoiceItem] {
        &self.items
    }

    /// Whether an item is among several that are chosen at the moment.
    pub(super) fn is_ticked(&self, index: usize) -> bool {
        self.ticked.as_ref().is_some_and(|ticked| ticked.get(index).copied().unwrap_or(false))
    }

    pub(super) fn is_for_several(&self) -> bool {
        self.ticked.is_some()
    }

    pub(super) fn takes_others(&self) -> bool {
        self.takes_others
    }

    /// Chooses just these.
    pub(super) fn choose(&mut self, indexes: &[usize]) {
        self.typed.clear();
        match &mut self.ticked {
            Some(ticked) => {
                for (index, is_ticked) in ticked.iter_mut().enumerate() {
                    *is_ticked = indexes.contains(&index);
                }
            }
            None => self.at = indexes.first().copied().unwrap_or(0),
        }
    }

    /// Chooses what stands in no item.
    pub(super) fn choose_other(&mut self, typed: &str) {
        self.typed = typed.to_owned();
        self.at = self.shown().len();
    }

    /// The answer, once it is entered: the names in the order of the list.
    pub(super) fn chosen(&self) -> Vec<String> {
        if let Some(ticked) = &self.ticked {
            let chosen = self.items.iter().zip(ticked).filter(|(_, is_ticked)| **is_ticked);
            return chosen.map(|(item, _)| item.name.clone()).collect();
        }
        match self.shown().get(self.at) {
            Some(index) => vec![self.items[*index].name.clone()],
            None => vec![self.typed.clone()],
        }
    }

    /// Indexes of the items in which the typed text stands.
    fn shown(&self) -> Vec<usize> {
        let typed = self.typed.to_lowercase();
        let fits = |item: &ChoiceItem| item.name.to_lowercase().contains(&typed);
        (0..self.items.len()).filter(|index| fits(&self.items[*index])).collect()
    }

    /// Whether what is typed is shown as an answer of its own.
    fn shows_other(&self) -> bool {
        let is_item = self.items.iter().any(|item| item.name == self.typed);
        self.takes_others && !self.typed.is_empty() && !is_item
    }

    /// The last place that there is.
    fn last(&self) -> usize {
        (self.shown().len() + usize::from(self.shows_other())).saturating_sub(1)
    }

    fn type_on(&mut self, text: &str) {
        self.typed.extend(text.chars().filter(|character| !character.is_whitespace()));
        self.at = 0;
    }

    fn toggle(&mut self) {
        let index = self.shown().get(self.at).copied();
        if let (Some(index), Some(ticked)) = (index, &mut self.ticked) {
            ticked[index] = !ticked[index];
        }
    }

    fn enter(&self) -> FormAction {
        if self.is_for_several() || !self.shown().is_empty() || self.shows_other() {
            return FormAction::Entered;
        }
        FormAction::Complains(format!("nothing in the list has `{}` in it", self.typed))
    }

    fn row(&self, index: usize, is_current: bool, name_columns: usize) -> String {
        let ChoiceItem { name, about } = &self.items[index];
        let pointer = if is_current { "›" } else { " " };
        let tick = match (self.is_for_several(), self.is_ticked(index)) {
            (false, _) => "",
            (true, true) => " [x]",
            (true, false) => " [ ]",
        };
        let name = width::pad(&safe_text::line(name, usize::MAX), name_columns);
        format!("{pointer}{tick} {name}  {}", safe_text::line(about, usize::MAX)).trim_end().to_owned()
    }
}

impl InputForm for ListPicker {
    fn press(&mut self, stroke: KeyStroke) -> FormAction {
        match stroke {
            KeyStroke::Enter => return self.enter(),
            KeyStroke::EndOfInput => return FormAction::Leaves,
            KeyStroke::Up => self.at = self.at.saturating_sub(1),
            KeyStroke::Down => self.at = (self.at + 1).min(self.last()),
            KeyStroke::Home => self.at = 0,
            KeyStroke::End => self.at = self.last(),
            KeyStroke::Character(' ') => self.toggle(),
            KeyStroke::Character(character) => self.type_on(character.encode_utf8(&mut [0; 4])),
            KeyStroke::Pasted(text) => self.type_on(&text),
            KeyStroke::Backspace => {
                self.typed.pop();
                self.at = 0;
            }
            KeyStroke::CutToStart | KeyStroke::CutWord => {
                self.typed.clear();
                self.at = 0;
            }
            _ => {}
        }
        FormAction::Nothing
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn drawing(&self, columns: usize) -> LineLayout {
        let room = columns.max(COLUMNS_MIN) - 1;
        let shown = self.shown();
        let first = width::cut(&format!("{}{}", self.label, safe_text::line(&self.typed, usize::MAX)), room);
        let column = width::of(&first);
        // The one that the pointer is at stays in sight, with some before it.
        let start =
            (self.at + 1).saturating_sub(ITEMS_SHOWN / 2).min(shown.len().saturating_sub(ITEMS_SHOWN));
        let end = (start + ITEMS_SHOWN).min(shown.len());
        let widths = shown[start..end].iter().map(|index| width::of(&self.items[*index].name));
        let name_columns = widths.max().unwrap_or(0).min(NAME_COLUMNS_MAX);
        let how = if self.is_for_several() { "space ticks, Enter takes them" } else { "Enter takes it" };
        let mut rows = vec![first, width::cut(&format!("  {how}; what is typed is looked for"), room)];
        if 0 < start {
            rows.push(format!("  ⋮ {start} above"));
        }
        for (place, index) in shown[start..end].iter().enumerate() {
            rows.push(width::cut(&self.row(*index, start + place == self.at, name_columns), room));
        }
        if end < shown.len() {
            rows.push(format!("  ⋮ {} below", shown.len() - end));
        }
        if self.shows_other() {
            let pointer = if shown.len() <= self.at { "›" } else { " " };
            let row = format!("{pointer} {}  as it is typed", safe_text::line(&self.typed, usize::MAX));
            rows.push(width::cut(&row, room));
        }
        LineLayout::of_rows(rows, column)
    }

    fn answered(&self, columns: usize) -> LineLayout {
        let chosen = self.chosen();
        let text = if chosen.is_empty() { "none".to_owned() } else { chosen.join(", ") };
        LineLayout::of(&self.label, &text, text.len(), columns)
    }
}

#[cfg(test)]
mod tests;
