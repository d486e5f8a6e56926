//! What is a question about: a change, a command, a text, a budget, or what an agent asks?

use serde::Deserialize;
use serde_json::Value;

use crate::{human, safe_text, sureness::Sureness, width};
use protocol::{BudgetLimits, BudgetUsed, UserQuestion};

/// What a command is edited as, for the editor to know its kind.
const COMMAND_FILE: &str = "command.sh";

/// What is to be decided.
pub(crate) enum Details {
    Edit {
        path: String,
        diff: String,
        /// What the file would be; `None` when it is too long to be told, or there would be none.
        new_content: Option<String>,
        cut_bytes: u64,
    },
    Exec {
        /// As bash would get it.
        command: String,
        /// Where, and confined by what.
        place: Place,
        /// What is unusual about how it runs.
        manner: Vec<String>,
        /// What is dangerous about it, or why that cannot be told.
        reasons: Vec<String>,
    },
    Info(String),
    /// More of a budget: what is used up, in words.
    Budget(String),
    Questions(Vec<UserQuestion>),
    /// Of a type that is not known here, or not as this client knows it.
    Other(Value),
}

impl Details {
    /// What is told of it; whatever is not known as it is meant stays as it came.
    pub(super) fn of(details: &Value) -> Details {
        let field = |name: &str| details.get(name).cloned().unwrap_or_default();
        let known = match details.get("type").and_then(Value::as_str) {
            Some("edit") => EditDetails::deserialize(details).ok().map(|edit| {
                let EditDetails { path, diff, new_content, cut_bytes } = edit;
                Details::Edit { path, diff, new_content, cut_bytes }
            }),
            Some("exec") => {
                let command = field("command").as_str().map(str::to_owned);
                let reasons = Vec::<String>::deserialize(&field("reasons")).unwrap_or_default();
                let (place, manner) = (Place::of(&field), manner(&field));
                command.map(|command| Details::Exec { command, place, manner, reasons })
            }
            Some("fetch") => {
                let prompt = field("prompt").as_str().map(str::to_owned);
                let urls = Vec::<String>::deserialize(&field("urls")).ok();
                urls.map(|urls| Details::Info(urls.into_iter().chain(prompt).collect::<Vec<_>>().join("\n")))
            }
            Some("mcp") => field("tool").as_str().map(|tool| {
                let server = field("server").as_str().unwrap_or("?").to_owned();
                Details::Info(format!("{tool} of the MCP server {server}\n{:#}", field("arguments")))
            }),
            Some("info") => field("prompt").as_str().map(|prompt| Details::Info(prompt.to_owned())),
            Some("budget") => {
                BudgetDetails::deserialize(details).ok().map(|budget| Details::Budget(budget.in_words()))
            }
            Some("question") => Vec::deserialize(&field("questions")).ok().map(Details::Questions),
            _ => None,
        };
        known.unwrap_or_else(|| Details::Other(details.clone()))
    }

    /// True unless a part is missing that every daemon says. What is of a type that is not known here is shown as it came.
    pub(super) fn are_whole(details: &Value) -> bool {
        let are_there = |names: &[&str]| names.iter().all(|name| details.get(name).is_some());
        let is_read = || !matches!(Details::of(details), Details::Other(_));
        match details.get("type").and_then(Value::as_str) {
            None => false,
            Some("edit" | "fetch" | "info" | "question") => is_read(),
            Some("exec") => are_there(&["directory", "sandbox"]) && is_read(),
            Some("mcp") => are_there(&["server", "arguments"]) && is_read(),
            Some("budget") => are_there(&["limit"]) && is_read(),
            Some(_) => true,
        }
    }

    /// The text that a person can change, and the name of a file of its kind.
    pub(crate) fn draft(&self) -> Option<(&str, &str)> {
        match self {
            Details::Edit { path, new_content: Some(content), .. } => Some((content, path)),
            Details::Exec { command, .. } => Some((command, COMMAND_FILE)),
            Details::Edit { new_content: None, .. }
            | Details::Info(_)
            | Details::Budget(_)
            | Details::Questions(_)
            | Details::Other(_) => None,
        }
    }

