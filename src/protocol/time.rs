//! Time on the wire and in the log.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Microseconds since the Unix epoch. On the wire RFC 3339, UTC, with milliseconds (spec 01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This time moved by `by`; saturates instead of wrapping.
    #[must_use]
    pub fn plus(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The time from `earlier` to this; zero when `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Times before 1970 cannot occur: every clock of ours starts at the epoch or later.
        let since_epoch = Duration::from_micros(u64::try_from(self.0).unwrap_or(0));
        humantime::format_rfc3339_millis(UNIX_EPOCH + since_epoch).fmt(f)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = humantime::TimestampError;

    fn from_str(text: &str) -> Result<Timestamp, humantime::TimestampError> {
        humantime::parse_rfc3339(text).map(Timestamp::from)
    }
}

/// What lies before 1970 is 1970.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|error| {
            D::Error::custom(format!("a moment is written like \"2026-11-21T21:15:51.464Z\": {error}"))
        })
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "RFC 3339, UTC, with milliseconds."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_is_rfc_3339_with_milliseconds() {
        let time = Timestamp(1_763_636_645_123_000);
        assert_eq!(serde_json::to_string(&time).unwrap(), r#""2025-11-20T11:04:05.123Z""#);
        assert_eq!(serde_json::from_str::<Timestamp>(r#""2025-11-20T11:04:05.123Z""#).unwrap(), time);
        assert!(serde_json::from_str::<Timestamp>(r#""yesterday""#).is_err());
    }
}
