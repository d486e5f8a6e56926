//! How does a line of the log reach systemd's journal with its fields? By the journal's own protocol
//! (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>), when standard error is the journal's stream.

use std::{env, io, os::unix::net::UnixDatagram, path::Path};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

use super::{
    super::{log_lines::HIDDEN, log_ring::LogWriter},
    SaidFields,
};
use traces::AttributeValue;

/// The journal's door.
const SOCKET: &str = "/run/systemd/journal/socket";

/// The journal takes no longer names.
const NAME_BYTES: usize = 64;

/// Sends each line to the journal, with its fields and those of what it lies in. What the journal does not take stays a line of
/// standard error, which it reads as well.
pub(in super::super) struct JournalLayer {
    socket: UnixDatagram,
}

impl JournalLayer {
    /// `None`: standard error is no stream of the journal, or the journal cannot be reached.
    pub fn found() -> Option<JournalLayer> {
        let stream = env::var("JOURNAL_STREAM").ok()?;
        let (device, inode) = stream.split_once(':')?;
        let own = rustix::fs::fstat(rustix::stdio::stderr()).ok()?;
        let is_same = device.parse() == Ok(own.st_dev) && inode.parse() == Ok(own.st_ino);
        is_same.then(|| JournalLayer::to(Path::new(SOCKET)).ok())?
    }

    pub fn to(socket: &Path) -> io::Result<JournalLayer> {
        let own = UnixDatagram::unbound()?;
        own.connect(socket)?;
        // Nobody who logs waits for the journal.
        own.set_nonblocking(true)?;
        Ok(JournalLayer { socket: own })
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for JournalLayer {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut said = SaidFields::default();
        event.record(&mut said);
        let mut entry = JournalEntry::default();
        let mut message = String::new();
        let mut beside = String::new();
        let redactor = HIDDEN.get();
        let tell = |entry: &mut JournalEntry, name: &str, value: AttributeValue| {
            let text = redactor.text(&shown(value)).into_owned();
            entry.field(&format!("SUBAGENTD_{}", name.to_ascii_uppercase()), &text);
            text
        };
        let around = context.event_scope(event).into_iter().flat_map(|scope| scope.from_root());
        around.for_each(|span: SpanRef<'_, S>| {
            if let Some(fields) = span.extensions().get::<SaidFields>() {
                for (name, value) in fields.all() {
                    tell(&mut entry, name, value.clone());
                }
            }
        });
        for (name, value) in said.into_all() {
            match (name.as_str(), value) {
                ("message", value) => message = redactor.text(&shown(value)).into_owned(),
                (_, value) => {
                    let text = tell(&mut entry, &name, value);
                    beside.push_str(&format!(" {name}={text:?}"));
                }
            }
        }
        entry.field("MESSAGE", &format!("{message}{beside}"));
        entry.field("PRIORITY", priority(*event.metadata().level()));
        entry.field("SYSLOG_IDENTIFIER", "subagentd");
        entry.field("SUBAGENTD_TARGET", event.metadata().target());
        LogWriter::next_line_is_taken(self.socket.send(&entry.0).is_ok());
    }
}

/// Fields as the journal reads them.
#[derive(Default)]
struct JournalEntry(Vec<u8>);

impl JournalEntry {
    /// A name of capital letters, digits and `_`; a value of any bytes, of more than one line with its length in front.
    fn field(&mut self, name: &str, value: &str) {
        let is_fit = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        let name: String = name
            .bytes()
            .take(NAME_BYTES)
            .map(|byte| if is_fit(byte) { char::from(byte) } else { '_' })
            .collect();
        self.0.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            self.0.push(b'\n');
            self.0.extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend_from_slice(value.as_bytes());
        self.0.push(b'\n');
    }
}

fn shown(value: AttributeValue) -> String {
    match value {
        AttributeValue::Text(text) => text,
        AttributeValue::Number(number) => number.to_string(),
        AttributeValue::Seconds(seconds) => seconds.to_string(),
        AttributeValue::Texts(texts) => texts.join(", "),
    }
}

/// The number that syslog has for a level.
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "3",
        Level::WARN => "4",
        Level::INFO => "6",
        Level::DEBUG | Level::TRACE => "7",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::{super::LogExportLayer, *};

    /// The fields of an entry, read by the rules of the protocol.
    fn read(mut bytes: &[u8]) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| matches!(byte, b'=' | b'\n')).unwrap();
            let name = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let is_long = bytes[end] == b'\n';
            bytes = &bytes[end + 1..];
            let length = match is_long {
                true => {
                    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                    bytes = &bytes[8..];
                    usize::try_from(length).unwrap()
                }
                false => bytes.iter().position(|byte| *byte == b'\n').unwrap(),
            };
            fields.insert(name, String::from_utf8(bytes[..length].to_vec()).unwrap());
            assert_eq!(bytes[length], b'\n');
            bytes = &bytes[length + 1..];
        }
        fields
    }

    #[test]
    fn a_line_within_a_run_has_its_ids_as_fields_of_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let door = dir.path().join("journal");
        let journal = UnixDatagram::bind(&door).unwrap();
        journal.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let layer = JournalLayer::to(&door).unwrap();
        let subscriber = tracing_subscriber::registry().with(LogExportLayer::new()).with(layer);
        tracing::subscriber::with_default(subscriber, || {
            let _run = tracing::error_span!("run", session = "s-1", run = "r-1", agent = "lead").entered();
            tracing::warn!(tries = 3, reason = "two\nlines", "it failed");
        });
        assert!(LogWriter::is_taken() && !LogWriter::is_taken());
        let mut bytes = [0; 4_096];
        let length = journal.recv(&mut bytes).unwrap();
        let fields = read(&bytes[..length]);
        let expected = [
            ("MESSAGE", "it failed tries=\"3\" reason=\"two\\nlines\""),
            ("PRIORITY", "4"),
            ("SUBAGENTD_AGENT", "lead"),
            ("SUBAGENTD_REASON", "two\nlines"),
            ("SUBAGENTD_RUN", "r-1"),
            ("SUBAGENTD_SESSION", "s-1"),
            ("SUBAGENTD_TARGET", module_path!()),
            ("SUBAGENTD_TRIES", "3"),
            ("SYSLOG_IDENTIFIER", "subagentd"),
        ];
        assert_eq!(fields, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        // A journal that is gone takes nothing, and the line stays one of standard error.
        drop(journal);
        let layer = JournalLayer::to(&door);
        assert!(layer.is_err());
    }
}
