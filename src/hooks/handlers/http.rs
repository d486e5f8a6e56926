//! A hook that is an address: what others read is posted, what it answers is read like a command's output.

use serde_json::{Map, Value};

use super::HandlerParts;
use crate::{Hook, HookFailurePolicy, HookHandler, HookWorkspace, answer::HandlerEnd, event};
use protocol::HookOutcome;

/// Bytes of an answer, as of a command's.
const MAX_ANSWER: usize = 1 << 20;

/// Headers that say how the request is sent, which is not for a hook to say.
const OWN_HEADERS: &[&str] = &["content-length", "transfer-encoding", "host", "connection", "content-type"];

pub(super) async fn post(
    parts: &HandlerParts,
    hook: &Hook,
    input: &Value,
    workspace: &HookWorkspace,
) -> HandlerEnd {
    let HookHandler::Http { url, headers, allowed_env_vars } = &hook.handler else {
        return HandlerEnd::failed(HookOutcome::NotStarted, "is no address");
    };
    // It goes from the daemon: what a command of the project may not reach, neither does this.
    if hook.is_confined() && !workspace.settings.sandbox.network {
        let why =
            "was not asked: it is a project's, and commands here have no network (setting `sandbox.network`)";
        return HandlerEnd::failed(HookOutcome::NotStarted, why);
    }
    let Ok(parsed) = reqwest::Url::parse(url) else {
        return HandlerEnd::failed(HookOutcome::NotStarted, "has an address that is none");
    };
    let client = match notify::direct_client(parsed.clone()).await {
        Ok(client) => client,
        Err(error) => {
            return HandlerEnd::failed(
                HookOutcome::NotStarted,
                format!("cannot be reached: {}", notify::request_problem(&error)),
            );
        }
    };
    let mut request = client.post(parsed).header("content-type", "application/json").body(input.to_string());
    let is_own = hook.origin.is_own();
    let allowed = |name: &str| {
        let is_named = allowed_env_vars.iter().any(|other| other == name);
        // What a project sends elsewhere the person names as well.
        is_named && (is_own || workspace.settings.http_env.iter().any(|other| other == name))
    };
    for (name, value) in headers {
        if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            continue;
        }
        let value = filled(value, &allowed, &|name| variable(parts, name));
        request = request.header(name, value);
    }
    let is_guard = hook.on_failure != HookFailurePolicy::Continue
        || hook.events.iter().any(|event| event::is_guard(*event));
    match exchanged(request).await {
        Ok(HookHttpAnswer { encoding: Some(encoding), .. }) if is_guard => {
            let why = format!("answered in the encoding {encoding}, and nobody asked for one");
            HandlerEnd::failed(HookOutcome::Invalid, why)
        }
        Ok(HookHttpAnswer { is_text: false, .. }) if is_guard => {
            HandlerEnd::failed(HookOutcome::Invalid, "answered with what is no UTF-8 text")
        }
        Ok(HookHttpAnswer { content_type, text, .. })
            if is_guard && is_no_object(content_type.as_deref(), &text) =>
        {
            let why = "says that it answers with JSON, and that is no object";
            HandlerEnd::failed(HookOutcome::Invalid, why)
        }
        Ok(HookHttpAnswer { content_type, text, .. })
            if is_guard && is_page(content_type.as_deref(), &text) =>
        {
            let kind = content_type.as_deref().unwrap_or("no type");
            let why = format!(
                "answered with a page ({kind}) and not with JSON or plain text: another server may stand in its place, \
                 a proxy say where somebody has to sign in"
            );
            HandlerEnd::failed(HookOutcome::Invalid, why)
        }
        Ok(HookHttpAnswer { text, .. }) if goes_async(&text) => {
            let why = "said that it goes on by itself, which an address cannot";
            HandlerEnd::failed(HookOutcome::Invalid, why)
        }
        Ok(HookHttpAnswer { text, .. }) => HandlerEnd::answered(text),
        Err((how, why)) => HandlerEnd::failed(how, why),
    }
}

/// True if what came is a page for people, or a file, and no answer of whoever knows hooks. An object of JSON is one, whatever its server
/// calls it.
fn is_page(content_type: Option<&str>, body: &str) -> bool {
    let body = body.trim_start_matches('\u{feff}').trim();
    if body.is_empty() || serde_json::from_str::<Map<String, Value>>(body).is_ok() {
        return false;
    }
    match essence(content_type).as_str() {
        // Some servers call a page so, too.
        "" | "text/plain" => body.starts_with('<'),
        other => body.starts_with('<') || !is_json(other),
    }
}

/// True if what calls itself JSON is neither an object nor `null`, which says nothing.
fn is_no_object(content_type: Option<&str>, body: &str) -> bool {
    let body = body.trim_start_matches('\u{feff}').trim();
    // What begins as an object is read, or told, as that of a command.
    is_json(&essence(content_type)) && !body.is_empty() && body != "null" && !body.starts_with('{')
}

