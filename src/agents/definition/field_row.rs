//! What is known of one field of an agent's file? Its row says it; what reads, describes, writes and judges fields walks rows.

use serde_json::{Map, Value, json};

use crate::{fields::KnownFields, findings::FileFindings};
use protocol::AgentFormat;

/// One field, in a map that is read into a `T`.
pub(super) struct FieldRow<T: 'static> {
    /// Its name in camelCase.
    pub name: &'static str,
    /// A text for whoever writes the file: editors and the manual show it.
    pub meaning: fn() -> String,
    /// A JSON Schema of its values, without the meaning. The reader may forgive more.
    pub schema: fn() -> Value,
    /// The front matter of a file, beside `kind`, `name` and `description`, that says something in this field. Tests read it, write
    /// it and read it again.
    #[allow(dead_code, reason = "only tests walk the table with it")]
    pub example: &'static str,
    /// A map without it is mistaken, and lacks this line.
    pub required: Option<&'static str>,
    /// Reads it where it stands, and tells what is wrong with it. What is mistaken is left as it was: the caller drops the result.
    pub read: FieldReader<T>,
    /// The value with which a file of ours says it; `None` for what is meant anyway.
    pub write: fn(&T) -> Option<Value>,
    /// Files that are written have it behind this field, and not where the table has it.
    pub written_behind: Option<&'static str>,
    /// The fields that it has, if it is a map.
    pub below: &'static [FieldRow<T>],
    pub narrowing: FieldNarrowing,
    /// People write it at the top, though it belongs into its section: they are told where.
    pub strays_to_top: bool,
    /// The part of it that files of other products cannot say. `None`: there is none, or the writer of each product tells.
    pub loss: Option<FieldLoss<T>>,
    /// A claim of it that a person should know who brings in a stranger's file.
    pub claim: fn(&T) -> Option<String>,
}

/// Reads a field of the map into what becomes of the map.
type FieldReader<T> = fn(&KnownFields<'_>, &mut T, &mut FileFindings);

/// The effect on an agent when its file misspells the field, or has keys in it that nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldNarrowing {
    /// It is told that they have no effect.
    Nothing,
    /// A key in it that sounds as if it took something away keeps the agent from being started.
    KeysThatSoundSo,
    /// The field narrows the agent, and so does each field in it: one that is misspelled keeps the agent from being started.
    Narrows,
}

/// A loss when an agent is written for another product.
pub(super) struct FieldLoss<T: 'static> {
    /// The words for it, which several fields may share.
    pub what: &'static str,
    /// Products whose files can say it.
    pub kept_by: &'static [AgentFormat],
    /// True of a value that is lost there; `None`: whenever a file of ours says it.
    pub is_lost: Option<fn(&T) -> bool>,
}

impl<T> FieldLoss<T> {
    /// Lost for each product, whenever a file of ours says it.
    pub const fn of(what: &'static str) -> FieldLoss<T> {
        FieldLoss { what, kept_by: &[], is_lost: None }
    }
}

impl<T> FieldRow<T> {
    /// A row that says nothing, for those that say only what is particular to them.
    pub const BLANK: FieldRow<T> = FieldRow {
        name: "",
        meaning: String::new,
        schema: || json!({}),
        example: "",
        required: None,
        read: |_, _, _| (),
        write: |_| None,
        written_behind: None,
        below: &[],
        narrowing: FieldNarrowing::Nothing,
        strays_to_top: false,
        loss: None,
        claim: |_| None,
    };

    /// The schema, with what the field means.
    fn described(&self) -> Value {
        let mut schema = (self.schema)();
        schema["description"] = json!((self.meaning)());
        schema
    }

    /// The loss of this field for a product, without those below it.
    fn lost(&self, value: &T, product: AgentFormat) -> Option<&'static str> {
        let loss = self.loss.as_ref().filter(|loss| !loss.kept_by.contains(&product))?;
        let is_lost = match loss.is_lost {
            Some(is_lost) => is_lost(value),
            None => (self.write)(value).is_some(),
        };
        is_lost.then_some(loss.what)
    }
}

/// A field whose value stands in one place of the agent and has a shape: it is read, described and written as the shape says.
macro_rules! field {
    (
        $name:literal, $($place:ident).+, $shape:expr, $meaning:expr,
        example: $example:literal $(, $more:ident: $said:expr)* $(,)?
    ) => {
        FieldRow {
            name: $name,
            meaning: || String::from($meaning),
            schema: || FieldShape::schema(&$shape),
            example: $example,
            read: |fields, it, findings| {
                if let Some(value) = FieldShape::read(&$shape, $name, fields, findings) {
                    FieldSlot::put(&mut it.$($place).+, value);
                }
            },
            write: |it| FieldSlot::said(&it.$($place).+).map(|value| FieldShape::write(&$shape, &value)),
            $($more: $said,)*
            ..FieldRow::BLANK
        }
    };
}

