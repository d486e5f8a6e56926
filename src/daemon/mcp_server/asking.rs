//! What does a question of a run look like to a client that can ask its person, and what does the answer mean?
//!
//! A form of flat fields, as the protocol has them. Whatever is not clearly one of the outcomes that were offered is no answer: the
//! question stays open, for this client and others. High risk, and what outlives the call, wants a second form (spec 06).

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use protocol::{
    AnswerKind, Confirmation, ConfirmationDetails, ConfirmationOption, ConfirmationOutcome,
    ConfirmationRespondParams, GrantScope, QuestionAnswer, Risk, UserQuestion,
};
use tools::mcp::plain;

/// Characters of what is asked about that a form shows: a page of a long diff, so that a dialog stays one.
const MOST_CHARS: usize = 8_000;
/// The field with the choice.
const DECISION: &str = "decision";
/// The field of the second form, and the word that it wants.
const CONFIRM: &str = "confirm";
const CONFIRM_WORD: &str = "allow";
/// The field with what the agent is told.
const MESSAGE: &str = "message";

/// The form of a question. Without one the question is for other clients.
pub(super) fn form(confirmation: &Confirmation) -> Option<ElicitRequestParams> {
    let (properties, required) = match &confirmation.details {
        ConfirmationDetails::Question { questions } => of_questions(questions),
        _ => of_outcomes(confirmation),
    };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    read_form(&message(confirmation), &schema)
}

fn read_form(message: &str, schema: &Value) -> Option<ElicitRequestParams> {
    match serde_json::from_value(json!({ "mode": "form", "message": message, "requestedSchema": schema })) {
        Ok(params) => Some(params),
        Err(error) => {
            tracing::warn!(%error, "a question cannot be put into a form");
            None
        }
    }
}

/// What the form of a question came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FormAnswer {
    /// The question stays open, for this client and others.
    Undecided,
    /// The person decided.
    Decided(Box<ConfirmationRespondParams>),
    /// The person chose what wants a second, different confirmation first (spec 06).
    WantsConfirmation(Box<ConfirmationRespondParams>),
}

/// What a person decided by the first form.
pub(super) fn answer(confirmation: &Confirmation, said: &ElicitResult) -> FormAnswer {
    let respond = |outcome: ConfirmationOutcome, grant: Option<GrantScope>| {
        confirmation.option(outcome, grant)?;
        Some(ConfirmationRespondParams {
            confirmation_id: Some(confirmation.confirmation_id.clone()),
            digest: Some(confirmation.digest.clone()),
            outcome,
            grant,
            message: None,
            arguments: None,
            content: None,
            limits: None,
            answers: Vec::new(),
            token: None,
        })
    };
    let decided = |params: Option<ConfirmationRespondParams>| match params {
        Some(params) => FormAnswer::Decided(Box::new(params)),
        None => FormAnswer::Undecided,
    };
    let content = match (&said.action, &said.content) {
        (ElicitationAction::Accept, Some(Value::Object(content))) => content,
        (ElicitationAction::Decline, _) => return decided(respond(ConfirmationOutcome::Deny, None)),
        // Put away, empty, or a word of a newer protocol.
        _ => return FormAnswer::Undecided,
    };
    if let ConfirmationDetails::Question { questions } = &confirmation.details {
        let answers: Option<Vec<QuestionAnswer>> =
            questions.iter().enumerate().map(|(at, question)| answered(at, question, content)).collect();
        let params = answers.and_then(|answers| {
            Some(ConfirmationRespondParams { answers, ..respond(ConfirmationOutcome::Answer, None)? })
        });
        return decided(params);
    }
    let decision = content.get(DECISION).and_then(Value::as_str);
    let chosen = offered(confirmation).into_iter().find(|it| Some(value(it).as_str()) == decision);
    let Some(chosen) = chosen else { return FormAnswer::Undecided };
    let message = content.get(MESSAGE).and_then(Value::as_str).filter(|it| !it.trim().is_empty());
    match respond(chosen.outcome, chosen.grant) {
        Some(params) => {
            let params =
                Box::new(ConfirmationRespondParams { message: message.map(str::to_owned), ..params });
            match wants_confirmation(confirmation, chosen.outcome) {
                true => FormAnswer::WantsConfirmation(params),
                false => FormAnswer::Decided(params),
            }
        }
        None => FormAnswer::Undecided,
    }
}

