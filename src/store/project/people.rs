//! What people were asked and what they said: questions, remembered rules, trust.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::SqlStatement;
use crate::event::EncodedEvent;
use protocol::{
    CallId, ConfirmationId, EventBody, EventSeq, PolicyChanged, PolicyRule, ProgramId, RevisionReason, RunId,
    SessionId, Timestamp, WorkspaceTrusted,
};

/// What a batch of events changes.
#[derive(Default)]
pub(super) struct ConsentChanges {
    asked: BTreeMap<ConfirmationId, ConfirmationChange>,
    /// In the order of the log: a rule may come and go in one batch.
    rules: Vec<RuleChange>,
    /// By remembered rules that let calls run.
    used: BTreeMap<String, Timestamp>,
    trust: Vec<(EventSeq, WorkspaceTrusted)>,
    /// The programs by their ids: what is noted last counts.
    programs: BTreeMap<ProgramId, (EventSeq, String)>,
    /// The extensions by their names, as they are installed; `None` = removed.
    extensions: BTreeMap<String, (EventSeq, Option<String>)>,
}

/// Changes of one question's row; what is `None` stays as it is.
#[derive(Default)]
struct ConfirmationChange {
    begun: Option<ConfirmationStart>,
    /// With the deadline that it says.
    subject: Option<(EventSeq, Option<i64>)>,
    resolved: Option<EventSeq>,
    /// `Some(None)` = an edit that hooks were asked about is settled.
    edited: Option<Option<EventSeq>>,
}

struct ConfirmationStart {
    seq: EventSeq,
    session: SessionId,
    run: RunId,
    call: Option<CallId>,
}

enum RuleChange {
    Add { id: String, seq: EventSeq, rule: String },
    Remove(String),
}

impl ConsentChanges {
    pub fn add(&mut self, seq: EventSeq, event: &EncodedEvent) {
        match &event.body {
            EventBody::ConfirmationRequested(data) => {
                let subject = &data.confirmation;
                let asked = self.asked.entry(subject.confirmation_id.clone()).or_default();
                asked.begun = Some(ConfirmationStart {
                    seq,
                    session: subject.session_id.clone(),
                    run: subject.run_id.clone(),
                    call: subject.tool_call_id.clone(),
                });
                asked.subject = Some((seq, subject.deadline_at.map(|at| at.0)));
            }
            EventBody::ConfirmationRevised(data) => {
                let subject = &data.confirmation;
                let asked = self.asked.entry(subject.confirmation_id.clone()).or_default();
                asked.subject = Some((seq, subject.deadline_at.map(|at| at.0)));
                if data.reason != RevisionReason::Deadline {
                    asked.edited = Some(None);
                }
            }
            EventBody::ConfirmationEdited(data) => {
                self.asked.entry(data.confirmation_id.clone()).or_default().edited = Some(Some(seq));
            }
            EventBody::ConfirmationResolved(data) => {
                let asked = self.asked.entry(data.confirmation_id.clone()).or_default();
                (asked.resolved, asked.edited) = (Some(seq), Some(None));
            }
            EventBody::PolicyChanged(PolicyChanged { added, removed, .. }) => {
                self.rules.extend(added.iter().map(|rule| RuleChange::Add {
                    id: rule.id.clone(),
                    seq,
                    rule: json!(rule).to_string(),
                }));
                self.rules.extend(removed.iter().cloned().map(RuleChange::Remove));
            }
            EventBody::ToolState(data) => {
                let rule = data.details.as_ref().and_then(|details| details.rule.as_ref());
                if let Some(rule) = rule.filter(|rule| rule.starts_with(PolicyRule::REMEMBERED)) {
                    self.used.insert(rule.clone(), event.at);
                }
            }
            EventBody::WorkspaceTrusted(data) => self.trust.push((seq, data.clone())),
            EventBody::ProgramNoted(data) => {
                self.programs.insert(data.id.clone(), (seq, json!(data).to_string()));
            }
            EventBody::ExtensionChanged(data) => {
                let installed = data.installed.as_ref().map(|it| json!(it).to_string());
                self.extensions.insert(data.extension.name.clone(), (seq, installed));
            }
            _ => (),
        }
    }

