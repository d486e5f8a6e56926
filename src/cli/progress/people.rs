//! What do the events say that are about people: questions and who decided, files that changed, what counts from now on?

use serde::Deserialize;

use super::{Progress, with};
use crate::{
    cli::{
        ids,
        question::{Asked, Decided},
        relative::relative,
        rule::Rule,
        screen::{Ink, Screen},
    },
    protocol::{ConfirmationId, Envelope, FileChange, Open, Outcome, RevisedBecause},
};

impl Progress {
    /// Shows one event of this kind; answers whether it was one.
    pub(super) fn show_people(&mut self, envelope: &Envelope, screen: &mut Screen<'_>) -> bool {
        match envelope.kind.as_str() {
            "confirmation.requested" => with(envelope, |data: Requested| {
                self.asked(envelope, &data.confirmation, envelope.offered == Some(true), screen);
            }),
            "confirmation.revised" => with(envelope, |data| self.revised(envelope, &data, screen)),
            "confirmation.resolved" => with(envelope, |data| self.resolved(envelope, &data, screen)),
            "run.waiting" => with(envelope, |data: Waiting| {
                let is_for_people = self.questions.keys().any(|id| !self.unattended.contains(id));
                let is_for_people = is_for_people || self.questions.is_empty();
                if data.waiting && is_for_people && envelope.head.parent_run_id.is_none() {
                    let text = "waits for an answer; its time limit is paused until then";
                    self.line(envelope, screen, Ink::Dim, "…", text);
                }
            }),
            "file.changed" => with(envelope, |data: Changed| {
                let text = relative(&data.describe(), &self.roots);
                self.line(envelope, screen, Ink::Dim, "±", &text);
            }),
            "file.restored" => with(envelope, |data: Restored| {
                let forced = if data.forced { ", over what somebody had changed since" } else { "" };
                let text = relative(&format!("restored {}{forced}", data.path), &self.roots);
                self.line(envelope, screen, Ink::Yellow, "↶", &text);
            }),
            "memory.saved" => with(envelope, |data: Remembered| {
                self.line(envelope, screen, Ink::Dim, "✎", &format!("kept in {}: {}", data.path, data.fact));
            }),
            "tool.clientCall" => with(envelope, |data: ClientCall| {
                let again = if data.again { " again" } else { "" };
                let text =
                    format!("{} waits for the client {}, which is told{again}", data.name, data.client_id);
                self.line(envelope, screen, Ink::Dim, "…", &text);
            }),
            "policy.changed" => with(envelope, |data: PolicyChanged| {
                for sentence in data.describe() {
                    self.line(envelope, screen, Ink::Yellow, "!", &sentence);
                }
            }),
            "workspace.trusted" => with(envelope, |data: Trusted| {
                let standing = if data.trusted { "is trusted now" } else { "is trusted no longer" };
                self.line(envelope, screen, Ink::Yellow, "!", &format!("{} {standing}", data.workspace));
            }),
            _ => return false,
        }
        true
    }

    /// A question: whoever is asked here gets it in place, everybody else learns where it can be answered.
    pub(super) fn asked(
        &mut self,
        envelope: &Envelope,
        asked: &Asked,
        is_offered: bool,
        screen: &mut Screen<'_>,
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
        self.line(envelope, screen, Ink::Yellow, "?", &text);
    }

    fn revised(&mut self, envelope: &Envelope, data: &Revised, screen: &mut Screen<'_>) {
        let title = &data.confirmation.title;
        self.questions.insert(data.confirmation.confirmation_id.clone(), title.clone());
        let why = match data.why.known() {
            Some(RevisedBecause::Deadline) => return,
            Some(RevisedBecause::Modified) => "somebody changed what it does".to_owned(),
            Some(RevisedBecause::Changed) => "what it would touch changed meanwhile".to_owned(),
            None => format!("it is another question now ({})", data.why.as_str()),
        };
        self.line(envelope, screen, Ink::Yellow, "~", &format!("{why}: {title}"));
    }

    fn resolved(&mut self, envelope: &Envelope, data: &Resolved, screen: &mut Screen<'_>) {
        let title = self.questions.remove(&data.confirmation_id);
        self.unattended.remove(&data.confirmation_id);
        let title =
            title.unwrap_or_else(|| format!("question {}", ids::shortest(data.confirmation_id.as_str())));
        let (ink, sign) = if data.decided.is_consent() { (Ink::Green, "✓") } else { (Ink::Yellow, "✗") };
        if let Some(mode) = &data.decided.mode {
            self.mode = mode.known();
        }
        let me = self.me.as_deref();
        let when = data.decided.when_elsewhere(me).map(|when| format!(" · {when}")).unwrap_or_default();
        let text = format!("{} · {title}{when}", data.decided.describe(me));
        // What holds everywhere is told by its whole path.
        let is_everywhere = data.decided.outcome.known() == Some(Outcome::AllowUser);
        let text = if is_everywhere { text } else { relative(&text, &self.roots) };
        self.line(envelope, screen, ink, sign, &text);
    }
}

#[derive(Deserialize)]
struct Requested {
    confirmation: Asked,
}

#[derive(Deserialize)]
struct Revised {
    confirmation: Asked,
    #[serde(default)]
    why: Open<RevisedBecause>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resolved {
    confirmation_id: ConfirmationId,
    #[serde(flatten)]
    decided: Decided,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Waiting {
    waiting: bool,
}

/// A file that a call changed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::cli) struct Changed {
    pub(in crate::cli) call_id: String,
    path: String,
    change: Open<FileChange>,
    from: Option<String>,
}

impl Changed {
    pub(in crate::cli) fn path(&self) -> &str {
        &self.path
    }

    /// `modified /w/a.rs`
    pub(in crate::cli) fn describe(&self) -> String {
        let Changed { path, from, .. } = self;
        match (self.change.known(), from) {
            (Some(FileChange::Created), _) => format!("created {path}"),
            (Some(FileChange::Modified), _) => format!("modified {path}"),
            (Some(FileChange::Deleted), _) => format!("deleted {path}"),
            (Some(FileChange::Moved), Some(from)) => format!("moved {from} to {path}"),
            (Some(FileChange::Moved), None) => format!("moved to {path}"),
            (None, _) => format!("{} {path}", self.change.as_str()),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Restored {
    path: String,
    forced: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Remembered {
    path: String,
    fact: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClientCall {
    name: String,
    client_id: String,
    again: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PolicyChanged {
    added: Vec<Rule>,
    removed: Vec<String>,
    files: Vec<String>,
}

impl PolicyChanged {
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
struct Trusted {
    workspace: String,
    trusted: bool,
}
