//! The protocol over HTTP: a POST of protobuf or JSON ("OTLP/HTTP").

use std::{error::Error as _, time::Duration};

use config::OtlpProtocol;
use prost::bytes::Bytes;
use reqwest::{Client, Response, StatusCode, header, redirect};
use serde_json::Value;
use url::Url;

use super::{
    ANSWER_BYTES, DeliveryAnswer, DeliveryError, LONGEST_WAIT, OtlpCollector, USER_AGENT, accepted, is_local,
    later,
};

/// Time for what comes behind the head of an answer, which says whether the request was taken.
const ANSWER_TIME: Duration = Duration::from_secs(2);

pub(super) async fn deliver(collector: &OtlpCollector, body: Bytes) -> Result<DeliveryAnswer, DeliveryError> {
    let target = &collector.target;
    let client = collector.http.get_or_try_init(|| client(target.url.clone())).await;
    let client = client.map_err(|error| later(reason(&error)))?;
    let media_type = match target.protocol {
        OtlpProtocol::HttpJson => "application/json",
        OtlpProtocol::HttpProtobuf | OtlpProtocol::Grpc => "application/x-protobuf",
    };
    let mut request = client.post(target.url.clone()).header(header::CONTENT_TYPE, media_type);
    if target.is_compressed {
        request = request.header(header::CONTENT_ENCODING, "gzip");
    }
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    let answer = collector.within(request.body(body).send()).await?;
    let answer = answer.map_err(|error| later(format!("cannot be reached: {}", reason(&error))))?;
    let status = answer.status();
    if status.is_success() {
        // It was taken. One who does not come to the end of saying so is not sent it again.
        return Ok(tokio::select! { biased;
            told = taken(answer) => told,
            () = collector.clock.sleep(ANSWER_TIME) => DeliveryAnswer::default(),
        });
    }
    let problem = format!("answered {status}");
    let after = retry_after(&answer, collector.clock.now().0);
    Err(match status {
        // What is asked for cannot be read, or is too large: it will be so the next time.
        StatusCode::BAD_REQUEST
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => DeliveryError::Refused { problem },
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
            DeliveryError::Later { problem, after }
        }
        _ if status.is_server_error() => DeliveryError::Failed { problem },
        // Too many requests; or a wrong token, path or address, which somebody will mend.
        _ => DeliveryError::Later { problem, after },
    })
}

/// A request that was taken, whatever comes behind the head of the answer.
async fn taken(mut answer: Response) -> DeliveryAnswer {
    let media_type = answer.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let is_json = media_type.is_some_and(|it| it.starts_with("application/json"));
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        if ANSWER_BYTES < body.len() + chunk.len() {
            return DeliveryAnswer::default();
        }
        body.extend_from_slice(&chunk);
    }
    if !is_json {
        return accepted(&body);
    }
    let told = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let told = &told["partialSuccess"];
    let names = ["rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"];
    // 64 bits are text, though not everybody writes them so.
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let rejected = names.into_iter().find_map(|name| number(&told[name]));
    let message = told["errorMessage"].as_str().unwrap_or_default().to_owned();
    DeliveryAnswer { rejected: rejected.unwrap_or(0), message }
}

/// The time that a collector asks to be left alone for: in seconds, or until a date.
fn retry_after(answer: &Response, now_us: i64) -> Option<Duration> {
    let text = answer.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let until = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            until.saturating_sub(Duration::from_micros(u64::try_from(now_us).ok()?))
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

/// Reads the system's certificates, so it leaves the async threads alone.
async fn client(url: Url) -> reqwest::Result<Client> {
    match tokio::task::spawn_blocking(move || build(&url)).await {
        Ok(client) => client,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn build(url: &Url) -> reqwest::Result<Client> {
    // One provider of cryptography a process; when another was installed, that one is as good.
    let _stays = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        // Headers with tokens must not travel on to wherever an answer points.
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(1)
        .referer(false);
    let builder = if is_local(url) { builder.no_proxy() } else { builder };
    let builder = match url.scheme() {
        // Without TLS, so that a machine without certificates of authorities serves as well.
        "http" => builder.tls_backend_preconfigured(
            rustls::ClientConfig::builder()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth(),
        ),
        _ => builder,
    };
    builder.build()
}

/// The innermost reason, for people, without the address.
fn reason(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    let mut source = error.source();
    while let Some(inner) = source {
        innermost = inner;
        source = inner.source();
    }
    let text = match error.source() {
        Some(_) => innermost.to_string(),
        None => "the request failed".to_owned(),
    };
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
