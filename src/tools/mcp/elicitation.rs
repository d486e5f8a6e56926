//! What does a server want to know of a person, and does an answer fit? (Spec 07, elicitation.)
//!
//! A form has flat fields of simple types; each becomes a question, and what is answered becomes what the server asked for,
//! or every reason why not. A URL is only shown: nothing here opens it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{fields::ElicitationField, words::TextSanitizer};
use crate::AnswerValidator;
use protocol::{ConfirmationDetails, QuestionAnswer, SchemaViolation, UserQuestion};

/// Fields of one form; more is a survey.
const MOST_FIELDS: usize = 20;
/// Characters of a server's message, and of a URL.
const LONGEST_MESSAGE: usize = 4_000;
const LONGEST_URL: usize = 2_000;
/// Characters of a message in a title.
const LONGEST_TITLE: usize = 120;

/// What a person is asked for a server.
pub struct Elicitation {
    pub title: String,
    pub details: ConfirmationDetails,
    /// What stands on the button that consents.
    pub consent: &'static str,
    pub check: AnswerValidator,
}

impl Elicitation {
    /// What is wrong with it is told the server.
    pub fn read(params: &Value, server: &str, words: &TextSanitizer) -> Result<Elicitation, String> {
        let message = params.get("message").and_then(Value::as_str).ok_or("`message` is needed")?;
        let title = format!("{server} asks: {}", words.line(message, LONGEST_TITLE));
        let message = words.text(message, LONGEST_MESSAGE);
        match params.get("mode").and_then(Value::as_str) {
            None | Some("form") => {
                let schema = params.get("requestedSchema").ok_or("`requestedSchema` is needed")?;
                let fields = fields(schema, words)?;
                Ok(form(title, format!("The MCP server {server} asks: {message}"), fields))
            }
            Some("url") => {
                let url = params.get("url").and_then(Value::as_str).ok_or("`url` is needed")?;
                let (url, place) = page(url)?;
                let prompt = format!(
                    "The MCP server {server} asks you to open this page, on {place}:\n\n{}\n\n{message}\n\n\
                     Nothing is opened for you. Open it only if you know why.",
                    // As it was understood: letters that turn a line round or are not seen stand there encoded.
                    words.whole(url.as_str())
                );
                let details = ConfirmationDetails::Info { prompt };
                let check: AnswerValidator = Arc::new(|_| Ok(Value::Null));
                Ok(Elicitation { title, details, consent: "I will open it", check })
            }
            Some(other) => {
                Err(format!("`{}` is no mode that is known here: `form`, `url`", words.line(other, 40)))
            }
        }
    }
}

fn form(title: String, lead: String, fields: Vec<ElicitationField>) -> Elicitation {
    if fields.is_empty() {
        let details = ConfirmationDetails::Info { prompt: lead };
        let check: AnswerValidator = Arc::new(|_| Ok(Value::Object(Map::new())));
        return Elicitation { title, details, consent: "Agree", check };
    }
    let mut questions: Vec<UserQuestion> = fields.iter().map(ElicitationField::question).collect();
    // Whoever shows the questions one by one shows this first.
    if let Some(first) = questions.first_mut() {
        first.question = format!("{lead}\n\n{}", first.question);
    }
    let details = ConfirmationDetails::Question { questions };
    Elicitation {
        title,
        details,
        consent: "Answer",
        check: Arc::new(move |answers| content(&fields, answers)),
    }
}

/// A URL and where it leads, if it is one of the web.
fn page(url: &str) -> Result<(url::Url, String), String> {
    let bad = || "`url` is no address of the web".to_owned();
    if LONGEST_URL < url.chars().count() || url.chars().any(char::is_control) {
        return Err(bad());
    }
    let url = url::Url::parse(url).map_err(|_| bad())?;
    let place = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")).map(str::to_owned);
    place.map(|place| (url, place)).ok_or_else(bad)
}

fn fields(schema: &Value, words: &TextSanitizer) -> Result<Vec<ElicitationField>, String> {
    let none = Map::new();
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties,
        None => &none,
        Some(_) => return Err("`properties` of `requestedSchema` must be an object".to_owned()),
    };
    if MOST_FIELDS < properties.len() {
        return Err(format!("{} fields are too many; {MOST_FIELDS} are taken", properties.len()));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let read = |(name, told): (&String, &Value)| ElicitationField::read(name, told, is_required(name), words);
    properties.iter().map(read).collect()
}

/// What the server gets, or every reason why it would be wrong.
fn content(fields: &[ElicitationField], answers: &[QuestionAnswer]) -> Result<Value, Vec<SchemaViolation>> {
    let mut violations = Vec::new();
    if answers.len() != fields.len() {
        let message = format!("one answer a question: {} needed, {} given", fields.len(), answers.len());
        violations.push(SchemaViolation { pointer: "/answers".to_owned(), message });
    }
    let mut content = Map::new();
    for (at, (field, answer)) in fields.iter().zip(answers).enumerate() {
        match field.value(answer) {
            Ok(Some(value)) => drop(content.insert(field.name.clone(), value)),
            Ok(None) => (),
            Err(message) => violations.push(SchemaViolation { pointer: format!("/answers/{at}"), message }),
        }
    }
    match violations.is_empty() {
        true => Ok(Value::Object(content)),
        false => Err(violations),
    }
}

#[cfg(test)]
mod tests;