/// True if an answer wants a second, different confirmation: what outlives the call, or ends the run, and consent to high risk.
fn wants_confirmation(confirmation: &Confirmation, outcome: ConfirmationOutcome) -> bool {
    match outcome {
        ConfirmationOutcome::AllowSession
        | ConfirmationOutcome::AllowProject
        | ConfirmationOutcome::AllowUser
        | ConfirmationOutcome::CancelRun => true,
        ConfirmationOutcome::AllowOnce => confirmation.risk >= Risk::High,
        ConfirmationOutcome::Modify | ConfirmationOutcome::Answer | ConfirmationOutcome::Deny => false,
    }
}

/// The second form: what was chosen, what it is about and what it allows, and a word to type.
pub(super) fn second_form(
    confirmation: &Confirmation,
    chosen: &ConfirmationRespondParams,
) -> Option<ElicitRequestParams> {
    let option = confirmation.option(chosen.outcome, chosen.grant)?;
    let mut lines = vec![format!("You chose: {}", line(&option.label))];
    lines.extend(option.allows.iter().map(|allows| format!("From now on: {}", line(allows))));
    lines.push(format!(
        "Type \"{}\" to confirm. Anything else decides nothing.",
        confirm_word(chosen.outcome)
    ));
    lines.push(String::new());
    lines.push(message(confirmation));
    let properties = json!({
        CONFIRM: { "type": "string", "title": format!("Type \"{}\" to confirm", confirm_word(chosen.outcome)) },
    });
    read_form(
        &lines.join("\n"),
        &json!({ "type": "object", "properties": properties, "required": [CONFIRM] }),
    )
}

/// True if the second form confirms what was chosen by the first one.
pub(super) fn is_confirmed(chosen: &ConfirmationRespondParams, said: &ElicitResult) -> bool {
    let typed = said.content.as_ref().and_then(|content| content.get(CONFIRM)).and_then(Value::as_str);
    said.action == ElicitationAction::Accept
        && typed.is_some_and(|typed| typed.trim().eq_ignore_ascii_case(confirm_word(chosen.outcome)))
}

fn confirm_word(outcome: ConfirmationOutcome) -> &'static str {
    if outcome.is_consent() { CONFIRM_WORD } else { "cancel" }
}

/// The choices of a form, to deny first: some clients have the first one chosen already. What is changed or answered needs more
/// than a choice; and nothing is allowed that the form does not show whole.
fn offered(confirmation: &Confirmation) -> Vec<&ConfirmationOption> {
    let of_form = |it: &&ConfirmationOption| {
        !matches!(it.outcome, ConfirmationOutcome::Modify | ConfirmationOutcome::Answer)
            && (!it.outcome.is_consent() || shows_all(confirmation))
    };
    let mut options: Vec<&ConfirmationOption> = confirmation.options.iter().filter(of_form).collect();
    options.sort_by_key(|it| it.outcome != ConfirmationOutcome::Deny);
    options
}

/// True if the form shows all of what is asked about.
fn shows_all(confirmation: &Confirmation) -> bool {
    let is_cut = |text: &str| text.chars().nth(MOST_CHARS).is_some();
    match &confirmation.details {
        ConfirmationDetails::Edit { path, diff, cut_bytes, .. } => {
            *cut_bytes == 0 && !is_cut(path) && !is_cut(diff)
        }
        ConfirmationDetails::Exec { command, .. } => !is_cut(command),
        ConfirmationDetails::Mcp { arguments, .. } => !is_cut(&arguments.to_string()),
        ConfirmationDetails::Fetch { urls, prompt } => !urls.iter().chain(prompt).any(|text| is_cut(text)),
        ConfirmationDetails::Info { prompt } => !is_cut(prompt),
        ConfirmationDetails::Question { .. } | ConfirmationDetails::Budget { .. } => true,
    }
}

