//! What do the events say that are about people: questions and who decided, files that changed, what counts from now on?

use serde::Deserialize;
use serde_json::Value;

use super::{ProgressState, call::subject_of, with};
use crate::{
    ids, person,
    question::{ConfirmationView, ResolutionView},
    relative::relative,
    rule::RuleView,
    screen::ProgressScreen,
    text_color::TextColor,
};
use protocol::{CallId, ConfirmationId, ConfirmationOutcome, Envelope, FileChange, OpenEnum, RevisionReason};

impl ProgressState {
    /// Shows one event of this kind; answers whether it was one.
    pub(super) fn show_people(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) -> bool {
        match envelope.kind.as_str() {
            "confirmation.requested" => with(envelope, |data: ConfirmationRequestedView| {
                self.asked(envelope, &data.confirmation, envelope.offered == Some(true), screen);
            }),
            "confirmation.edited" => with(envelope, |data: ConfirmationEditedView| {
                let who = data
                    .name
                    .map_or_else(|| "somebody".to_owned(), |name| person::told(&name, self.me.as_deref()));
                let title = self.questions.get(&data.confirmation_id).cloned().unwrap_or_default();
                let text = format!("answered by {who}; hooks look at the edit: {title}");
                self.line(envelope, screen, TextColor::Dim, "~", &text);
            }),
            "confirmation.revised" => with(envelope, |data| self.revised(envelope, &data, screen)),
            "confirmation.resolved" => with(envelope, |data| self.resolved(envelope, &data, screen)),
            "run.waiting" => with(envelope, |data: RunWaitingView| {
                let is_for_people = self.questions.keys().any(|id| !self.unattended.contains(id));
                let is_for_people = is_for_people || self.questions.is_empty();
                if data.waiting && is_for_people && envelope.head.parent_run_id.is_none() {
                    let text = "waits for an answer; its time limit is paused until then";
                    self.line(envelope, screen, TextColor::Dim, "…", text);
                }
            }),
            "file.changed" => with(envelope, |data: FileChangedView| {
                let text = relative(&data.describe(), &self.roots);
                self.line(envelope, screen, TextColor::Dim, "±", &text);
            }),
            "file.restored" => with(envelope, |data: FileRestoredView| {
                let text = relative(&data.describe(), &self.roots);
                self.line(envelope, screen, TextColor::Yellow, "↶", &text);
            }),
            "memory.saved" => with(envelope, |data: MemorySavedView| {
                self.line(
                    envelope,
                    screen,
                    TextColor::Dim,
                    "✎",
                    &format!("kept in {}: {}", data.path, data.fact),
                );
            }),
            "skill.activated" => with(envelope, |data: SkillActivatedView| {
                let text = format!("has the skill {}, of {}", data.name, data.folder);
                self.line(envelope, screen, TextColor::Dim, "✦", &text);
            }),
            "tool.clientCall" => with(envelope, |data: ClientCallView| {
                let again = if data.redelivered { " again" } else { "" };
                let text =
                    format!("{} waits for the client {}, which is told{again}", data.name, data.client_id);
                self.line(envelope, screen, TextColor::Dim, "…", &text);
            }),
            "policy.changed" => with(envelope, |data: PolicyChangedView| {
                for sentence in data.describe() {
                    self.line(envelope, screen, TextColor::Yellow, "!", &sentence);
                }
            }),
            "program.noted" => with(envelope, |data: ProgramNotedView| {
                // What is run for the first time nobody was asked about.
                if data.acknowledged {
                    let sentence = format!("{} may be run as it is now", data.name);
                    self.line(envelope, screen, TextColor::Yellow, "!", &sentence);
                }
            }),
            "folder.forgotten" => with(envelope, |data: FolderForgottenView| {
                let sentence = format!("what lies in {} is no agent's any more", data.folder);
                self.line(envelope, screen, TextColor::Yellow, "!", &sentence);
            }),
            "extension.changed" => with(envelope, |data: ExtensionChangedView| {
                let sentence = format!("the extension {} is {}", data.extension.name, data.change);
                self.line(envelope, screen, TextColor::Yellow, "!", &sentence);
            }),
            "workspace.trusted" => with(envelope, |data: WorkspaceTrustedView| {
                let status = if data.trusted { "is trusted now" } else { "is trusted no longer" };
                self.line(envelope, screen, TextColor::Yellow, "!", &format!("{} {status}", data.workspace));
            }),
            _ => return false,
        }
        true
    }

