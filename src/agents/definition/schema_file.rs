//! How does an editor know what may stand in an agent's front matter? As a JSON Schema (`agent.schema.json`).
//!
//! It is made of the rows that the reader goes by, so neither can have a field or a choice that the other lacks. The
//! schema says how to write a file: what it takes, the reader takes without a word, but for what only the whole file
//! shows (a template that names an input). The reader forgives more; a test has both lists.

use serde_json::{Value, json};

use super::{field_row::map_schema, shapes::DIALECT, table::FIELDS};

/// The front matter of an agent's file.
pub fn front_matter_schema() -> Value {
    let mut schema = map_schema(FIELDS);
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!("The front matter of an agent of subagentd");
    schema["description"] = json!(
        "A file `NAME.md` begins with these fields between two lines `---`; the text after them is the system prompt. \
         Keys are read in camelCase, snake_case and kebab-case."
    );
    let required = FIELDS.iter().filter(|row| row.required.is_some()).map(|row| row.name);
    schema["required"] = required.collect();
    schema
}
