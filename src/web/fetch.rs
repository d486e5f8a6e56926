//! How does a URL become a page? Hop by hop, each looked at like the first.

use std::time::Duration;

use hyper::{StatusCode, header};
use tokio_util::sync::CancellationToken;

use super::{
    WebClient, WebError, WebPage, WebRules, WebTarget,
    content::{self, FetchedBytes},
    exchange::{AddressPolicy, WebRequest},
};

/// Time for a page, from the first name that is looked up to its last byte (spec 05).
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Redirects of one page (spec 05).
const MOST_REDIRECTS: usize = 5;
/// Bytes of a page, decompressed (spec 05).
const MAX_PAGE_BYTES: usize = 10_000_000;
/// Time for making a page readable. Pages that take longer are made to.
const READING_TIMEOUT: Duration = Duration::from_secs(10);

/// A file as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebDownload {
    pub bytes: Vec<u8>,
    /// The server says that it is HTML, to be looked at in a browser.
    pub is_web_page: bool,
}

/// True if whoever said yes to a URL said yes to this one, too. They know; this module does not.
pub type MayFollow = dyn Fn(&WebTarget) -> bool + Send + Sync;

impl WebClient {
    /// Fetches a page and makes it readable. A redirect to another URL is followed where it stays with the host and
    /// `may_follow` says yes to the URL; otherwise it is the answer. Cancel safe: dropping it ends the connection.
    pub async fn fetch(
        &self,
        target: &WebTarget,
        rules: &WebRules,
        may_follow: &MayFollow,
    ) -> Result<WebPage, WebError> {
        let received = self.receive(target.clone(), rules, may_follow, MAX_PAGE_BYTES).await?;
        self.readable(received).await
    }

    /// Fetches a file as it is, of not more than `most` bytes. A redirect is followed where it stays with the host. Cancel
    /// safe.
    pub async fn download(
        &self,
        target: &WebTarget,
        rules: &WebRules,
        most: usize,
    ) -> Result<WebDownload, WebError> {
        let FetchedBytes { content_type, bytes, .. } =
            self.receive(target.clone(), rules, &|_| true, most).await?;
        let is_web_page = content::said_type(content_type.as_deref()).as_deref() == Some("text/html");
        Ok(WebDownload { bytes, is_web_page })
    }

    async fn receive(
        &self,
        target: WebTarget,
        rules: &WebRules,
        may_follow: &MayFollow,
        most: usize,
    ) -> Result<FetchedBytes, WebError> {
        let received = self.within(FETCH_TIMEOUT, self.follow(target, rules, may_follow, most)).await;
        received.ok_or(WebError::TimedOut { seconds: FETCH_TIMEOUT.as_secs() })?
    }

    async fn follow(
        &self,
        mut target: WebTarget,
        rules: &WebRules,
        may_follow: &MayFollow,
        most: usize,
    ) -> Result<FetchedBytes, WebError> {
        for _ in 0..=MOST_REDIRECTS {
            let reply = self.ask(&target, WebRequest::page(), &AddressPolicy::Public(rules)).await?;
            let status = reply.response.status();
            let location = reply.header(header::LOCATION);
            match (is_redirect(status), location) {
                (true, Some(location)) => target = next(&target, status, location, may_follow)?,
                (true, None) => {
                    return Err(WebError::Broken(format!("is a redirect ({status}) that leads nowhere")));
                }
                _ if status.is_success() => {
                    let content_type = reply.header(header::CONTENT_TYPE).map(str::to_owned);
                    let promised = reply.header(header::CONTENT_LENGTH).and_then(|it| it.trim().parse().ok());
                    if promised.is_some_and(|bytes: u64| (most as u64) < bytes) {
                        return Err(WebError::TooLarge { bytes: most });
                    }
                    let bytes = reply.body(most).await?;
                    let url = target.url().clone();
                    return Ok(FetchedBytes { url, status: status.as_u16(), content_type, bytes });
                }
                _ => {
                    let reason = status.canonical_reason();
                    return Err(WebError::Status { status: status.as_u16(), reason });
                }
            }
        }
        Err(WebError::TooManyRedirects(MOST_REDIRECTS))
    }

    /// Reading HTML takes time, so it leaves the async threads alone, and is told when nobody waits for it any more.
    async fn readable(&self, received: FetchedBytes) -> Result<WebPage, WebError> {
        let stop = CancellationToken::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let reading = tokio::task::spawn_blocking(move || content::page(received, &|| stop.is_cancelled()));
        match self.within(READING_TIMEOUT, reading).await {
            Some(Ok(page)) => Ok(page),
            Some(Err(error)) => {
                tracing::error!(%error, "a page could not be made readable");
                Err(WebError::Unreadable("its HTML is beyond this program"))
            }
            None => Err(WebError::Unreadable("it takes too long")),
        }
    }
}

fn is_redirect(status: StatusCode) -> bool {
    use StatusCode as S;
    [S::MOVED_PERMANENTLY, S::FOUND, S::SEE_OTHER, S::TEMPORARY_REDIRECT, S::PERMANENT_REDIRECT]
        .contains(&status)
}

/// Where a redirect leads, if it is followed.
fn next(
    target: &WebTarget,
    status: StatusCode,
    location: &str,
    may_follow: &MayFollow,
) -> Result<WebTarget, WebError> {
    let leads = |what: String| WebError::Broken(format!("is a redirect to a URL that {what}"));
    let url = target.url().join(location).map_err(|error| leads(format!("is none: {error}")))?;
    let next = WebTarget::of(url).map_err(|error| leads(error.to_string()))?;
    match target.may_lead_to(&next) && may_follow(&next) {
        true => Ok(next),
        false => Err(WebError::Moved { status: status.as_u16(), location: Box::new(next.url().clone()) }),
    }
}
