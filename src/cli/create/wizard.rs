//! What is a person asked who makes a new agent, and which answers will do? Each may be skipped with Enter, but for the name.

mod offers;

use std::os::unix::fs::PermissionsExt as _;

use super::{AgentDraft, GuardDraft, check_name};
use crate::{
    ProcessIo,
    failure::CommandFailure,
    link::DaemonLink,
    message::show_message,
    prompter::{ChoiceItem, ChoiceList, FormPrompter},
    safe_text,
    text_color::TextColor,
};
use protocol::{AgentScope, RoutingTrigger, TraceContent, default_tools, listed_tool};

/// The priority of a trigger of which nobody says another.
const USUAL_PRIORITY: i64 = 5;

/// The highest that is asked for.
const HIGHEST_PRIORITY: i64 = 10;

/// Characters of a title that stand in a question.
const TITLE_CHARACTERS: usize = 24;

/// What the daemon's settings decide.
const BY_SETTINGS: &str = "default";

/// The answers to whether an agent is told of memory files.
const TOLD: &str = "yes";
const NOT_TOLD: &str = "no";

/// What is asked.
pub(super) struct AgentWizard {
    /// No template says what it can do, so that is asked as well.
    pub(super) is_blank: bool,
    /// Also what it is told of memory files, what guards its calls, what others are told of it, and which prompts are for it.
    pub(super) is_extended: bool,
}

/// What comes next may change the daemon's files: `None` = the person left before that.
type WizardResult = Result<Option<()>, CommandFailure>;

