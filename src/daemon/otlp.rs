//! Where do this daemon's traces, metrics and logs go? Settings and variables become what `telemetry` sends and writes by (spec 10,
//! "OTLP", "Agent's field `tracing`").

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use tokio::sync::watch;

use super::run_defaults::{sends_spans, tracing};
use config::{DaemonConfig, SetAt, TracingSettings, problem};
use protocol::{FileProblem, FileProblemCode, TraceBackend};
use redact::{KnownSecrets, looks_secret};
use sys::mark::TextPosition;
use telemetry::{LocalTracing, OtlpCounts, OtlpSignal, OtlpTargets, targets};

/// The targets in force, and counts of what was sent to them.
pub(super) struct SpanExport {
    /// Swapped with the settings.
    pub targets: watch::Sender<Arc<OtlpTargets>>,
    pub counts: Arc<OtlpCounts>,
    /// Destinations on this machine, and what may be told there; swapped with the settings.
    pub local: watch::Sender<LocalTracing>,
    pub most_file_bytes: watch::Sender<u64>,
}

/// The settings about spans that stay on this machine.
#[derive(Debug, Clone, PartialEq)]
struct LocalSpanSettings {
    in_force: LocalTracing,
    most_file_bytes: u64,
}

impl LocalSpanSettings {
    fn of(config: &DaemonConfig) -> LocalSpanSettings {
        let TracingSettings { backend, file_most_bytes, .. } = &config.tracing;
        let is_sent = sends_spans(config);
        let is_local =
            |it: &TraceBackend| is_sent && matches!(it, TraceBackend::File | TraceBackend::Console);
        LocalSpanSettings {
            in_force: LocalTracing {
                backends: backend.value.iter().copied().filter(is_local).collect(),
                tracing: tracing(config),
            },
            most_file_bytes: file_most_bytes.value,
        }
    }
}

impl SpanExport {
    /// Finds where spans go, and what is wrong with what was said of it.
    pub fn found(
        config: &DaemonConfig,
        environment: &[(OsString, OsString)],
        secrets: &KnownSecrets,
    ) -> (SpanExport, Vec<FileProblem>) {
        let (targets, problems) = found_targets(config, environment, secrets);
        let local = LocalSpanSettings::of(config);
        let export = SpanExport {
            targets: watch::Sender::new(Arc::new(targets)),
            counts: Arc::default(),
            local: watch::Sender::new(local.in_force),
            most_file_bytes: watch::Sender::new(local.most_file_bytes),
        };
        (export, problems)
    }

    /// Sends and writes everything there from now on. The same again changes nothing.
    pub fn retarget(&self, targets: OtlpTargets, config: &DaemonConfig) {
        let local = LocalSpanSettings::of(config);
        self.most_file_bytes.send_replace(local.most_file_bytes);
        self.local.send_if_modified(|in_force| {
            let is_other = *in_force != local.in_force;
            if is_other {
                *in_force = local.in_force;
            }
            is_other
        });
        self.targets.send_if_modified(|in_force| {
            let is_other = **in_force != targets;
            if is_other {
                *in_force = Arc::new(targets);
            }
            is_other
        });
    }
}

/// Sentences about what a collector does not take now, one for each signal.
pub(super) fn refused(counts: &OtlpCounts) -> Vec<String> {
    let told = OtlpSignal::ALL.into_iter().filter_map(|signal| {
        let refusal = counts.refusal(signal)?;
        let signal_name = signal.as_str();
        let waiting = match signal {
            OtlpSignal::Traces => format!("; {} events of the log wait", counts.backlog()),
            OtlpSignal::Metrics | OtlpSignal::Logs => String::new(),
        };
        let since = refusal.since.to_string();
        let since = since.split('.').next().unwrap_or_default().replace('T', " ");
        Some(format!("{signal_name} do not reach the collector since {since}Z: {}{waiting}", refusal.problem))
    });
    told.collect()
}

/// Finds where everything is sent, and what is wrong with what was said of it. Tokens among the headers are hidden from now on.
pub(super) fn found_targets(
    config: &DaemonConfig,
    environment: &[(OsString, OsString)],
    secrets: &KnownSecrets,
) -> (OtlpTargets, Vec<FileProblem>) {
    let (mut targets, problems) = targets(&config.tracing.otlp, environment);
    if config.unheld.iter().any(|setting| setting.is_of_tracing) {
        // What was not sent yet waits; runs that begin meanwhile send nothing, see `RunTracing`.
        targets = OtlpTargets { traces: None, metrics: None, logs: None, is_mistaken: true, ..targets };
    }
    targets.tracing = tracing(config);
    let of_signals = OtlpSignal::ALL.into_iter().filter_map(|signal| targets.of(signal));
    for (name, value) in of_signals.flat_map(|target| &target.headers) {
        let Ok(value) = value.to_str() else { continue };
        let name = name.as_str().replace('-', "_").to_uppercase();
        if name.contains("AUTH") || looks_secret(&name, value) {
            let name = format!("OTLP_{name}");
            secrets.heard(&name, value);
            // The token behind `Bearer` or `Basic` alone tells as much.
            if let Some((_, token)) = value.split_once(' ') {
                secrets.heard(&name, token);
            }
        }
    }
    let told = |message: String| {
        let (path, mark) = place(config, &message);
        problem(&path, mark, FileProblemCode::BadValue, message)
    };
    (targets, problems.into_iter().map(told).collect())
}

/// The place of what a problem names at its beginning: `` `tracing.otlp.headers.x`: …``, `tracing.otlp.endpoint: …` or `OTEL_…: …`.
fn place(config: &DaemonConfig, message: &str) -> (PathBuf, Option<TextPosition>) {
    let setting = message.split(':').next().unwrap_or_default().trim_matches('`');
    if !setting.starts_with("tracing.") {
        return (SetAt::Variable(setting.to_owned()).told().into(), None);
    }
    // Of an entry whoever set the section may have set it.
    let is_around =
        |key: &str| setting == key || setting.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let set_at = config.set_at.iter().filter(|(key, _)| is_around(key)).max_by_key(|(key, _)| key.len());
    match set_at.map(|(_, set_at)| set_at) {
        Some(SetAt::File { path, mark }) => (path.clone(), Some(*mark)),
        Some(elsewhere) => (elsewhere.told().into(), None),
        None => (PathBuf::from("settings"), None),
    }
}
