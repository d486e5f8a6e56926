//! Subscriptions: in order, bounded, and ended with their connection.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_for_half_a_minute_is_cut_off() {
    let (mut client, bed) = client();
    client.request(1, "session/attach", json!({ "sessionId": "endless" })).await;
    // It stays connected, and never reads.
    client.ended().await;
    until(&bed.attached, |attached| *attached == 0).await;
}

/// Attaches and answers the subscription's id.
async fn attach<R, W>(client: &mut Client<R, W>, session: &str) -> Value
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    client.request("attach", "session/attach", json!({ "sessionId": session })).await;
    let response = client.receive().await;
    assert_eq!(response["id"], "attach", "the answer comes first");
    assert!(response["result"].is_string(), "{response}");
    response["result"].clone()
}

#[tokio::test]
async fn the_id_comes_before_the_first_notification_and_all_of_them_come_in_order() {
    let (mut client, bed) = client();
    bed.events.store(1_000, Ordering::Relaxed);
    let subscription = attach(&mut client, "s").await;
    for seq in 0..1_000 {
        let notification = client.receive().await;
        assert_eq!(notification["jsonrpc"], "2.0");
        assert_eq!(notification["method"], "event");
        assert_eq!(notification["params"]["subscription"], subscription);
        assert_eq!(notification["params"]["result"]["seq"], seq);
    }
    // The handler has returned, so the subscription is over.
    until(&bed.attached, |attached| *attached == 0).await;
    client.request(1, "session/detach", json!({ "subscription": subscription })).await;
    assert_eq!(client.receive().await["result"]["detached"], false);
}

#[tokio::test]
async fn a_handler_may_refuse() {
    let (mut client, _) = client();
    for (session, refusal) in [("missing", "NOT_FOUND"), ("forgetful", "INTERNAL_ERROR")] {
        client.request(1, "session/attach", json!({ "sessionId": session })).await;
        assert_eq!(kind(&client.receive().await), refusal);
    }
    client.request(1, "session/attach", json!({})).await;
    assert_eq!(kind(&client.receive().await), "INVALID_PARAMS");
    client.assert_alive().await;
}

#[tokio::test]
async fn unknown_fields_of_a_subscription_are_reported_after_its_id() {
    let (mut client, bed) = client();
    bed.events.store(0, Ordering::Relaxed);
    client.request(1, "session/attach", json!({ "sessionId": "silent", "form": 1 })).await;
    assert_eq!(client.receive().await["id"], 1);
    let report = client.receive().await;
    assert_eq!(report["params"]["result"]["data"]["didYouMean"], "from");
}

#[tokio::test]
async fn nothing_follows_a_detach() {
    let (mut client, bed) = client();
    let other = attach(&mut client, "silent").await;
    for _ in 0..3 {
        assert_eq!(client.receive().await["params"]["subscription"], other);
    }
    let endless = attach(&mut client, "endless").await;
    client.request("detach", "session/detach", json!({ "subscription": endless })).await;
    loop {
        let message = client.receive().await;
        if message["id"] == "detach" {
            assert_eq!(message["result"]["detached"], true);
            break;
        }
        assert_eq!(message["params"]["subscription"], endless);
    }
    until(&bed.attached, |attached| *attached == 1).await;
    client.assert_alive().await;
}

#[tokio::test]
async fn one_subscription_more_than_allowed_is_refused_until_one_ends() {
    let (mut client, bed) = client();
    bed.events.store(0, Ordering::Relaxed);
    let first = attach(&mut client, "silent").await;
    for _ in 1..MAX_SUBSCRIPTIONS {
        attach(&mut client, "silent").await;
    }
    client.request(1, "session/attach", json!({ "sessionId": "silent" })).await;
    assert_eq!(kind(&client.receive().await), "LIMIT_EXCEEDED");
    client.request(2, "session/detach", json!({ "subscription": first })).await;
    assert_eq!(client.receive().await["result"]["detached"], true);
    until(&bed.attached, |attached| *attached == MAX_SUBSCRIPTIONS - 1).await;
    attach(&mut client, "silent").await;
}

#[tokio::test]
async fn a_detach_does_not_reach_other_connections() {
    let bed = Bed::new();
    let (table, stop) = (table(&bed), CancellationToken::new());
    bed.events.store(0, Ordering::Relaxed);
    let mut owner = connect(&table, &stop);
    let mut other = connect(&table, &stop);
    let subscription = attach(&mut owner, "silent").await;
    for (client, detached) in [(&mut other, false), (&mut owner, true)] {
        client.request(1, "session/detach", json!({ "subscription": subscription })).await;
        assert_eq!(client.receive().await["result"]["detached"], detached);
    }
}

#[tokio::test]
async fn a_client_that_never_reads_costs_bounded_memory_and_no_other_client_waits() {
    let bed = Bed::new();
    let (table, stop) = (table(&bed), CancellationToken::new());
    let mut deaf = connect(&table, &stop);
    deaf.request(1, "session/attach", json!({ "sessionId": "endless" })).await;
    until(&bed.attached, |attached| *attached == 1).await;
    let mut other = connect(&table, &stop);
    // Each round lets the deaf client's connection run; it stops by itself when its room is used up.
    let mut sent = usize::MAX;
    while sent != *bed.sent.borrow() {
        sent = *bed.sent.borrow();
        for _ in 0..100 {
            other.assert_alive().await;
        }
    }
    // The pipe holds 64 KiB, the queue 256 messages, each event 300 bytes.
    assert!((256..1_000).contains(&sent), "{sent} events were taken");
    deaf.request(2, "ping", json!({})).await;
    drop(deaf);
    until(&bed.attached, |attached| *attached == 0).await;
}

#[tokio::test]
async fn a_connection_takes_its_subscriptions_and_reads_along() {
    let bed = Bed::new();
    let table = table(&bed);
    let mut client = connect(&table, &CancellationToken::new());
    bed.events.store(0, Ordering::Relaxed);
    attach(&mut client, "silent").await;
    assert_eq!((table.load.connections(), table.load.subscriptions()), (1, 1));
    client.stop_writing().await;
    client.ended().await;
    until(&bed.attached, |attached| *attached == 0).await;
    assert_eq!((table.load.connections(), table.load.subscriptions()), (0, 0));
}

#[tokio::test]
async fn dropping_the_connection_drops_all_it_owns() {
    let bed = Bed::new();
    let table = table(&bed);
    let mut client = connect(&table, &CancellationToken::new());
    attach(&mut client, "endless").await;
    client.connection.abort_all();
    until(&bed.attached, |attached| *attached == 0).await;
    assert!(client.connection.join_next().await.unwrap().unwrap_err().is_cancelled());
    assert_eq!(table.load.connections(), 0);
}
