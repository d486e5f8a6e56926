//! A context that is compressed is counted by the provider, where it counts; an estimate stands for what it does not tell.

use super::{metering::SNAPSHOT, *};

/// What there is to be counted, after a compression and before it.
type Counts = fn(Wire) -> Vec<Answer>;

/// What a run tells of the compression that comes before its only turn, when these answers meet its questions for counts.
async fn compressed(wire: Wire, counts: Vec<Answer>, is_silent: bool) -> Value {
    let long = "one after the other ".repeat(100);
    let n_asked = 3 + counts.len();
    let questions = [wire.text(&long), wire.text(SNAPSHOT), wire.text(SNAPSHOT)];
    let server = wire.server(questions.into_iter().chain(counts).chain([wire.text("Well.")])).await;
    let mut house = house(wire, &[server.base_url()]);
    // Whatever a prompt takes is enough.
    house.config.compression.threshold.value = 0.000_001;
    let mut scene = Scene::open_in(wire, house).await;
    let mut params = json!({ "model": format!("row-0/{}", wire.model()) });
    let (run, session) = scene.client.start(&scene.running, "talker", params.clone()).await;
    scene.client.ended(&run).await;
    params["sessionId"] = session.into();
    let (run, _) = scene.client.start(&scene.running, "talker", params).await;
    if is_silent {
        server.asked(n_asked).await;
        scene.clock.advance(Duration::from_secs(11));
    }
    assert_eq!(scene.client.ended(&run).await["reason"], "GOAL", "{}", wire.name());
    let log = scene.running.log().await;
    let told: Vec<&Value> = log.iter().filter(|event| event["type"] == "context.compressed").collect();
    let [told] = told[..] else { panic!("{}: {told:?}", wire.name()) };
    let told = told["data"].clone();
    scene.close().await;
    server.assert_content();
    told
}

/// Status and counts.
fn brief(told: &Value) -> Value {
    json!([told["status"], told["tokensBefore"], told["tokensAfter"], told["counted"]])
}

fn refused(wire: Wire) -> Answer {
    wire.refuses(404, "There is no such method.")
}

#[tokio::test]
async fn a_compression_tells_what_the_provider_counts() {
    let counted = |after: u64, before: u64| async move {
        let rows = Wire::ALL.map(async |wire| {
            let counts = [after, before].into_iter().filter_map(|tokens| wire.counts(tokens)).collect();
            (wire, compressed(wire, counts, false).await)
        });
        join_all(rows).await
    };
    for (wire, told) in counted(40, 400).await {
        match wire.counts(1) {
            Some(_) => assert_eq!(brief(&told), json!(["COMPRESSED", 400, 40, true]), "{}", wire.name()),
            None => assert_eq!(told["counted"], Value::Null, "{}: {told}", wire.name()),
        }
    }
    // What is longer by the provider's count is, whatever was estimated.
    for (wire, told) in counted(401, 400).await.into_iter().filter(|(wire, _)| wire.counts(1).is_some()) {
        let expected = json!(["COMPRESSION_FAILED_INFLATED_TOKEN_COUNT", 400, 401, true]);
        assert_eq!(brief(&told), expected, "{}", wire.name());
    }
}

#[tokio::test]
async fn what_is_not_counted_is_estimated() {
    let cases: [(Counts, bool); 5] = [
        (|wire| vec![refused(wire)], false),
        // One count alone tells nothing.
        (|wire| wire.counts(40).into_iter().chain([refused(wire)]).collect(), false),
        (|_| vec![Answer::json(json!({ "totalTokens": 0, "input_tokens": 0 }))], false),
        (|_| vec![Answer::json(json!({ "counted": " ".repeat(100_000) }))], false),
        (|wire| wire.counts(40).map(Answer::then_stall).into_iter().collect(), true),
    ];
    let rows = [Wire::Gemini, Wire::Anthropic].into_iter().flat_map(|wire| cases.map(|case| (wire, case)));
    join_all(rows.map(async |(wire, (counts, is_silent))| {
        let told = compressed(wire, counts(wire), is_silent).await;
        assert_eq!((&told["status"], &told["counted"]), (&json!("COMPRESSED"), &Value::Null), "{told}");
        assert!(told["tokensAfter"].as_u64() < told["tokensBefore"].as_u64(), "{told}");
        assert_ne!(told["tokensAfter"], 40, "{told}");
    }))
    .await;
}
