//! `subagent run AGENT --interactive`: a conversation with one agent, in its own context of a session (spec 12).
//!
//! Each prompt is a run like any other, so other clients see it, and it goes on when this one is gone. Nothing is known here
//! that the daemon does not know as well, but which agent and model the next prompt is for.

mod given;
mod history;
mod input;
mod modes;
mod showing;
mod undoing;
mod words;

use serde::Deserialize;

use self::{
    history::InputHistory,
    input::{ChatInput, ChatTerminal},
    showing::CompletionWords,
    words::{ChatCommand, WORDS},
};
use super::{
    ProcessIo,
    asking::TypeaheadTarget,
    failure::CommandFailure,
    hooks, ids,
    key::new_key,
    link::DaemonLink,
    message::show_message,
    mode, paging, paths, person,
    prompter::FormPrompter,
    run::{self, OutputFormat, PromptAttachments, RunOptions, RunStartReply, RunView},
    safe_text,
    sessions::contexts,
    table,
    text_color::TextColor,
    undo,
    watch::WatchEnd,
    width,
};
use protocol::{
    AgentName, AgentsGet, AgentsGetParams, ApprovalMode, ErrorKind, RunStart, RunStartParams, SessionClear,
    SessionCompact, SessionContextParams, SessionGet, SessionId, SessionIdParams, SessionUndo,
    SessionUndoParams, WorkspaceParam,
};

/// What stands between the agent's name and what is typed.
const POINTER: &str = " › ";

/// What `/model` takes for the agent's own.
const OWN_MODEL: &str = "inherit";

/// How far the conversation is.
struct ChatState {
    /// Every run's, but for what the fields below say.
    template: RunStartParams,
    /// The skills that a person gives an agent's runs, each until it is taken off.
    skills: Vec<(AgentName, String)>,
    agent: AgentName,
    /// `None` until something was said in a new session.
    session_id: Option<SessionId>,
    /// Of the session, or the one that a new session will have.
    workspace: WorkspaceParam,
    /// Of the session, as it was told last; `None` = a newer daemon's.
    mode: Option<ApprovalMode>,
    /// The view of its runs.
    view: RunView,
    /// What Tab knows.
    shelf: CompletionWords,
}

pub(super) fn talk(
    agent: &str,
    prompt: Option<&str>,
    arguments: &RunOptions,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    check(arguments, surroundings)?;
    let workspace = paths::read_workspace(arguments.workspace.as_deref(), surroundings)?;
    let mut template =
        run::read_params(agent, (prompt, &PromptAttachments::default()), arguments, surroundings)?;
    link.open_as(person::somebody(surroundings)?, &mut surroundings.stderr)?;
    let session_id = arguments.session.choose(&workspace, true, link, surroundings)?;
    let agent = template.agent.take().unwrap_or_else(|| "".into());
    let first = template.prompt.take();
    let mode = Some(ApprovalMode::Default);
    let (view, shelf) = (arguments.view(), CompletionWords::default());
    let skills = std::mem::take(&mut template.skills).into_iter().map(|name| (agent.clone(), name)).collect();
    let mut talk = ChatState { template, skills, agent, session_id, workspace, mode, view, shelf };
    talk.find_workspace(link)?;
    talk.check_agent(&talk.agent, link)?;
    talk.greet(link, surroundings);
    let mut history = InputHistory::read(client::state_folder(&*surroundings.environment));
    talk.go_on(first, &mut history, link, surroundings)
}

/// A conversation needs somebody who types and reads, and has no single result.
fn check(arguments: &RunOptions, surroundings: &ProcessIo) -> Result<(), CommandFailure> {
    let beside = [
        (arguments.detach, "--detach", "a conversation is not for the background; leave one of the two out"),
        (
            arguments.output_format != OutputFormat::Text,
            "--output-format",
            "a conversation has no single record; use -p for each prompt, with --session",
        ),
        (
            arguments.approval.is_headless(),
            "--headless",
            "whoever talks can be asked; leave one of the two out",
        ),
        (arguments.record.is_some(), "--record", "a recording is of one run; use -p for it"),
    ];
    if let Some((_, flag, hint)) = beside.iter().find(|(is_given, ..)| *is_given) {
        return Err(CommandFailure::usage(format!("--interactive does not go with {flag}")).or_hint(*hint));
    }
    if !surroundings.has_person() {
        return Err(CommandFailure::usage("--interactive needs a terminal to type in and to read from")
            .or_hint("give one prompt with -p PROMPT; --continue goes on in the current session"));
    }
    Ok(())
}

