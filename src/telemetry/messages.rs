//! How is what is sent written? As the protocol's messages, in protobuf or in their JSON.

use config::OtlpProtocol;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span},
};
use prost::Message;
use traces::{AttributeValue, CONVENTIONS, OtlpEvent, OtlpSpan};

const SERVICE: &str = "subagentd";

/// The sender: attributes of the resource, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryResource {
    attributes: Vec<(String, String)>,
}

impl TelemetryResource {
    /// The daemon, by its version and the number of this start; what `more` names goes before that.
    pub fn new(version: &str, instance: &str, more: &[(String, String)]) -> TelemetryResource {
        let own =
            [("service.name", SERVICE), ("service.version", version), ("service.instance.id", instance)];
        let is_told = |name: &str| more.iter().any(|(known, _)| known == name);
        let own = own.into_iter().filter(|(name, _)| !is_told(name));
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        TelemetryResource { attributes: own.chain(more.iter().cloned()).collect() }
    }

    pub(crate) fn message(&self) -> Resource {
        let attributes = self.attributes.iter().map(|(name, value)| text(name, value));
        Resource { attributes: attributes.collect(), ..Resource::default() }
    }
}

pub(crate) fn scope(version: &str) -> InstrumentationScope {
    InstrumentationScope {
        name: SERVICE.to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    }
}

pub(crate) fn schema_url() -> String {
    format!("https://opentelemetry.io/schemas/{CONVENTIONS}")
}

/// A request with these spans.
pub(crate) fn of_spans(
    resource: &TelemetryResource,
    version: &str,
    spans: Vec<Span>,
) -> ExportTraceServiceRequest {
    let of_scope = ScopeSpans { scope: Some(scope(version)), spans, schema_url: schema_url() };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.message()),
            scope_spans: vec![of_scope],
            schema_url: schema_url(),
        }],
    }
}

/// The body of a request; that of gRPC is protobuf as well.
pub(crate) fn encoded<M: Message + serde::Serialize>(message: &M, protocol: OtlpProtocol) -> Vec<u8> {
    match protocol {
        OtlpProtocol::HttpProtobuf | OtlpProtocol::Grpc => message.encode_to_vec(),
        // Texts and numbers only, which always can be written.
        OtlpProtocol::HttpJson => serde_json::to_vec(message).unwrap_or_default(),
    }
}

/// `None`: its ids are no numbers, which none that a fold makes is.
pub(crate) fn span(span: OtlpSpan) -> Option<Span> {
    let parent = match &span.parent_span_id {
        Some(parent) => id::<8>(parent)?,
        None => Vec::new(),
    };
    Some(Span {
        trace_id: id::<16>(&span.trace_id)?,
        span_id: id::<8>(&span.span_id)?,
        parent_span_id: parent,
        name: span.name,
        kind: i32::from(span.kind),
        start_time_unix_nano: nanos(span.start_us),
        end_time_unix_nano: nanos(span.end_us),
        attributes: attributes(span.attributes),
        events: span.events.into_iter().map(event).collect(),
        dropped_events_count: u32::try_from(span.dropped_events).unwrap_or(u32::MAX),
        status: Some(Status {
            message: span.status_message.unwrap_or_default(),
            code: i32::from(span.status_code),
        }),
        ..Span::default()
    })
}

fn event(event: OtlpEvent) -> span::Event {
    span::Event {
        time_unix_nano: nanos(event.at_us),
        name: event.name,
        attributes: attributes(event.attributes),
        ..span::Event::default()
    }
}

pub(crate) fn attributes(attributes: Vec<(String, AttributeValue)>) -> Vec<KeyValue> {
    let message = |(key, value)| KeyValue { key, value: Some(value_of(value)), ..KeyValue::default() };
    attributes.into_iter().map(message).collect()
}

fn value_of(value: AttributeValue) -> AnyValue {
    let of_text = |text| AnyValue { value: Some(any_value::Value::StringValue(text)) };
    let value = match value {
        AttributeValue::Text(text) => return of_text(text),
        AttributeValue::Number(number) => any_value::Value::IntValue(number),
        AttributeValue::Seconds(seconds) => any_value::Value::DoubleValue(seconds),
        AttributeValue::Texts(texts) => {
            any_value::Value::ArrayValue(ArrayValue { values: texts.into_iter().map(of_text).collect() })
        }
    };
    AnyValue { value: Some(value) }
}

pub(crate) fn text(name: &str, value: &str) -> KeyValue {
    let value = any_value::Value::StringValue(value.to_owned());
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Nanoseconds since 1970; what was before is 1970.
pub(crate) fn nanos(us: i64) -> u64 {
    u64::try_from(us).unwrap_or(0).saturating_mul(1_000)
}

/// Bytes of an id that is written in hexadecimal digits.
fn id<const N: usize>(digits: &str) -> Option<Vec<u8>> {
    let number = u128::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2 * N)?;
    let bytes = number.to_be_bytes();
    bytes.get(bytes.len() - N..).map(<[u8]>::to_vec)
}
