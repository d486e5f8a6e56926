//! What did somebody type, as an answer to one of an agent's questions?

use protocol::{AnswerKind, QuestionAnswer, UserQuestion};

/// What somebody typed, as an answer to one question: numbers of its options, or a text of their own. Quotes make a text
/// of a number.
pub(crate) fn read_answer(question: &UserQuestion, typed: &str) -> Result<QuestionAnswer, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        // What it means then is told with the question.
        return match (question.optional || question.default.is_some(), question.multi_select) {
            (false, _) => Err("there is nothing in it".into()),
            (true, true) => Ok(QuestionAnswer::Several(Vec::new())),
            (true, false) => Ok(QuestionAnswer::One(String::new())),
        };
    }
    let count = question.options.len();
    let separators = [',', ' '];
    let parts: Vec<&str> = typed.split(separators).filter(|part| !part.is_empty()).collect();
    let is_numbers = 0 < count && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_numbers {
        if let Some(why) = unfit(question, typed) {
            return Err(why);
        }
        let quoted = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let text = quoted.filter(|text| !text.is_empty()).unwrap_or(typed).to_owned();
        return Ok(match question.multi_select {
            true => QuestionAnswer::Several(vec![text]),
            false => QuestionAnswer::One(text),
        });
    }
    let mut chosen: Vec<String> = Vec::new();
    for part in parts {
        let at = part.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let option = at.and_then(|at| question.options.get(at));
        let option = option.ok_or_else(|| format!("there is no option {part}; quotes make it a text"))?;
        if !chosen.contains(option) {
            chosen.push(option.clone());
        }
    }
    match (question.multi_select, chosen.as_slice()) {
        (true, _) => Ok(QuestionAnswer::Several(chosen)),
        (false, [one]) => Ok(QuestionAnswer::One(one.clone())),
        (false, _) => Err("one option only; quotes make it a text".into()),
    }
}

/// An answer as people read it.
pub(crate) fn in_words(answer: &QuestionAnswer) -> String {
    match answer {
        QuestionAnswer::One(text) => text.clone(),
        QuestionAnswer::Several(texts) => texts.join(", "),
    }
}

/// Why a text can be no answer, as far as that can be told here. Whoever asks says the rest.
fn unfit(question: &UserQuestion, typed: &str) -> Option<String> {
    let is_boolean = || ["yes", "no", "true", "false"].contains(&typed.to_ascii_lowercase().as_str());
    match question.kind {
        AnswerKind::Integer if typed.parse::<i64>().is_err() => Some("a whole number is needed".into()),
        AnswerKind::Number if typed.parse::<f64>().is_err() => Some("a number is needed".into()),
        AnswerKind::Boolean if !is_boolean() => Some("yes or no is needed".into()),
        AnswerKind::Text if question.closed && !question.multi_select => {
            let is_option = question.options.iter().any(|option| option == typed);
            (!is_option).then(|| "only one of the options will do, by its number".into())
        }
        AnswerKind::Integer | AnswerKind::Number | AnswerKind::Boolean | AnswerKind::Text => None,
    }
}
