//! Is it known which calls clients are to answer, and which of these are open?

use serde_json::json;

use super::*;
use crate::ClientCallRecord;
use protocol::{CallId, CallState, ClientId, OnDisconnect, SessionDeleted, ToolClientCall};

fn told(call: &str, client: &str, again: bool) -> NewEvent {
    let data = ToolClientCall {
        call_id: call.into(),
        client_id: client.into(),
        name: "diagnostics".into(),
        arguments: json!({ "n": call }),
        on_disconnect: OnDisconnect::Wait,
        timeout_ms: 1,
        redelivered: again,
    };
    event("r", data)
}

#[tokio::test]
async fn calls_of_clients_are_known_as_open_until_they_end_however_often_they_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let ended = |call: &str, to| projections::call("r", call, Some(CallState::Executing), to);
    store.append(vec![session(), event("r", started())]).await.unwrap();
    store.append(vec![told("k1", "a", false), told("k2", "b", false), told("k3", "a", false)]).await.unwrap();
    // In one batch with its own beginning, and of a tool that no client lends.
    store
        .append(vec![told("k4", "a", false), ended("k4", CallState::Error), ended("k9", CallState::Success)])
        .await
        .unwrap();
    store.append(vec![told("k1", "a", true)]).await.unwrap();
    store.append(vec![ended("k2", CallState::Cancelled)]).await.unwrap();

    let open = async |client: &str| {
        let open = store.open_client_calls(&ClientId::from(client)).await.unwrap();
        open.iter().map(|it| format!("{} {} {}", it.call_id, it.run_id, it.arguments)).collect::<Vec<_>>()
    };
    // In the order in which they were told last.
    assert_eq!(open("a").await, [r#"k3 r {"n":"k3"}"#, r#"k1 r {"n":"k1"}"#]);
    assert_eq!(open("b").await, [""; 0]);
    let known = async |call: &str| store.client_call(&CallId::from(call)).await.unwrap();
    let of = |client: &str, state: Option<&str>| {
        let (session, run) = ("s".into(), "r".into());
        Some(ClientCallRecord { session, run, client: client.into(), state: state.map(str::to_owned) })
    };
    assert_eq!(known("k1").await, of("a", None));
    assert_eq!(known("k2").await, of("b", Some("cancelled")));
    assert_eq!(known("k4").await, of("a", Some("error")));
    assert_eq!(known("k9").await, None);

    let live = projections::everything(&store).await;
    for batch in [1, 3, 100] {
        store.rebuild_by(batch).await.unwrap();
        assert_eq!(projections::everything(&store).await, live, "{batch}");
    }
    store.append(vec![ended("k1", CallState::Success), ended("k3", CallState::Success)]).await.unwrap();
    assert_eq!(open("a").await, [""; 0]);
    store.append(vec![event("r", completed())]).await.unwrap();
    let tombstone = NewEvent {
        run: None,
        context: None,
        ..event("r", SessionDeleted { events: 0, last_seq: None, pruned: None })
    };
    assert!(matches!(
        store.delete_session(&"s".into(), tombstone).await.unwrap(),
        SessionDeletionOutcome::Gone { .. }
    ));
    assert_eq!(known("k1").await, None);
    close(store, tracker).await;
}
