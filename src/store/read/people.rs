//! What people were asked and what they said, as it stands.

use std::collections::HashMap;

use sqlx::{Row as _, SqlSafeStr as _, Sqlite, Transaction, sqlite::SqliteRow};

use super::ListPage;
use crate::{EventStore, StoreError};
use protocol::{
    Confirmation, ConfirmationEdited, ConfirmationId, ConfirmationRequested, ConfirmationResolved, EventSeq,
    InstalledExtension, PolicyRule, ProgramNoted, Resolution, RunId, SessionId, Timestamp, TrustedFile,
};

/// A question as the log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredConfirmation {
    pub confirmation: Confirmation,
    /// The folders of its session.
    pub roots: Vec<String>,
    /// The event that asked.
    pub first_seq: EventSeq,
    /// How it ended, and the event that says so.
    pub resolution: Option<(EventSeq, Resolution)>,
}

impl StoredConfirmation {
    /// A question that waits, as a snapshot has it: by whom it was asked when is no matter there.
    pub fn open(confirmation: Confirmation) -> StoredConfirmation {
        StoredConfirmation { confirmation, roots: Vec::new(), first_seq: EventSeq(0), resolution: None }
    }
}

/// Which questions.
#[derive(Debug, Clone, Default)]
pub struct ConfirmationFilter {
    pub session: Option<SessionId>,
    /// Of this run alone, not of those below it.
    pub run: Option<RunId>,
    /// Also those that are over.
    pub resolved: bool,
}

/// What people said about a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredTrust {
    pub workspace: String,
    pub trusted: bool,
    /// What was acknowledged of it; of one path there may be several digests.
    pub files: Vec<TrustedFile>,
}

/// Questions that a snapshot shows: more than a person answers before they look again.
pub(super) const SHOWN: u32 = 256;

/// The subject is the newest event that says it; `resolved` the event that ended it.
const COLUMNS: &str = "
select confirmations.first_seq, subject.seq as subject_seq, subject.body as subject,
    confirmations.resolved_seq, resolved.body as resolved, resolved.time_us as resolved_us, sessions.roots,
    confirmations.edited_seq, edited.body as edited
from confirmations
left join sessions on sessions.session_id = confirmations.session_id
join events as subject on subject.seq = confirmations.subject_seq
left join events as resolved on resolved.seq = confirmations.resolved_seq
left join events as edited on edited.seq = confirmations.edited_seq
where ";

/// ?1 its id.
pub(crate) fn one() -> String {
    format!("{COLUMNS} confirmations.confirmation_id = ?1")
}

/// ?1 a run, ?2 the most.
pub(crate) fn open_below() -> String {
    format!(
        "with recursive member(id) as (
             select ?1
             union
             select runs.run_id from member join runs on runs.parent_run_id = member.id
         )
         {COLUMNS} confirmations.resolved_seq is null and confirmations.run_id in (select id from member)
         order by confirmations.first_seq limit ?2"
    )
}

/// ?1 sessions, where only theirs are wanted; ?2 the most.
pub(crate) fn open(of_sessions: bool) -> String {
    let of_sessions = match of_sessions {
        true => " and confirmations.session_id in (select value from json_each(?1))",
        false => "",
    };
    format!(
        "{COLUMNS} confirmations.resolved_seq is null{of_sessions} order by confirmations.first_seq limit ?2"
    )
}

impl ConfirmationFilter {
    /// ?1 after which, ?2 the session, ?3 the run, ?4 the most.
    pub(crate) fn list_text(&self) -> String {
        let mut text = format!("{COLUMNS} confirmations.first_seq > ?1");
        if !self.resolved {
            text.push_str(" and confirmations.resolved_seq is null");
        }
        if self.session.is_some() {
            text.push_str(" and confirmations.session_id = ?2");
        }
        if self.run.is_some() {
            text.push_str(" and confirmations.run_id = ?3");
        }
        text.push_str(" order by confirmations.first_seq limit ?4");
        text
    }
}

impl EventStore {
    pub async fn confirmation(&self, id: &ConfirmationId) -> Result<Option<StoredConfirmation>, StoreError> {
        let row = sqlx::query(sqlx::AssertSqlSafe(one()).into_sql_str())
            .bind(id.as_str())
            .fetch_optional(&self.shared.control)
            .await?;
        row.as_ref().map(stored).transpose()
    }

    /// Oldest first. `cursor` as an earlier piece said; one that is none begins anew.
    pub async fn confirmations(
        &self,
        filter: &ConfirmationFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<StoredConfirmation>, StoreError> {
        let after: i64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let rows = sqlx::query(sqlx::AssertSqlSafe(filter.list_text()).into_sql_str())
            .bind(after)
            .bind(filter.session.as_ref().map(SessionId::as_str))
            .bind(filter.run.as_ref().map(RunId::as_str))
            .bind(i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX))
            .fetch_all(&self.shared.readers)
            .await?;
        let items = rows.iter().map(stored).collect::<Result<_, _>>()?;
        Ok(ListPage::cut(items, limit, |item: &StoredConfirmation| item.first_seq.to_string()))
    }

    /// Questions that wait of a run and the runs below it, oldest first.
    pub async fn open_confirmations_below(
        &self,
        run: &RunId,
        limit: u32,
    ) -> Result<Vec<StoredConfirmation>, StoreError> {
        let rows = sqlx::query(sqlx::AssertSqlSafe(open_below()).into_sql_str())
            .bind(run.as_str())
            .bind(limit)
            .fetch_all(&self.shared.readers)
            .await?;
        rows.iter().map(stored).collect()
    }

