//! `subagent create`: a new agent's file, from what the command line says, from a file, or from what a person is asked.

mod from_file;
mod wizard;

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    key::new_key,
    link::{DaemonCallError, DaemonLink},
    list,
    message::show_message,
    paging,
    problem::{self, FileProblemView},
    prompter::FormPrompter,
    safe_text,
    scope::DestinationArguments,
    text_color::TextColor,
};
use protocol::{
    AgentScope, AgentsCreate, AgentsCreateParams, ErrorKind, OpenEnum, RoutingTrigger, TraceContent,
};

/// The template of whoever names none.
const BLANK: &str = "blank";

/// Characters of a name (spec 02).
const NAME_CHARACTERS: usize = 64;

#[derive(Args)]
pub(super) struct CreateArguments {
    /// The agent's name, e.g. `debug-analyzer`; a terminal asks for it and for the rest
    name: Option<String>,
    /// Title shown to people
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// When an agent or a person should choose it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its model [default: the caller's, else the session's, else the setting models.default]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Its tools, separated by commas [default: the template's]
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// MCP servers whose tools it has, separated by commas; see `subagent mcp list` [default: the template's]
    #[arg(long, value_name = "SERVERS", value_delimiter = ',')]
    mcp: Option<Vec<String>>,
    /// Its instructions: the text below the front matter [default: the template's]
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Template to begin with; see `subagent templates` [default: blank]
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    #[command(flatten)]
    destination: DestinationArguments,
    /// Also ask about memory files, a hook that guards its calls, what its traces contain, and triggers (which prompts it gets)
    #[arg(long)]
    extended: bool,
    /// Take this file unchanged except for NAME; `-` is standard input
    #[arg(
        long = "from",
        value_name = "FILE",
        conflicts_with_all = ["title", "description", "model", "tools", "mcp", "prompt", "template", "extended"]
    )]
    file: Option<PathBuf>,
    /// Replace an existing agent; its file goes to the trash
    #[arg(long)]
    force: bool,
    /// What stdout gets: sentences, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// What is known of the new agent.
#[derive(Debug, Clone, Default, PartialEq)]
struct AgentDraft {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    /// MCP servers.
    servers: Option<Vec<String>>,
    prompt: Option<String>,
    triggers: Vec<RoutingTrigger>,
    /// It is told nothing of memory files.
    omits_memory: bool,
    guard: Option<GuardDraft>,
    /// The part of its texts that goes with spans which leave the daemon.
    traced: TraceContent,
    scope: Option<AgentScope>,
}

/// A program that is asked before the agent's calls.
#[derive(Debug, Clone, PartialEq)]
struct GuardDraft {
    command: String,
    /// None = of all tools.
    tools: Vec<String>,
}

impl GuardDraft {
    fn hooks(&self) -> Value {
        let mut group = json!({ "hooks": [{ "type": "command", "command": self.command }] });
        if !self.tools.is_empty() {
            group["matcher"] = json!(self.tools.join("|"));
        }
        json!({ "PreToolUse": [group] })
    }
}

impl AgentDraft {
    /// The fields of its front matter, and its prompt.
    fn definition(&self) -> Map<String, Value> {
        let texts = [
            ("name", &self.name),
            ("title", &self.title),
            ("description", &self.description),
            ("model", &self.model),
            ("prompt", &self.prompt),
        ];
        let texts = texts.into_iter().filter_map(|(field, text)| Some((field, json!(text.as_ref()?))));
        let tools = self.tools.iter().map(|tools| ("tools", json!(tools)));
        let triggers = (!self.triggers.is_empty()).then(|| ("triggers", json!(self.triggers)));
        let memory = self.omits_memory.then(|| ("memory", json!({ "include": false })));
        let tracing =
            (self.traced != TraceContent::Full).then(|| ("tracing", json!({ "content": self.traced })));
        let servers = self.servers.iter().map(|servers| ("mcp", json!({ "servers": servers })));
        let hooks = self.guard.as_ref().map(|guard| ("hooks", guard.hooks()));
        texts
            .chain(tools)
            .chain(servers)
            .chain(triggers)
            .chain(memory)
            .chain(hooks)
            .chain(tracing)
            .map(|(field, value)| (field.to_owned(), value))
            .collect()
    }
}

