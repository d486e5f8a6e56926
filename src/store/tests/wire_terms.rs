//! Are events that earlier versions wrote found under the names that the protocol has now? `wire_terms.jsonl` has such events,
//! and what they are afterwards.

use std::path::Path;

use serde_json::Value;
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

use protocol::EventSeq;
use sys::{clock::SystemClock, tasks::TaskGroup};

use super::{close, open};
use crate::{EventStore, StoreError};

const PAIRS: &str = include_str!("wire_terms.jsonl");

async fn database(dir: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(dir.join("subagentd.db")).connect().await.unwrap()
}

#[tokio::test]
async fn events_of_earlier_versions_get_the_names_of_today_and_nothing_else_changes() {
    let pairs: Vec<Value> = PAIRS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    close(store, tracker).await;
    let mut earlier = database(dir.path()).await;
    // As the version before left it.
    sqlx::query("delete from _sqlx_migrations where version = 12").execute(&mut earlier).await.unwrap();
    for (seq, pair) in (1_i64..).zip(&pairs) {
        sqlx::query("insert into events (seq, time_us, type, head, body) values (?, 0, ?, '{}', ?)")
            .bind(seq)
            .bind(pair["was"]["type"].as_str().unwrap())
            .bind(pair["was"]["body"].to_string())
            .execute(&mut earlier)
            .await
            .unwrap();
    }
    earlier.close().await.unwrap();
    let (store, tracker) = open(dir.path()).await;
    close(store, tracker).await;
    let mut today = database(dir.path()).await;
    let rows = sqlx::query("select type, body from events order by seq").fetch_all(&mut today).await.unwrap();
    today.close().await.unwrap();
    assert_eq!(rows.len(), pairs.len());
    for (row, pair) in rows.iter().zip(&pairs) {
        let (kind, body): (String, String) = (row.get(0), row.get(1));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((kind.as_str(), &body), (pair["is"]["type"].as_str().unwrap(), &pair["is"]["body"]));
    }
}

/// A damaged log names the place, and stays as it was however often it is opened: a file between two versions is one that neither reads, and
/// would be copied over the backup of the whole one.
#[tokio::test]
async fn an_event_that_is_no_json_is_named_and_nothing_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    close(store, tracker).await;
    let mut earlier = database(dir.path()).await;
    // As version 10 left it: the next one is taken, the one behind it fails.
    sqlx::raw_sql("drop table worked_folders; delete from _sqlx_migrations where version > 10")
        .execute(&mut earlier)
        .await
        .unwrap();
    let bodies = [r#"{"care":"x"}"#, "not json \"whole\""];
    for (seq, body) in (1_i64..).zip(bodies) {
        sqlx::query(
            "insert into events (seq, time_us, type, head, body) values (?, 0, 'tool.state', '{}', ?)",
        )
        .bind(seq)
        .bind(body)
        .execute(&mut earlier)
        .await
        .unwrap();
    }
    earlier.close().await.unwrap();
    let newest = |name: &'static str| {
        let file = dir.path().join(name);
        async move {
            let mut looked = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
            let newest: i64 = sqlx::query_scalar("select max(version) from _sqlx_migrations")
                .fetch_one(&mut looked)
                .await
                .unwrap();
            let kept: Vec<String> = sqlx::query_scalar("select body from events order by seq")
                .fetch_all(&mut looked)
                .await
                .unwrap();
            looked.close().await.unwrap();
            (newest, kept)
        }
    };
    for _ in 0..2 {
        let refused =
            EventStore::open(dir.path(), &TaskGroup::new(), SystemClock::new()).await.err().unwrap();
        let StoreError::Unreadable { seq, message } = &refused else { panic!("{refused}") };
        assert_eq!(*seq, EventSeq(2));
        assert!(message.contains("is no JSON") && message.contains("subagentd.db"), "{message}");
        for file in ["subagentd.db", "subagentd.db.before-migration"] {
            assert_eq!(newest(file).await, (10, bodies.map(str::to_owned).to_vec()), "{file}");
        }
    }
    let mut mended = database(dir.path()).await;
    sqlx::query("update events set body = '{}' where seq = 2").execute(&mut mended).await.unwrap();
    mended.close().await.unwrap();
    let (store, tracker) = open(dir.path()).await;
    close(store, tracker).await;
    assert!(10 < newest("subagentd.db").await.0);
}
