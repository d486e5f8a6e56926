//! jsonrpsee's own clients: HTTP and WebSocket over TCP, with the token of the state folder. The WebSocket sends many requests at
//! once, a batch, and follows a subscription until it ends it. Prints the daemon's status.

use std::{env, time::Duration};

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use jsonrpsee::{
    core::{
        client::{ClientT, Subscription, SubscriptionClientT},
        params::{BatchRequestBuilder, ObjectParams},
    },
    http_client::HttpClientBuilder,
    ws_client::WsClientBuilder,
};
use serde_json::{Value, json};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn named(pairs: &[(&str, Value)]) -> Result<ObjectParams, AnyError> {
    let mut params = ObjectParams::new();
    for (name, value) in pairs {
        params.insert(name, value)?;
    }
    Ok(params)
}

fn expect(is_so: bool, what: &str) -> Result<(), AnyError> {
    if is_so { Ok(()) } else { Err(what.into()) }
}

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let (address, token) = (env::var("ADDRESS")?, env::var("TOKEN")?);
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}"))?);

    let http = HttpClientBuilder::default().set_headers(headers.clone()).build(format!("http://{address}/rpc"))?;
    let by_http: Value = http.request("daemon/status", ObjectParams::new()).await?;
    let refused = http.request::<Value, _>("run/get", named(&[("runId", json!("nobody"))])?).await;
    expect(refused.is_err_and(|error| error.to_string().contains("nobody")), "an unknown run was found")?;

    let socket = WsClientBuilder::default().set_headers(headers).build(format!("ws://{address}/rpc")).await?;
    let pings = (0..100).map(|_| socket.request::<Value, _>("ping", ObjectParams::new()));
    let mut answered = 0;
    for ping in pings {
        ping.await?;
        answered += 1;
    }
    expect(answered == 100, "a ping is missing")?;
    let mut batch = BatchRequestBuilder::new();
    for _ in 0..5 {
        batch.insert("ping", ObjectParams::new())?;
    }
    expect(socket.batch_request::<Value>(batch).await?.num_successful_calls() == 5, "a batch of five")?;

    let mut events: Subscription<Value> =
        socket.subscribe("events/subscribe", named(&[("from", json!("start"))])?, "events/unsubscribe").await?;
    let session: Value = socket
        .request("session/create", named(&[("workspace", json!(env::var("WORKSPACE")?))])?)
        .await?;
    loop {
        let event = tokio::time::timeout(Duration::from_secs(10), events.next()).await?;
        let event = event.ok_or("the subscription ended")??;
        if event["type"] == "session.created" && event["sessionId"] == session["sessionId"] {
            break;
        }
    }
    events.unsubscribe().await?;
    let by_socket: Value = socket.request("daemon/status", ObjectParams::new()).await?;
    expect(by_http["daemon"]["pid"] == by_socket["daemon"]["pid"], "two daemons answered")?;
    println!("{by_socket}");
    Ok(())
}
