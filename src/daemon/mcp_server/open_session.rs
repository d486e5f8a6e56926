//! What is known of a session once its client has said who it is? In which folders its agents work, for one.

use std::{path::PathBuf, time::Duration};

use rmcp::{
    Peer, RoleServer,
    model::{ErrorCode, ErrorData},
    service::RequestContext,
};
use serde_json::json;

use super::{link::InProcessClient, origin::McpSessionOrigin, watch::RunWatches};
use protocol::{ErrorKind, RpcError};

/// How long a client may take to name its roots.
const ROOTS_TIME: Duration = Duration::from_secs(10);

/// What a session is once its client has said who it is.
pub(super) struct OpenMcpSession {
    pub link: InProcessClient,
    pub origin: McpSessionOrigin,
    pub watches: RunWatches,
    /// The client can be asked which folders it works in.
    pub has_roots: bool,
}

impl OpenMcpSession {
    /// The folders that agents work in: those of the URL, else the client's own.
    pub async fn roots(&self, context: &RequestContext<RoleServer>) -> Result<Vec<String>, RpcError> {
        if !self.origin.roots.is_empty() {
            return Ok(self.origin.roots.clone());
        }
        let roots = match self.has_roots {
            true => roots_of(&context.peer).await,
            false => Vec::new(),
        };
        match roots.is_empty() {
            false => Ok(roots),
            true => {
                Err(RpcError::new(ErrorKind::InvalidParams, "it is not said in which folder agents work")
                    .with_hint("end the URL with ?workspace=/absolute/path, or name roots"))
            }
        }
    }
}

/// The client's folders on this machine.
#[expect(deprecated, reason = "what replaces roots is of versions without sessions")]
async fn roots_of(client: &Peer<RoleServer>) -> Vec<String> {
    let named = match tokio::time::timeout(ROOTS_TIME, client.list_roots()).await {
        Ok(Ok(named)) => named.roots,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a client of MCP did not name its roots");
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    let path = |uri: &str| -> Option<PathBuf> { url::Url::parse(uri).ok()?.to_file_path().ok() };
    named.iter().filter_map(|root| path(&root.uri)?.into_os_string().into_string().ok()).collect()
}

/// An error of ours as one of the protocol.
pub(super) fn protocol_error(error: RpcError) -> ErrorData {
    let message = match &error.data.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    };
    ErrorData::new(ErrorCode(error.code), message, Some(json!(error.data)))
}
