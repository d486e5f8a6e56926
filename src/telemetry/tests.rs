//! Does what is sent arrive whole, and again only where nobody can know?

use std::{collections::BTreeSet, ffi::OsString, sync::Arc, time::Duration};

use config::{ConfigPlaces, ConfigSources, DaemonConfig};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    trace::v1::Span,
};
use protocol::{
    AgentName, ContextId, EventBody, EventHead, EventSeq, PrivateEventFields, RunId, RunTracing, SessionId,
    Timestamp, TraceContent, TraceFormat, Usage,
};
use redact::{Redactor, RedactorParts};
use serde_json::{Value, json};
use store::{EventStore, LogFilter, NewEvent};
use sys::{
    clock::{Clock, ManualClock, SystemClock},
    current::HotSwap,
    tasks::TaskGroup,
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use traces::{AttributeValue, SpanFold, TraceTimeline, TraceWriter};

use self::receiver::{Answer, Receiver};
use super::*;

mod called;
mod console;
mod delivery;
mod following;
mod local;
mod moments;
mod receiver;
mod where_to;

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

fn environment(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// What these settings and variables come to.
fn read(settings: &str, variables: &[(&str, &str)]) -> (OtlpTargets, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let user = dir.path().join("settings.json");
    std::fs::write(&user, settings).unwrap();
    let files = ConfigPlaces { system: dir.path().join("none.json"), user };
    let (config, problems) = DaemonConfig::load(&ConfigSources::files(files));
    assert_eq!(problems, []);
    targets(&config.tracing.otlp, &environment(variables))
}

fn target(receiver: &Receiver, protocol: &str) -> OtlpTarget {
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.to_owned()),
    ];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (targets, problems) = read("{}", &variables);
    assert_eq!(problems, [""; 0]);
    targets.traces.unwrap()
}