    /// Whether its title sums it up, and so is more than a part of it.
    pub(crate) fn has_title(&self) -> bool {
        matches!(self, Details::Info(_) | Details::Budget(_) | Details::Other(_))
    }

    /// So many bytes of a change are not told at all.
    pub(crate) fn cut_bytes(&self) -> u64 {
        match self {
            Details::Edit { cut_bytes, .. } => *cut_bytes,
            _ => 0,
        }
    }

    /// What an editor left, as it is meant: editors end the last line, which a command does not need.
    pub(crate) fn edited(&self, mut text: String) -> String {
        if let Details::Exec { command, .. } = self
            && !command.ends_with('\n')
        {
            text.truncate(text.trim_end_matches(['\n', '\r']).len());
        }
        text
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditDetails {
    path: String,
    diff: String,
    #[serde(default)]
    new_content: Option<String>,
    #[serde(default)]
    cut_bytes: u64,
}

#[derive(Deserialize)]
struct BudgetDetails {
    #[serde(default)]
    limit: BudgetLimits,
    used: BudgetUsed,
}

impl BudgetDetails {
    fn in_words(&self) -> String {
        let BudgetUsed { tokens, cost, estimated_requests, uncounted_requests } = &self.used;
        let sure = Sureness { estimated: *estimated_requests, uncounted: *uncounted_requests };
        let marked = |used: String, is_nothing| sure.mark(&used, is_nothing);
        let tokens = self.limit.max_tokens.map(|most| {
            format!("{} of {} used", marked(tokens.to_string(), *tokens == 0), human::count(most, "token"))
        });
        let cost = self.limit.max_cost.map(|most| {
            format!("{} of {most} used", marked(cost.unwrap_or_default().to_string(), cost.is_none()))
        });
        tokens.into_iter().chain(cost).collect::<Vec<_>>().join("\n")
    }
}

/// Where a command would run, and what it would be confined by.
pub(crate) struct Place {
    directory: Option<String>,
    sandbox: Option<String>,
}

/// A folder's name keeps so many columns, whatever stands beside it.
const DIRECTORY_COLUMNS_LEAST: usize = 12;

impl Place {
    fn of(field: &dyn Fn(&str) -> Value) -> Place {
        Place {
            directory: field("directory").as_str().map(safe_text::exact),
            sandbox: field("sandbox").as_str().map(|sandbox| safe_text::line(sandbox, usize::MAX)),
        }
    }

    /// One harmless line for so many columns: a long folder loses its middle, so that what confines the command stays.
    pub(crate) fn in_words(&self, columns: usize) -> String {
        let sandbox = self.sandbox.as_ref().map(|sandbox| format!("sandbox: {sandbox}"));
        let beside = sandbox.as_deref().map_or(0, |sandbox| width::of(BETWEEN) + width::of(sandbox));
        let room = columns.saturating_sub(width::of("in ") + beside).max(DIRECTORY_COLUMNS_LEAST);
        let directory =
            self.directory.as_ref().map(|directory| format!("in {}", width::cut_middle(directory, room)));
        directory.into_iter().chain(sandbox).collect::<Vec<_>>().join(BETWEEN)
    }
}

const BETWEEN: &str = " · ";

/// How a command would run, where that is not as usual.
fn manner(field: &dyn Fn(&str) -> Value) -> Vec<String> {
    let is_so = |name: &str| field(name).as_bool() == Some(true);
    let background = is_so("background")
        .then(|| "it goes on in the background after the call, until it ends or the session does".to_owned());
    let pty = is_so("pty").then(|| "it gets a terminal of its own".to_owned());
    let limit = field("timeoutSeconds").as_f64().map(|limit| format!("it may take {limit} s at most"));
    [background, pty, limit].into_iter().flatten().collect()
}