/// The type without its parameters, in lower case.
fn essence(content_type: Option<&str>) -> String {
    let essence = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn is_json(essence: &str) -> bool {
    essence.ends_with("/json") || essence.ends_with("+json")
}

fn goes_async(text: &str) -> bool {
    let value: Option<Value> = serde_json::from_str(text).ok();
    value.is_some_and(|value| value.get("async") == Some(&Value::Bool(true)))
}

/// An answer with a status that says that all went well.
struct HookHttpAnswer {
    content_type: Option<String>,
    /// The `Content-Encoding`, but for none and `identity`.
    encoding: Option<String>,
    text: String,
    /// The body is UTF-8.
    is_text: bool,
}

async fn exchanged(request: reqwest::RequestBuilder) -> Result<HookHttpAnswer, (HookOutcome, String)> {
    let failed = |error: reqwest::Error| {
        (HookOutcome::Failed, format!("cannot be reached: {}", notify::request_problem(&error)))
    };
    let mut answer = request.send().await.map_err(failed)?;
    let status = answer.status();
    if !status.is_success() {
        return Err((HookOutcome::Failed, format!("answered {status}")));
    }
    let header = |name| {
        let value = answer.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
    };
    let content_type = header(reqwest::header::CONTENT_TYPE);
    let encoding = header(reqwest::header::CONTENT_ENCODING)
        .filter(|it| !it.is_empty() && !it.eq_ignore_ascii_case("identity"));
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        body.extend_from_slice(&piece);
        if MAX_ANSWER < body.len() {
            return Err((HookOutcome::Invalid, format!("answered more than {} MiB", MAX_ANSWER >> 20)));
        }
    }
    let is_text = std::str::from_utf8(&body).is_ok();
    Ok(HookHttpAnswer { content_type, encoding, text: String::from_utf8_lossy(&body).into_owned(), is_text })
}

fn variable(parts: &HandlerParts, name: &str) -> Option<String> {
    let found = parts.environment.iter().find(|(other, _)| other.to_str() == Some(name));
    found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
}

/// The same with `$NAME` and `${NAME}` filled in, of names that are allowed; others are empty.
fn filled(text: &str, allowed: &dyn Fn(&str) -> bool, value_of: &dyn Fn(&str) -> Option<String>) -> String {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, behind) = match after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((name, behind)) if name.chars().all(is_of_name) => (name, behind),
            _ => after.split_at(after.find(|letter| !is_of_name(letter)).unwrap_or(after.len())),
        };
        if name.is_empty() {
            filled.push('$');
        } else if allowed(name) {
            filled.push_str(&value_of(name).unwrap_or_default());
        }
        rest = behind;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A proxy's page where somebody signs in comes with status 200.
    #[test]
    fn a_page_is_no_answer() {
        const PAGE: &str = "<!DOCTYPE html><title>Sign in</title>";
        for (content_type, body, expected) in [
            (Some("text/html; charset=utf-8"), PAGE, true),
            (Some("TEXT/HTML"), "no objection", true),
            (Some("image/png"), "\u{fffd}PNG", true),
            (None, PAGE, true),
            (Some("nonsense"), "x", true),
            // Servers that answer a text call it a page, if nobody tells them otherwise.
            (Some("text/html"), r#" {"decision": "block"} "#, false),
            (Some("text/html"), "  \n", false),
            (Some("text/plain; charset=utf-8"), "a note", false),
            (Some("application/json"), "a note", false),
            (Some("application/problem+json"), "{", false),
            (None, "a note", false),
        ] {
            assert_eq!(is_page(content_type, body), expected, "{content_type:?} {body}");
        }
    }

    #[test]
    fn json_that_is_no_object_is_no_answer() {
        for (content_type, body, expected) in [
            (Some("application/json"), r#"{"decision": "block"}"#, false),
            (Some("application/json"), "", false),
            (Some("application/json"), "null", false),
            (Some("application/json"), "{", false),
            (Some("Application/JSON; charset=utf-8"), "false", true),
            (Some("application/json"), "[]", true),
            (Some("application/json"), "\"sign in first\"", true),
            (Some("application/problem+json"), "sign in first", true),
            (Some("text/plain"), "false", false),
            (None, "[]", false),
        ] {
            assert_eq!(is_no_object(content_type, body), expected, "{content_type:?} {body}");
        }
    }

    #[test]
    fn only_variables_that_are_allowed_are_filled_in() {
        let fill = |text| filled(text, &|name| name == "TOKEN", &|name| Some(format!("<{name}>")));
        for (text, expected) in [
            ("Bearer $TOKEN", "Bearer <TOKEN>"),
            ("Bearer ${TOKEN}!", "Bearer <TOKEN>!"),
            ("$TOKENS", ""),
            ("$SECRET and ${SECRET}", " and "),
            ("5 $ and $", "5 $ and $"),
            ("${open", "${open"),
        ] {
            assert_eq!(fill(text), expected, "{text}");
        }
    }
}