impl ChatState {
    fn go_on(
        &mut self,
        mut first: Option<String>,
        history: &mut InputHistory,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<u8, CommandFailure> {
        loop {
            let agent = safe_text::line(self.agent.as_str(), table::NAME_CHARACTERS);
            let label = format!("{agent}{}{POINTER}", self.mode_sign());
            let text = match first.take() {
                Some(prompt) => {
                    let shown = surroundings.stderr.paint(TextColor::Cyan, &label);
                    surroundings.stderr.write(&shown)?;
                    surroundings.stderr.write_exactly(&prompt)?;
                    prompt
                }
                None => match self.ask(&label, history, link, surroundings)? {
                    ChatInput::Text(text) => text,
                    ChatInput::LeavesMode => {
                        if let Err(failure) = self.leave_mode(link, surroundings) {
                            failure.report(&mut surroundings.stderr);
                        }
                        continue;
                    }
                    ChatInput::Left => break,
                },
            };
            history.add(&text);
            let outcome = match words::read(&text) {
                ChatCommand::Exit => break,
                wish => self.fulfil(&wish, &text, link, surroundings),
            };
            match outcome {
                Ok(()) => {}
                Err(CommandFailure::PipeClosed) => return Err(CommandFailure::PipeClosed),
                // What went wrong concerns this input; the next may go well.
                Err(failure) => {
                    failure.report(&mut surroundings.stderr);
                }
            }
        }
        Ok(0)
    }

    fn ask(
        &mut self,
        label: &str,
        history: &InputHistory,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<ChatInput, CommandFailure> {
        let ProcessIo { keyboard, stdin, stderr, interrupts, .. } = surroundings;
        let mut desk = ChatTerminal { keyboard: &mut **keyboard, stdin, stderr, interrupts };
        let ChatState { shelf, workspace, .. } = self;
        let mut complete = |before: &str| shelf.complete(before, workspace, link);
        desk.read(label, history.entries(), &mut complete)
    }

    fn fulfil(
        &mut self,
        wish: &ChatCommand<'_>,
        text: &str,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        match wish {
            ChatCommand::Say => return self.say(text.trim(), link, surroundings),
            ChatCommand::Help => return help(surroundings),
            ChatCommand::UseModel(model) => return self.use_model(model, surroundings),
            ChatCommand::Unknown { word, nearest } => {
                let word = safe_text::line(word, table::NAME_CHARACTERS);
                let hint = match nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "/help lists what there is.".to_owned(),
                };
                let hint = format!("{hint} A message that begins so is sent with a blank before it");
                return Err(CommandFailure::new(format!("there is no command `{word}`; nothing was sent"))
                    .or_hint(hint));
            }
            ChatCommand::TooMuch { word, rest } => {
                let takes = if rest.is_empty() { "nothing" } else { "one word" };
                return Err(CommandFailure::new(format!(
                    "`{word}` takes {takes} behind it; nothing was done"
                ))
                .or_hint(format!("{word} {rest}").trim_end()));
            }
            ChatCommand::Exit => return Ok(()),
            ChatCommand::Context
            | ChatCommand::Clear
            | ChatCommand::Compact
            | ChatCommand::Undo
            | ChatCommand::ListAgents
            | ChatCommand::TalkTo(_)
            | ChatCommand::Tools
            | ChatCommand::Memory
            | ChatCommand::Hooks
            | ChatCommand::ShowModel
            | ChatCommand::ShowMode
            | ChatCommand::UseMode(_)
            | ChatCommand::ListSkills
            | ChatCommand::UseSkill(_)
            | ChatCommand::DropSkill(_)
            | ChatCommand::Cost => {}
        }
        link.reach(&mut surroundings.stderr)?;
        match wish {
            ChatCommand::Context => self.show_context(link, surroundings),
            ChatCommand::Clear => {
                self.change_context(ContextCommand::Clear, link, surroundings)?;
                self.drop_all_skills(surroundings);
                Ok(())
            }
            ChatCommand::Compact => self.change_context(ContextCommand::Compact, link, surroundings),
            ChatCommand::Undo => self.undo(link, surroundings),
            ChatCommand::ListAgents => self.list_agents(link, surroundings),
            ChatCommand::TalkTo(name) => self.talk_to(name, link, surroundings),
            ChatCommand::Tools => self.show_tools(link, surroundings),
            ChatCommand::Memory => self.show_memory(link, surroundings),
            ChatCommand::Hooks => hooks::show(self.workspace.clone(), link, surroundings),
            ChatCommand::ShowModel => self.show_model(link, surroundings),
            ChatCommand::ShowMode => self.show_mode(link, surroundings),
            ChatCommand::UseMode(mode) => self.use_mode(mode, link, surroundings),
            ChatCommand::ListSkills => self.list_skills(link, surroundings),
            ChatCommand::UseSkill(name) => self.use_skill(name, link, surroundings),
            ChatCommand::DropSkill(name) => self.drop_skill(name, surroundings),
            _ => self.show_cost(link, surroundings),
        }
    }

    /// Starts a run and shows it until it ends, or is left to itself.
    fn say(
        &mut self,
        prompt: &str,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        if let Err(failure) = link.reach(&mut surroundings.stderr) {
            // Whoever keeps it running may be about to start it again.
            failure.report(&mut surroundings.stderr);
            let text = "waiting for the daemon; Ctrl-C gives up";
            show_message(&mut surroundings.stderr, TextColor::Dim, "note", text);
        }
        let is_new_session = self.session_id.is_none();
        let params = RunStartParams {
            agent: Some(self.agent.clone()),
            prompt: Some(prompt.to_owned()),
            session_id: self.session_id.clone(),
            workspace: is_new_session.then(|| self.workspace.clone()),
            idempotency_key: Some(new_key()?),
            skills: self.given_skills(),
            ..self.template.clone()
        };
        let ProcessIo { stderr, interrupts, .. } = surroundings;
        let answer = match link.ask_for_effect::<RunStart>(&params, stderr, &mut || interrupts() > 0) {
            Err(error) if error.is_refusal(ErrorKind::InvalidParams) => {
                self.drop_unusable_skills(link, surroundings)?;
                return Err(error.into());
            }
            answer => answer?,
        };
        let started: RunStartReply = paging::view(&answer)?;
        self.session_id = Some(started.session_id.clone());
        run::show_disposition(&started, surroundings);
        let from = run::find_beginning(&started, is_new_session, link, surroundings)?;
        let format = OutputFormat::Text;
        let (end, stop_message, shown) =
            run::follow(&started, from, self.view, TypeaheadTarget::ForNextPrompt, link, surroundings)?;
        // An answer may have changed it.
        self.learn_mode(link);
        if end == WatchEnd::Left {
            let text =
                format!("left the run to end by itself; `subagent attach {}` shows it", started.run_id);
            show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
            return Ok(());
        }
        let record = run::fetch_record(&started.run_id, link, surroundings)?;
        run::report(&record, format, stop_message.as_deref(), shown.as_deref(), surroundings).map(drop)
    }

    fn use_model(&mut self, model: &str, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
        let is_own = model == OWN_MODEL;
        self.template.model = (!is_own).then(|| paths::with_absolute_recording(model).into());
        let model = if is_own { "the agent's own model" } else { model };
        let text = format!("the next runs of this conversation use {model}");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        Ok(())
    }

    fn talk_to(
        &mut self,
        name: &str,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let agent = AgentName::from(name);
        self.check_agent(&agent, link)?;
        self.agent = agent;
        let text = format!("talking with {name}, which has a context of its own in this session");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        self.say_what_is_remembered(link, surroundings);
        Ok(())
    }

    /// What an agent's models read of its past from here on.
    fn change_context(
        &mut self,
        change: ContextCommand,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<(), CommandFailure> {
        let Some(session_id) = self.session_id.clone().filter(|_| self.has_context(link)) else {
            return self.tell_nothing_said(surroundings);
        };
        let params = SessionContextParams { session_id, agent: Some(self.agent.clone()) };
        let told = match change {
            ContextCommand::Clear => contexts::ask::<SessionClear>(&params, link, surroundings)?
                .map(|answer| contexts::clear_told(&answer)),
            ContextCommand::Compact => contexts::ask::<SessionCompact>(&params, link, surroundings)?
                .map(|answer| contexts::compact_told(&answer)),
        };
        match told {
            Some(told) => surroundings.stderr.write_text(&told?),
            // Ctrl-C; that it goes on was said.
            None => Ok(()),
        }
    }

    fn undo(&mut self, link: &mut DaemonLink, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
        let files = match &self.session_id {
            Some(session_id) => undoing::files(session_id, link)?,
            None => Vec::new(),
        };
        let Some(session_id) = self.session_id.clone().filter(|_| !files.is_empty()) else {
            return surroundings.stderr.write_text("there is nothing to undo");
        };
        surroundings.stderr.write_text("what the last turn that changed files did:")?;
        for file in files {
            surroundings.stderr.write_text(&format!("  {}", safe_text::line(&file, usize::MAX)))?;
        }
        if !FormPrompter::of(surroundings).agrees("undo that?")? {
            return surroundings.stderr.write_text("nothing was undone");
        }
        let params = SessionUndoParams { session_id, to_call_id: None, last_turn: true, force: false };
        let told = undo::told(&link.ask_value::<SessionUndo>(&params)?)?;
        surroundings.stderr.write_text(&told)
    }

    /// The folders of a session that was there are its own, wherever the person stands.
    fn find_workspace(&mut self, link: &mut DaemonLink) -> Result<(), CommandFailure> {
        #[derive(Deserialize)]
        struct Found {
            session: Roots,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Roots {
            roots: Vec<String>,
        }
        let Some(session_id) = self.session_id.clone() else { return Ok(()) };
        let answer = link.ask_value::<SessionGet>(&SessionIdParams { session_id })?;
        self.mode = mode::of_answer(&answer);
        let Found { session: Roots { roots } } = paging::view(&answer)?;
        if !roots.is_empty() {
            self.workspace = WorkspaceParam::Roots { roots };
        }
        Ok(())
    }

    /// Fails as a run would when there is no such agent.
    fn check_agent(&self, agent: &AgentName, link: &mut DaemonLink) -> Result<(), CommandFailure> {
        let params =
            AgentsGetParams { name: agent.clone(), scope: None, workspace: Some(self.workspace.clone()) };
        match link.ask_value::<AgentsGet>(&params) {
            Ok(_) => Ok(()),
            // Whatever else it is, a run may tell better.
            Err(error) if !error.is_refusal(ErrorKind::NotFound) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn greet(&self, link: &mut DaemonLink, surroundings: &mut ProcessIo) {
        let place = match &self.session_id {
            Some(session_id) => format!("session {}", ids::shortest(session_id.as_str())),
            None => "a new session".to_owned(),
        };
        let text = format!("talking with {} in {place}; /help tells how, Ctrl-D leaves", self.agent);
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
        self.say_what_is_remembered(link, surroundings);
    }
}

/// What becomes of a context.
enum ContextCommand {
    Clear,
    Compact,
}

fn help(surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    let name = |word: &words::SlashCommand| format!("{} {}", word.name, word.rest).trim_end().to_owned();
    let widest = WORDS.iter().map(|word| width::of(&name(word))).max().unwrap_or(0);
    let rows = WORDS.iter().map(|word| format!("  {}  {}", width::pad(&name(word), widest), word.about));
    let keys = "Everything else is said to the agent. Enter sends; Alt-Enter, or a backslash at the end of the line, begins \
                another one. Up and Down find earlier inputs; one that begins with a blank is not kept. Tab completes \
                commands. Ctrl-C cancels a run, twice leaves it to itself; at the input it takes back what was typed.";
    let columns = surroundings.stderr.width.unwrap_or(usize::MAX);
    let text: Vec<String> = rows.chain(showing::fill(keys, columns)).collect();
    surroundings.stderr.write_text(&text.join("\n"))
}