    /// How many questions wait.
    pub async fn open_confirmations(&self) -> Result<u64, StoreError> {
        let count =
            sqlx::query_scalar::<_, i64>("select count(*) from confirmations where resolved_seq is null");
        Ok(count.fetch_one(&self.shared.control).await?.unsigned_abs())
    }

    /// Oldest first.
    pub async fn remembered_rules(&self) -> Result<Vec<PolicyRule>, StoreError> {
        let rows = sqlx::query("select seq, rule from remembered_rules order by seq, rule_id")
            .fetch_all(&self.shared.readers)
            .await?;
        rows.iter().map(|row| read(EventSeq(row.get("seq")), row.get("rule"))).collect()
    }

    /// When remembered rules last let a call run, by their ids.
    pub async fn remembered_rules_used(&self) -> Result<HashMap<String, Timestamp>, StoreError> {
        let rows =
            sqlx::query("select rule_id, last_used_us from remembered_rules where last_used_us is not null")
                .fetch_all(&self.shared.readers)
                .await?;
        Ok(rows.iter().map(|row| (row.get("rule_id"), Timestamp(row.get("last_used_us")))).collect())
    }

    /// The programs of the settings that were ever run, with their files as they may be run, by id.
    pub async fn noted_programs(&self) -> Result<Vec<ProgramNoted>, StoreError> {
        let rows = sqlx::query("select seq, noted from noted_programs order by program_id")
            .fetch_all(&self.shared.readers)
            .await?;
        rows.iter().map(|row| read(EventSeq(row.get("seq")), row.get("noted"))).collect()
    }

    /// The extensions that are installed, by name.
    pub async fn extensions(&self) -> Result<Vec<InstalledExtension>, StoreError> {
        let rows = sqlx::query("select seq, installed from extensions order by name")
            .fetch_all(&self.shared.readers)
            .await?;
        rows.iter().map(|row| read(EventSeq(row.get("seq")), row.get("installed"))).collect()
    }

    /// Workspaces about whose trust somebody has spoken, by path.
    pub async fn trust(&self) -> Result<Vec<StoredTrust>, StoreError> {
        let rows =
            sqlx::query("select workspace, path, digest, trusted from trust order by workspace, path, seq")
                .fetch_all(&self.shared.readers)
                .await?;
        let mut all: Vec<StoredTrust> = Vec::new();
        for row in &rows {
            let workspace: &str = row.get("workspace");
            if all.last().is_none_or(|last| last.workspace != workspace) {
                all.push(StoredTrust { workspace: workspace.to_owned(), ..StoredTrust::default() });
            }
            let Some(last) = all.last_mut() else { continue };
            match row.get::<&str, _>("path") {
                "" => last.trusted = row.get("trusted"),
                path => last.files.push(TrustedFile { path: path.to_owned(), digest: row.get("digest") }),
            }
        }
        Ok(all)
    }
}

/// Questions that wait, of one session or of all, within a snapshot's transaction.
pub(super) async fn open_within(
    transaction: &mut Transaction<'_, Sqlite>,
    sessions: Option<&str>,
    limit: u32,
) -> Result<Vec<Confirmation>, StoreError> {
    let rows = sqlx::query(sqlx::AssertSqlSafe(open(sessions.is_some())).into_sql_str())
        .bind(sessions)
        .bind(limit)
        .fetch_all(&mut **transaction)
        .await?;
    rows.iter().map(|row| Ok(stored(row)?.confirmation)).collect()
}

fn stored(row: &SqliteRow) -> Result<StoredConfirmation, StoreError> {
    let first_seq = EventSeq(row.get("first_seq"));
    let roots = row.get::<Option<&str>, _>("roots").map(|roots| read(first_seq, roots)).transpose()?;
    // What asks and what revises have the subject in the same place.
    let subject: ConfirmationRequested = read(EventSeq(row.get("subject_seq")), row.get("subject"))?;
    let resolved: Option<(EventSeq, &str)> =
        row.get::<Option<i64>, _>("resolved_seq").map(EventSeq).zip(row.get("resolved"));
    let resolution = match resolved {
        Some((seq, body)) => {
            let at = Some(Timestamp(row.get("resolved_us")));
            Some((seq, Resolution { at, ..read::<ConfirmationResolved>(seq, body)?.resolution }))
        }
        None => None,
    };
    let edited: Option<(EventSeq, &str)> =
        row.get::<Option<i64>, _>("edited_seq").map(EventSeq).zip(row.get("edited"));
    let edited = edited.map(|(seq, body)| read::<ConfirmationEdited>(seq, body)).transpose()?;
    let edited_by = edited.map(|edit| edit.name.unwrap_or_else(|| "a person".to_owned()));
    Ok(StoredConfirmation {
        confirmation: Confirmation { edited_by, ..*subject.confirmation },
        roots: roots.unwrap_or_default(),
        first_seq,
        resolution,
    })
}

fn read<T: serde::de::DeserializeOwned>(seq: EventSeq, body: &str) -> Result<T, StoreError> {
    serde_json::from_str(body).map_err(|error| StoreError::Unreadable { seq, message: error.to_string() })
}
