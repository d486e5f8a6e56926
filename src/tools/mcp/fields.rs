//! One field of a form that a server wants filled in: how it is asked, and what an answer to it means.

use serde_json::{Number, Value, json};

use super::words::TextSanitizer;
use protocol::{AnswerKind, QuestionAnswer, UserQuestion};

/// Choices of one field.
const MOST_CHOICES: usize = 100;
/// Characters of a field's title, of what is said about it, and of a choice.
const LONGEST_TITLE: usize = 200;
const LONGEST_DESCRIPTION: usize = 1_000;
const LONGEST_CHOICE: usize = 200;
/// Bytes of a field's name, which is sent back as it came.
const LONGEST_NAME: usize = 200;

const YES: &str = "yes";
const NO: &str = "no";

pub struct ElicitationField {
    /// As the server knows it.
    pub name: String,
    title: String,
    description: String,
    is_required: bool,
    default: Option<Value>,
    kind: ElicitationFieldKind,
}

enum ElicitationFieldKind {
    Text { least: Option<u64>, most: Option<u64>, format: Option<ElicitationFormat> },
    Number { is_integer: bool, least: Option<f64>, most: Option<f64> },
    Boolean,
    Choice(Vec<ElicitationChoice>),
    Several { choices: Vec<ElicitationChoice>, least: Option<u64>, most: Option<u64> },
}

#[derive(Debug, Clone, Copy)]
enum ElicitationFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

/// One of those that can be chosen.
struct ElicitationChoice {
    /// As people see it.
    shown: String,
    value: String,
}

impl ElicitationField {
    /// What is wrong with it is told the server.
    pub fn read(
        name: &str,
        told: &Value,
        is_required: bool,
        words: &TextSanitizer,
    ) -> Result<ElicitationField, String> {
        if LONGEST_NAME < name.len() {
            return Err("a field's name is too long".to_owned());
        }
        let shown = words.line(name, LONGEST_TITLE);
        let kind =
            ElicitationFieldKind::read(told, words).map_err(|why| format!("field `{shown}`: {why}"))?;
        let text = |key: &str| told.get(key).and_then(Value::as_str);
        let field = ElicitationField {
            name: name.to_owned(),
            title: text("title").map_or(shown, |it| words.line(it, LONGEST_TITLE)),
            description: text("description").map_or(String::new(), |it| words.line(it, LONGEST_DESCRIPTION)),
            is_required,
            default: told.get("default").filter(|it| !it.is_null()).cloned(),
            kind,
        };
        // A default that does not fit is none.
        let fits = field.default_answer().is_some_and(|answer| field.given(&answer).is_ok());
        Ok(ElicitationField { default: field.default.clone().filter(|_| fits), ..field })
    }

    pub fn question(&self) -> UserQuestion {
        let mut question = self.title.clone();
        if !self.description.is_empty() {
            question.push_str(": ");
            question.push_str(&self.description);
        }
        if let Some(hint) = self.kind.hint() {
            question.push_str(&format!(" ({hint})"));
        }
        let shown = |choices: &[ElicitationChoice]| choices.iter().map(|it| it.shown.clone()).collect();
        let options = match &self.kind {
            ElicitationFieldKind::Text { .. } | ElicitationFieldKind::Number { .. } => Vec::new(),
            ElicitationFieldKind::Boolean => vec![YES.to_owned(), NO.to_owned()],
            ElicitationFieldKind::Choice(choices) | ElicitationFieldKind::Several { choices, .. } => {
                shown(choices)
            }
        };
        UserQuestion {
            question,
            closed: !options.is_empty(),
            options,
            multi_select: matches!(self.kind, ElicitationFieldKind::Several { .. }),
            kind: match self.kind {
                ElicitationFieldKind::Number { is_integer: true, .. } => AnswerKind::Integer,
                ElicitationFieldKind::Number { .. } => AnswerKind::Number,
                ElicitationFieldKind::Boolean => AnswerKind::Boolean,
                ElicitationFieldKind::Text { .. }
                | ElicitationFieldKind::Choice(_)
                | ElicitationFieldKind::Several { .. } => AnswerKind::Text,
            },
            optional: !self.is_required,
            default: self.default_answer(),
        }
    }

