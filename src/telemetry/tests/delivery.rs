//! What becomes of one request, however a collector answers?

use super::*;

async fn delivered(
    receiver: &Receiver,
    protocol: &str,
    timeout: Duration,
) -> Result<collector::DeliveryAnswer, DeliveryError> {
    let target = OtlpTarget { timeout, ..target(receiver, protocol) };
    let collector = OtlpCollector::new(target, OtlpSignal::Traces, SystemClock::new());
    let body = collector.packed(b"\n\0".to_vec());
    collector.deliver(body).await
}

fn told(outcome: &Result<collector::DeliveryAnswer, DeliveryError>) -> String {
    match outcome {
        Ok(accepted) if accepted.rejected == 0 => "taken".to_owned(),
        Ok(accepted) => format!("taken but {} {}", accepted.rejected, accepted.message),
        Err(DeliveryError::Later { problem, after: None }) => format!("later: {problem}"),
        Err(DeliveryError::Later { problem, after: Some(after) }) => format!("after {after:?}: {problem}"),
        Err(DeliveryError::Failed { problem }) => format!("failed: {problem}"),
        Err(DeliveryError::Refused { problem }) => format!("refused: {problem}"),
    }
}

#[tokio::test]
async fn each_answer_over_http_says_what_to_do_next() {
    let away = "Location: http://127.0.0.1:1/elsewhere\r\n";
    let script = [
        Answer::Take,
        Answer::Reject(3),
        Answer::Status(400, ""),
        Answer::Status(413, ""),
        Answer::Status(401, ""),
        Answer::Status(404, ""),
        Answer::Status(429, "Retry-After: 7\r\n"),
        Answer::Status(503, "Retry-After: 99999999\r\n"),
        Answer::Status(503, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"),
        Answer::Status(502, "Retry-After: soon\r\n"),
        Answer::Status(500, ""),
        Answer::Status(307, away),
    ];
    let receiver = Receiver::http(script.iter().cloned().chain([Answer::Vanish]).collect::<Vec<_>>()).await;
    let mut all = String::new();
    for _ in &script {
        all += &(told(&delivered(&receiver, "http/protobuf", STUCK).await) + "\n");
    }
    expect_test::expect![[r#"
        taken
        taken but 3 no
        refused: answered 400 Bad Request
        refused: answered 413 Payload Too Large
        later: answered 401 Unauthorized
        later: answered 404 Not Found
        after 7s: answered 429 Too Many Requests
        after 300s: answered 503 Service Unavailable
        after 0ns: answered 503 Service Unavailable
        later: answered 502 Bad Gateway
        failed: answered 500 Internal Server Error
        later: answered 307 Temporary Redirect
    "#]]
    .assert_eq(&all);
    let lost = told(&delivered(&receiver, "http/protobuf", STUCK).await);
    assert!(lost.starts_with("later: cannot be reached: "), "{lost}");
    let received = receiver.received();
    assert_eq!(received.len(), script.len() + 1, "a redirect was followed");
    assert_eq!(received[0].path, "/v1/traces");
    assert_eq!(received[0].header("content-type"), Some("application/x-protobuf"));
    assert!(received[0].header("user-agent").unwrap().starts_with("subagentd/"));
    // JSON says the same.
    let receiver = Receiver::http([Answer::Reject(3)]).await;
    assert_eq!(told(&delivered(&receiver, "http/json", STUCK).await), "taken but 3 no");
}

#[tokio::test]
async fn each_answer_of_grpc_says_what_to_do_next() {
    let script = [
        Answer::Take,
        Answer::Reject(3),
        Answer::Grpc(3, None),
        Answer::Grpc(16, None),
        Answer::Grpc(14, None),
        Answer::Grpc(8, Some(9)),
        Answer::Grpc(14, Some(1 << 40)),
        Answer::Grpc(13, None),
        Answer::Grpc(99, None),
    ];
    let receiver = Receiver::grpc(script.clone()).await;
    let mut all = String::new();
    for _ in &script {
        all += &(told(&delivered(&receiver, "grpc", STUCK).await) + "\n");
    }
    expect_test::expect![[r#"
        taken
        taken but 3 no
        refused: answered INVALID_ARGUMENT
        later: answered UNAUTHENTICATED
        later: answered UNAVAILABLE
        after 9s: answered RESOURCE_EXHAUSTED
        after 300s: answered UNAVAILABLE
        failed: answered INTERNAL
        later: answered the gRPC status 99
    "#]]
    .assert_eq(&all);
    // Which of the two ends the connection first nobody knows.
    let receiver = Receiver::grpc([Answer::Vanish]).await;
    let lost = told(&delivered(&receiver, "grpc", STUCK).await);
    assert!(lost.starts_with("later: broke off: "), "{lost}");
    let receiver = Receiver::grpc(script).await;
    delivered(&receiver, "grpc", STUCK).await.unwrap();
    let first = &receiver.received()[0];
    assert_eq!(first.path, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    assert_eq!(
        (first.header("te"), first.header("content-type")),
        (Some("trailers"), Some("application/grpc"))
    );
}

#[tokio::test]
async fn neither_silence_nor_a_body_without_end_is_waited_for() {
    for (protocol, is_grpc) in [("http/protobuf", false), ("grpc", true)] {
        let receiver = Receiver::on(0, is_grpc, [Answer::Silence].into()).await;
        let short = Duration::from_millis(50);
        let problem = told(&delivered(&receiver, protocol, short).await);
        assert_eq!(problem, "later: did not answer within 50 ms");
        timeout(STUCK, receiver.left_alone()).await.unwrap();
        let receiver = Receiver::on(0, is_grpc, [Answer::Endless].into()).await;
        let outcome = told(&timeout(STUCK, delivered(&receiver, protocol, STUCK)).await.expect("it read on"));
        let expected = if is_grpc { "later: broke off" } else { "taken" };
        assert!(outcome.starts_with(expected), "{outcome}");
        timeout(STUCK, receiver.left_alone()).await.unwrap();
    }
    // Nobody is there at all.
    for protocol in ["http/protobuf", "grpc"] {
        let receiver = Receiver::http([]).await;
        let target = target(&receiver, protocol);
        drop(receiver);
        let collector = OtlpCollector::new(target, OtlpSignal::Traces, SystemClock::new());
        let outcome = told(&collector.deliver(collector.packed(Vec::new())).await);
        assert!(outcome.starts_with("later: cannot be reached: "), "{outcome}");
        assert!(!outcome.contains("127.0.0.1"), "{outcome}");
    }
}

#[tokio::test]
async fn bodies_are_compressed_where_that_is_wanted() {
    for (protocol, is_grpc) in [("http/protobuf", false), ("grpc", true)] {
        let receiver = Receiver::on(0, is_grpc, [].into()).await;
        let target = OtlpTarget { is_compressed: true, ..target(&receiver, protocol) };
        let collector = OtlpCollector::new(target, OtlpSignal::Traces, SystemClock::new());
        let body = vec![7; 100_000];
        let packed = collector.packed(body.clone());
        assert!(packed.len() < 1_000);
        assert!(collector.deliver(packed).await.is_ok());
        assert_eq!(receiver.received()[0].body, body);
    }
}
