//! What do the slash commands show that change nothing?

use serde::Deserialize;
use serde_json::Value;

use super::{
    ChatState,
    words::{self, CompletionTarget, TabCompletion, WORDS},
};
use crate::{
    ProcessIo,
    failure::CommandFailure,
    human,
    link::DaemonLink,
    list::{self, ListedAgent},
    memory_listing,
    message::show_message,
    paging, safe_text, skills,
    text_color::TextColor,
    tools::listing,
    usage, width,
};
use protocol::{
    AgentsGet, AgentsGetParams, AgentsList, AgentsListParams, MemoryFiles, MemoryFilesParams, ModelsList,
    ModelsListParams, SessionGet, SessionHistory, SessionHistoryParams, SessionIdParams, Timestamp,
    ToolsList, ToolsListParams, UsageGet, UsageGetParams, WorkspaceParam,
};

/// Messages that `/context` shows in short; `subagent sessions history` has all.
const MESSAGES_SHOWN: usize = 6;

/// Characters of one of them, where the terminal does not say how wide it is.
const MESSAGE_CHARACTERS: usize = 100;

/// Messages of one page.
const PAGE: u32 = 200;

/// Pages that are counted: more than any context has that a model can read.
const PAGES_MAX: usize = 100;

/// A context of the session, read leniently.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContextView {
    agent: String,
    parent_run_id: Option<String>,
    started_at: Option<Timestamp>,
    last_active_at: Option<Timestamp>,
    epoch: u32,
    tokens: u64,
}

