//! Do metrics and lines of the log arrive, and does nobody wait for them?

use super::*;

/// Sends to one receiver, by a clock of the test's own.
struct Sending {
    clock: Arc<ManualClock>,
    counts: Arc<OtlpCounts>,
    targets: watch::Sender<Arc<OtlpTargets>>,
    stop: CancellationToken,
    tasks: TaskGroup,
}

impl Sending {
    fn begin(targets: OtlpTargets, work: impl FnOnce(ExporterParts) -> BoxedWork) -> Sending {
        let sending = Sending {
            clock: ManualClock::starting_at(Timestamp(1_700_000_000_000_000)),
            counts: Arc::default(),
            targets: watch::Sender::new(Arc::new(targets)),
            stop: CancellationToken::new(),
            tasks: TaskGroup::new(),
        };
        let parts = ExporterParts {
            clock: Arc::clone(&sending.clock) as Arc<dyn Clock>,
            redactor: Arc::new(HotSwap::new(Redactor::none())),
            targets: sending.targets.subscribe(),
            counts: Arc::clone(&sending.counts),
            version: "1.2.3",
            instance: "it".to_owned(),
            started_at: Timestamp(1_600_000_000_000_000),
            stop: sending.stop.clone(),
        };
        sending.tasks.spawn("a sender", work(parts));
        sending
    }

    async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                self.clock.advance(Duration::from_secs(2));
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
    }

    async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(STUCK, self.tasks.wait()).await.expect("the sender did not end");
    }
}

type BoxedWork = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn patient(target: OtlpTarget) -> Option<OtlpTarget> {
    Some(OtlpTarget { timeout: Duration::from_secs(1 << 30), ..target })
}

fn figures(calls: f64) -> Vec<MetricFamily> {
    let series = |labels: &[(&'static str, &str)], value| MetricSeries {
        labels: labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        value,
    };
    let took =
        sys::histogram::DurationCounts { up_to: vec![(500, 1), (2_000_000, 2)], count: 5, sum_us: 7_500_000 };
    vec![
        MetricFamily {
            name: "calls_total",
            help: "Calls.",
            kind: MetricKind::Counter,
            series: vec![series(&[("tool", "x")], MetricValue::Number(calls))],
        },
        MetricFamily {
            name: "took_seconds",
            help: "Time.",
            kind: MetricKind::Histogram,
            series: vec![series(&[], MetricValue::Durations(took))],
        },
        MetricFamily {
            name: "memory_bytes",
            help: "Memory.",
            kind: MetricKind::Gauge,
            series: vec![series(&[], MetricValue::Number(9.0))],
        },
        MetricFamily { name: "none", help: "None.", kind: MetricKind::Gauge, series: Vec::new() },
    ]
}

#[tokio::test]
async fn metrics_come_again_and_again_and_once_more_at_the_end() {
    let receiver = Receiver::grpc([Answer::Grpc(14, None)]).await;
    let targets = OtlpTargets {
        metrics: patient(target(&receiver, "grpc")),
        metric_interval: Duration::from_secs(60),
        ..OtlpTargets::default()
    };
    let read: MetricReader = Arc::new(|| Box::pin(async { Some(figures(3.0)) }));
    let sending = Sending::begin(targets, |parts| {
        Box::pin(async move { MetricExporter::new(parts, read).run().await })
    });
    let counts = Arc::clone(&sending.counts);
    sending.until("a second time", || counts.of(OtlpSignal::Metrics).sent == 3).await;
    assert_eq!(counts.of(OtlpSignal::Metrics), SignalCounts { sent: 3, dropped: 0, failures: 1 });
    let received = receiver.received();
    assert_eq!(received[1].path, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export");
    expect_test::expect![[r#"
        calls_total [1] Calls. Sum(Sum { data_points: [NumberDataPoint { attributes: [KeyValue { key: "tool", value: Some(AnyValue { value: Some(StringValue("x")) }), key_strindex: 0 }], start_time_unix_nano: 1600000000000000000, time_unix_nano: now, exemplars: [], flags: 0, value: Some(AsDouble(3.0)) }], aggregation_temporality: Cumulative, is_monotonic: true })
        took_seconds [s] Time. Histogram(Histogram { data_points: [HistogramDataPoint { attributes: [], start_time_unix_nano: 1600000000000000000, time_unix_nano: now, count: 5, sum: Some(7.5), bucket_counts: [1, 1, 3], explicit_bounds: [0.0005, 2.0], exemplars: [], flags: 0, min: None, max: None }], aggregation_temporality: Cumulative })
        memory_bytes [By] Memory. Gauge(Gauge { data_points: [NumberDataPoint { attributes: [], start_time_unix_nano: 0, time_unix_nano: now, exemplars: [], flags: 0, value: Some(AsDouble(9.0)) }] })
    "#]].assert_eq(&told(&received[1].metrics()));
    let before = receiver.received().len();
    sending.stop().await;
    assert_eq!(receiver.received().len(), before + 1);
}

fn told(request: &ExportMetricsServiceRequest) -> String {
    let mut told = String::new();
    for it in &request.resource_metrics[0].scope_metrics[0].metrics {
        told += &format!("{} [{}] {} {:?}\n", it.name, it.unit, it.description, it.data.as_ref().unwrap());
    }
    // Whenever that was.
    let now = told.split("time_unix_nano: ").nth(2).unwrap().split(',').next().unwrap().to_owned();
    told.replace(&now, "now")
}

fn line(message: &str) -> LogEntry {
    LogEntry {
        at_us: 1_700_000_000_000_000,
        level: LogSeverity::Warn,
        message: message.to_owned(),
        attributes: vec![("run".to_owned(), AttributeValue::Text("r".to_owned()))],
    }
}

#[tokio::test]
async fn lines_come_in_their_order_and_nothing_is_kept_that_nobody_wants() {
    let queue: &'static LogQueue = Box::leak(Box::default());
    queue.push(line("before"));
    let receiver = Receiver::http([Answer::Status(503, "")]).await;
    let targets = OtlpTargets { logs: patient(target(&receiver, "http/protobuf")), ..OtlpTargets::default() };
    let sending =
        Sending::begin(targets, |parts| Box::pin(async move { LogExporter::new(parts, queue).run().await }));
    let counts = Arc::clone(&sending.counts);
    sending.until("the beginning", || queue.is_wanted()).await;
    queue.push(line("one"));
    queue.push(line(&"é".repeat(5_000)));
    sending.until("two lines", || counts.of(OtlpSignal::Logs).sent == 2).await;
    let request = receiver.received().pop().unwrap().logs();
    let lines = &request.resource_logs[0].scope_logs[0].log_records;
    assert_eq!((lines.len(), lines[0].severity_number, lines[0].severity_text.as_str()), (2, 13, "WARN"));
    assert!(
        format!("{:?}", lines[0].body).contains("one")
            && format!("{:?}", lines[0].attributes).contains("run")
    );
    assert!(format!("{:?}", lines[1].body).contains("… [10000 bytes in all]"));
    // More than there is room for, at once.
    (0..5_000).for_each(|number| queue.push(line(&number.to_string())));
    sending.until("all of them", || counts.of(OtlpSignal::Logs).sent == 2 + 4_096).await;
    assert_eq!(counts.of(OtlpSignal::Logs).dropped, 5_000 - 4_096);
    // What was said last goes out with a stop, though time stands still.
    queue.push(line("last"));
    sending.stop().await;
    let last = receiver.received().pop().unwrap().logs();
    assert!(format!("{last:?}").contains("last"), "{last:?}");
    assert!(!queue.is_wanted());
}
