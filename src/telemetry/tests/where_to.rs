//! What do settings and variables come to?

use super::*;

fn told(settings: &str, variables: &[(&str, &str)]) -> String {
    let (targets, problems) = read(settings, variables);
    let mut told = String::new();
    for signal in OtlpSignal::ALL {
        let Some(target) = targets.of(signal) else { continue };
        let headers: Vec<String> = target
            .headers
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        let OtlpTarget { url, protocol, timeout, is_compressed, .. } = target;
        let gzip = if *is_compressed { " gzip" } else { "" };
        told += &format!(
            "{} {url} {protocol:?} {} ms{gzip} [{}]\n",
            signal.as_str(),
            timeout.as_millis(),
            headers.join(" ")
        );
    }
    if !targets.resource.is_empty() {
        told += &format!("resource {:?}\n", targets.resource);
    }
    problems.iter().for_each(|problem| told += &format!("! {problem}\n"));
    told
}

#[test]
fn variables_say_where_to_as_opentelemetry_has_it() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/otlp/");
    let check = |variables: &[(&str, &str)], expected: expect_test::Expect| {
        expected.assert_eq(&told("{}", variables));
    };
    check(&[], expect_test::expect![[""]]);
    check(
        &[base],
        expect_test::expect![[r#"
            traces http://127.0.0.1:4318/otlp/v1/traces HttpProtobuf 10000 ms []
            metrics http://127.0.0.1:4318/otlp/v1/metrics HttpProtobuf 10000 ms []
            logs http://127.0.0.1:4318/otlp/v1/logs HttpProtobuf 10000 ms []
        "#]],
    );
    check(
        &[
            base,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0k, x-tenant = a%2Cb%zz"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=dev"),
            ("OTEL_SERVICE_NAME", "agents"),
        ],
        expect_test::expect![[r#"
            traces https://traces.example/in HttpJson 2500 ms gzip [authorization=Bearer t0k x-tenant=a,b%zz]
            logs http://127.0.0.1:4318/otlp/v1/logs Grpc 2500 ms gzip [authorization=Bearer t0k x-tenant=a,b%zz]
            resource [("deployment.environment", "dev"), ("service.name", "agents")]
        "#]],
    );
    check(&[base, ("OTEL_SDK_DISABLED", "TRUE")], expect_test::expect![[""]]);
    check(
        &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/x")],
        expect_test::expect![[r#"
            traces http://127.0.0.1:1/x HttpProtobuf 10000 ms []
        "#]],
    );
}

#[test]
fn what_is_mistaken_is_sent_nowhere_and_told_without_its_value() {
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let mut all = String::new();
    for variables in [
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://127.0.0.1")],
        vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:s3cret@127.0.0.1")],
        vec![base, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http")],
        vec![base, ("OTEL_EXPORTER_OTLP_TIMEOUT", "0")],
        vec![base, ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip")],
        vec![base, ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret")],
        vec![base, ("OTEL_EXPORTER_OTLP_HEADERS", "a b=s3cret")],
        vec![base, ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%0a")],
        vec![base, ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%ff")],
    ] {
        all += &told("{}", &variables);
    }
    all += &told(r#"{"tracing":{"otlp":{"endpoint":"http://127.0.0.1:1","headers":{"a":"${NONE}"}}}}"#, &[]);
    assert!(!all.contains("s3cret"), "{all}");
    expect_test::expect![[r#"
        ! OTEL_EXPORTER_OTLP_ENDPOINT: is no address: relative URL without a base
        ! OTEL_EXPORTER_OTLP_ENDPOINT: does not begin with http:// or https://
        ! OTEL_EXPORTER_OTLP_ENDPOINT: has a user or a password in it; a collector gets a token by a header (`tracing.otlp.headers`)
        ! OTEL_EXPORTER_OTLP_PROTOCOL: expected grpc, http/protobuf or http/json, found `http`
        ! OTEL_EXPORTER_OTLP_TIMEOUT: expected a number of milliseconds above 0
        ! OTEL_EXPORTER_OTLP_COMPRESSION: expected gzip or none, found `zip`
        ! OTEL_EXPORTER_OTLP_HEADERS: expected `key=value`, separated by commas
        ! OTEL_EXPORTER_OTLP_HEADERS: a name is no name of a header
        ! OTEL_EXPORTER_OTLP_HEADERS: the value of a cannot stand in a header
        ! OTEL_EXPORTER_OTLP_HEADERS: the value of a is not UTF-8 text
        ! `tracing.otlp.headers.a`: the variable NONE is not set in the daemon's environment, and the entry gives no other value (`${NONE:-…}`)
    "#]].assert_eq(&all);
}

#[test]
fn settings_name_a_collector_of_their_own_and_no_variable_counts_for_it() {
    let settings = r#"{"tracing": {"otlp": {
        "endpoint": "http://127.0.0.1:9/", "protocol": "grpc", "timeoutMs": 70, "compression": "gzip",
        "signals": ["traces", "logs"], "maxBacklog": 3, "headers": {"x-key": "${KEY}"}
    }}}"#;
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=theirs"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "nonsense"),
        ("KEY", "k"),
    ];
    expect_test::expect![[r#"
        traces http://127.0.0.1:9/v1/traces Grpc 70 ms gzip [x-key=k]
        logs http://127.0.0.1:9/v1/logs Grpc 70 ms gzip [x-key=k]
    "#]]
    .assert_eq(&told(settings, &variables));
    assert_eq!(read(settings, &variables).0.max_backlog, 3);
    // Where settings say only how, variables say where.
    let how = r#"{"tracing": {"otlp": {"protocol": "http/json", "headers": {"X-Key": "a"}, "signals": ["traces"]}}}"#;
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=b,y=c"),
    ];
    expect_test::expect![[r#"
        traces http://127.0.0.1:4318/v1/traces HttpJson 10000 ms [y=c x-key=a]
    "#]]
    .assert_eq(&told(how, &variables));
    // Nobody sees the headers who sees the rest.
    assert!(!format!("{:?}", read(settings, &variables).0).contains("x-key"));
}

#[test]
fn what_pages_tell_people_to_set_works_or_says_what_to_do() {
    let endpoint = |address| told("{}", &[("OTEL_EXPORTER_OTLP_ENDPOINT", address)]);
    assert_eq!(endpoint("http://127.0.0.1:4318/v1/traces/"), endpoint("http://127.0.0.1:4318"));
    assert_eq!(endpoint("http://c/otlp/v1/logs"), endpoint("http://c/otlp"));
    assert!(endpoint("localhost:4317").contains("put http:// or https:// in front"));
    for name in ["content-length", "Host", "Transfer-Encoding", "content-type"] {
        let headers = format!(r#"{{"endpoint":"http://127.0.0.1:1","headers":{{"{name}":"5"}}}}"#);
        let told = told(&format!(r#"{{"tracing":{{"otlp":{headers}}}}}"#), &[]);
        assert!(told.starts_with("! ") && told.contains("is up to each request"), "{name}: {told}");
    }
}
