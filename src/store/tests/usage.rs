//! Does the table of what models used say what the events say, of whatever is asked for?

use super::{projections::child, *};
use protocol::{SessionDeleted, SideCallCompleted, SideCallPurpose, UsdAmount, UsedByAgentAndModel};

const MINUTE: i64 = 60_000_000;

fn tokens(prompt: u64, output: u64) -> Usage {
    Usage { prompt_tokens: prompt, output_tokens: output, ..Usage::default() }
}

/// A reply of `model` in the middle of a minute.
fn reply(run: &str, model: &str, minute: i64, usage: Usage, cost: Option<u64>) -> NewEvent {
    let data = ModelCompleted {
        stream: "x".to_owned(),
        model: model.to_owned(),
        text: "t".to_owned(),
        cut: false,
        finish_reason: None,
        usage,
        estimated: cost.is_none(),
        usage_unknown: false,
        cost: cost.map(UsdAmount::from_nanos),
        first_token_ms: None,
        calls: Vec::new(),
        error: None,
    };
    NewEvent { at: Timestamp(minute * MINUTE + MINUTE / 2), ..event(run, data) }
}

fn side_call_completed(run: &str, model: &str, usage: Usage, text: &str) -> NewEvent {
    let data = SideCallCompleted {
        call_id: None,
        purpose: SideCallPurpose::LoopCheck,
        model: model.to_owned(),
        usage,
        estimated: false,
        usage_unknown: false,
        abandoned: false,
        cost: Some(UsdAmount::from_nanos(1)),
        text: text.to_owned(),
        confidence: None,
        error: None,
        asked_at: None,
        duration_ms: None,
        firing_id: None,
        hook_id: None,
    };
    event(run, data)
}

fn in_other_session(event: NewEvent) -> NewEvent {
    let context = event.context.map(|_| ContextId::from("context of t"));
    NewEvent { session: Some(SessionId::from("t")), context, ..event }
}

/// One line a row: agent, model, calls, of these estimated, prompt and output tokens, cost, unpriced tokens.
fn shown(rows: &[UsedByAgentAndModel]) -> String {
    let line = |row: &UsedByAgentAndModel| {
        let amount = row.amount;
        let (usage, cost) = (amount.usage, amount.cost.map(UsdAmount::nanos));
        let (prompt, output) = (usage.prompt_tokens, usage.output_tokens);
        let (calls, estimated) = (amount.calls, amount.estimated_calls);
        format!(
            "{} {} {calls}/{estimated} {prompt}+{output} {cost:?} {}",
            row.agent, row.model, amount.unpriced_tokens
        )
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn usage_is_told_of_a_tree_of_a_session_and_since_a_minute() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let context_id = ContextId::from("context of t");
    let other = RunStarted { agent: AgentName::from("b"), context_id, ..started() };
    let log = vec![
        session(),
        event("r", started()),
        child("k", "r"),
        child("l", "k"),
        event("q", started()),
        in_other_session(session()),
        in_other_session(event("o", other)),
        reply("r", "m", 1, tokens(10, 1), Some(5)),
        // In the same minute, and without a price.
        reply("r", "m", 1, tokens(20, 2), None),
        reply("r", "m", 2, tokens(30, 3), Some(7)),
        reply("k", "m", 2, tokens(40, 4), Some(9)),
        reply("l", "n", 3, tokens(50, 5), None),
        reply("q", "n", 3, tokens(60, 6), Some(0)),
        in_other_session(reply("o", "n", 3, tokens(70, 7), Some(11))),
        side_call_completed("r", "small", tokens(5, 5), ""),
        // A server that counts nothing, and a question that came to no call.
        side_call_completed("r", "small", Usage::default(), "said"),
        side_call_completed("r", "small", Usage::default(), ""),
    ];
    for event in log {
        store.append(vec![event]).await.unwrap();
    }
    let of = async |of: UsageOf| shown(&store.usage(&of).await.unwrap());
    let tree = "a m 4/1 100+10 Some(21) 22\na n 1/1 50+5 None 55\na small 2/0 5+5 Some(2) 0";
    assert_eq!(of(UsageOf::Run("r".into())).await, tree);
    assert_eq!(of(UsageOf::Run("k".into())).await, "a m 1/0 40+4 Some(9) 0\na n 1/1 50+5 None 55");
    assert_eq!(of(UsageOf::Run("nobody".into())).await, "");
    let session = "a m 4/1 100+10 Some(21) 22\na n 2/1 110+11 Some(0) 55\na small 2/0 5+5 Some(2) 0";
    assert_eq!(of(UsageOf::Session("s".into())).await, session);
    assert_eq!(of(UsageOf::Session("t".into())).await, "b n 1/0 70+7 Some(11) 0");
    // The minute in which the moment lies counts wholly.
    let end = Timestamp(3 * MINUTE - 1);
    assert_eq!(UsageOf::first_moment(end), Timestamp(2 * MINUTE));
    let late = "a m 2/0 70+7 Some(16) 0\na n 2/1 110+11 Some(0) 55\nb n 1/0 70+7 Some(11) 0";
    assert_eq!(of(UsageOf::Since(end)).await, late);
    assert_eq!(of(UsageOf::Since(Timestamp(4 * MINUTE))).await, "");

    // The sums of a run are made of the same.
    for (run, sum) in [("r", 65), ("k", 40), ("l", 50), ("o", 70)] {
        assert_eq!(store.run(&run.into()).await.unwrap().unwrap().usage.prompt_tokens, sum, "{run}");
    }
    let live = projections::everything(&store).await;
    for batch in [1, 2, 5, 100] {
        store.rebuild_by(batch).await.unwrap();
        assert!(projections::everything(&store).await == live, "batches of {batch} make other tables");
    }

    store.append(vec![in_other_session(event("o", completed()))]).await.unwrap();
    let tombstone = NewEvent {
        run: None,
        context: None,
        ..in_other_session(event("r", SessionDeleted { events: 0, last_seq: None, pruned: None }))
    };
    store.delete_session(&"t".into(), tombstone).await.unwrap();
    let left = "a m 2/0 70+7 Some(16) 0\na n 2/1 110+11 Some(0) 55";
    assert_eq!(of(UsageOf::Since(end)).await, left);
    let live = projections::everything(&store).await;
    store.rebuild().await.unwrap();
    assert_eq!(projections::everything(&store).await, live);
    close(store, tracker).await;
}
