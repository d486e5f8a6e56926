//! How does a line of the daemon's log reach a collector, with its fields and those of what it lies in, and without its secrets?

use std::{
    fmt::{self, Write as _},
    sync::LazyLock,
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

mod journal;

pub(super) use journal::JournalLayer;

use super::log_lines::HIDDEN;
use sys::clock::{Clock, SystemClock};
use telemetry::{LogEntry, LogQueue, LogSeverity};
use traces::AttributeValue;

/// The lines of this process that wait to be sent; its log is one, as `tracing` has it.
pub(super) static LINES: LazyLock<LogQueue> = LazyLock::new(LogQueue::new);

/// Crates that speak of sending itself: sent on, each of their lines would make the next one.
const OURSELVES: &[&str] =
    &["subagentd_telemetry", "h2", "hyper", "hyper_util", "reqwest", "rustls", "tokio_rustls"];

/// Notes lines for a collector, while there is one.
pub(super) struct LogExportLayer {
    clock: std::sync::Arc<SystemClock>,
}

impl LogExportLayer {
    pub fn new() -> LogExportLayer {
        LogExportLayer { clock: SystemClock::new() }
    }
}

/// Names and values, as they were said.
#[derive(Default)]
pub(super) struct SaidFields(Vec<(String, AttributeValue)>);

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for LogExportLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        // Noted always: a collector may come while the span lasts.
        if let Some(span) = context.span(id) {
            let mut fields = SaidFields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<SaidFields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let part = metadata.target().split("::").next().unwrap_or_default();
        if !LINES.is_wanted() || OURSELVES.contains(&part) {
            return;
        }
        let mut said = SaidFields::default();
        event.record(&mut said);
        let mut attributes =
            vec![("code.namespace".to_owned(), AttributeValue::Text(metadata.target().to_owned()))];
        let around = context.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        around.for_each(|span: SpanRef<'_, S>| {
            if let Some(fields) = span.extensions().get::<SaidFields>() {
                attributes.extend(fields.0.iter().cloned());
            }
        });
        let mut message = String::new();
        for (name, value) in said.0 {
            match (name.as_str(), value) {
                ("message", AttributeValue::Text(text)) => message = text,
                (_, value) => attributes.push((name, value)),
            }
        }
        let redactor = HIDDEN.get();
        let texts = attributes.iter_mut().flat_map(|(_, value)| value.texts_mut());
        for text in texts.chain([&mut message]) {
            if let std::borrow::Cow::Owned(hidden) = redactor.text(text) {
                *text = hidden;
            }
        }
        LINES.push(LogEntry {
            at_us: self.clock.now().0,
            level: severity(*metadata.level()),
            message,
            attributes,
        });
    }
}

fn severity(level: Level) -> LogSeverity {
    match level {
        Level::ERROR => LogSeverity::Error,
        Level::WARN => LogSeverity::Warn,
        Level::INFO => LogSeverity::Info,
        Level::DEBUG => LogSeverity::Debug,
        Level::TRACE => LogSeverity::Trace,
    }
}

impl SaidFields {
    pub fn all(&self) -> &[(String, AttributeValue)] {
        &self.0
    }

    pub fn into_all(self) -> Vec<(String, AttributeValue)> {
        self.0
    }

    fn say(&mut self, field: &Field, value: AttributeValue) {
        self.0.retain(|(name, _)| name != field.name());
        self.0.push((field.name().to_owned(), value));
    }
}

impl Visit for SaidFields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.say(field, AttributeValue::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.say(field, AttributeValue::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.say(field, AttributeValue::Seconds(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.say(field, AttributeValue::Text(value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        let _infallible = write!(text, "{value:?}");
        self.say(field, AttributeValue::Text(text));
    }
}