    /// A question: whoever is asked here gets it in place, everybody else learns where it can be answered.
    pub(super) fn asked(
        &mut self,
        envelope: &Envelope,
        asked: &ConfirmationView,
        is_offered: bool,
        screen: &mut ProgressScreen<'_>,
    ) {
        self.questions.insert(asked.confirmation_id.clone(), asked.title.clone());
        if !asked.roots.is_empty() {
            self.roots.clone_from(&asked.roots);
        }
        if is_offered && self.me.is_some() {
            return;
        }
        if asked.is_for_nobody() {
            // How it was decided is told in a moment.
            self.unattended.insert(asked.confirmation_id.clone());
            return;
        }
        let where_else = if self.me.is_some() { "asked elsewhere; " } else { "" };
        let id = ids::shortest(asked.confirmation_id.as_str());
        let risk = &asked.risk;
        // The way to answer stands first: a long title must not push it out of the line.
        let text =
            format!("{where_else}`subagent approve {id}` or `deny {id}`: {} (risk {risk})", asked.title);
        self.line(envelope, screen, TextColor::Yellow, "?", &text);
    }

    fn revised(
        &mut self,
        envelope: &Envelope,
        data: &ConfirmationRevisedView,
        screen: &mut ProgressScreen<'_>,
    ) {
        let title = &data.confirmation.title;
        if let (Some(arguments), Some(call)) = (&data.arguments, &data.confirmation.tool_call_id)
            && let Some(call) = self.calls.get_mut(call)
        {
            call.changed_into(arguments);
        }
        self.questions.insert(data.confirmation.confirmation_id.clone(), title.clone());
        let why = match data.reason.known() {
            Some(RevisionReason::Deadline) => return,
            Some(RevisionReason::Modified) => {
                let by = envelope.head.by.as_deref();
                let who = by.map_or_else(|| "somebody".to_owned(), |by| person::told(by, self.me.as_deref()));
                format!("{who} changed what it does")
            }
            Some(RevisionReason::ChangedByHook) => {
                let by = envelope.head.by.as_deref();
                let who =
                    by.map_or_else(|| "the answer".to_owned(), |by| person::told(by, self.me.as_deref()));
                format!("a hook changed what {who} had made of it, so it is asked again")
            }
            Some(RevisionReason::AskedByHook) => {
                let by = envelope.head.by.as_deref();
                let who =
                    by.map_or_else(|| "the answer".to_owned(), |by| person::told(by, self.me.as_deref()));
                format!("a hook wants a person asked about what {who} had made of it, so it is asked again")
            }
            Some(RevisionReason::EditDropped) => {
                "nothing came of a change of it, so it is asked as it was".to_owned()
            }
            Some(RevisionReason::Changed) => "what it would touch changed meanwhile".to_owned(),
            None => format!("it is another question now ({})", data.reason.as_str()),
        };
        self.line(envelope, screen, TextColor::Yellow, "~", &format!("{why}: {title}"));
    }

    fn resolved(
        &mut self,
        envelope: &Envelope,
        data: &ConfirmationResolvedView,
        screen: &mut ProgressScreen<'_>,
    ) {
        let title = self.questions.remove(&data.confirmation_id);
        self.unattended.remove(&data.confirmation_id);
        let title =
            title.unwrap_or_else(|| format!("question {}", ids::shortest(data.confirmation_id.as_str())));
        let (ink, sign) =
            if data.decided.is_consent() { (TextColor::Green, "✓") } else { (TextColor::Yellow, "✗") };
        if let Some(mode) = &data.decided.mode {
            self.mode = mode.known();
        }
        if let (Some(edited), Some(call)) = (&data.edited, &data.tool_call_id)
            && let Some(call) = self.calls.get_mut(call)
        {
            call.changed_into(edited);
        }
        let me = self.me.as_deref();
        let title = match &data.edited {
            Some(edited) => format!("{title}{}", edit_said(edited, &title, data.decided.name.as_deref(), me)),
            None => title,
        };
        let when = data.decided.when_elsewhere(me).map(|when| format!(" · {when}")).unwrap_or_default();
        let text = format!("{} · {title}{when}", data.decided.describe(me));
        // What holds everywhere is told by its whole path.
        let is_everywhere = data.decided.outcome.known() == Some(ConfirmationOutcome::AllowUser);
        let text = if is_everywhere { text } else { relative(&text, &self.roots) };
        self.line(envelope, screen, ink, sign, &text);
    }
}

