//! Settings of one run about who else is told of its spans (spec 10, "Agent's field `tracing`").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunId, SpanKind};

/// A place that spans go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TraceBackend {
    /// The daemon's database, which has every span anyway.
    Sqlite,
    /// The collector that the settings name.
    Otlp,
    /// A file for each session and day, below the daemon's state folder.
    File,
    /// The daemon's own log.
    Console,
}

/// A kind of spans that an agent may choose. Runs, turns, questions to people and hooks always go with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TracedEvents {
    /// Requests to models, and compressions.
    Llm,
    /// Tool calls, and the requests to MCP servers in them.
    Tool,
}

/// The part of what agents read and wrote that goes to others; each has less than the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TraceContent {
    /// Texts as the log has them: without secrets.
    #[default]
    Full,
    /// The sizes of texts in their place.
    Redacted,
    /// No texts.
    None,
}

/// The words of an agent's file; `None` = as the settings say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentTracing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<TracedEvents>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<Vec<TraceBackend>>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<TraceContent>,
}

impl AgentTracing {
    pub fn says_nothing(&self) -> bool {
        *self == AgentTracing::default()
    }

    /// These words below an agent that says those: the narrower of the two in each field. A called agent is told texts of its
    /// caller, so nobody else hears of them who would not hear of them from the caller.
    #[must_use]
    pub fn narrowed_by(&self, caller: &AgentTracing) -> AgentTracing {
        fn both<T: Copy + PartialEq>(ours: Option<&Vec<T>>, theirs: Option<&Vec<T>>) -> Option<Vec<T>> {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    Some(ours.iter().copied().filter(|it| theirs.contains(it)).collect())
                }
                (one, other) => one.or(other).cloned(),
            }
        }
        let is_off = [self.enabled, caller.enabled].contains(&Some(false));
        let rates = [self.sample_rate, caller.sample_rate];
        AgentTracing {
            enabled: if is_off { Some(false) } else { self.enabled.or(caller.enabled) },
            events: both(self.events.as_ref(), caller.events.as_ref()),
            backend: both(self.backend.as_ref(), caller.backend.as_ref()),
            sample_rate: rates.into_iter().flatten().reduce(f64::min),
            content: self.content.max(caller.content),
        }
    }
}

/// Destinations of the spans of a run beside the daemon's own database, and what goes there, as agent and settings said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunTracing {
    /// Empty = nowhere.
    pub backends: Vec<TraceBackend>,
    /// Missing = all kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<TracedEvents>>,
    pub content: TraceContent,
    /// The part of all traces whose texts go with them, from 0 to 1.
    pub sample_rate: f64,
}

impl Default for RunTracing {
    /// Everything goes to the collector, if there is one.
    fn default() -> RunTracing {
        RunTracing {
            backends: vec![TraceBackend::Otlp],
            events: None,
            content: TraceContent::Full,
            sample_rate: 1.0,
        }
    }
}

impl RunTracing {
    /// The settings where an agent says this, which can only narrow them.
    #[must_use]
    pub fn narrowed_by(&self, agent: &AgentTracing) -> RunTracing {
        let is_wanted = |it: &TraceBackend| {
            agent.enabled != Some(false) && agent.backend.as_ref().is_none_or(|wanted| wanted.contains(it))
        };
        let events = match (&self.events, &agent.events) {
            (Some(ours), Some(theirs)) => {
                Some(theirs.iter().copied().filter(|it| ours.contains(it)).collect())
            }
            (ours, theirs) => theirs.clone().or_else(|| ours.clone()),
        };
        RunTracing {
            backends: self.backends.iter().copied().filter(is_wanted).collect(),
            events,
            content: self.content.max(agent.content.unwrap_or_default()),
            sample_rate: self.sample_rate.min(agent.sample_rate.unwrap_or(1.0)),
        }
    }

    /// True: spans of a kind go to a backend.
    pub fn sends(&self, backend: TraceBackend, kind: SpanKind) -> bool {
        let wanted = match kind {
            SpanKind::Llm | SpanKind::Compression => Some(TracedEvents::Llm),
            SpanKind::Tool | SpanKind::Mcp => Some(TracedEvents::Tool),
            SpanKind::Run | SpanKind::Turn | SpanKind::Confirmation | SpanKind::Hook => None,
        };
        let is_chosen = |events: &Vec<TracedEvents>| wanted.is_none_or(|it| events.contains(&it));
        self.backends.contains(&backend) && self.events.as_ref().is_none_or(is_chosen)
    }

    /// The part of texts that goes with spans of a trace. Of each trace it is decided once, by its number, so that all its runs
    /// and all daemons decide alike.
    pub fn content_of(&self, trace: &RunId) -> TraceContent {
        // The end of a run's id is random.
        let digits: String = trace.as_str().chars().rev().filter(char::is_ascii_hexdigit).take(8).collect();
        let share = u32::from_str_radix(&digits, 16).map_or(0.0, |it| f64::from(it) / 4_294_967_296.0);
        if share < self.sample_rate { self.content } else { TraceContent::None }
    }
}