/// A field that is a map of fields, each with a row of its own.
macro_rules! section {
    ($name:literal, $rows:expr, $meaning:expr, example: $example:literal $(, $more:ident: $said:expr)* $(,)?) => {
        FieldRow {
            name: $name,
            meaning: || String::from($meaning),
            schema: || or_null(map_schema($rows)),
            example: $example,
            read: |fields, it, findings| {
                read_section($name, $rows, fields, it, findings);
            },
            write: |it| written_section($rows, it),
            below: $rows,
            $($more: $said,)*
            ..FieldRow::BLANK
        }
    };
}

pub(super) use {field, section};

/// The names of fields, in their order.
pub(super) fn names<T>(rows: &'static [FieldRow<T>]) -> Vec<&'static str> {
    rows.iter().map(|row| row.name).collect()
}

/// Reads the fields of an open map.
pub(super) fn read_rows<T>(
    rows: &'static [FieldRow<T>],
    fields: &KnownFields<'_>,
    value: &mut T,
    findings: &mut FileFindings,
) {
    for row in rows {
        if row.required.is_none_or(|line| fields.require(row.name, line, findings).is_some()) {
            (row.read)(fields, value, findings);
        }
    }
}

/// Reads the fields of the map that stands in this field, if one does.
pub(super) fn read_section<T>(
    name: &str,
    rows: &'static [FieldRow<T>],
    fields: &KnownFields<'_>,
    value: &mut T,
    findings: &mut FileFindings,
) {
    let Some(node) = fields.get(name) else { return };
    if let Some(fields) = KnownFields::open(node, &fields.path(name), &names(rows), findings) {
        read_rows(rows, &fields, value, findings);
    }
}

/// The fields that say what a value says, in the order in which people write them. Defaults are left out.
pub(super) fn written<T>(rows: &'static [FieldRow<T>], value: &T) -> Map<String, Value> {
    let said = |row: &&FieldRow<T>| Some((row.name.to_owned(), (row.write)(value)?));
    in_written_order(rows).iter().filter_map(said).collect()
}

/// The same as the value of a field; `None` where nothing is said.
pub(super) fn written_section<T>(rows: &'static [FieldRow<T>], value: &T) -> Option<Value> {
    let fields = written(rows, value);
    (!fields.is_empty()).then(|| fields.into())
}

pub(super) fn in_written_order<T>(rows: &'static [FieldRow<T>]) -> Vec<&'static FieldRow<T>> {
    let (mut order, moved): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.written_behind.is_none());
    for row in moved {
        let before = order.iter().position(|other| row.written_behind == Some(other.name));
        order.insert(before.map_or(order.len(), |before| before + 1), row);
    }
    order
}

/// The losses of these fields and of those below them for a product, in words, each once.
pub(super) fn lost<T>(rows: &'static [FieldRow<T>], value: &T, product: AgentFormat) -> Vec<&'static str> {
    let mut lost = Vec::new();
    for row in in_written_order(rows) {
        let below = self::lost(row.below, value, product);
        for what in row.lost(value, product).into_iter().chain(below) {
            if !lost.contains(&what) {
                lost.push(what);
            }
        }
    }
    lost
}

/// A map with these fields and no others, in any spelling of their names.
pub(super) fn map_schema<T>(rows: &'static [FieldRow<T>]) -> Value {
    let (mut properties, mut spellings) = (Map::new(), Map::new());
    for row in rows {
        let schema = row.described();
        if let Some(pattern) = spellings_of(row.name) {
            spellings.insert(pattern, schema.clone());
        }
        properties.insert(row.name.to_owned(), schema);
    }
    let mut map = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !spellings.is_empty() {
        map["patternProperties"] = Value::Object(spellings);
    }
    map
}

/// `max_turns` and `max-turns` for `maxTurns`; none for a name of one word.
fn spellings_of(name: &str) -> Option<String> {
    let mut pattern = "^".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            pattern.push_str("[_-]");
            pattern.push(letter.to_ascii_lowercase());
        } else {
            pattern.push(letter);
        }
    }
    pattern.push('$');
    name.chars().any(|letter| letter.is_ascii_uppercase()).then_some(pattern)
}