impl AgentWizard {
    /// Asks for whatever the draft does not say yet.
    pub(super) fn ask(
        &self,
        draft: &mut AgentDraft,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> WizardResult {
        let text = "Enter skips a question; Ctrl-C leaves, and nothing is written";
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
        if draft.name.is_none() {
            let Some(name) = ask_name(surroundings)? else { return Ok(None) };
            draft.name = Some(name);
        }
        let title = safe_text::line(&title_of(draft.name.as_deref().unwrap_or_default()), TITLE_CHARACTERS);
        let texts = [
            (
                &mut draft.title,
                format!("title [{}]: ", if self.is_blank { &title } else { "the template's" }),
            ),
            (&mut draft.description, "description, i.e. when to choose it: ".to_owned()),
        ];
        for (field, label) in texts {
            if field.is_none() {
                let Some(text) = FormPrompter::of(surroundings).line(&label, &mut read_text)? else {
                    return Ok(None);
                };
                *field = text;
            }
        }
        if draft.model.is_none() && self.is_blank && ask_model(draft, link, surroundings)?.is_none() {
            return Ok(None);
        }
        if draft.scope.is_none() && ask_scope(draft, surroundings)?.is_none() {
            return Ok(None);
        }
        if draft.tools.is_none() && self.is_blank && ask_tools(draft, link, surroundings)?.is_none() {
            return Ok(None);
        }
        if draft.servers.is_none() && self.is_blank && ask_servers(draft, link, surroundings)?.is_none() {
            return Ok(None);
        }
        if !self.is_extended {
            return Ok(Some(()));
        }
        if ask_memory(draft, surroundings)?.is_none() {
            return Ok(None);
        }
        if ask_guard(draft, surroundings)?.is_none() {
            return Ok(None);
        }
        if ask_tracing(draft, surroundings)?.is_none() {
            return Ok(None);
        }
        ask_triggers(draft, self.is_blank, link, surroundings)
    }
}

/// The only thing that every agent needs.
pub(super) fn ask_name(surroundings: &mut ProcessIo) -> Result<Option<String>, CommandFailure> {
    FormPrompter::of(surroundings).line("name, e.g. debug-analyzer: ", &mut |typed| {
        check_name(typed)?;
        match listed_tool(typed) {
            Some(tool) => Err(format!("`{typed}` is the tool {tool}; an agent is called otherwise")),
            None => Ok(typed.to_owned()),
        }
    })
}

/// `debug-analyzer` is `Debug Analyzer`, as the daemon has it for a file without a title.
fn title_of(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    name.split('-').map(capitalized).collect::<Vec<_>>().join(" ")
}

/// Nothing is no text.
fn read_text(typed: &str) -> Result<Option<String>, String> {
    Ok((!typed.is_empty()).then(|| typed.to_owned()))
}

fn ask_model(draft: &mut AgentDraft, link: &mut DaemonLink, surroundings: &mut ProcessIo) -> WizardResult {
    let items = offers::models(link, surroundings);
    let choices = ChoiceList { label: "model: ".to_owned(), items, takes_others: true };
    let Some(model) = FormPrompter::of(surroundings).one_of(choices)? else { return Ok(None) };
    // What it is without being said need not stand in the file.
    draft.model = Some(model).filter(|model| model != offers::INHERIT);
    Ok(Some(()))
}

fn ask_scope(draft: &mut AgentDraft, surroundings: &mut ProcessIo) -> WizardResult {
    let folder = surroundings.working_folder.display().to_string();
    let items = [
        (BY_SETTINGS, "as the setting agents.defaultScope says".to_owned()),
        ("project", format!("for whoever works in {folder}")),
        ("user", "for you, wherever you work".to_owned()),
    ];
    let items = items.map(|(name, about)| ChoiceItem { name: name.to_owned(), about }).to_vec();
    let choices = ChoiceList { label: "scope: ".to_owned(), items, takes_others: false };
    let Some(scope) = FormPrompter::of(surroundings).one_of(choices)? else { return Ok(None) };
    draft.scope = match scope.as_str() {
        "project" => Some(AgentScope::Project),
        "user" => Some(AgentScope::User),
        _ => None,
    };
    Ok(Some(()))
}

fn ask_tools(draft: &mut AgentDraft, link: &mut DaemonLink, surroundings: &mut ProcessIo) -> WizardResult {
    // Without a list the agent has what the template allows.
    let Some(items) = offers::tools(link, surroundings) else { return Ok(Some(())) };
    let choices = ChoiceList { label: "tools: ".to_owned(), items, takes_others: false };
    let is_default = |item: &ChoiceItem| default_tools(false).any(|tool| tool == item.name);
    let tools = FormPrompter::of(surroundings).several(choices, &is_default)?;
    let Some(tools) = tools else { return Ok(None) };
    draft.tools = Some(tools);
    Ok(Some(()))
}

/// Where none is configured there is nothing to be asked.
fn ask_servers(draft: &mut AgentDraft, link: &mut DaemonLink, surroundings: &mut ProcessIo) -> WizardResult {
    let items = offers::servers(link, surroundings);
    if items.is_empty() {
        return Ok(Some(()));
    }
    let choices = ChoiceList { label: "MCP servers: ".to_owned(), items, takes_others: false };
    let Some(servers) = FormPrompter::of(surroundings).several(choices, &|_| false)? else { return Ok(None) };
    draft.servers = Some(servers).filter(|servers| !servers.is_empty());
    Ok(Some(()))
}

fn ask_memory(draft: &mut AgentDraft, surroundings: &mut ProcessIo) -> WizardResult {
    let items = [
        (TOLD, "told what memory files such as AGENTS.md say, as most agents are"),
        (NOT_TOLD, "told nothing of them: its instructions are all that it goes by"),
    ];
    let items =
        items.map(|(name, about)| ChoiceItem { name: name.to_owned(), about: about.to_owned() }).to_vec();
    let choices = ChoiceList { label: "memory: ".to_owned(), items, takes_others: false };
    let Some(choice) = FormPrompter::of(surroundings).one_of(choices)? else { return Ok(None) };
    draft.omits_memory = choice == NOT_TOLD;
    Ok(Some(()))
}

/// A hook of its file; more of them are written there.
fn ask_guard(draft: &mut AgentDraft, surroundings: &mut ProcessIo) -> WizardResult {
    let text = "a guard is a command that is asked before its calls, and refuses them with exit code 2";
    show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
    let label = "guard, a command [none]: ";
    let Some(command) = FormPrompter::of(surroundings).line(label, &mut read_text)? else { return Ok(None) };
    let Some(command) = command else { return Ok(Some(())) };
    if let Some(missing) = missing_program(&command, surroundings) {
        let text =
            format!("{missing} is not there or cannot be run: until it can, the guard refuses every call");
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    let label = "guard of which tools, e.g. Bash, write_file [all]: ";
    let Some(tools) = FormPrompter::of(surroundings).line(label, &mut read_tools)? else { return Ok(None) };
    draft.guard = Some(GuardDraft { command, tools });
    Ok(Some(()))
}

/// The program that a command names by its path, where nobody can run that. Of a name alone the daemon's `PATH` decides.
fn missing_program(command: &str, surroundings: &ProcessIo) -> Option<String> {
    let is_path = |word: &&str| word.contains('/') && !word.contains(['$', '"', '\'']);
    let word = command.split_whitespace().next().filter(is_path)?;
    let path = match word.strip_prefix("~/") {
        Some(below) => std::env::home_dir()?.join(below),
        None => surroundings.working_folder.join(word),
    };
    let can_be_run =
        std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    (!can_be_run).then(|| path.display().to_string())
}

/// Names by which a matcher means a tool: ours, whatever the tool was called, and those of servers' tools, or a pattern of them.
fn read_tools(typed: &str) -> Result<Vec<String>, String> {
    let named = |name: String| match listed_tool(&name) {
        Some(tool) => Ok(tool.to_owned()),
        None if is_of_server(&name) => Ok(name),
        None if name.starts_with("mcp") => {
            Err(format!("`{name}` is written as mcp__SERVER__TOOL, or mcp__SERVER__.*"))
        }
        None => Err(format!("there is no tool `{name}`")),
    };
    read_keywords(typed).into_iter().map(named).collect()
}

fn is_of_server(name: &str) -> bool {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

fn ask_tracing(draft: &mut AgentDraft, surroundings: &mut ProcessIo) -> WizardResult {
    let items = [
        (
            "full",
            TraceContent::Full,
            "where the settings send traces, all that it reads and writes goes with them",
        ),
        ("redacted", TraceContent::Redacted, "of texts only how long they are"),
        ("none", TraceContent::None, "no texts: what it did, how long it took, what it cost, who allowed it"),
    ];
    let listed =
        items.map(|(name, _, about)| ChoiceItem { name: name.to_owned(), about: about.to_owned() }).to_vec();
    let choices = ChoiceList { label: "tracing: ".to_owned(), items: listed, takes_others: false };
    let Some(choice) = FormPrompter::of(surroundings).one_of(choices)? else { return Ok(None) };
    let chosen = items.iter().find(|(name, ..)| *name == choice);
    draft.traced = chosen.map_or(TraceContent::None, |(_, content, _)| *content);
    Ok(Some(()))
}

/// One trigger after the other, until one is left out.
fn ask_triggers(
    draft: &mut AgentDraft,
    is_blank: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> WizardResult {
    let text = "triggers say which prompts go to the agent when nobody names one: by keywords, with commas between them, or \
                by a regular expression; the highest priority wins";
    show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
    loop {
        let lead = format!("trigger {}", draft.triggers.len() + 1);
        let none = if is_blank || !draft.triggers.is_empty() { "none" } else { "the template's" };
        let label = format!("{lead}, keywords [{none}]: ");
        let Some(keywords) =
            FormPrompter::of(surroundings).line(&label, &mut |typed| Ok(read_keywords(typed)))?
        else {
            return Ok(None);
        };
        let label = format!("{lead}, or a regex [{none}]: ");
        let regex = FormPrompter::of(surroundings).line(&label, &mut |typed| {
            let regex = read_text(typed)?;
            regex.iter().try_for_each(|regex| offers::check_regex(regex, link))?;
            Ok(regex)
        })?;
        let Some(regex) = regex else { return Ok(None) };
        if keywords.is_empty() && regex.is_none() {
            return Ok(Some(()));
        }
        let label = format!("{lead}, priority 0-{HIGHEST_PRIORITY} [{USUAL_PRIORITY}]: ");
        let Some(priority) = FormPrompter::of(surroundings).line(&label, &mut read_priority)? else {
            return Ok(None);
        };
        draft.triggers.push(RoutingTrigger { intent: None, keywords, regex, priority });
    }
}

fn read_keywords(typed: &str) -> Vec<String> {
    let keywords = typed.split(',').map(str::trim).filter(|keyword| !keyword.is_empty());
    keywords.map(str::to_owned).collect()
}

fn read_priority(typed: &str) -> Result<i64, String> {
    if typed.is_empty() {
        return Ok(USUAL_PRIORITY);
    }
    let priority = typed.parse().ok().filter(|priority| (0..=HIGHEST_PRIORITY).contains(priority));
    priority.ok_or_else(|| format!("a whole number from 0 to {HIGHEST_PRIORITY}"))
}
