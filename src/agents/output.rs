//! How does a typed result read? (spec 02, `output`)

use serde_json::Value;

use super::template;
use protocol::OutputSpec;

/// A result in the form its agent chose: the template over its fields, else pretty-printed JSON.
///
/// A field that the result does not have leaves nothing behind: the schema said that it may be missing.
pub fn format_output(output: &OutputSpec, result: &Value) -> String {
    match (&output.format, result) {
        (Some(format), Value::Object(fields)) => template::fill_by(format, |name, text| {
            if let Some(value) = fields.get(name) {
                text.push_str(&template::as_text(value));
            }
        }),
        _ => format!("{result:#}"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(format: Option<&str>, result: Value, expected: Expect) {
        let output = OutputSpec {
            name: "report".into(),
            description: None,
            schema: json!({"type": "object"}),
            format: format.map(str::to_owned),
        };
        expected.assert_eq(&format_output(&output, &result));
    }

    #[test]
    fn without_a_template_the_result_is_pretty_json_in_its_own_order() {
        check(
            None,
            json!({"b": 1, "a": ["x"]}),
            expect![[r#"
            {
              "b": 1,
              "a": [
                "x"
              ]
            }"#]],
        );
        check(None, json!("text"), expect![[r#""text""#]]);
    }

    #[test]
    fn a_template_takes_the_fields_and_nothing_from_their_text() {
        let result = json!({"title": "${count}", "count": 2, "tags": ["a", "b"]});
        check(
            Some("# ${title}\n${count} of ${tags}, ${missing}. $${title}"),
            result,
            expect![[r##"
            # ${count}
            2 of ["a","b"], . ${title}"##]],
        );
    }

    #[test]
    fn a_result_without_fields_falls_back_to_json() {
        check(
            Some("# ${title}"),
            json!([1]),
            expect![[r#"
            [
              1
            ]"#]],
        );
    }
}
