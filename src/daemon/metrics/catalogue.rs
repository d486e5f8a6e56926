//! Every metric, with what it means. The manual has the same table; a test compares them.

use telemetry::MetricKind;

use super::text::MetricDescription;

const fn gauge(name: &'static str, help: &'static str) -> MetricDescription {
    MetricDescription { name, kind: MetricKind::Gauge, help }
}

const fn counter(name: &'static str, help: &'static str) -> MetricDescription {
    MetricDescription { name, kind: MetricKind::Counter, help }
}

const fn histogram(name: &'static str, help: &'static str) -> MetricDescription {
    MetricDescription { name, kind: MetricKind::Histogram, help }
}

/// All metrics, in the order in which they are written. Counters begin anew with each daemon.
pub(crate) const METRICS: &[MetricDescription] = &[
    gauge("subagentd_info", "The daemon that answers; always 1."),
    gauge("subagentd_start_time_seconds", "When the daemon started, in seconds since 1970."),
    gauge("subagentd_runs", "Runs that have not ended, by state."),
    counter("subagentd_runs_ended_total", "Runs that ended, by reason."),
    gauge(
        "subagentd_slots_in_use",
        "Runs at work, of which there may be as many as maxConcurrentRuns.daemon says.",
    ),
    gauge("subagentd_slot_queue_length", "Runs that wait for a slot."),
    counter("subagentd_model_requests_total", "Requests to models, by model and by how they ended."),
    histogram(
        "subagentd_model_request_duration_seconds",
        "Time from a request to the end of the model's reply.",
    ),
    histogram(
        "subagentd_model_first_token_seconds",
        "Time from a request to the first that came of the model's reply.",
    ),
    counter(
        "subagentd_tokens_total",
        "Tokens, by model and kind. input includes cached and cache_write; output does not include thought.",
    ),
    counter("subagentd_cost_usd_total", "Cost of the tokens whose price is known, in US dollars."),
    counter("subagentd_tool_calls_total", "Tool calls that ended, by tool and by how they ended."),
    histogram(
        "subagentd_tool_call_duration_seconds",
        "Time that tool calls ran, without the time until they were allowed.",
    ),
    gauge("subagentd_confirmations_open", "Questions that wait for a person."),
    counter("subagentd_confirmations_total", "Questions that were resolved, by outcome and by who decided."),
    histogram("subagentd_confirmation_answer_seconds", "Time that people took to answer."),
    gauge("subagentd_clients", "Connections that are open."),
    gauge("subagentd_subscriptions", "Subscriptions that are open."),
    gauge(
        "subagentd_subscription_lag_events",
        "Events that a client's slowest subscription has not been sent.",
    ),
    gauge("subagentd_log_head", "Number of the newest event."),
    gauge("subagentd_database_bytes", "Size of the database."),
    gauge("subagentd_storage_full", "1 while the disk is full."),
    histogram("subagentd_commit_duration_seconds", "Time that transactions of the database took."),
    counter(
        "subagentd_otlp_sent_total",
        "Spans, points of metrics and log lines that a collector took, by signal.",
    ),
    counter(
        "subagentd_otlp_dropped_total",
        "Spans, points and lines that no collector will get: refused, or too old, by signal.",
    ),
    counter("subagentd_otlp_failures_total", "Requests to collectors that failed, by signal."),
    gauge("subagentd_otlp_backlog_events", "Events whose spans wait for the collector of traces."),
    gauge("process_resident_memory_bytes", "Resident memory of the daemon."),
];
