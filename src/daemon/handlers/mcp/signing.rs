//! `mcp/login`, `mcp/logout`: whom a server over HTTP knows.

use std::{sync::Arc, time::Duration};

use super::{McpMethods, not_found, workspace};
use crate::rpc::RpcCaller;
use protocol::{
    ErrorKind, McpLoginParams, McpLoginResult, McpLoginState, McpLogoutResult, McpServerParams, RpcError,
};
use tools::mcp::{LoginEnd, LoginRequest, McpServerInstance, ServerLookup};

/// Longer than any login takes.
const LONGEST_LOGIN: Duration = Duration::from_secs(15 * 60);

pub async fn login(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpLoginParams,
) -> Result<McpLoginResult, RpcError> {
    let McpLoginParams { server: name, workspace: of, wait_ms } = params;
    let roots = workspace(&state, of.as_ref()).await?;
    let (server, wanted) = meant(&state, &roots, &name)?;
    let address = wanted.server.clone();
    let result = |login, url, error| McpLoginResult { server: name.clone(), state: login, url, error };
    if let Some(wait_ms) = wait_ms {
        let end = tokio::select! {
            end = state.mcp.sign_ins.login_end(&address, Duration::from_millis(wait_ms)) => end,
            () = state.life.closing.cancelled() => None,
        };
        return Ok(match end {
            None => result(McpLoginState::Waiting, None, None),
            Some(LoginEnd::Done) => result(McpLoginState::Done, None, None),
            Some(LoginEnd::Failed(why)) => {
                result(McpLoginState::Failed, None, Some(state.settings.redactor.get().owned(why)))
            }
        });
    }
    let begun = state.mcp.sign_ins.begin(wanted).await;
    let url = begun.map_err(|why| refused(&state, &name, "cannot sign in to", &why))?;
    // Whoever signs in wants to use it, whether or not somebody waits for that here.
    let (trying, stop) = (Arc::clone(&state), state.life.closing.clone());
    state.life.writing.spawn(
        "what starts a server after its sign-in",
        stop.run_until_cancelled_owned(async move {
            if trying.mcp.sign_ins.login_end(&address, LONGEST_LOGIN).await == Some(LoginEnd::Done) {
                trying.mcp.hub.begin(&server);
            }
        }),
    );
    Ok(result(McpLoginState::Waiting, Some(url), None))
}

pub async fn logout(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpServerParams,
) -> Result<McpLogoutResult, RpcError> {
    let roots = workspace(&state, params.workspace.as_ref()).await?;
    let (server, wanted) = meant(&state, &roots, &params.server)?;
    let done = state.mcp.sign_ins.sign_out(&wanted.server).await;
    let (was_signed_in, revoked) =
        done.map_err(|why| refused(&state, &params.server, "nobody could be signed out of", &why))?;
    if was_signed_in {
        server.end();
        server.ended().await;
    }
    Ok(McpLogoutResult { server: params.server, was_signed_in, revoked })
}

fn meant(
    state: &McpMethods,
    roots: &[String],
    name: &str,
) -> Result<(Arc<McpServerInstance>, LoginRequest), RpcError> {
    let server = match state.mcp.hub.meaning(roots, name) {
        ServerLookup::Server(server) => server,
        ServerLookup::Disabled(why) | ServerLookup::Blocked(why) => {
            return Err(refused(state, name, "cannot sign in to", &format!("it is not used: {why}")));
        }
        ServerLookup::Untrusted => {
            let why = "no person has acknowledged the workspace's settings as they are (`subagent trust`)";
            return Err(refused(state, name, "cannot sign in to", why));
        }
        ServerLookup::Unknown => return Err(not_found((&state.mcp.hub, &state.settings), roots, name)),
    };
    let wanted = LoginRequest::of(&server.entry, state.programs.commands.environment());
    let wanted = wanted.map_err(|why| refused(state, name, "cannot sign in to", &why))?;
    Ok((server, wanted))
}

fn refused(state: &McpMethods, name: &str, what: &str, why: &str) -> RpcError {
    let message = state.settings.redactor.get().owned(format!("{what} {name}: {why}"));
    RpcError::new(ErrorKind::Conflict, message).with_hint("`mcp/status` tells how the server is")
}