    pub fn statements(self) -> Vec<SqlStatement> {
        let ConsentChanges { asked, rules, used, trust, programs, extensions } = self;
        let mut statements = Vec::new();
        let mut push = |text: &'static str, rows: Vec<Value>| {
            if !rows.is_empty() {
                statements.push((text, json!(rows).to_string()));
            }
        };
        let begun = asked.iter().filter_map(|(id, asked)| {
            let ConfirmationStart { seq, session, run, call } = asked.begun.as_ref()?;
            Some(json!([id, session, run, call, seq.0]))
        });
        push(INSERT_CONFIRMATIONS, begun.collect());
        let changed = asked.iter().map(|(id, asked)| {
            let (subject, deadline) = asked.subject.unzip();
            let resolved = asked.resolved.map(|seq| seq.0);
            let edited = asked.edited.flatten().map(|seq| seq.0);
            json!([
                id,
                subject.map(|seq| seq.0),
                deadline.flatten(),
                resolved,
                asked.edited.is_some(),
                edited
            ])
        });
        push(UPDATE_CONFIRMATIONS, changed.collect());
        for change in rules {
            match change {
                RuleChange::Add { id, seq, rule } => push(INSERT_RULES, vec![json!([id, seq.0, rule])]),
                RuleChange::Remove(id) => push(DELETE_RULES, vec![json!(id)]),
            }
        }
        push(USE_RULES, used.iter().map(|(id, at)| json!([id, at.0])).collect());
        for (seq, WorkspaceTrusted { workspace, trusted, files, files_only }) in trust {
            if !trusted {
                push(FORGET_TRUST, vec![json!(workspace)]);
            }
            let whole = json!([workspace, "", "", trusted, seq.0]);
            let files = files.iter().map(|file| json!([workspace, file.path, file.digest, trusted, seq.0]));
            let whole = (!files_only).then_some(whole);
            push(INSERT_TRUST, whole.into_iter().chain(files).collect());
        }
        let (there, gone): (Vec<_>, Vec<_>) = extensions.iter().partition(|(_, (_, it))| it.is_some());
        push(DELETE_EXTENSIONS, gone.iter().map(|(name, _)| json!(name)).collect());
        push(INSERT_EXTENSIONS, there.iter().map(|(name, (seq, it))| json!([name, seq.0, it])).collect());
        push(NOTE_PROGRAMS, programs.iter().map(|(id, (seq, noted))| json!([id, seq.0, noted])).collect());
        statements
    }
}

const INSERT_CONFIRMATIONS: &str = "
insert into confirmations (confirmation_id, session_id, run_id, call_id, first_seq, subject_seq)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>4
from jsonb_each(?)
where true
on conflict do nothing";

const UPDATE_CONFIRMATIONS: &str = "
update confirmations set
    subject_seq = coalesce(patch.subject_seq, confirmations.subject_seq),
    deadline_us = iif(patch.subject_seq is null, confirmations.deadline_us, patch.deadline_us),
    resolved_seq = coalesce(confirmations.resolved_seq, patch.resolved_seq),
    edited_seq = iif(patch.is_of_edit, patch.edited_seq, confirmations.edited_seq)
from (
    select value->>0 as id, value->>1 as subject_seq, value->>2 as deadline_us, value->>3 as resolved_seq,
        value->>4 as is_of_edit, value->>5 as edited_seq
    from jsonb_each(?)
) as patch
where confirmations.confirmation_id = patch.id";

const INSERT_RULES: &str = "
insert into remembered_rules (rule_id, seq, rule)
select value->>0, value->>1, value->>2 from jsonb_each(?)
where true
on conflict (rule_id) do update set seq = excluded.seq, rule = excluded.rule";

const USE_RULES: &str = "
update remembered_rules set last_used_us = used.at
from (select value->>0 as id, value->>1 as at from jsonb_each(?)) as used
where remembered_rules.rule_id = used.id";

const DELETE_RULES: &str = "delete from remembered_rules where rule_id in (select value from json_each(?))";

const FORGET_TRUST: &str = "delete from trust where workspace in (select value from json_each(?))";

const INSERT_TRUST: &str = "
insert into trust (workspace, path, digest, trusted, seq)
select value->>0, value->>1, value->>2, value->>3, value->>4 from jsonb_each(?)
where true
on conflict (workspace, path, digest) do update set trusted = excluded.trusted, seq = excluded.seq";

const NOTE_PROGRAMS: &str = "
insert into noted_programs (program_id, seq, noted)
select value->>0, value->>1, value->>2 from jsonb_each(?)
where true
on conflict (program_id) do update set seq = excluded.seq, noted = excluded.noted";

const DELETE_EXTENSIONS: &str = "delete from extensions where name in (select value from json_each(?))";

const INSERT_EXTENSIONS: &str = "
insert into extensions (name, seq, installed)
select value->>0, value->>1, value->>2 from jsonb_each(?)
where true
on conflict (name) do update set seq = excluded.seq, installed = excluded.installed";