/// The value of a choice in the form; no two choices share it.
fn value(option: &ConfirmationOption) -> String {
    match option.grant {
        Some(grant) => format!("{}:{}", option.outcome.as_str(), grant.as_str()),
        None => option.outcome.as_str().to_owned(),
    }
}

fn of_outcomes(confirmation: &Confirmation) -> (Map<String, Value>, Vec<String>) {
    let (values, labels): (Vec<String>, Vec<String>) = offered(confirmation)
        .into_iter()
        .map(|it| {
            let label = match &it.allows {
                Some(allows) => format!("{} ({})", line(&it.label), line(allows)),
                None => line(&it.label),
            };
            (value(it), label)
        })
        .unzip();
    let mut properties = Map::new();
    properties.insert(
        DECISION.to_owned(),
        json!({ "type": "string", "title": "Decision", "enum": values, "enumNames": labels }),
    );
    properties.insert(
        MESSAGE.to_owned(),
        json!({ "type": "string", "title": "Message", "description": "What the agent is told; may be left out." }),
    );
    (properties, vec![DECISION.to_owned()])
}

fn of_questions(questions: &[UserQuestion]) -> (Map<String, Value>, Vec<String>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        let UserQuestion { question, options, multi_select, closed, kind, optional, default } = question;
        let question = line(question);
        let options: Vec<String> = options.iter().map(|option| line(option)).collect();
        if options.is_empty() {
            if !optional && default.is_none() {
                required.push(field(at));
            }
            let kind = match kind {
                AnswerKind::Text | AnswerKind::Boolean => "string",
                AnswerKind::Number => "number",
                AnswerKind::Integer => "integer",
            };
            properties.insert(field(at), json!({ "type": kind, "title": question }));
            continue;
        }
        if *multi_select {
            for (number, option) in options.iter().enumerate() {
                let said =
                    json!({ "type": "boolean", "title": option, "description": question, "default": false });
                properties.insert(choice(at, number), said);
            }
        } else {
            properties.insert(field(at), json!({ "type": "string", "title": question, "enum": options }));
        }
        if !closed {
            properties.insert(
                other(at),
                json!({ "type": "string", "title": "Something else", "description": question }),
            );
        }
    }
    (properties, required)
}

/// The answer to one question, an empty one where that means something; `None` when there is none.
fn answered(at: usize, question: &UserQuestion, content: &Map<String, Value>) -> Option<QuestionAnswer> {
    let may_be_empty = question.optional || question.default.is_some();
    said(at, question, content).or_else(|| may_be_empty.then(|| QuestionAnswer::One(String::new())))
}

fn said(at: usize, question: &UserQuestion, content: &Map<String, Value>) -> Option<QuestionAnswer> {
    // The form shows an option as a plain line; chosen is the option itself.
    let option = |said: String| {
        let chosen = question.options.iter().find(|option| line(option) == said);
        chosen.cloned().unwrap_or(said)
    };
    let text = |name: String| {
        let said = match content.get(&name)? {
            Value::String(said) => said.trim().to_owned(),
            Value::Number(said) => said.to_string(),
            _ => return None,
        };
        Some(said).filter(|said| !said.is_empty())
    };
    let own = text(other(at)).filter(|_| !question.closed);
    if !question.multi_select || question.options.is_empty() {
        return own.or_else(|| text(field(at)).map(option)).map(QuestionAnswer::One);
    }
    let is_chosen = |number: usize| content.get(&choice(at, number)) == Some(&Value::Bool(true));
    let chosen = question.options.iter().enumerate().filter(|(number, _)| is_chosen(*number));
    let all: Vec<String> = chosen.map(|(_, option)| option.clone()).chain(own).collect();
    (!all.is_empty()).then_some(QuestionAnswer::Several(all))
}

fn field(at: usize) -> String {
    format!("answer{}", at + 1)
}

fn choice(at: usize, number: usize) -> String {
    format!("answer{}_{}", at + 1, number + 1)
}

fn other(at: usize) -> String {
    format!("answer{}_other", at + 1)
}