    /// What the server gets for an answer: nothing for one that may be left out and is; why it does not fit.
    pub fn value(&self, answer: &QuestionAnswer) -> Result<Option<Value>, String> {
        if !answer.is_blank() {
            return self.given(answer).map(Some);
        }
        match (self.default_answer(), self.is_required) {
            (Some(default), _) => self.given(&default).map(Some),
            (None, false) => Ok(None),
            (None, true) => Err(format!("`{}` is needed; `deny` gives nothing", self.title)),
        }
    }

    /// The default, as an answer.
    fn default_answer(&self) -> Option<QuestionAnswer> {
        let one = |text: String| Some(QuestionAnswer::One(text));
        match (self.default.as_ref()?, &self.kind) {
            (Value::Bool(yes), ElicitationFieldKind::Boolean) => one(if *yes { YES } else { NO }.to_owned()),
            (Value::Number(number), ElicitationFieldKind::Number { .. }) => one(number.to_string()),
            (Value::String(text), ElicitationFieldKind::Text { .. }) => one(text.clone()),
            (Value::String(text), ElicitationFieldKind::Choice(choices)) => {
                one(shown(choices, text)?.to_owned())
            }
            (Value::Array(values), ElicitationFieldKind::Several { choices, .. }) => {
                let all = values.iter().map(|it| Some(shown(choices, it.as_str()?)?.to_owned()));
                Some(QuestionAnswer::Several(all.collect::<Option<Vec<String>>>()?))
            }
            _ => None,
        }
    }

    fn given(&self, answer: &QuestionAnswer) -> Result<Value, String> {
        let texts: Vec<&str> = match answer {
            QuestionAnswer::One(text) => vec![text.as_str()],
            QuestionAnswer::Several(texts) => texts.iter().map(String::as_str).collect(),
        };
        if let ElicitationFieldKind::Several { choices, least, most } = &self.kind {
            return several(choices, &texts, (*least, *most));
        }
        let [text] = texts[..] else { return Err("one answer, not several".to_owned()) };
        match &self.kind {
            ElicitationFieldKind::Text { least, most, format } => read_text(text, (*least, *most), *format),
            ElicitationFieldKind::Number { is_integer, least, most } => {
                read_number(text.trim(), *is_integer, (*least, *most))
            }
            ElicitationFieldKind::Boolean => match text.trim().to_ascii_lowercase().as_str() {
                YES | "true" => Ok(true.into()),
                NO | "false" => Ok(false.into()),
                _ => Err("`yes` or `no`".to_owned()),
            },
            ElicitationFieldKind::Choice(choices) => Ok(chosen(choices, text)?.into()),
            // Handled above.
            ElicitationFieldKind::Several { .. } => Err("one answer, not several".to_owned()),
        }
    }
}

impl ElicitationFieldKind {
    fn read(told: &Value, words: &TextSanitizer) -> Result<ElicitationFieldKind, String> {
        let count = |key: &str| told.get(key).and_then(Value::as_u64);
        let bound = |key: &str| told.get(key).and_then(Value::as_f64);
        match told.get("type").and_then(Value::as_str) {
            Some("boolean") => Ok(ElicitationFieldKind::Boolean),
            Some(kind @ ("number" | "integer")) => Ok(ElicitationFieldKind::Number {
                is_integer: kind == "integer",
                least: bound("minimum"),
                most: bound("maximum"),
            }),
            Some("string") | None => match choices(told, words)? {
                Some(choices) => Ok(ElicitationFieldKind::Choice(choices)),
                None if told.get("type").is_none() => Err("`type` is needed".to_owned()),
                None => Ok(ElicitationFieldKind::Text {
                    least: count("minLength"),
                    most: count("maxLength"),
                    format: told.get("format").and_then(Value::as_str).and_then(ElicitationFormat::read),
                }),
            },
            Some("array") => {
                let items = told.get("items").ok_or("`items` are needed")?;
                let choices = choices(items, words)?.ok_or("only lists of choices are taken")?;
                Ok(ElicitationFieldKind::Several {
                    choices,
                    least: count("minItems"),
                    most: count("maxItems"),
                })
            }
            Some(other) => Err(format!("type `{}` is none that a form has", words.line(other, 40))),
        }
    }

