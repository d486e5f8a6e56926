//! Whence does a session come? What the URL of `/mcp` says of it: where agents work, and how long a call may take.

use std::{path::Path, time::Duration};

use protocol::{ErrorKind, RpcError};

/// How long a call waits for its run where nobody says: many clients give up after 60 s.
const USUAL_WAIT: Duration = Duration::from_secs(45);
/// The longest that can be asked for, as of `run/wait`.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// Names of bridges: a UUID has 36.
const LONGEST_NAME: usize = 64;

/// What a session was begun with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpSessionOrigin {
    /// The folders that agents work in; empty = the client's roots.
    pub roots: Vec<String>,
    /// Who may ask the same again after a restart of the daemon: `subagent mcp`, by a name of its own.
    pub bridge: Option<String>,
    /// How long a call waits for its run.
    pub wait: Duration,
}

impl McpSessionOrigin {
    /// Reads the query of a URL: `workspace`, once a folder, `waitMs`, and `bridge`. Others mean nothing here.
    pub fn read(query: &str) -> Result<McpSessionOrigin, RpcError> {
        let mut origin = McpSessionOrigin { roots: Vec::new(), bridge: None, wait: USUAL_WAIT };
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "workspace" if Path::new(&*value).is_absolute() => origin.roots.push(value.into_owned()),
                "workspace" => return Err(refused(format!("workspace: not an absolute path: {value}"))),
                "waitMs" => {
                    let wait = value.parse().ok().map(Duration::from_millis);
                    let wait = wait.filter(|wait| *wait <= LONGEST_WAIT);
                    origin.wait = wait.ok_or_else(|| {
                        refused(format!("waitMs: not a number of milliseconds up to 600000: {value}"))
                    })?;
                }
                "bridge" => {
                    let is_name = (8..=LONGEST_NAME).contains(&value.len())
                        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
                    if !is_name {
                        return Err(refused("bridge: 8 to 64 letters, digits and hyphens".to_owned()));
                    }
                    origin.bridge = Some(value.into_owned());
                }
                _ => {}
            }
        }
        Ok(origin)
    }
}

fn refused(message: String) -> RpcError {
    RpcError::new(ErrorKind::InvalidParams, message)
        .with_hint("the URL is /mcp?workspace=/absolute/path&waitMs=45000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_agents_work_and_how_long_a_call_may_take() {
        let read =
            McpSessionOrigin::read("workspace=%2Fw%20x&workspace=/y&waitMs=0&bridge=0123-abcd&other=1")
                .unwrap();
        let roots = vec!["/w x".to_owned(), "/y".to_owned()];
        assert_eq!(
            read,
            McpSessionOrigin { roots, bridge: Some("0123-abcd".to_owned()), wait: Duration::ZERO }
        );
        assert_eq!(McpSessionOrigin::read("").unwrap().wait, USUAL_WAIT);
    }

    #[test]
    fn what_a_url_gets_wrong_is_told() {
        for wrong in
            ["workspace=x", "workspace=", "waitMs=1h", "waitMs=600001", "bridge=short", "bridge=a/b/c/d/e"]
        {
            assert_eq!(
                McpSessionOrigin::read(wrong).unwrap_err().data.kind,
                ErrorKind::InvalidParams,
                "{wrong}"
            );
        }
    }
}
