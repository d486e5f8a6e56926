//! `initialize`, `ping`.

use std::sync::Arc;

use serde_json::json;

use super::super::{
    rpc::{Api, Caller},
    state::State,
};
use crate::{
    protocol::{
        ClientId, ErrorKind, Initialize, InitializeParams, InitializeResult, MAX_BATCH, MAX_IN_FLIGHT,
        MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS, METHODS, NoParams, PROTOCOL_VERSIONS, Ping, PingResult,
        RpcError, WireLimits,
    },
    sys::ids,
};

pub fn register(api: &mut Api<State>) {
    api.method::<Initialize, _, _>(initialize);
    api.cancellable::<Ping, _, _>(ping);
}

async fn initialize(
    state: Arc<State>,
    caller: Caller,
    params: InitializeParams,
) -> Result<InitializeResult, RpcError> {
    let InitializeParams { protocol_version, client, client_id, strict } = params;
    if !PROTOCOL_VERSIONS.contains(&protocol_version.as_str()) {
        let message = format!("protocol version {protocol_version} is not spoken here");
        return Err(RpcError::new(ErrorKind::UnsupportedVersion, message)
            .with_details(json!({ "supported": PROTOCOL_VERSIONS }))
            .with_hint(format!("use one of: {}", PROTOCOL_VERSIONS.join(", "))));
    }
    // Every event that the client causes will carry it.
    let client_id = match client_id {
        Some(client_id) => ClientId::from(state.redactor.get().owned(client_id.to_string())),
        None => ids::fresh(),
    };
    caller.introduce(client, client_id.clone(), strict);
    Ok(InitializeResult {
        protocol_version,
        daemon: state.info(),
        client_id,
        limits: WireLimits {
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_in_flight: MAX_IN_FLIGHT,
            max_subscriptions: MAX_SUBSCRIPTIONS,
            max_batch: MAX_BATCH,
        },
        methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
    })
}

async fn ping(state: Arc<State>, _: Caller, _: NoParams) -> Result<PingResult, RpcError> {
    Ok(PingResult { at: state.clock.now() })
}
