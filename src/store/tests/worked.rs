//! Are the folders of sessions known until a person has one forgotten?

use super::*;
use protocol::{FolderForgotten, SessionCreated, SessionDeleted};

fn created(session: &str, roots: &[&str]) -> NewEvent {
    let data = SessionCreated {
        roots: roots.iter().map(|root| (*root).to_owned()).collect(),
        title: None,
        agent: None,
        mode: Default::default(),
        mode_of_settings: false,
        ephemeral: false,
    };
    NewEvent { session: Some(session.into()), run: None, context: None, ..event("r", data) }
}

fn tombstone(session: &str) -> NewEvent {
    let data = SessionDeleted { events: 0, last_seq: None, pruned: None };
    NewEvent { session: Some(session.into()), run: None, context: None, ..event("r", data) }
}

async fn forget(store: &EventStore, folder: &str) -> FolderForgettingOutcome {
    let data = FolderForgotten { folder: folder.to_owned() };
    let event = NewEvent { session: None, run: None, context: None, ..event("r", data) };
    store.forget_worked_folder(folder, event).await.unwrap()
}

/// Folder, session, and how many sessions there are.
async fn listed(store: &EventStore) -> Vec<(String, String, u64)> {
    let all = store.newest_worked_folders(10).await.unwrap();
    let row = |it: protocol::WorkedFolder| {
        let last = it.last_session_id.map(|id| id.to_string()).unwrap_or_default();
        (it.folder, last, it.sessions)
    };
    let mut rows: Vec<_> = all.into_iter().map(row).collect();
    rows.sort();
    rows
}

fn row(folder: &str, session: &str, sessions: u64) -> (String, String, u64) {
    (folder.to_owned(), session.to_owned(), sessions)
}

#[tokio::test]
async fn a_folder_is_forgotten_for_good_once_no_session_works_there_and_known_again_with_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let worked = store.worked_folders().clone();
    store.append(vec![created("s", &["/a", "/b"]), created("t", &["/a"])]).await.unwrap();
    assert_eq!(listed(&store).await, [row("/a", "t", 2), row("/b", "s", 1)]);
    let head = store.head();
    let in_use = FolderForgettingOutcome::InUse { sessions: vec!["s".into()] };
    assert_eq!(forget(&store, "/b").await, in_use);
    assert_eq!(forget(&store, "/c").await, FolderForgettingOutcome::Unknown);
    assert_eq!(store.head(), head, "who is refused writes nothing");
    assert!(worked.is_one(Path::new("/b")));

    store.delete_session(&"s".into(), tombstone("s")).await.unwrap();
    assert_eq!(listed(&store).await, [row("/a", "t", 1), row("/b", "s", 0)]);
    let in_use = FolderForgettingOutcome::InUse { sessions: vec!["t".into()] };
    assert_eq!(forget(&store, "/a").await, in_use);
    assert_eq!(forget(&store, "/b").await, FolderForgettingOutcome::Gone { seq: EventSeq(head.0 + 2) });
    assert_eq!(worked.all(), [Path::new("/a")]);
    close(store, tracker).await;

    let (store, tracker) = open(dir.path()).await;
    assert_eq!(store.worked_folders().all(), [Path::new("/a")]);
    store.rebuild().await.unwrap();
    assert_eq!(listed(&store).await, [row("/a", "t", 1)]);
    // A session that is asked for together with the forgetting comes before it or after it, and counts either way.
    let session = created("u", &["/b"]);
    let (made, forgotten) = tokio::join!(store.append(vec![session]), forget(&store, "/b"));
    made.unwrap();
    assert_ne!(forgotten, FolderForgettingOutcome::Gone { seq: store.head() });
    assert!(store.worked_folders().is_one(Path::new("/b")));
    for batch in [1, 100] {
        store.rebuild_by(batch).await.unwrap();
        assert_eq!(listed(&store).await, [row("/a", "t", 1), row("/b", "u", 1)], "batches of {batch}");
    }
    close(store, tracker).await;
}
