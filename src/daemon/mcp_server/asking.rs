//! What does a question of a run look like to a client that can ask its person, and what does the answer mean?
//!
//! A form of flat fields, as the protocol has them. Whatever is not clearly one of the outcomes that were offered is no answer: the
//! question stays open, for this client and others.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};

use crate::{
    protocol::{
        AnswerKind, Confirmation, ConfirmationDetails, ConfirmationOutcome, ConfirmationRespondParams,
        QuestionAnswer, UserQuestion,
    },
    tools::mcp::plain,
};

/// Characters of what is asked about that a form shows; a person who wants all of it looks with `subagent approvals`.
const MOST_CHARS: usize = 4_000;
/// The field with the outcome.
const DECISION: &str = "decision";
/// The field with what the agent is told.
const MESSAGE: &str = "message";

/// The form of a question. Without one the question is for other clients.
pub(super) fn form(confirmation: &Confirmation) -> Option<ElicitRequestParams> {
    let (properties, required) = match &confirmation.details {
        ConfirmationDetails::Question { questions } => of_questions(questions),
        _ => of_outcomes(confirmation),
    };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let params = json!({ "mode": "form", "message": message(confirmation), "requestedSchema": schema });
    match serde_json::from_value(params) {
        Ok(params) => Some(params),
        Err(error) => {
            tracing::warn!(%error, "a question cannot be put into a form");
            None
        }
    }
}

/// What a person decided; `None` when they decided nothing.
pub(super) fn answer(confirmation: &Confirmation, said: &ElicitResult) -> Option<ConfirmationRespondParams> {
    let respond = |outcome: ConfirmationOutcome| {
        confirmation.option(outcome, None)?;
        Some(ConfirmationRespondParams {
            confirmation_id: Some(confirmation.confirmation_id.clone()),
            digest: Some(confirmation.digest.clone()),
            outcome,
            grant: None,
            message: None,
            arguments: None,
            content: None,
            limits: None,
            answers: Vec::new(),
            token: None,
        })
    };
    let content = match said.action {
        ElicitationAction::Accept => said.content.as_ref()?.as_object()?,
        ElicitationAction::Decline => return respond(ConfirmationOutcome::Deny),
        // Put away, or a word of a newer protocol.
        _ => return None,
    };
    if let ConfirmationDetails::Question { questions } = &confirmation.details {
        let answers: Option<Vec<QuestionAnswer>> =
            questions.iter().enumerate().map(|(at, question)| answered(at, question, content)).collect();
        let answers = answers?;
        return respond(ConfirmationOutcome::Answer)
            .map(|params| ConfirmationRespondParams { answers, ..params });
    }
    let decision = content.get(DECISION)?.as_str()?;
    let outcome = choices(confirmation).map(|(outcome, _)| outcome).find(|it| it.as_str() == decision)?;
    let message = content.get(MESSAGE).and_then(Value::as_str).filter(|it| !it.trim().is_empty());
    respond(outcome).map(|params| ConfirmationRespondParams { message: message.map(str::to_owned), ..params })
}

/// The outcomes that a form can say: what is changed or answered needs more than a choice.
fn choices(confirmation: &Confirmation) -> impl Iterator<Item = (ConfirmationOutcome, &str)> {
    let of_form = |it: &&_| !matches!(outcome(it), ConfirmationOutcome::Modify | ConfirmationOutcome::Answer);
    confirmation.options.iter().filter(of_form).map(|it| (it.outcome, it.label.as_str()))
}

fn outcome(option: &crate::protocol::ConfirmationOption) -> ConfirmationOutcome {
    option.outcome
}

fn of_outcomes(confirmation: &Confirmation) -> (Map<String, Value>, Vec<String>) {
    let (outcomes, labels): (Vec<&str>, Vec<String>) =
        choices(confirmation).map(|(outcome, label)| (outcome.as_str(), line(label))).unzip();
    let mut properties = Map::new();
    properties.insert(
        DECISION.to_owned(),
        json!({ "type": "string", "title": "Decision", "enum": outcomes, "enumNames": labels }),
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
    for option in &confirmation.options {
        if let Some(rule) = &option.remembers {
            lines.push(format!(
                "\"{}\" writes the rule {}",
                line(&option.label),
                line(&json!(rule).to_string())
            ));
        }
    }
    lines.join("\n")
}

fn details(details: &ConfirmationDetails) -> Vec<String> {
    match details {
        ConfirmationDetails::Edit { path, diff, cut_bytes, .. } => {
            let more = (*cut_bytes != 0).then(|| format!("({cut_bytes} bytes of the diff are not shown)"));
            [Some(shown(path)), Some(shown(diff)), more].into_iter().flatten().collect()
        }
        ConfirmationDetails::Exec { command, directory, reasons, sandbox, .. } => {
            let mut lines = vec![
                shown(command),
                format!("in {}", line(directory)),
                format!("confined by: {}", line(sandbox)),
            ];
            lines.extend(reasons.iter().map(|reason| line(reason)));
            lines
        }
        ConfirmationDetails::Mcp { server, tool, arguments } => {
            let called = format!("`{}` of the MCP server {}", line(tool), line(server));
            vec![called, shown(&arguments.to_string())]
        }
        ConfirmationDetails::Fetch { urls } => urls.iter().map(|url| shown(url)).collect(),
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
    let text = plain(text);
    let set_in = |text: &str| format!("  {}", text.replace('\n', "\n  "));
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}\n({more} more characters: `subagent approvals` shows them)", set_in(&text[..end]))
        }
        None => set_in(&text),
    }
}

/// Somebody else's text within a line of ours.
fn line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ").trim().to_owned()
}

#[cfg(test)]
mod tests;