    /// What an answer must be like, in words.
    fn hint(&self) -> Option<String> {
        let between = |least: Option<String>, most: Option<String>| match (least, most) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        };
        let text = |count: &Option<u64>| count.map(|it| it.to_string());
        let number = |bound: &Option<f64>| bound.map(|it| it.to_string());
        match self {
            ElicitationFieldKind::Text { least, most, format } => {
                let length = between(text(least), text(most)).map(|it| format!("{it} characters"));
                let parts: Vec<String> =
                    format.map(|it| it.words().to_owned()).into_iter().chain(length).collect();
                (!parts.is_empty()).then(|| parts.join(", "))
            }
            ElicitationFieldKind::Number { is_integer, least, most } => {
                let what = if *is_integer { "a whole number" } else { "a number" };
                let bounds = between(number(least), number(most)).map(|it| format!(", {it}"));
                Some(format!("{what}{}", bounds.unwrap_or_default()))
            }
            ElicitationFieldKind::Several { least, most, .. } => {
                between(text(least), text(most)).map(|it| format!("{it} of them"))
            }
            ElicitationFieldKind::Boolean | ElicitationFieldKind::Choice(_) => None,
        }
    }
}

impl ElicitationFormat {
    /// What is none of these is any text.
    fn read(name: &str) -> Option<ElicitationFormat> {
        match name {
            "email" => Some(ElicitationFormat::Email),
            "uri" => Some(ElicitationFormat::Uri),
            "date" => Some(ElicitationFormat::Date),
            "date-time" => Some(ElicitationFormat::DateTime),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            ElicitationFormat::Email => "an e-mail address",
            ElicitationFormat::Uri => "a URI",
            ElicitationFormat::Date => "a date, e.g. 2026-01-31",
            ElicitationFormat::DateTime => "a date and time, e.g. 2026-01-31T08:00:00Z",
        }
    }

    fn fits(self, text: &str) -> bool {
        match self {
            ElicitationFormat::Email => text.split_once('@').is_some_and(|(who, place)| {
                let is_plain = |part: &str| {
                    !part.is_empty() && !part.contains(|it: char| it.is_whitespace() || it == '@')
                };
                is_plain(who) && is_plain(place) && !place.starts_with('.') && !place.ends_with('.')
            }),
            ElicitationFormat::Uri => url::Url::parse(text).is_ok(),
            ElicitationFormat::Date => is_date(text),
            ElicitationFormat::DateTime => is_moment(text),
        }
    }
}

/// RFC 3339, `full-date`. Of any year: people were born before computers count.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=last).contains(&day)
}

/// RFC 3339, `date-time`.
fn is_moment(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', 't']) else { return false };
    let time = match rest.strip_suffix(['Z', 'z']) {
        Some(time) => time,
        None => match rest.rsplit_once(['+', '-']) {
            Some((time, offset)) if is_clock(offset, 2) => time,
            _ => return false,
        },
    };
    let (whole, fraction) = time.split_once('.').map_or((time, "0"), |(whole, fraction)| (whole, fraction));
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|it| it.is_ascii_digit());
    is_date(date) && is_fraction && is_clock(whole, 3)
}

/// Hours, minutes, and seconds where there are three parts; a minute may have a leap second.
fn is_clock(text: &str, n_parts: usize) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let in_bounds = |(part, most): (&&str, u32)| digits(part, 2).is_some_and(|it| it <= most);
    parts.len() == n_parts && parts.iter().zip([23, 59, 60]).all(in_bounds)
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let is_so = text.len() == count && text.bytes().all(|it| it.is_ascii_digit());
    is_so.then(|| text.parse().ok()).flatten()
}