/// What was said in a context.
#[derive(Default)]
struct ContextHistoryView {
    count: u64,
    /// Since it was cleared last.
    remembered: u64,
    was_cleared: bool,
    /// The last ones that are remembered, oldest first.
    last: Vec<MessageView>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageView {
    seq: i64,
    role: String,
    parts: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChangeNotice {
    seq: i64,
    kind: String,
}

impl MessageView {
    /// In one harmless line.
    fn brief(&self, columns: Option<usize>) -> String {
        let text =
            |part: &Value, key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let brief = |part: &Value| match text(part, "type").as_str() {
            "text" => Some(text(part, "text")),
            "thought" => None,
            "toolCall" => Some(format!("● {}", text(part, "name"))),
            "toolResult" => {
                let is_error = part.get("isError").and_then(Value::as_bool).unwrap_or(false);
                Some(format!("{} {}", if is_error { "✗" } else { "✓" }, text(part, "name")))
            }
            other => Some(format!("[{other}]")),
        };
        let who = if self.role == "user" { "you" } else { &self.role };
        let parts: Vec<String> = self.parts.iter().filter_map(brief).collect();
        let line = safe_text::line(
            &format!("{who}: {}", parts.join(" ")),
            MESSAGE_CHARACTERS.max(columns.unwrap_or(0)),
        );
        format!("  {}", width::cut(&line, columns.unwrap_or(MESSAGE_CHARACTERS).saturating_sub(3)))
    }
}

impl ChatState {
    fn context(&self, link: &mut DaemonLink) -> Result<Option<ContextView>, CommandFailure> {
        let Some(session_id) = self.session_id.clone() else { return Ok(None) };
        let answer = link.ask_value::<SessionGet>(&SessionIdParams { session_id })?;
        let contexts: Vec<ContextView> = paging::entries(&answer, "contexts")?;
        let is_ours = |it: &ContextView| it.agent == self.agent.as_str() && it.parent_run_id.is_none();
        Ok(contexts.into_iter().find(is_ours))
    }

    /// Whether something has been said to the agent here; what cannot be asked is for the command itself to tell.
    pub(super) fn has_context(&self, link: &mut DaemonLink) -> bool {
        !matches!(self.context(link), Ok(None))
    }

    pub(super) fn tell_nothing_said(&self, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
        let text = format!("nothing has been said to {} in this session yet", self.agent);
        surroundings.stderr.write_text(&text)
    }

    fn said(&self, link: &mut DaemonLink) -> Result<ContextHistoryView, CommandFailure> {
        let Some(session_id) = self.session_id.clone() else { return Ok(ContextHistoryView::default()) };
        let (run_id, cursor) = (None, None);
        let agent = Some(self.agent.clone());
        let mut params = SessionHistoryParams { session_id, agent, run_id, cursor, limit: PAGE };
        let mut said = ContextHistoryView::default();
        for _ in 0..PAGES_MAX {
            let answer = link.ask_value::<SessionHistory>(&params)?;
            let messages: Vec<MessageView> = paging::entries(&answer, "messages")?;
            let changes: Vec<ChangeNotice> = match answer.get("changes") {
                Some(_) => paging::entries(&answer, "changes")?,
                None => Vec::new(),
            };
            let cleared =
                changes.iter().filter(|change| change.kind == "cleared").map(|change| change.seq).max();
            said.count += messages.len() as u64;
            if cleared.is_some() {
                said.was_cleared = true;
                said.remembered = 0;
                said.last.clear();
            }
            let remembered = messages.into_iter().filter(|message| cleared.is_none_or(|at| at < message.seq));
            for message in remembered {
                said.remembered += 1;
                said.last.push(message);
            }
            said.last.drain(..said.last.len().saturating_sub(MESSAGES_SHOWN));
            let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            // A cursor that leads nowhere would be asked for for ever.
            if next.is_none() || next == params.cursor {
                break;
            }
            params.cursor = next;
        }
        Ok(said)
    }

    /// When a conversation begins or turns to another agent.
    pub(super) fn say_what_is_remembered(&self, link: &mut DaemonLink, surroundings: &mut ProcessIo) {
        // A courtesy: what goes wrong here is told by the first prompt.
        let Ok(Some(_)) = self.context(link) else { return };
        let Ok(said) = self.said(link) else { return };
        let text = match said.remembered {
            0 if said.was_cleared => "it begins anew: its context was cleared".to_owned(),
            // A prompt that was refused leaves a context in which nothing was said.
            0 => return,
            count => format!("it remembers {} of this session", human::count(count, "message")),
        };
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }

    pub(super) fn show_context(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let Some(context) = self.context(link)? else { return self.tell_nothing_said(surroundings) };
        let said = self.said(link)?;
        let session = self.session_id.as_ref().map_or("", |id| id.as_str());
        let messages = match said.was_cleared {
            false => said.count.to_string(),
            true => format!("{}, of which it remembers {}", said.count, said.remembered),
        };
        let tokens = match context.tokens {
            0 => "not counted yet".to_owned(),
            tokens => format!("{} in its last prompt", human::count(tokens, "token")),
        };
        let history = match context.epoch {
            0 => "never shortened or cleared".to_owned(),
            epoch => format!("shortened or cleared {}", human::count(epoch.into(), "time")),
        };
        let began = human::moment_or_dash(context.started_at);
        let active = human::moment_or_dash(context.last_active_at);
        let rows = [
            ("agent", self.agent.as_str()),
            ("session", session),
            ("began", &began),
            ("last active", &active),
            ("messages", &messages),
            ("tokens", &tokens),
            ("history", &history),
        ];
        let mut lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:11}  {value}")).collect();
        if !said.last.is_empty() {
            lines.push("said last".to_owned());
        }
        let columns = surroundings.stderr.width;
        lines.extend(said.last.iter().map(|message| message.brief(columns)));
        surroundings.stderr.write_text(&lines.join("\n"))
    }

    pub(super) fn list_agents(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let agents = agents(&self.workspace, link)?;
        let table = list::draw(&agents, false, &surroundings.stderr);
        surroundings.stderr.write_drawn(&table)?;
        let text = format!("talking with {}; `/agents NAME` talks with another", self.agent);
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        Ok(())
    }

    pub(super) fn show_tools(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let params = ToolsListParams {
            agent: Some(self.agent.clone()),
            session_id: self.session_id.clone(),
            workspace: self.session_id.is_none().then(|| self.workspace.clone()),
        };
        let answer = link.ask_slowly::<ToolsList>(&params, &mut surroundings.stderr)?;
        let (text, warnings) = listing::told(&answer, &surroundings.stderr)?;
        surroundings.stderr.write_drawn(&text)?;
        for warning in warnings {
            show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &warning);
        }
        Ok(())
    }

    pub(super) fn show_memory(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let params = MemoryFilesParams { workspace: Some(self.workspace.clone()), with_text: false };
        let answer = link.ask_value::<MemoryFiles>(&params)?;
        let found: memory_listing::MemoryFilesView = paging::view(&answer)?;
        surroundings.stderr.write_drawn(&memory_listing::draw(&found, &surroundings.stderr))?;
        for warning in &found.warnings {
            show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", warning);
        }
        Ok(())
    }

