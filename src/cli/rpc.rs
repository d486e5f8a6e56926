//! `subagent rpc`: any method, raw.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use super::{
    ProcessIo,
    failure::{CommandFailure, EXIT_INTERRUPTED},
    link::DaemonLink,
};
use client::{CallError, NextEvent};
use protocol::is_subscription;

/// How soon Ctrl-C is noticed at the latest, should the signal reach another thread than ours.
const WAIT: Duration = Duration::from_millis(200);

#[derive(Args)]
pub(super) struct RpcArguments {
    /// For example `daemon/status`; `rpc/discover` lists all methods
    method: String,
    /// The parameters: a JSON object [default: {}]
    #[arg(value_name = "JSON", value_parser = parse_params)]
    params: Option<Value>,
}

fn parse_params(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(params @ (Value::Object(_) | Value::Array(_))) => Ok(params),
        Ok(_) => Err("expected a JSON object".into()),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

pub(super) fn rpc(
    arguments: &RpcArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut client = link.dial(&mut surroundings.stderr)?;
    let params = arguments.params.clone().unwrap_or_else(|| Value::Object(Map::new()));
    if !is_subscription(&arguments.method) {
        let answer = client.call_raw(&arguments.method, &params).map_err(as_object)?;
        let value: Value = serde_json::from_str(answer.get()).map_err(|error| {
            CommandFailure::new(format!("the answer is no JSON: {error}"))
                .or_hint("whatever listens on the socket is no subagentd; name another with --socket PATH")
        })?;
        surroundings.stdout.write_json(&format!("{value:#}"))?;
        return Ok(0);
    }
    let mut subscription = client.subscribe_raw(&arguments.method, &params).map_err(as_object)?;
    loop {
        if (surroundings.interrupts)() > 0 {
            return Ok(EXIT_INTERRUPTED);
        }
        match subscription.next(WAIT) {
            NextEvent::Event(envelope) => surroundings.stdout.write_json(envelope.get())?,
            NextEvent::Quiet => {}
            NextEvent::Closed => {
                return Err(CommandFailure::unavailable("the daemon closed the connection")
                    .or_hint("`subagent status` shows whether it is back"));
            }
        }
    }
}

fn as_object(error: CallError) -> CommandFailure {
    match error {
        CallError::Refused(refusal) => CommandFailure::ErrorObject(refusal.raw),
        other => other.into(),
    }
}