/// The choices that a field, or the items of one, says; `None` = it has none.
fn choices(told: &Value, words: &TextSanitizer) -> Result<Option<Vec<ElicitationChoice>>, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or("choices must be texts".to_owned());
    let titled = told.get("oneOf").or_else(|| told.get("anyOf")).and_then(Value::as_array);
    let plain = told.get("enum").and_then(Value::as_array);
    let pairs: Vec<(String, String)> = match (titled, plain) {
        (Some(all), _) => {
            let pair = |it: &Value| {
                let value = text(it.get("const").unwrap_or(&Value::Null))?;
                let title = it.get("title").and_then(Value::as_str).unwrap_or(&value).to_owned();
                Ok((title, value))
            };
            all.iter().map(pair).collect::<Result<_, String>>()?
        }
        (None, Some(values)) => {
            let names = told.get("enumNames").and_then(Value::as_array);
            let name = |at: usize| names.and_then(|it| it.get(at)).and_then(Value::as_str);
            let pair = |(at, value): (usize, &Value)| {
                let value = text(value)?;
                Ok((name(at).map_or_else(|| value.clone(), str::to_owned), value))
            };
            values.iter().enumerate().map(pair).collect::<Result<_, String>>()?
        }
        (None, None) => return Ok(None),
    };
    if pairs.is_empty() || MOST_CHOICES < pairs.len() {
        return Err(format!("1 to {MOST_CHOICES} choices are taken, not {}", pairs.len()));
    }
    let mut choices: Vec<ElicitationChoice> = Vec::with_capacity(pairs.len());
    for (title, value) in pairs {
        let mut shown = words.line(&title, LONGEST_CHOICE);
        if choices.iter().any(|it| it.shown == shown) {
            shown = format!("{shown} ({})", choices.len() + 1);
        }
        choices.push(ElicitationChoice { shown, value });
    }
    Ok(Some(choices))
}

fn shown<'a>(choices: &'a [ElicitationChoice], value: &str) -> Option<&'a str> {
    choices.iter().find(|it| it.value == value).map(|it| it.shown.as_str())
}

/// As people see it, or as the server writes it.
fn chosen(choices: &[ElicitationChoice], text: &str) -> Result<String, String> {
    let found = choices.iter().find(|it| it.shown == text.trim());
    let found = found.or_else(|| choices.iter().find(|it| it.value == text));
    found.map(|it| it.value.clone()).ok_or_else(|| "that is none of the choices".to_owned())
}

fn several(
    choices: &[ElicitationChoice],
    texts: &[&str],
    (least, most): (Option<u64>, Option<u64>),
) -> Result<Value, String> {
    let mut values: Vec<String> = Vec::new();
    for text in texts {
        let value = chosen(choices, text)?;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    in_bounds(values.len() as u64, (least, most), "choices")?;
    Ok(json!(values))
}

fn read_text(
    text: &str,
    bounds: (Option<u64>, Option<u64>),
    format: Option<ElicitationFormat>,
) -> Result<Value, String> {
    in_bounds(text.chars().count() as u64, bounds, "characters")?;
    match format {
        Some(format) if !format.fits(text) => Err(format!("needed: {}", format.words())),
        _ => Ok(text.into()),
    }
}

fn read_number(
    text: &str,
    is_integer: bool,
    (least, most): (Option<f64>, Option<f64>),
) -> Result<Value, String> {
    let what = if is_integer { "a whole number" } else { "a number" };
    let number = text.parse::<i64>().ok().map(Number::from).or_else(|| {
        let number = text.parse::<f64>().ok().filter(|it| it.is_finite() && !is_integer)?;
        Number::from_f64(number)
    });
    let number = number.ok_or_else(|| format!("needed: {what}"))?;
    let value = number.as_f64().unwrap_or_default();
    match (least, most) {
        (Some(least), _) if value < least => Err(format!("at least {least}")),
        (_, Some(most)) if most < value => Err(format!("at most {most}")),
        _ => Ok(Value::Number(number)),
    }
}

fn in_bounds(count: u64, (least, most): (Option<u64>, Option<u64>), of: &str) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if count < least => Err(format!("at least {least} {of}, not {count}")),
        (_, Some(most)) if most < count => Err(format!("at most {most} {of}, not {count}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_moments_are_those_of_the_calendar() {
        for date in ["1912-06-23", "2000-02-29", "2024-02-29", "2026-12-31"] {
            assert!(is_date(date), "{date}");
        }
        for no_date in [
            "1900-02-29",
            "2026-00-10",
            "2026-13-01",
            "2026-04-31",
            "26-04-01",
            "2026-4-1",
            "",
            "2026-04-01x",
        ] {
            assert!(!is_date(no_date), "{no_date}");
        }
        for moment in ["1912-06-23T08:00:00Z", "2026-01-31T23:59:60.25+05:30", "2026-01-31t00:00:00-00:00"] {
            assert!(is_moment(moment), "{moment}");
        }
        for none in [
            "2026-01-31",
            "2026-01-31T08:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T08:00:00",
            "2026-01-31T08:00:00.Z",
        ] {
            assert!(!is_moment(none), "{none}");
        }
    }
}
