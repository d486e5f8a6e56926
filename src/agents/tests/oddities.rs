//! What the specification demands of odd files, by a table that was written from it alone.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::*;
use crate::protocol::{AgentFileState, FileProblem, Verdict, listed_tool};

const TABLE: &str = include_str!("../../../tests/it/agent_files/oddities.jsonl");

/// The bytes of a case's file.
fn bytes(case: &Value) -> Vec<u8> {
    if let Some(text) = case["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let decoded =
        |text: &str| base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text).unwrap();
    if let Some(text) = case["base64"].as_str() {
        return decoded(text);
    }
    if let Some(text) = case["zlib"].as_str() {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&*decoded(text)), &mut bytes).unwrap();
        return bytes;
    }
    let part = |name: &str| case["repeat"][name].as_str().unwrap_or_default();
    let times = usize::try_from(case["repeat"]["times"].as_u64().unwrap()).unwrap();
    format!("{}{}{}", part("head"), part("unit").repeat(times), part("tail")).into_bytes()
}

fn format(case: &Value) -> AgentFormat {
    serde_json::from_value(case["format"].clone()).unwrap()
}

fn word<T: serde::Serialize>(value: T) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn codes(file: &AgentFile, severity: Severity) -> Vec<String> {
    let of_severity = file.problems.iter().filter(|problem| problem.severity == severity);
    of_severity.map(|problem| word(problem.code)).collect()
}