impl CreateArguments {
    fn draft(&self) -> AgentDraft {
        let names = |list: &Option<Vec<String>>| {
            let list = list.as_ref()?.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
            Some(list.map(str::to_owned).collect())
        };
        AgentDraft {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            model: self.model.clone(),
            tools: names(&self.tools),
            servers: names(&self.mcp),
            prompt: self.prompt.clone(),
            triggers: Vec::new(),
            omits_memory: false,
            guard: None,
            traced: TraceContent::Full,
            scope: self.destination.scope(),
        }
    }

    /// Nothing says what the agent is, beyond its name.
    fn says_little(&self) -> bool {
        let texts = [&self.title, &self.description, &self.model, &self.prompt, &self.template];
        texts.iter().all(|text| text.is_none()) && self.tools.is_none() && self.mcp.is_none()
    }

    /// Where a person is there, they are asked for what is missing.
    fn asks(&self, surroundings: &ProcessIo) -> bool {
        let is_missing = self.name.is_none() || self.says_little() || self.extended;
        let may_ask = surroundings.has_person() && self.format == ReportFormat::Text;
        may_ask && is_missing && self.file.is_none()
    }
}

pub(super) fn create(
    arguments: &CreateArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    if let Some(name) = &arguments.name {
        check_name(name).map_err(|complaint| {
            CommandFailure::usage(format!("`{name}` cannot be an agent's name: {complaint}"))
                .or_hint("e.g. subagent create debug-analyzer")
        })?;
    }
    let mut params = AgentsCreateParams {
        scope: arguments.destination.scope(),
        workspace: surroundings.workspace(),
        overwrite: arguments.force,
        ..AgentsCreateParams::default()
    };
    if let Some(file) = &arguments.file {
        params.text = Some(from_file::read(file, arguments.name.as_deref(), surroundings)?);
        link.open(&mut surroundings.stderr)?;
    } else {
        let asks = arguments.asks(surroundings);
        check_whole(arguments, asks)?;
        link.open(&mut surroundings.stderr)?;
        let mut draft = arguments.draft();
        params.template = Some(arguments.template.clone().unwrap_or_else(|| BLANK.to_owned()));
        if asks {
            let is_blank = params.template.as_deref() == Some(BLANK);
            let wizard = wizard::AgentWizard { is_blank, is_extended: arguments.extended };
            return match wizard.ask(&mut draft, link, surroundings)? {
                Some(()) => create_asking(draft, params, link, surroundings),
                None => leave(surroundings),
            };
        }
        params.definition = Some(draft.definition());
    }
    params.idempotency_key = Some(new_key()?);
    let answer = send(&params, link, surroundings).map_err(|error| refused(error, surroundings))?;
    tell(&answer, is_skeleton(&params), arguments.format, surroundings)?;
    Ok(0)
}

/// What is missing is named at once where nobody can be asked.
fn check_whole(arguments: &CreateArguments, asks: bool) -> Result<(), CommandFailure> {
    if asks {
        return Ok(());
    }
    if arguments.name.is_none() {
        return Err(CommandFailure::usage("what the agent is called is missing: NAME").or_hint(
            "subagent create debug-analyzer --description \"When to choose it\"; on a terminal you are asked",
        ));
    }
    if arguments.extended {
        return Err(CommandFailure::usage("--extended asks, and nobody can be asked here")
            .or_hint("run it on a terminal, or give a whole file by --from FILE"));
    }
    Ok(())
}

/// A name that is taken is asked for again: nothing else that was answered shall be lost.
fn create_asking(
    mut draft: AgentDraft,
    mut params: AgentsCreateParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    loop {
        params.definition = Some(draft.definition());
        params.scope = draft.scope;
        if !FormPrompter::of(surroundings).agrees(&asks_to_write(&draft))? {
            return leave(surroundings);
        }
        // Whoever was asked may have thought for longer than an idle daemon lives.
        link.reach(&mut surroundings.stderr)?;
        params.idempotency_key = Some(new_key()?);
        match send(&params, link, surroundings) {
            Ok(answer) => {
                tell(&answer, is_skeleton(&params), ReportFormat::Text, surroundings)?;
                return Ok(0);
            }
            Err(error) if error.is_refusal(ErrorKind::AlreadyExists) => {
                refused(error, surroundings).report(&mut surroundings.stderr);
                match wizard::ask_name(surroundings)? {
                    Some(name) => draft.name = Some(name),
                    None => return leave(surroundings),
                }
            }
            Err(error) => return Err(refused(error, surroundings)),
        }
    }
}

