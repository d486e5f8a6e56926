//! Where is what sent, and how? What the settings say; where they name no collector, what OpenTelemetry's variables say that all
//! programs read ("OpenTelemetry Protocol Exporter", "SDK environment variables").

use std::{ffi::OsString, fmt, time::Duration};

use config::{OtlpExportSettings, OtlpProtocol, expand};
use http::{HeaderName, HeaderValue};
use protocol::RunTracing;
use url::Url;

use crate::OtlpSignal;

/// Time for one request where nobody says (of the specification).
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A request that takes longer is none: `OTEL_EXPORTER_OTLP_TIMEOUT` beyond this is this.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Between two times that metrics are sent, where nobody says (of the specification).
const USUAL_INTERVAL: Duration = Duration::from_secs(60);

/// More often than that they are looked at more than they change.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Headers that say how a request is written.
const OF_REQUESTS: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A collector for one signal.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpTarget {
    /// The address with the path for the signal; of gRPC the path does not count.
    pub url: Url,
    pub protocol: OtlpProtocol,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Time for one request, to the end of its answer.
    pub timeout: Duration,
    /// Bodies are sent as gzip.
    pub is_compressed: bool,
}

/// Headers are secrets.
impl fmt::Debug for OtlpTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OtlpTarget").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

/// The target of each signal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OtlpTargets {
    pub traces: Option<OtlpTarget>,
    pub metrics: Option<OtlpTarget>,
    pub logs: Option<OtlpTarget>,
    /// Something was mistaken: what is not sent now was meant to be, and waits until that is mended.
    pub is_mistaken: bool,
    /// Attributes of the resource beside the daemon's own.
    pub resource: Vec<(String, String)>,
    /// Events of the log that may wait for the collector of traces.
    pub max_backlog: u64,
    /// Between two times that metrics are sent.
    pub metric_interval: Duration,
    /// Of spans that wait no more is sent than this says, whatever was said when their runs began.
    pub tracing: RunTracing,
}

impl OtlpTargets {
    pub fn of(&self, signal: OtlpSignal) -> Option<&OtlpTarget> {
        match signal {
            OtlpSignal::Traces => self.traces.as_ref(),
            OtlpSignal::Metrics => self.metrics.as_ref(),
            OtlpSignal::Logs => self.logs.as_ref(),
        }
    }
}

/// Reads where everything is sent, and what was wrong with what was said of it; what is wrong is not sent anywhere.
pub fn targets(
    settings: &OtlpExportSettings,
    environment: &[(OsString, OsString)],
) -> (OtlpTargets, Vec<String>) {
    let mut problems = Vec::new();
    let variables = OtlpVariables { environment };
    let interval = variables.get("OTEL_METRIC_EXPORT_INTERVAL").map(str::parse::<u64>);
    let mut targets = OtlpTargets {
        max_backlog: settings.max_backlog.value,
        metric_interval: match &interval {
            Some(Ok(ms)) => Duration::from_millis(*ms).max(SHORTEST_INTERVAL),
            None | Some(Err(_)) => USUAL_INTERVAL,
        },
        ..OtlpTargets::default()
    };
    let wanted = |signal: OtlpSignal| settings.signals.value.iter().any(|word| word == signal.as_str());
    let mut found = |signal: OtlpSignal| {
        let target = match &settings.endpoint.value {
            Some(endpoint) => of_settings(settings, endpoint, signal, environment).map(Some),
            None => of_variables(settings, &variables, signal, environment),
        };
        target.unwrap_or_else(|problem| {
            // Each signal would say the same of what is common to all.
            if !problems.contains(&problem) {
                problems.push(problem);
            }
            None
        })
    };
    let [traces, metrics, logs] =
        OtlpSignal::ALL.map(|signal| if wanted(signal) { found(signal) } else { None });
    (targets.traces, targets.metrics, targets.logs) = (traces, metrics, logs);
    targets.is_mistaken = !problems.is_empty();
    // Said to nobody who sends nothing: these variables are for all programs.
    let sends = OtlpSignal::ALL.into_iter().any(|signal| targets.of(signal).is_some());
    if sends && matches!(interval, Some(Err(_))) {
        problems.push("OTEL_METRIC_EXPORT_INTERVAL: expected a number of milliseconds".to_owned());
    }
    match variables.pairs("OTEL_RESOURCE_ATTRIBUTES") {
        Ok(pairs) => targets.resource = pairs,
        Err(problem) if sends => problems.push(problem),
        Err(_) => {}
    }
    if let Some(name) = variables.get("OTEL_SERVICE_NAME") {
        targets.resource.retain(|(known, _)| known != "service.name");
        targets.resource.push(("service.name".to_owned(), name.to_owned()));
    }
    (targets, problems)
}