/// The words for a person's change of the call that was refused: `, changed by you into rm b.txt`.
fn edit_said(edited: &Value, title: &str, name: Option<&str>, me: Option<&str>) -> String {
    let who = name.map_or_else(|| "somebody".to_owned(), |name| person::told(name, me));
    let subject = subject_of(edited);
    match title.contains(&subject) {
        true => format!(", as changed by {who}"),
        false => format!(", changed by {who} into {subject}"),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfirmationEditedView {
    confirmation_id: ConfirmationId,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
struct ConfirmationRequestedView {
    confirmation: ConfirmationView,
}

#[derive(Deserialize)]
struct ConfirmationRevisedView {
    confirmation: ConfirmationView,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(default)]
    reason: OpenEnum<RevisionReason>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfirmationResolvedView {
    confirmation_id: ConfirmationId,
    #[serde(default)]
    tool_call_id: Option<CallId>,
    #[serde(default)]
    edited: Option<Value>,
    #[serde(flatten)]
    decided: ResolutionView,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunWaitingView {
    waiting: bool,
}

/// A file that a call changed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FileChangedView {
    pub(crate) call_id: String,
    path: String,
    change: OpenEnum<FileChange>,
    from: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl FileChangedView {
    /// `modified /w/a.rs`
    pub(crate) fn describe(&self) -> String {
        let FileChangedView { path, from, .. } = self;
        match (self.change.known(), from) {
            (Some(FileChange::Created), _) => format!("created {path}"),
            (Some(FileChange::Modified), _) if self.before.is_some() && self.before == self.after => {
                format!("wrote {path}, with the content that it had")
            }
            (Some(FileChange::Modified), _) => format!("modified {path}"),
            (Some(FileChange::Deleted), _) => format!("deleted {path}"),
            (Some(FileChange::Moved), Some(from)) => format!("moved {from} to {path}"),
            (Some(FileChange::Moved), None) => format!("moved to {path}"),
            (None, _) => format!("{} {path}", self.change.as_str()),
        }
    }
}

/// A file whose change was undone.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct FileRestoredView {
    path: String,
    forced: bool,
    removed: bool,
    moved_back_to: Option<String>,
}

impl FileRestoredView {
    /// `restored /w/a.rs`
    pub(crate) fn describe(&self) -> String {
        let FileRestoredView { path, forced, removed, moved_back_to } = self;
        let done = match (removed, moved_back_to) {
            (true, _) => format!("removed {path}"),
            (false, Some(back)) => format!("moved {path} back to {back}"),
            (false, None) => format!("restored {path}"),
        };
        match (forced, removed) {
            (false, _) => done,
            (true, true) => format!("{done}, with what somebody had changed in it since"),
            (true, false) => format!("{done}, over what somebody had changed since"),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MemorySavedView {
    path: String,
    fact: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SkillActivatedView {
    name: String,
    folder: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClientCallView {
    name: String,
    client_id: String,
    redelivered: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PolicyChangedView {
    added: Vec<RuleView>,
    removed: Vec<String>,
    files: Vec<String>,
}

impl PolicyChangedView {
    fn describe(&self) -> Vec<String> {
        let added =
            self.added.iter().map(|rule| format!("from now on {}: {}", rule.decision, rule.matches()));
        let removed = self.removed.iter().map(|id| format!("rule {id} holds no more"));
        let files = self.files.iter().map(|file| format!("rules were read anew from {file}"));
        added.chain(removed).chain(files).collect()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProgramNotedView {
    name: String,
    acknowledged: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FolderForgottenView {
    folder: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExtensionChangedView {
    extension: ExtensionNameView,
    change: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExtensionNameView {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkspaceTrustedView {
    workspace: String,
    trusted: bool,
}
