//! Is it known which outputs are kept, for as long as their session is?

use super::*;
use crate::KeptOutput;
use protocol::{CallId, CallState, FullOutput, SessionDeleted, ToolResult};

fn ended(run: &str, call: &str, whole: Option<FullOutput>) -> NewEvent {
    let mut event = projections::call(run, call, Some(CallState::Executing), CallState::Success);
    let EventBody::ToolState(state) = &mut event.body else { unreachable!("that is what it is") };
    state.result = Some(ToolResult { full_output: whole.map(Box::new), ..ToolResult::text("head and tail") });
    event
}

#[tokio::test]
async fn kept_outputs_are_known_by_their_calls_until_their_session_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let whole = FullOutput { path: "/a/s/output/k1.txt".to_owned(), bytes: 7, total_bytes: 9 };
    let mut events = whole_run("r");
    events.extend([ended("r", "k1", Some(whole)), ended("r", "k2", None)]);
    store.append(events).await.unwrap();
    let kept = KeptOutput { session: "s".into(), call: "k1".into(), bytes: 7, total_bytes: 9 };
    let of = |call: &str| {
        let (store, call) = (store.clone(), CallId::from(call));
        async move { store.kept_output(&call).await.unwrap() }
    };
    assert_eq!((of("k1").await, of("k2").await, of("k3").await), (Some(kept.clone()), None, None));
    let live = projections::everything(&store).await;
    assert!(live.contains("k1") && !live.contains("k2"), "{live}");
    store.rebuild().await.unwrap();
    assert_eq!(projections::everything(&store).await, live);
    assert_eq!(of("k1").await, Some(kept));

    let tombstone = NewEvent {
        run: None,
        context: None,
        ..event("r", SessionDeleted { events: 0, last_seq: None, pruned: None })
    };
    assert!(matches!(
        store.delete_session(&"s".into(), tombstone).await.unwrap(),
        SessionDeletionOutcome::Gone { .. }
    ));
    assert_eq!(of("k1").await, None);
    close(store, tracker).await;
}