/// Names as the registry knows them, each once.
fn canonical(names: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    let mut canonical: Vec<String> = Vec::new();
    for name in names {
        let name = name.to_string();
        let name = listed_tool(&name).map_or(name.clone(), str::to_owned);
        // Both spellings mean the same to the registry.
        let wire = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let name = wire.map_or(name.clone(), |(server, tool)| format!("mcp.{server}.{tool}"));
        if !canonical.contains(&name) {
            canonical.push(name);
        }
    }
    canonical
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Every way in which the file is not what the case expects.
fn differences(case: &Value, file: &AgentFile) -> Vec<String> {
    let expect = &case["expect"];
    let mut found = Vec::new();
    let mut differ = |what: &str, is: String, wanted: String| {
        if is != wanted {
            found.push(format!("{what}: {is}, not {wanted}"));
        }
    };
    let state = word(file.state);
    let others: Vec<String> = expect.get("orState").map(texts_or_one).unwrap_or_default();
    if !others.contains(&state) {
        differ("state", state, expect["state"].as_str().unwrap().to_owned());
    }
    for (key, severity) in [("errors", Severity::Error), ("warnings", Severity::Warning)] {
        let Some(wanted) = expect.get(key) else { continue };
        let are: BTreeSet<String> = codes(file, severity).into_iter().collect();
        let wanted: BTreeSet<String> = texts(wanted).into_iter().collect();
        if !wanted.is_subset(&are) {
            differ(key, format!("{are:?}"), format!("{wanted:?}"));
        }
    }
    if expect["warned"] == true && codes(file, Severity::Warning).is_empty() {
        differ("warned", "no".to_owned(), "yes".to_owned());
    }
    if let Some(line) = expect["line"].as_u64() {
        let is_meant = |problem: &&FileProblem| {
            file.state != AgentFileState::Rejected || problem.severity == Severity::Error
        };
        let lines: Vec<u64> =
            file.problems.iter().filter(is_meant).filter_map(|it| Some(it.line?.into())).collect();
        if !lines.contains(&line) {
            differ("line", format!("{lines:?}"), line.to_string());
        }
    }
    if let Some(name) = expect["name"].as_str() {
        differ("name", file.name.to_string(), name.to_owned());
    }
    if let Some(names) = expect.get("agents") {
        let are: Vec<String> = [file].into_iter().chain(&file.others).map(|it| it.name.to_string()).collect();
        differ("agents", format!("{are:?}"), format!("{:?}", texts(names)));
    }
    let Some(definition) = &file.definition else { return found };
    let is = |value: &Option<String>| value.clone().unwrap_or_default();
    if let Some(title) = expect["title"].as_str() {
        differ("title", definition.title.clone(), title.to_owned());
    }
    if let Some(description) = expect["description"].as_str() {
        differ(
            "description",
            is(&definition.description).trim_end().to_owned(),
            description.trim_end().to_owned(),
        );
    }
    if let Some(model) = expect["model"].as_str() {
        let named = definition.model.name.as_ref().map_or("inherit".to_owned(), ToString::to_string);
        differ("model", named, model.to_owned());
    }
    if let Some(turns) = expect.get("maxTurns") {
        differ("maxTurns", serde_json::json!(definition.limits.max_turns).to_string(), turns.to_string());
    }
    if let Some(allow) = expect.get("allow") {
        let tools = &definition.tools;
        let are = (!tools.inherits).then(|| tools.allow.as_ref().map(canonical)).flatten();
        let inherits =
            allow.is_null() || format(case) != AgentFormat::Own && texts(allow).iter().any(|it| it == "*");
        let wanted = (!inherits).then(|| canonical(texts(allow)));
        differ("allow", format!("{are:?}"), format!("{wanted:?}"));
    }
    if let Some(deny) = expect.get("deny") {
        differ(
            "deny",
            format!("{:?}", canonical(&definition.tools.deny)),
            format!("{:?}", canonical(texts(deny))),
        );
    }
    if let Some(narrowed) = expect.get("narrowed") {
        let allowed = definition.narrowings.iter().filter(|it| it.decision == Verdict::Allow);
        let plain = |about: &str| about.trim_end_matches('*').trim_end_matches([':', ' ']).to_owned();
        let are: Vec<String> = allowed.filter_map(|it| Some(plain(it.about.as_ref()?))).collect();
        differ("narrowed", format!("{are:?}"), format!("{:?}", texts(narrowed)));
    }
    let prompt = definition.prompt.replace("$${", "${");
    match expect.get("prompt") {
        Some(Value::String(wanted)) => differ("prompt", prompt.trim().to_owned(), wanted.trim().to_owned()),
        Some(wanted) => {
            if let Some(part) = wanted["contains"].as_str().filter(|part| !prompt.contains(part)) {
                differ("prompt", prompt.clone(), format!("with {part:?}"));
            }
            if let Some(end) =
                wanted["endsWith"].as_str().filter(|end| !prompt.trim_end().ends_with(end.trim_end()))
            {
                differ("prompt", prompt.clone(), format!("with {end:?} at its end"));
            }
        }
        None => {}
    }
    for part in expect.get("inBody").map(texts_or_one).unwrap_or_default() {
        if !prompt.contains(&part) {
            differ("prompt", prompt.clone(), format!("with {part:?}"));
        }
    }
    for part in expect.get("notInBody").map(texts_or_one).unwrap_or_default() {
        if prompt.contains(&part) {
            differ("prompt", prompt.clone(), format!("without {part:?}"));
        }
    }
    found
}

fn texts_or_one(value: &Value) -> Vec<String> {
    value.as_str().map_or_else(|| texts(value), |one| vec![one.to_owned()])
}

#[test]
fn odd_files_are_what_the_specification_makes_of_them() {
    let mut wrong = String::new();
    for line in TABLE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        // Files beside it, and what only a folder shows, are looked at by another test.
        if case.get("also").is_some() || case["file"].as_str().is_none() {
            continue;
        }
        let bytes = bytes(&case);
        if bytes.len() > 1024 * 1024 {
            continue;
        }
        let path = Path::new(case["file"].as_str().unwrap());
        let file = AgentFile::read(path, &bytes, AgentScope::User, format(&case));
        for difference in differences(&case, &file) {
            let sure = if case["sure"] == true { "SURE" } else { "open" };
            wrong.push_str(&format!("{sure} {} ({}): {difference}\n", case["id"], case["format"]));
        }
    }
    assert_eq!(wrong, "");
}