/// What would be written, as whoever filled it in sees it.
fn asks_to_write(draft: &AgentDraft) -> String {
    let name = draft.name.as_deref().unwrap_or_default();
    let tools = match &draft.tools {
        Some(tools) if tools.is_empty() => "no tools".to_owned(),
        Some(tools) => format!("the tools {}", tools.join(", ")),
        None => "the template's tools".to_owned(),
    };
    let guard = draft.guard.as_ref().map(|guard| format!(", guarded by `{}`", guard.command));
    let place = match draft.scope {
        Some(AgentScope::Project) => " into this project's agents",
        Some(AgentScope::User) => " into your agents",
        Some(AgentScope::Builtin) | None => "",
    };
    safe_text::line(&format!("Write {name}{place}, with {tools}{}?", guard.unwrap_or_default()), usize::MAX)
}

fn leave(surroundings: &mut ProcessIo) -> Result<u8, CommandFailure> {
    show_message(&mut surroundings.stderr, TextColor::Yellow, "note", "nothing was written");
    Ok(EXIT_INTERRUPTED)
}

fn send(
    params: &AgentsCreateParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Value, DaemonCallError> {
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    link.ask_for_effect::<AgentsCreate>(params, stderr, &mut || interrupts() > 0)
}

fn refused(error: DaemonCallError, surroundings: &mut ProcessIo) -> CommandFailure {
    let is_taken = error.is_refusal(ErrorKind::AlreadyExists);
    match problem::refused(error, &mut surroundings.stderr) {
        CommandFailure::Told { exit_code, what, error, .. } if is_taken => {
            let hint = "choose another name, or give --force, which puts the other one into the trash";
            CommandFailure::Told { exit_code, what, hint: Some(hint.to_owned()), error }
        }
        other => other,
    }
}

/// What is read of the answer that a file was written.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WrittenAgentFile {
    pub(super) name: String,
    pub(super) scope: OpenEnum<AgentScope>,
    pub(super) path: String,
    /// Warnings.
    pub(super) problems: Vec<FileProblemView>,
}

/// True if nobody has written instructions: the file has those of the blank template.
fn is_skeleton(params: &AgentsCreateParams) -> bool {
    let has_prompt = params.definition.as_ref().is_some_and(|it| it.get("prompt").is_some());
    params.template.as_deref() == Some(BLANK) && !has_prompt
}

/// `is_skeleton`: its instructions are those of the blank template.
fn tell(
    answer: &Value,
    is_skeleton: bool,
    format: ReportFormat,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let written: WrittenAgentFile = paging::view(answer)?;
    written.problems.iter().for_each(|problem| problem.show(&mut surroundings.stderr));
    let words = || {
        let line = |text: &str| safe_text::line(text, usize::MAX);
        let (name, path) = (line(&written.name), line(&written.path));
        let place = line(list::place(&written.scope));
        let edit = match is_skeleton {
            true => format!(
                "its instructions are a skeleton; write your own before you run it: subagent edit {name}"
            ),
            false => format!("subagent edit {name}"),
        };
        format!("created {name} ({place}): {path}\n  {edit}\n  subagent run {name} -p \"what to do\"")
    };
    paging::tell(answer, format, words, surroundings)
}

/// What we create is called so (spec 02); whether the name is a tool's, or taken, is the daemon's to say.
fn check_name(name: &str) -> Result<(), String> {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if name.is_empty() {
        return Err("it needs one".into());
    }
    if NAME_CHARACTERS < name.chars().count() {
        return Err(format!("it has more than {NAME_CHARACTERS} characters"));
    }
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) || !name.split('-').all(is_word) {
        return Err("small letters and digits in words with one hyphen between them, a letter first".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_with_hyphens() {
        for name in ["a", "debug-analyzer", "a1-2b", &"a".repeat(64)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "1a", "-a", "a-", "a--b", "Debug", "a_b", "a.b", "ä", "a b", "a\n", &"a".repeat(65)]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