/// Variables name another collector, and its headers may be secrets: none of them counts here.
fn of_settings(
    settings: &OtlpExportSettings,
    endpoint: &str,
    signal: OtlpSignal,
    environment: &[(OsString, OsString)],
) -> Result<OtlpTarget, String> {
    let url = with_path(parsed(endpoint, "tracing.otlp.endpoint")?, signal);
    let usual = OtlpTarget {
        url,
        protocol: OtlpProtocol::HttpProtobuf,
        headers: Vec::new(),
        timeout: USUAL_TIMEOUT,
        is_compressed: false,
    };
    with_settings(usual, settings, environment)
}

fn of_variables(
    settings: &OtlpExportSettings,
    variables: &OtlpVariables<'_>,
    signal: OtlpSignal,
    environment: &[(OsString, OsString)],
) -> Result<Option<OtlpTarget>, String> {
    let is_off = variables.get("OTEL_SDK_DISABLED").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    let exporter = format!("OTEL_{}_EXPORTER", signal.as_str().to_uppercase());
    let is_ours =
        variables.get(&exporter).is_none_or(|words| words.split(',').any(|word| word.trim() == "otlp"));
    let endpoint = variables.of(signal, "ENDPOINT");
    let Some((name, endpoint)) = endpoint.filter(|_| !is_off && is_ours) else { return Ok(None) };
    let url = parsed(endpoint, &name)?;
    // The signal's own address is meant as it stands.
    let is_own = name.contains(&signal.as_str().to_uppercase());
    let protocol = match variables.of(signal, "PROTOCOL") {
        None => OtlpProtocol::HttpProtobuf,
        Some((name, word)) => OtlpProtocol::parse(word)
            .ok_or_else(|| format!("{name}: expected grpc, http/protobuf or http/json, found `{word}`"))?,
    };
    let timeout = match variables.of(signal, "TIMEOUT") {
        None => USUAL_TIMEOUT,
        Some((name, ms)) => {
            let ms = ms.parse::<u64>().ok().filter(|ms| *ms != 0);
            let ms = ms.ok_or_else(|| format!("{name}: expected a number of milliseconds above 0"))?;
            Duration::from_millis(ms).min(LONGEST_TIMEOUT)
        }
    };
    let is_compressed = match variables.of(signal, "COMPRESSION") {
        None | Some((_, "none")) => false,
        Some((_, "gzip")) => true,
        Some((name, word)) => return Err(format!("{name}: expected gzip or none, found `{word}`")),
    };
    let mut headers = Vec::new();
    if let Some((name, _)) = variables.of(signal, "HEADERS") {
        for (key, value) in variables.pairs(&name)? {
            headers.push(header(&key, &value).map_err(|problem| format!("{name}: {problem}"))?);
        }
    }
    let url = if is_own { url } else { with_path(url, signal) };
    with_settings(OtlpTarget { url, protocol, headers, timeout, is_compressed }, settings, environment)
        .map(Some)
}