    pub(super) fn show_model(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let text = match &self.template.model {
            Some(model) => {
                format!("{model}, in this conversation; `/model inherit` goes back to the agent's own")
            }
            None => {
                let workspace = Some(self.workspace.clone());
                let params = AgentsGetParams { name: self.agent.clone(), scope: None, workspace };
                let answer = link.ask_value::<AgentsGet>(&params)?;
                let model = answer.get("model").and_then(Value::as_str).unwrap_or("-");
                format!("{model}, as {} says; `/model MODEL` changes it for this conversation", self.agent)
            }
        };
        surroundings.stderr.write_text(&text)
    }

    pub(super) fn show_cost(
        &self,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let Some(session_id) = self.session_id.clone() else { return self.tell_nothing_said(surroundings) };
        let params = UsageGetParams { session_id: Some(session_id), ..UsageGetParams::default() };
        let (text, notes) = usage::told(&link.ask_value::<UsageGet>(&params)?, &surroundings.stderr)?;
        surroundings.stderr.write_drawn(&text)?;
        for note in notes {
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", &note);
        }
        Ok(())
    }
}

fn agents(workspace: &WorkspaceParam, link: &mut DaemonLink) -> Result<Vec<ListedAgent>, CommandFailure> {
    let workspace = Some(workspace.clone());
    let params = AgentsListParams { workspace, include_hidden: false, include_invalid: false };
    paging::entries(&link.ask_value::<AgentsList>(&params)?, "agents")
}

/// Words that Tab completes, asked for once they are wanted.
#[derive(Default)]
pub(super) struct CompletionWords {
    /// Of this conversation: providers are slow to list them, and they do not change.
    models: Option<Vec<String>>,
}

impl CompletionWords {
    /// What Tab does behind this text. Words that cannot be got are none.
    pub(super) fn complete(
        &mut self,
        before: &str,
        workspace: &WorkspaceParam,
        link: &mut DaemonLink,
    ) -> Option<TabCompletion> {
        let (typed, known) = match words::completable(before)? {
            CompletionTarget::Command(typed) => {
                (typed, WORDS.iter().map(|word| word.name.to_owned()).collect())
            }
            CompletionTarget::Agent(typed) => {
                let agents = agents(workspace, link).unwrap_or_default();
                (typed, agents.into_iter().map(|agent| agent.name).collect())
            }
            CompletionTarget::Model(typed) => {
                let models = self.models.get_or_insert_with(|| models(link));
                (typed, models.clone())
            }
            CompletionTarget::Skill(typed) => {
                (typed, skills::names(workspace.clone(), link).unwrap_or_default())
            }
        };
        // Names of others are typed for the person, so they must be what they look like.
        let is_plain = |word: &String| safe_text::line(word, usize::MAX) == *word;
        Some(words::complete(typed, &known.into_iter().filter(is_plain).collect::<Vec<_>>()))
    }
}

fn models(link: &mut DaemonLink) -> Vec<String> {
    let params = ModelsListParams { refresh: false, entry: None };
    let Ok(answer) = link.ask_value::<ModelsList>(&params) else { return Vec::new() };
    let texts = |list: &Value, key: &str| -> Vec<String> {
        let entries = list.as_array().map(Vec::as_slice).unwrap_or_default();
        entries.iter().filter_map(|entry| entry.get(key)?.as_str()).map(str::to_owned).collect()
    };
    let mut models = texts(&answer["aliases"], "name");
    for entry in answer["entries"].as_array().map(Vec::as_slice).unwrap_or_default() {
        models.extend(texts(&entry["models"], "model"));
    }
    models
        .extend(["default", "offline"].iter().filter_map(|key| answer.get(key)?.as_str()).map(str::to_owned));
    models.push(super::OWN_MODEL.to_owned());
    models
}

/// A text in rows that break between words.
pub(super) fn fill(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        let last = rows.len() - 1;
        if !rows[last].is_empty() && columns <= width::of(&rows[last]) + 1 + width::of(word) {
            rows.push(word.to_owned());
            continue;
        }
        if !rows[last].is_empty() {
            rows[last].push(' ');
        }
        rows[last].push_str(word);
    }
    rows
}
