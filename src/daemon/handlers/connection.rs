//! `initialize`, `client/update`, `client/list`, `ping`.

use std::sync::Arc;

use serde_json::json;

use super::{
    super::{
        clients::ClientIntroduction,
        rpc::{MethodHandlers, RpcCaller},
    },
    violation,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
    settings_in_force::SettingsInForce,
};
use protocol::{
    ClientCapabilities, ClientId, ClientInfo, ClientKind, ClientList, ClientListParams, ClientListResult,
    ClientUpdate, ClientUpdateParams, ClientUpdateResult, DaemonCapabilities, ErrorKind, Initialize,
    InitializeParams, InitializeResult, MAX_BATCH, MAX_IN_FLIGHT, MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS,
    METHODS, NoParams, PROTOCOL_VERSIONS, Ping, PingResult, RpcError, WireLimits,
};
use redact::Redactor;
use store::EventStore;
use sys::ids;

/// The most clients of one page; the schema says the same.
const MAX_PAGE: usize = 1_000;

/// The services that the methods of connections use.
pub(super) struct ConnectionMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub clients: Arc<ClientConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, clients, .. } = services.clone();
    let mut api = api.given(Arc::new(ConnectionMethods { life, settings, store, clients }));
    api.method::<Initialize, _, _>(initialize);
    api.method::<ClientUpdate, _, _>(update);
    api.cancellable::<ClientList, _, _>(list);
    api.cancellable::<Ping, _, _>(ping);
}

/// The id of a client that gave none: its name and a number, so that the log says which program it was.
fn named_id(name: &str) -> ClientId {
    /// Bytes of the name: with the number it is no longer than an id may be.
    const MOST: usize = 80;
    let number: ClientId = ids::fresh();
    let name: String = name.chars().filter(|it| !it.is_control()).collect();
    let name = name[..name.floor_char_boundary(MOST)].trim();
    if name.is_empty() { number } else { ClientId::from(format!("{name}-{number}")) }
}

async fn initialize(
    state: Arc<ConnectionMethods>,
    caller: RpcCaller,
    params: InitializeParams,
) -> Result<InitializeResult, RpcError> {
    let InitializeParams { protocol_version, client, client_id, capabilities, presence, strict } = params;
    if !PROTOCOL_VERSIONS.contains(&protocol_version.as_str()) {
        let message = format!("protocol version {protocol_version} is not spoken here");
        return Err(RpcError::new(ErrorKind::UnsupportedVersion, message)
            .with_details(json!({ "supported": PROTOCOL_VERSIONS }))
            .with_hint(format!(
                "a client of this daemon speaks version {}; update whichever is older",
                PROTOCOL_VERSIONS.join(" or ")
            )));
    }
    // Every event that the client causes will carry it.
    let client_id = match client_id {
        Some(client_id) => ClientId::from(state.settings.redactor.get().owned(client_id.to_string())),
        None => named_id(&without_secrets(&state.settings.redactor.get(), client.clone()).name),
    };
    let client = without_secrets(&state.settings.redactor.get(), client);
    let capabilities = kinds_without_secrets(&state.settings.redactor.get(), capabilities);
    caller.introduce(client.clone(), client_id.clone(), strict);
    let introduced = ClientIntroduction { client_id: client_id.clone(), client, capabilities, presence };
    if let Some(until_the_end) =
        state.clients.connected.introduce(&caller, introduced, state.life.clock.now())
    {
        caller.keep(until_the_end);
    }
    Ok(InitializeResult {
        protocol_version,
        daemon: state.life.info(state.store.log_id()),
        client_id,
        capabilities: DaemonCapabilities { confirmations: true, deltas: true, tools: true, presence: true },
        limits: WireLimits {
            max_message_bytes: MAX_MESSAGE_BYTES,
            max_in_flight: MAX_IN_FLIGHT,
            max_subscriptions: MAX_SUBSCRIPTIONS,
            max_batch: MAX_BATCH,
        },
        methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
    })
}

/// Others see it.
fn without_secrets(redactor: &Redactor, client: ClientInfo) -> ClientInfo {
    let ClientInfo { name, version, kind } = client;
    let kind = match kind {
        ClientKind::Other(kind) => ClientKind::Other(redactor.owned(kind)),
        known => known,
    };
    ClientInfo { name: redactor.owned(name), version: redactor.owned(version), kind }
}

fn kinds_without_secrets(redactor: &Redactor, mut capabilities: ClientCapabilities) -> ClientCapabilities {
    for kind in capabilities.confirmations.iter_mut().flat_map(|it| it.kinds.iter_mut().flatten()) {
        *kind = redactor.owned(std::mem::take(kind));
    }
    capabilities
}

async fn update(
    state: Arc<ConnectionMethods>,
    caller: RpcCaller,
    params: ClientUpdateParams,
) -> Result<ClientUpdateResult, RpcError> {
    let ClientUpdateParams { capabilities, presence } = params;
    let redacted = |it: ClientCapabilities| kinds_without_secrets(&state.settings.redactor.get(), it);
    let params = ClientUpdateParams { capabilities: capabilities.map(|it| it.map(redacted)), presence };
    let updated = state.clients.connected.update(&caller, params);
    let (capabilities, presence) = updated.ok_or_else(|| {
        RpcError::new(ErrorKind::NotInitialized, "this connection has not said `initialize`")
            .with_hint("say `initialize` first; it takes `capabilities` and `presence` too")
    })?;
    Ok(ClientUpdateResult { capabilities, presence })
}

async fn list(
    state: Arc<ConnectionMethods>,
    _: RpcCaller,
    params: ClientListParams,
) -> Result<ClientListResult, RpcError> {
    let ClientListParams { cursor, limit } = params;
    let after = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .map_err(|_| violation("/cursor", "was not made by this list; give a `nextCursor`, or none"))?,
    };
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let (clients, is_more) = state.clients.connected.list(after, limit);
    let next_cursor = clients.last().filter(|_| is_more).map(|last| last.connection.to_string());
    Ok(ClientListResult { clients, next_cursor })
}

async fn ping(state: Arc<ConnectionMethods>, _: RpcCaller, _: NoParams) -> Result<PingResult, RpcError> {
    Ok(PingResult { at: state.life.clock.now() })
}
