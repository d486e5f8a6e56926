//! One question over HTTP to a server or to whoever signs people in to it, within bounds and by no redirect.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use url::{Url, form_urlencoded::Serializer};

use models::patient_client;
use sys::clock::Clock;

/// How long an answer may take, from the first byte to the last.
pub const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Bytes of an answer: metadata and tokens are a few thousand.
const MAX_ANSWER: usize = 256 << 10;

/// What is asked.
pub enum OAuthRequest<'a> {
    Get,
    Json(&'a Value),
    /// With a name and a password, if there are any.
    Form(&'a [(&'a str, &'a str)], Option<(&'a str, &'a str)>),
}

pub struct OAuthResponse {
    pub status: u16,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
    body: Vec<u8>,
}

impl OAuthResponse {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Its body as JSON.
    pub fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.body).map_err(|_| "what it answered is no JSON".to_owned())
    }
}

/// Asks, and takes an answer of any status. What is wrong is told without the URL: there may be secrets in it.
pub async fn ask(url: &Url, ask: OAuthRequest<'_>, clock: &Arc<dyn Clock>) -> Result<OAuthResponse, String> {
    let host = url.host_str().unwrap_or_default();
    let answer = tokio::select! {
        biased;
        answer = asking(url, ask) => answer,
        () = clock.sleep(ANSWER_TIME) => Err(format!("it did not answer within {} s", ANSWER_TIME.as_secs())),
    };
    answer.map_err(|why| format!("{host}: {why}"))
}

async fn asking(url: &Url, ask: OAuthRequest<'_>) -> Result<OAuthResponse, String> {
    let is_form = matches!(ask, OAuthRequest::Form(..));
    let client = patient_client(url.as_str())
        .ok_or("it is no address of the web")?
        .map_err(|_| "there is no way to the network")?;
    let request = match ask {
        OAuthRequest::Get => client.get(url.clone()),
        OAuthRequest::Json(value) => {
            client.post(url.clone()).header("content-type", "application/json").body(value.to_string())
        }
        OAuthRequest::Form(fields, account) => {
            let body = Serializer::new(String::new()).extend_pairs(fields).finish();
            let request = client
                .post(url.clone())
                .header("content-type", "application/x-www-form-urlencoded")
                .body(body);
            match account {
                // RFC 6749, 2.3.1: both are written as in a form first.
                Some((name, password)) => {
                    let word = |text: &str| {
                        url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                    };
                    let account = STANDARD.encode(format!("{}:{}", word(name), word(password)));
                    request.header("authorization", format!("Basic {account}"))
                }
                None => request,
            }
        }
    };
    let request = request.header("accept", "application/json, text/event-stream");
    let mut response = request.send().await.map_err(|_| "it cannot be reached")?;
    let status = response.status().as_u16();
    if (300..400).contains(&status) {
        return Err("it points elsewhere, which is not followed".to_owned());
    }
    let challenge =
        response.headers().get("www-authenticate").and_then(|it| it.to_str().ok()).map(str::to_owned);
    // Nobody reads what a server's refusal says: it may stream for ever. Who issues tokens says why.
    if status == 401 && !is_form {
        return Ok(OAuthResponse { status, challenge, body: Vec::new() });
    }
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|_| "its answer broke off")? {
        if MAX_ANSWER < body.len() + piece.len() {
            return Err(format!("its answer is larger than {} KiB", MAX_ANSWER >> 10));
        }
        body.extend_from_slice(&piece);
    }
    Ok(OAuthResponse { status, challenge, body })
}
