//! Which pages would a call of `web_fetch` read, and how is one of them shown and changed, where a contract knows one address a call?

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{HookContract, HookedCall, shown};
use web::{WebTarget, addresses_in};

/// Every address that the call would ask for, as it is asked for, each once; none of another tool's.
pub(in super::super) fn pages_of(call: &HookedCall) -> Vec<String> {
    if call.tool.as_str() != "web_fetch" {
        return Vec::new();
    }
    let mut pages: Vec<String> = Vec::new();
    for address in written(&call.arguments) {
        let page = as_asked(address);
        if !pages.contains(&page) {
            pages.push(page);
        }
    }
    pages
}

/// The addresses of a call as they are written.
fn written(arguments: &Value) -> Vec<&str> {
    let urls =
        arguments.get("urls").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let prompt = arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
    urls.chain(addresses_in(prompt)).collect()
}

/// The address as the tool asks for it. One that is none stays as it is written: the tool refuses it.
fn as_asked(address: &str) -> String {
    WebTarget::parse(address).map_or_else(|_| address.to_owned(), |target| target.to_string())
}

/// Claude Code's tool gets one address beside its prompt. Of several, `urls` has all. Each is told as it is asked for: guards compare texts.
pub(super) fn show(theirs: &mut Map<String, Value>, call: &HookedCall) {
    let pages = pages_of(call);
    if let Some(url) = call.page.as_ref().or(pages.first()) {
        theirs.insert("url".to_owned(), json!(url));
    }
    if 1 < pages.len() || theirs.contains_key("urls") && !pages.is_empty() {
        theirs.insert("urls".to_owned(), json!(pages));
    }
    theirs.entry("prompt").or_insert_with(|| json!(""));
}

/// Claude Code's tool knows no `urls`, so a hook that leaves them out means its own page alone.
pub(super) fn keep_others(
    theirs: &mut Map<String, Value>,
    call: &HookedCall,
    told: &Map<String, Value>,
) -> Result<(), String> {
    let pages = pages_of(call);
    if pages.len() < 2 {
        return Ok(());
    }
    if !theirs.contains_key("url") {
        return Err(format!("they have no `url`, and the call is about {} pages", pages.len()));
    }
    if let (false, Some(urls)) = (theirs.contains_key("urls"), told.get("urls")) {
        theirs.insert("urls".to_owned(), urls.clone());
    }
    Ok(())
}

/// Another address than the one that was told is fetched in place of that one, and of no other.
pub(super) fn read_back(ours: &mut Map<String, Value>, told: &Map<String, Value>) -> Result<(), String> {
    let Some(url) = ours.remove("url") else { return Ok(()) };
    let Some(after) = url.as_str() else { return Err("`url` is no text".to_owned()) };
    let before = told.get("url").and_then(Value::as_str).map(as_asked);
    let is_meant = |address: &str| before.as_ref().is_some_and(|before| as_asked(address) == *before);
    if let Some(Value::String(prompt)) = ours.get_mut("prompt") {
        *prompt = with_addresses(prompt, |address| if is_meant(address) { after } else { address });
    }
    let given = ours.get("urls").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_there = |address: &&Value| !address.as_str().is_some_and(&is_meant);
    let mut urls: Vec<Value> = Vec::new();
    let at = given.iter().position(|address| address.as_str().is_some_and(&is_meant)).unwrap_or(given.len());
    urls.extend(given.iter().take(at).cloned());
    urls.push(url.clone());
    urls.extend(given.iter().skip(at).filter(is_there).cloned());
    ours.insert("urls".to_owned(), json!(urls));
    Ok(())
}

/// The text with other addresses in the place of those that stand in it.
fn with_addresses<'a>(text: &'a str, other: impl Fn(&'a str) -> &'a str) -> String {
    let (mut made, mut rest) = (String::new(), text);
    for address in addresses_in(text) {
        let Some((before, after)) = rest.split_once(address) else { break };
        made.push_str(before);
        made.push_str(other(address));
        rest = after;
    }
    made + rest
}

/// The same of a hook that has changed the call before, asked about another page: what it was told and left is as it has made it.
pub(in super::super) fn rebased(
    call: &HookedCall,
    changed: &Value,
    (contract, root): (HookContract, &Path),
    given: &Value,
) -> (HookedCall, Value) {
    let base = HookedCall { arguments: changed.clone(), ..call.clone() };
    let (told, anew) = (shown(call, contract, root).arguments, shown(&base, contract, root).arguments);
    let Value::Object(fields) = given else { return (base, given.clone()) };
    let mut made = Map::new();
    for (key, value) in fields {
        match anew.get(key) {
            Some(anew) if told.get(key) == Some(value) => made.insert(key.clone(), anew.clone()),
            None if told.get(key) == Some(value) => None,
            _ => made.insert(key.clone(), value.clone()),
        };
    }
    (base, Value::Object(made))
}
