//! Where do this daemon's traces, metrics and logs go? Settings and variables become what `telemetry` sends by (spec 10, "OTLP").

use std::{ffi::OsString, path::Path, sync::Arc};

use tokio::sync::watch;

use config::{DaemonConfig, problem};
use protocol::{FileProblem, FileProblemCode};
use redact::{KnownSecrets, looks_secret};
use telemetry::{OtlpCounts, OtlpSignal, OtlpTargets, targets};

/// The targets in force, and counts of what was sent to them.
pub(super) struct OtlpExport {
    /// Swapped with the settings.
    pub targets: watch::Sender<Arc<OtlpTargets>>,
    pub counts: Arc<OtlpCounts>,
}

impl OtlpExport {
    pub fn new(targets: OtlpTargets) -> OtlpExport {
        OtlpExport { targets: watch::Sender::new(Arc::new(targets)), counts: Arc::default() }
    }

    /// Sends everything there from now on. The same again changes nothing.
    pub fn retarget(&self, targets: OtlpTargets) {
        self.targets.send_if_modified(|in_force| {
            let is_other = **in_force != targets;
            if is_other {
                *in_force = Arc::new(targets);
            }
            is_other
        });
    }
}

/// Finds where everything is sent, and what is wrong with what was said of it. Tokens among the headers are hidden from now on.
pub(super) fn found_targets(
    config: &DaemonConfig,
    environment: &[(OsString, OsString)],
    secrets: &KnownSecrets,
) -> (OtlpTargets, Vec<FileProblem>) {
    let (targets, problems) = targets(&config.tracing.otlp, environment);
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
    let told = |message| problem(Path::new("OpenTelemetry"), None, FileProblemCode::BadValue, message);
    (targets, problems.into_iter().map(told).collect())
}
