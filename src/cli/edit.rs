//! `subagent edit`: an agent's file in the person's own editor, checked before it is written.
//!
//! What somebody wrote is never lost: whatever keeps it from being written, its file stays, and its path is told.

use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ProcessIo, ReportFormat,
    create::WrittenAgentFile,
    editor::{self, EditorTempFile},
    failure::CommandFailure,
    key::new_key,
    link::{DaemonCallError, DaemonLink},
    list,
    message::show_message,
    paging, problem,
    prompter::FormPrompter,
    safe_text,
    scope::SubjectArguments,
    text_color::TextColor,
    validate::AgentsValidateReply,
};
use protocol::{
    AgentFormat, AgentScope, AgentStatus, AgentsGet, AgentsGetParams, AgentsUpdate, AgentsUpdateParams,
    AgentsValidate, AgentsValidateParams, CheckOutcome, ErrorKind, IdempotencyKey, OpenEnum,
};

#[derive(Args)]
pub(super) struct EditArguments {
    /// The agent; see `subagent list`
    name: String,
    #[command(flatten)]
    subject: SubjectArguments,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The agent's file as it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EditedAgentFile {
    name: String,
    scope: OpenEnum<AgentScope>,
    path: Option<String>,
    digest: String,
    format: OpenEnum<AgentFormat>,
    status: OpenEnum<AgentStatus>,
    text: Option<String>,
}

pub(super) fn edit(
    arguments: &EditArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let Some(program) = editor::chosen(&surroundings.environment) else {
        return Err(CommandFailure::new(
            "no editor is chosen: neither VISUAL nor EDITOR is set; nothing was changed",
        )
        .or_hint("e.g. EDITOR=nano subagent edit NAME"));
    };
    link.open(&mut surroundings.stderr)?;
    let params = AgentsGetParams {
        name: arguments.name.as_str().into(),
        scope: arguments.subject.scope(),
        workspace: surroundings.workspace(),
    };
    let file: EditedAgentFile = paging::view(&link.ask_value::<AgentsGet>(&params)?)?;
    let text = editable(&file)?;
    let path = file.path.clone().unwrap_or_else(|| format!("{}.md", file.name));
    let mut draft = EditorTempFile::of(text, &path, &surroundings.environment)?;
    let mut edit = AgentFileEdit { file: &file, path, link, surroundings };
    let outcome = edit.until_written(&draft, text, &program);
    let answer = match outcome {
        Ok(answer) => answer,
        Err(failure) => {
            return Err(match draft.keep_unless(text) {
                Some(kept) => {
                    with_more_hint(failure, &format!("what you wrote is kept in {}", kept.display()))
                }
                None => failure,
            });
        }
    };
    tell(answer, &file, arguments.format, surroundings)
}

/// What can be changed here.
fn editable(file: &EditedAgentFile) -> Result<&str, CommandFailure> {
    let name = &file.name;
    if file.scope.known() == Some(AgentScope::Builtin) {
        return Err(CommandFailure::new(format!("{name} is built in, and cannot be edited")).or_hint(format!(
            "an agent of yours takes its place: subagent export {name} | subagent create --from -; single settings of it \
             are changed by agents.overrides"
        )));
    }
    file.text.as_deref().ok_or_else(|| {
        CommandFailure::new(format!("the file of {name} cannot be read as text"))
            .or_hint(format!("`subagent show {name}` shows where it is and what is wrong with it"))
    })
}

fn with_more_hint(failure: CommandFailure, more: &str) -> CommandFailure {
    match failure {
        CommandFailure::Told { exit_code, what, hint, mut error } => {
            let hint = hint.map_or_else(|| more.to_owned(), |hint| format!("{hint}; {more}"));
            // Programs read it there.
            if let Some(Value::Object(data)) = error.as_mut().and_then(|error| error.get_mut("data")) {
                data.insert("hint".to_owned(), json!(hint));
            }
            CommandFailure::Told { exit_code, what, hint: Some(hint), error }
        }
        other => other,
    }
}

/// What the person wants to do about findings.
enum FindingsChoice {
    EditAgain,
    Save,
}

/// One file being edited.
struct AgentFileEdit<'a> {
    file: &'a EditedAgentFile,
    path: String,
    link: &'a mut DaemonLink,
    surroundings: &'a mut ProcessIo,
}