/// Puts what somebody wrote into the settings before what was found.
fn with_settings(
    mut target: OtlpTarget,
    settings: &OtlpExportSettings,
    environment: &[(OsString, OsString)],
) -> Result<OtlpTarget, String> {
    for (name, value) in &settings.headers.value {
        let problem = |problem: String| format!("`tracing.otlp.headers.{name}`: {problem}");
        let value = expand(value, environment).map_err(|error| problem(error.to_string()))?;
        let (name, value) = header(name, &value).map_err(problem)?;
        target.headers.retain(|(known, _)| *known != name);
        target.headers.push((name, value));
    }
    target.protocol = settings.protocol.value.unwrap_or(target.protocol);
    target.timeout = settings.timeout.value.unwrap_or(target.timeout);
    target.is_compressed = settings.compression.value.unwrap_or(target.is_compressed);
    Ok(target)
}

fn parsed(address: &str, name: &str) -> Result<Url, String> {
    // Not shown: what is no address may be a secret in the wrong place.
    let url = Url::parse(address).map_err(|error| format!("{name}: is no address: {error}"))?;
    let problem = match url.scheme() {
        "http" | "https" if !url.has_host() => "names no host",
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            "has a user or a password in it; a collector gets a token by a header (`tracing.otlp.headers`)"
        }
        "http" | "https" => return Ok(url),
        _ if !address.contains("://") => "has no scheme; put http:// or https:// in front",
        _ => "does not begin with http:// or https://",
    };
    Err(format!("{name}: {problem}"))
}

/// The signal's path, behind that of the address. An address that has the path of a signal already, as many pages say it, means
/// the collector in front of it.
fn with_path(mut url: Url, signal: OtlpSignal) -> Url {
    let base = url.path().trim_end_matches('/');
    let without = |end: OtlpSignal| base.strip_suffix(&format!("/v1/{}", end.as_str()));
    let base = OtlpSignal::ALL.into_iter().find_map(without).unwrap_or(base);
    let path = format!("{base}/v1/{}", signal.as_str());
    url.set_path(&path);
    url
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| "a name is no name of a header".to_owned())?;
    if OF_REQUESTS.contains(&name.as_str()) {
        return Err(format!("{name} is up to each request; a collector would refuse all with another"));
    }
    let mut value =
        HeaderValue::from_str(value).map_err(|_| format!("the value of {name} cannot stand in a header"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

struct OtlpVariables<'a> {
    environment: &'a [(OsString, OsString)],
}

impl<'a> OtlpVariables<'a> {
    /// An empty one counts as unset.
    fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.environment.iter().find(|(known, _)| known == name)?;
        value.to_str().map(str::trim).filter(|value| !value.is_empty())
    }

    /// The signal's own variable, or that of all signals; with its name.
    fn of(&self, signal: OtlpSignal, end: &str) -> Option<(String, &'a str)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{end}", signal.as_str().to_uppercase());
        let names = [own, format!("OTEL_EXPORTER_OTLP_{end}")];
        names.into_iter().find_map(|name| self.get(&name).map(|value| (name, value)))
    }

    /// `key=value,key=value`, with `%xx` in values.
    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, String> {
        let mut pairs = Vec::new();
        for pair in self.get(name).unwrap_or_default().split(',').filter(|pair| !pair.trim().is_empty()) {
            // Not shown: headers are secrets.
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("{name}: expected `key=value`, separated by commas"))?;
            let value = percent_decoded(value.trim())
                .ok_or_else(|| format!("{name}: the value of {} is not UTF-8 text", key.trim()))?;
            pairs.push((key.trim().to_owned(), value));
        }
        Ok(pairs)
    }
}

/// Decodes `%xx`; a `%` that no digits follow is meant as it stands.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |byte: &u8| (*byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let decoded = match after {
            [high, low, behind @ ..] if *first == b'%' => {
                digit(high).zip(digit(low)).map(|(high, low)| (high << 4 | low, behind))
            }
            _ => None,
        };
        let (byte, behind) = decoded.unwrap_or((*first, after));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}