fn message(confirmation: &Confirmation) -> String {
    let path: Vec<&str> = confirmation.path.iter().map(|agent| agent.as_str()).collect();
    let mut lines = vec![format!("{} asks: {}", line(&path.join(" > ")), line(&confirmation.title))];
    if !confirmation.reason.is_empty() {
        let reason = line(&confirmation.reason);
        lines.push(format!("Why it asks: {reason} (risk {})", confirmation.risk.as_str()));
    }
    lines.extend(details(&confirmation.details));
    for option in offered(confirmation) {
        let allows = option.allows.as_deref().map(line);
        // A rule that nobody put in words is shown as it would be written.
        let rule =
            || option.remembers.as_ref().map(|rule| format!("the rule {}", line(&json!(rule).to_string())));
        if let Some(what) = allows.or_else(rule) {
            lines.push(format!("\"{}\", from now on: {what}", line(&option.label)));
        }
    }
    if !shows_all(confirmation) {
        lines.push(
            "This form cannot show all of it, so nothing can be allowed here: `subagent approve` shows it whole."
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn details(details: &ConfirmationDetails) -> Vec<String> {
    match details {
        ConfirmationDetails::Edit { path, diff, cut_bytes, .. } => {
            let more = (*cut_bytes != 0).then(|| format!("({cut_bytes} bytes of the diff are not shown)"));
            [Some(shown(path)), Some(shown(diff)), more].into_iter().flatten().collect()
        }
        ConfirmationDetails::Exec {
            command,
            directory,
            reasons,
            sandbox,
            background,
            pty,
            timeout_seconds,
            ..
        } => {
            let mut lines = vec![
                shown(command),
                format!("in {}", marked(directory).replace(['\n', '\t'], " ")),
                format!("confined by: {}", line(sandbox)),
            ];
            lines.extend(background.then(|| "goes on after the call, in the background".to_owned()));
            lines.extend(pty.then(|| "gets a terminal of its own".to_owned()));
            lines.extend(timeout_seconds.map(|limit| format!("may take {limit} s at most")));
            lines.extend(reasons.iter().map(|reason| line(reason)));
            lines
        }
        ConfirmationDetails::Mcp { server, tool, arguments } => {
            let called = format!("`{}` of the MCP server {}", line(tool), line(server));
            vec![called, shown(&arguments.to_string())]
        }
        ConfirmationDetails::Fetch { urls, prompt } => {
            urls.iter().chain(prompt).map(|text| shown(text)).collect()
        }
        ConfirmationDetails::Info { prompt } => vec![shown(prompt)],
        ConfirmationDetails::Question { questions } => {
            questions.iter().map(|question| shown(&question.question)).collect()
        }
        ConfirmationDetails::Budget { limit, used, .. } => {
            vec![format!("limits: {}", json!(limit)), format!("used: {}", json!(used))]
        }
    }
}

/// As much of somebody else's text as a form shows; that it is not all is said. Each of its lines is set in, so that none looks
/// like one of ours.
fn shown(text: &str) -> String {
    let set_in = |text: &str| format!("  {}", text.replace('\n', "\n  "));
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            let shown = marked(&text[..end]);
            format!("{}\n({more} more characters: `subagent approvals` shows them)", set_in(&shown))
        }
        None => set_in(&marked(text)),
    }
}

/// The text with a sign for whatever would steer, turn round, or look like a blank or like nothing: what is allowed is judged
/// by how it is written.
fn marked(text: &str) -> String {
    let mut marked = String::new();
    for letter in text.chars() {
        let is_steering =
            !matches!(letter, '\n' | '\t') && plain(letter.encode_utf8(&mut [0; 4])) != letter.to_string();
        let is_odd_blank = letter.is_whitespace() && !matches!(letter, ' ' | '\n' | '\t')
            || matches!(
                letter,
                '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            );
        match is_steering || is_odd_blank {
            true => marked.push_str(&format!("<{:02X}>", u32::from(letter))),
            false => marked.push(letter),
        }
    }
    marked
}

/// Somebody else's text within a line of ours.
fn line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests;
