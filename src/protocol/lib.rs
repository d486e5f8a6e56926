//! The vocabulary that clients and the log share: ids, times, messages, accesses, events, methods, errors.
//!
//! Data only: no I/O, no async, no imports from higher floors. Everything here is serializable, and what
//! goes over the wire has a JSON Schema; `proto-docs/` is generated from these types.

mod access;
mod agent;
mod command;
mod confirmation;
mod cost;
mod envelope;
mod error;
mod event;
mod extension;
mod file_problem;
mod foreign;
mod id;
mod ide;
mod mcp;
mod message;
mod method;
mod model;
mod open;
mod policy;
mod run;
mod run_tracing;
mod sandbox;
mod spent;
mod time;
mod tool;
mod tool_names;
mod trace;
mod trace_context;

pub use access::*;
pub use agent::*;
pub use command::*;
pub use confirmation::*;
pub use cost::*;
pub use envelope::*;
pub use error::*;
pub use event::*;
pub use extension::*;
pub use file_problem::*;
pub use foreign::*;
pub use id::*;
pub use ide::*;
pub use mcp::*;
pub use message::*;
pub use method::*;
pub use model::*;
pub use open::*;
pub use policy::*;
pub use run::*;
pub use run_tracing::{AgentTracing, RunTracing, TraceBackend, TraceContent, TracedEvents};
pub use sandbox::*;
pub use spent::*;
pub use time::*;
pub use tool::*;
pub use tool_names::*;
pub use trace::*;
pub use trace_context::{InvalidTraceContext, TraceContext, span_of};
