//! Many requests in one line.

use super::*;

#[tokio::test]
async fn a_batch_is_answered_as_one_and_runs_side_by_side() {
    let (mut client, bed) = client();
    let start =
        |id| format!(r#"{{"id":{id},"method":"run/start","params":{{"workspace":"/","agent":"a"}}}}"#);
    client
        .send(format!(
            r#"[{},{},{{"id":3,"method":"ping","params":{{"x":1}}}},{{"method":"ping"}},7,{{"id":4,"method":"no/such"}},{{"id":5,"result":1}}]"#,
            start(1),
            start(2)
        ))
        .await;
    // Both wait at the same time; one after the other would never come here.
    until(&bed.begun, |begun| *begun == 2).await;
    bed.gate.add_permits(2);
    let response = client.receive().await;
    let answers: Vec<_> =
        response.as_array().unwrap().iter().map(|one| (one["id"].clone(), kind(one))).collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[2].0, 3);
    assert_eq!(answers[3], (Value::Null, "INVALID_REQUEST".to_owned()));
    assert_eq!(answers[4], (json!(4), "METHOD_NOT_FOUND".to_owned()));
    assert_eq!(client.receive().await["params"]["result"]["data"]["field"], "/x");
    client.assert_alive().await;
}

#[tokio::test]
async fn odd_batches_are_answered_too() {
    let batch_of = |count: usize| {
        let items: Vec<_> = (0..count).map(|id| format!(r#"{{"id":{id},"method":"ping"}}"#)).collect();
        format!("[{}]", items.join(","))
    };
    let (mut client, _) = client();
    assert_eq!(client.ask(batch_of(MAX_BATCH)).await.as_array().unwrap().len(), MAX_BATCH);
    assert_eq!(kind(&client.ask(batch_of(MAX_BATCH + 1)).await), "LIMIT_EXCEEDED");
    assert_eq!(kind(&client.ask("[]").await), "INVALID_REQUEST");
    assert_eq!(kind(&client.ask("[1,").await), "PARSE_ERROR");
    assert_eq!(kind(&client.ask("[[]]").await[0]), "INVALID_REQUEST");
    // Fields in order are no request, though a reader of JSON could take them for one.
    assert_eq!(kind(&client.ask(r#"[["2.0",8,"ping"]]"#).await[0]), "INVALID_REQUEST");
    assert_eq!(
        client.ask(format!("  {}", batch_of(2))).await.as_array().unwrap().len(),
        2,
        "blanks are skipped"
    );
    client.send(r#"[{"method":"ping"},{"id":1,"result":1}]"#).await;
    client.assert_alive().await;
}

#[tokio::test]
async fn a_subscription_is_not_for_batches() {
    let (mut client, _) = client();
    let batch = r#"[{"id":1,"method":"session/attach","params":{"sessionId":"silent"}}]"#;
    assert_eq!(kind(&client.ask(batch).await[0]), "INVALID_REQUEST");
    client.assert_alive().await;
}
