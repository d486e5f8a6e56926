//! Several runs of one agent in a trace: can they be told apart wherever there are words for them?

use super::*;

/// Two readers of one reply at once.
fn two_readers() -> Cast {
    let reads = |path: &str| ("reader", json!({ "prompt": format!("read {path}") }));
    let reader = || vec![Reply::done("fine")];
    Cast::new([
        ("lead", vec![Reply::calls(&[reads("a"), reads("b")]), Reply::done("both are fine")]),
        ("lead/reader", [reader(), reader()].concat()),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_one_agent_have_numbers_where_there_are_several() {
    let running = house(&two_readers()).boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "lead", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let told = spans(&mut client, &run, 1).await;
    let numbers = |agent: &str| {
        let of = told.iter().filter(|span| span["kind"] == "run" && span["agent"] == agent);
        let mut numbers: Vec<_> =
            of.map(|span| (span["startUs"].as_i64(), span["runNumber"].as_u64())).collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
    };
    assert_eq!((numbers("lead"), numbers("reader")), (vec![None], vec![Some(1), Some(2)]));
    for of in [json!({ "runId": run }), json!({ "sessionId": session })] {
        let story = export(&mut client, of, "markdown").await;
        for words in [
            "## reader 1 is called\n",
            "### reader 2, turn 1\n",
            "**reader 1** asks",
            "**reader 2** ended `GOAL`",
            "## lead, turn 1\n",
        ] {
            assert!(story.contains(words), "{words}\n{story}");
        }
        assert!(!story.contains("**reader**"), "{story}");
    }
    // The trace of one of them calls it as the whole does.
    let second = told.iter().find(|span| span["kind"] == "run" && span["runNumber"] == 2).unwrap();
    let story = export(&mut client, json!({ "runId": second["runId"] }), "markdown").await;
    assert!(story.starts_with("## Trace of reader 2\n"), "{story}");
    drop(client);
    running.stop().await;
}

/// Nobody could tell whose end stands where.
#[tokio::test(flavor = "multi_thread")]
async fn the_story_of_a_session_tells_its_runs_of_one_agent_apart() {
    let script = Cast::new([("lead", vec![Reply::done("one"), Reply::done("two")])]);
    let running = house(&script).boot().await;
    let mut client = running.client();
    let (first, session) = client.start(&running, "lead", json!({})).await;
    client.ended(&first).await;
    let (second, _) = client.start(&running, "lead", json!({ "sessionId": session })).await;
    client.ended(&second).await;
    let story = export(&mut client, json!({ "sessionId": session }), "markdown").await;
    for words in [
        "# Trace of lead 1\n",
        "**lead 1** ended",
        "# Trace of lead 2\n",
        "**lead 2** ended",
        &first,
        &second,
    ] {
        assert!(story.contains(words), "{words}\n{story}");
    }
    // By itself it is the only one.
    let story = export(&mut client, json!({ "runId": second }), "markdown").await;
    assert!(story.starts_with("# Trace of lead\n"), "{story}");
    running.stop().await;
}
