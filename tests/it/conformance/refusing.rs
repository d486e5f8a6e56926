//! Rows: servers that answer with a refusal.

use expect_test::expect;

use super::{check, row, told_errors};
use crate::provider_server::{Answer, KEY, Wire};

const PAGE: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>";

#[tokio::test]
async fn what_stays_is_told() {
    check(vec![
        row("400", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 400 Bad Request: messages: too many images (its name)"
        "#]], |wire| vec![wire.refuses(400, "messages: too many images")]),
        row("400 of somebody else", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 400 Bad Request: [31mno such thing"
        "#]], |_| {
            vec![Answer::status(400, "\u{1b}[31mno\nsuch\tthing")]
        }),
        row("401", "talker", expect![[r#"
            ends ERROR PROVIDER_AUTH: "the provider answered 401 Unauthorized: not a key: [key] (its name) (provider entry `row-2`, key from the variable TEST_KEY)"
        "#]], |wire| vec![wire.refuses(401, &format!("not a key: {KEY}"))]),
        row("403", "talker", expect![[r#"
            ends ERROR PROVIDER_AUTH: "the provider answered 403 Forbidden: [key] is not for this region (its name) (provider entry `row-3`, key from the variable TEST_KEY)"
        "#]], |wire| {
            vec![wire.refuses(403, &format!("{KEY} is not for this region"))]
        }),
        row("404", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 404 Not Found: there is no such model (its name)"
        "#]], |wire| vec![wire.refuses(404, "there is no such model")]),
        row("404 of a page", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 404 Not Found: Not here; nothing answers there: is the `baseUrl` of the provider entry `row-5` right? Many servers want `/v1` at its end, Anthropic's API does not"
        "#]], |_| {
            vec![Answer::status(404, "<html><title>Not here</title></html>")]
        }),
        row("409", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 409 Conflict: somebody else was first (its name)"
        "#]], |wire| vec![wire.refuses(409, "somebody else was first")]),
        row("a redirect", "talker", expect![[r#"
            ends ERROR MODEL_FAILED: "the provider answered 307 Temporary Redirect; redirects are not followed, since the key would travel on: set `baseUrl`"
        "#]], |_| {
            vec![Answer::status(307, "").header("location", "http://127.0.0.1:1/elsewhere")]
        }),
    ])
    .await;
}

#[tokio::test]
async fn what_passes_is_asked_again() {
    check(vec![
        row("408", "talker", expect![[r#"
            again: "the provider answered 408 Request Timeout: slow (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| vec![wire.refuses(408, "slow"), wire.text("Well.")]),
        row("500", "talker", expect![[r#"
            again: "the provider answered 500 Internal Server Error: oops (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| vec![wire.refuses(500, "oops"), wire.text("Well.")]),
        row("502 with a page", "talker", expect![[r#"
            again: "the provider answered 502 Bad Gateway"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            let page = Answer::status(502, PAGE).header("content-type", "text/html");
            vec![page, wire.text("Well.")]
        }),
        row("529", "talker", expect![[r#"
            again: "the provider answered 529: Overloaded (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| vec![wire.refuses(529, "Overloaded"), wire.text("Well.")]),
        // Piece by piece, so that what came before is shown before the error is read.
        row("an error in mid-stream", "talker", expect![[r#"
            again, what was shown is dropped: "the provider failed in the middle of the response: Overloaded. (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used what is estimated
            but openai-responses:
              again, what was shown is dropped: "the provider failed in the middle of the response: Overloaded."
              says "Well.", 0 calls
              ends GOAL "Well."
              used what is estimated
        "#]], |wire| {
            vec![wire.fails_in_the_middle().pieces_of(1), wire.text("Well.")]
        }),
        row("500 for good", "talker", expect![[r#"
            again: "the provider answered 500 Internal Server Error: oops (its name)"
            again: "the provider answered 500 Internal Server Error: oops (its name)"
            again: "the provider answered 500 Internal Server Error: oops (its name)"
            again: "the provider answered 500 Internal Server Error: oops (its name)"
            ends ERROR MODEL_FAILED: "the provider answered 500 Internal Server Error: oops (its name) (after 5 tries)"
        "#]], |wire| {
            (0..5).map(|_| wire.refuses(500, "oops")).collect()
        }),
    ])
    .await;
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_kept() {
    check(vec![
        row("429 without a hint", "talker", expect![[r#"
            again: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.refuses(429, "slow down"), wire.text("Well.")]
        }),
        row("429, seconds", "talker", expect![[r#"
            again in 47000 ms: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.refuses(429, "slow down").header("retry-after", "47"), wire.text("Well.")]
        }),
        row("429, seconds with a fraction", "talker", expect![[r#"
            again in 43500 ms: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.refuses(429, "slow down").header("retry-after", "43.5"), wire.text("Well.")]
        }),
        row("429, a date", "talker", expect![[r#"
            again in 61000 ms: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            let refusal = wire
                .refuses(429, "slow down")
                .header("date", "Sun, 22 Nov 2026 10:00:00 GMT")
                .header("retry-after", "Sun, 22 Nov 2026 10:01:01 GMT");
            vec![refusal, wire.text("Well.")]
        }),
        row("429, milliseconds", "talker", expect![[r#"
            again in 44100 ms: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            let refusal = wire.refuses(429, "slow down").header("retry-after-ms", "44100");
            vec![refusal.header("retry-after", "44"), wire.text("Well.")]
        }),
        row("429, in its body", "talker", expect![[r#"
            again in 41500 ms: "the provider answered 429 Too Many Requests: Slow down. Please try again in 41.5s. (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
            but gemini:
              again in 41500 ms: "the provider answered 429 Too Many Requests: Slow down. (its name)"
              says "Well.", 0 calls
              ends GOAL "Well."
              used 100, 30 of it cached, for 27
            but anthropic:
              again: "the provider answered 429 Too Many Requests: Slow down. (its name)"
              says "Well.", 0 calls
              ends GOAL "Well."
              used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.limits_in_its_body(), wire.text("Well.")]
        }),
        row("429, a hint that is none", "talker", expect![[r#"
            again: "the provider answered 429 Too Many Requests: slow down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.refuses(429, "slow down").header("retry-after", "soon"), wire.text("Well.")]
        }),
        row("503 with a hint", "talker", expect![[r#"
            again in 50000 ms: "the provider answered 503 Service Unavailable: down (its name)"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]], |wire| {
            vec![wire.refuses(503, "down").header("retry-after", "50"), wire.text("Well.")]
        }),
    ])
    .await;
}

/// What a run does about it may be more than to end, e.g. to ask for less; the provider's words are told in any case.
#[tokio::test]
async fn what_is_too_long_is_told_in_the_providers_words_and_with_both_counts() {
    let too_large = |wire: Wire| vec![wire.refuses(413, "the request is too large"); MOST_TRIES];
    let no_room = |wire: Wire| vec![wire.refuses(400, NO_ROOM); MOST_TRIES];
    for (errors, words) in
        [(told_errors(too_large).await, "the request is too large"), (told_errors(no_room).await, NO_ROOM)]
    {
        for (wire, error) in errors {
            let message = error["message"].as_str().unwrap_or_default();
            let (said, counts) = message.split_once("; ").unwrap_or((message, ""));
            assert!(said.contains(words), "{}: {error}", wire.name());
            let window = format!("and the window of row-0/{} takes ", wire.model());
            assert!(counts.starts_with("the request is about ") && counts.contains(&window), "{error}");
            assert_eq!(error["code"], "CONTEXT_OVERFLOW", "{}: {error}", wire.name());
        }
    }
}

/// Anthropic's words for a prompt that fits the window, but not together with the longest answer.
const NO_ROOM: &str = "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` \
                       and try again";

/// A run asks less often than this, whatever it makes of a refusal.
const MOST_TRIES: usize = 10;