impl AgentFileEdit<'_> {
    /// Until the file is written; `None` when there was nothing to write.
    fn until_written(
        &mut self,
        draft: &EditorTempFile,
        before: &str,
        program: &std::ffi::OsStr,
    ) -> Result<Option<Value>, CommandFailure> {
        loop {
            // From here on Ctrl-C is meant for the editor.
            (self.surroundings.interrupts)();
            let edited = draft.change(program);
            (self.surroundings.interrupts)();
            let edited = edited?;
            if edited == before {
                return Ok(None);
            }
            // The editor may have been open for longer than an idle daemon lives.
            self.link.reach(&mut self.surroundings.stderr)?;
            if let FindingsChoice::EditAgain = self.check(&edited)? {
                continue;
            }
            match self.send(&edited, new_key()?) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) if error.is_refusal(ErrorKind::InvalidDefinition) => {
                    let failure = problem::refused(error, &mut self.surroundings.stderr);
                    if !self.may_ask() {
                        return Err(failure);
                    }
                    failure.report(&mut self.surroundings.stderr);
                    self.choose(false)?;
                }
                Err(error) if error.is_refusal(ErrorKind::Conflict) => return Err(self.conflict(error)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Tells what is wrong with the text; what is to be done about it.
    fn check(&mut self, text: &str) -> Result<FindingsChoice, CommandFailure> {
        let params = AgentsValidateParams {
            text: Some(text.to_owned()),
            path: Some(self.path.clone().into()),
            format: self.file.format.known(),
            workspace: self.surroundings.workspace(),
            ..AgentsValidateParams::default()
        };
        let validated: AgentsValidateReply = paging::view(&self.link.ask_value::<AgentsValidate>(&params)?)?;
        let (mut has_failed, mut told) = (false, Vec::new());
        for check in validated.agents.iter().flat_map(|agent| &agent.checks) {
            let (ink, label) = match check.outcome.known() {
                Some(CheckOutcome::Pass) => continue,
                Some(CheckOutcome::Fail) => (TextColor::Red, "error"),
                Some(CheckOutcome::Warn) | None => (TextColor::Yellow, "warning"),
            };
            has_failed |= check.outcome.known() == Some(CheckOutcome::Fail);
            let findings = match check.findings.as_slice() {
                [] => vec![format!("does not hold: {}", check.check)],
                findings => findings.to_vec(),
            };
            let stderr = &mut self.surroundings.stderr;
            findings.iter().for_each(|finding| show_message(stderr, ink, label, finding));
            told.extend(findings);
        }
        match (has_failed, self.may_ask()) {
            (true, false) => {
                let mut what = "the file has errors; nothing was changed".to_owned();
                if self.surroundings.stderr.is_for_programs {
                    // Nothing was shown to them before.
                    what = format!("{what}\n{}", told.join("\n"));
                }
                Err(CommandFailure::new(what).or_hint("fix what is named"))
            }
            (_, true) if !told.is_empty() => self.choose(!has_failed),
            _ => Ok(FindingsChoice::Save),
        }
    }

    /// Whoever reads JSON is shown no findings, and so is not asked about them.
    fn may_ask(&self) -> bool {
        self.surroundings.has_person() && !self.surroundings.stderr.is_for_programs
    }

    fn choose(&mut self, may_save: bool) -> Result<FindingsChoice, CommandFailure> {
        let mut prompter = FormPrompter::of(self.surroundings);
        let letter = match may_save {
            true => prompter.letter("[e]dit again, [s]ave anyway, [d]iscard? ", &['e', 's', 'd'])?,
            false => prompter.letter("[e]dit again, [d]iscard? ", &['e', 'd'])?,
        };
        match letter {
            Some('e') => Ok(FindingsChoice::EditAgain),
            Some('s') => Ok(FindingsChoice::Save),
            _ => Err(CommandFailure::new("nothing was changed")
                .or_hint(format!("`subagent edit {}` begins anew", self.file.name))),
        }
    }

    fn send(&mut self, text: &str, key: IdempotencyKey) -> Result<Value, DaemonCallError> {
        let EditedAgentFile { name, scope, digest, .. } = self.file;
        let params = AgentsUpdateParams {
            name: name.as_str().into(),
            scope: scope.known(),
            workspace: self.surroundings.workspace(),
            text: Some(text.to_owned()),
            definition: None,
            digest: Some(digest.clone()),
            idempotency_key: Some(key),
        };
        let ProcessIo { stderr, interrupts, .. } = &mut *self.surroundings;
        self.link.ask_for_effect::<AgentsUpdate>(&params, stderr, &mut || interrupts() > 0)
    }

    fn conflict(&self, error: DaemonCallError) -> CommandFailure {
        let name = &self.file.name;
        let what = format!("{name} was changed by somebody else meanwhile; nothing was written");
        let hint = Some(format!("`subagent edit {name}` opens it as it is now"));
        match CommandFailure::from(error) {
            CommandFailure::Told { exit_code, error, .. } => {
                CommandFailure::Told { exit_code, what, hint, error }
            }
            other => other,
        }
    }
}

fn tell(
    answer: Option<Value>,
    file: &EditedAgentFile,
    format: ReportFormat,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let Some(answer) = answer else {
        // As the daemon answers when the file says what it said before.
        let EditedAgentFile { name, scope, path, digest, .. } = file;
        let same = json!({ "name": name, "scope": scope.as_str(), "path": path, "digest": digest });
        paging::tell(&same, format, || format!("{} says what it said before", line(name)), surroundings)?;
        return Ok(0);
    };
    let written: WrittenAgentFile = paging::view(&answer)?;
    // Its warnings were shown before it was written.
    let name = line(&written.name);
    let words = || format!("changed {name} ({}): {}", line(list::place(&written.scope)), line(&written.path));
    paging::tell(&answer, format, words, surroundings)?;
    if file.status.known() == Some(AgentStatus::Untrusted) {
        let text = format!(
            "nobody has trusted it yet, so it cannot be started: `subagent trust {name}` shows what it may do, and asks"
        );
        show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &text);
    }
    Ok(0)
}
