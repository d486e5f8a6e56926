//! What the specification demands of odd files, by a table that was written from it alone.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use serde_json::Value;

use super::*;
use protocol::{AgentFileState, AgentStatus, FileProblem, Verdict, listed_tool};

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

fn codes(file: &AgentFile, severity: ProblemSeverity) -> Vec<String> {
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
    for (key, severity) in [("errors", ProblemSeverity::Error), ("warnings", ProblemSeverity::Warning)] {
        let Some(wanted) = expect.get(key) else { continue };
        let are: BTreeSet<String> = codes(file, severity).into_iter().collect();
        let wanted: BTreeSet<String> = texts(wanted).into_iter().collect();
        if !wanted.is_subset(&are) {
            differ(key, format!("{are:?}"), format!("{wanted:?}"));
        }
    }
    if expect["warned"] == true && codes(file, ProblemSeverity::Warning).is_empty() {
        differ("warned", "no".to_owned(), "yes".to_owned());
    }
    if let Some(line) = expect["line"].as_u64() {
        let is_meant = |problem: &&FileProblem| {
            file.state != AgentFileState::Rejected || problem.severity == ProblemSeverity::Error
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
        let wanted = canonical(texts(deny));
        // What goes with a tool that is taken away, and has no name in its product (`stricter.rs`).
        let goes_along = ["delete_file", "move_file", "git_commit"];
        let mut are = canonical(&definition.tools.deny);
        are.retain(|tool| wanted.contains(tool) || !goes_along.contains(&tool.as_str()));
        differ("deny", format!("{are:?}"), format!("{wanted:?}"));
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

/// Files beside it, and files that are not read whole: what only a folder shows.
fn wants_folder(case: &Value, bytes: &[u8]) -> bool {
    case.get("also").is_some() || LARGEST_FILE < bytes.len() as u64
}

fn differences_told(case: &Value, file: &AgentFile) -> String {
    let sure = if case["sure"] == true { "SURE" } else { "open" };
    let told = differences(case, file).into_iter();
    told.map(|difference| format!("{sure} {} ({}): {difference}\n", case["id"], case["format"])).collect()
}

#[test]
fn odd_neighbours_are_what_the_specification_makes_of_them() {
    let (mut wrong, mut n_cases) = (String::new(), 0);
    for line in TABLE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let bytes = bytes(&case);
        if !wants_folder(&case, &bytes) {
            continue;
        }
        n_cases += 1;
        let base = tempfile::tempdir().unwrap();
        let (home, config) = (base.path().join("home"), base.path().join("config"));
        let folder = match format(&case) {
            AgentFormat::Own => config.join("subagentd/agents"),
            AgentFormat::Claude => home.join(".claude/agents"),
            AgentFormat::Gemini => home.join(".gemini/agents"),
            AgentFormat::OpenCode => config.join("opencode/agent"),
        };
        let place = |file: &Value| {
            let path = folder.join(file["file"].as_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        let path = place(&case);
        fs::write(&path, &bytes).unwrap();
        for other in case["also"].as_array().into_iter().flatten() {
            match other["symlink"].as_str() {
                Some(target) => std::os::unix::fs::symlink(target, place(other)).unwrap(),
                None => fs::write(place(other), other["text"].as_str().unwrap()).unwrap(),
            }
        }
        let places = AgentPlaces::of_user(config.join("subagentd/agents"));
        let places = places.with_products(Some(&home), Some(&config));
        let library = AgentFileCache::unwatched(places, PlaceSwitches::default());
        let catalog = library.catalog(&[], &Arc::default());
        let listed = catalog.list(true, true);
        let Some(agent) = listed.iter().find(|agent| agent.path.as_deref() == Some(&*path)) else {
            wrong.push_str(&format!("{}: is not listed\n", case["id"]));
            continue;
        };
        let mut file = catalog.file(&agent.name, Some(&path)).unwrap().as_ref().clone();
        file.problems.clone_from(&agent.problems);
        wrong.push_str(&differences_told(&case, &file));
        if let Some(hidden) = case["expect"]["hidden"].as_bool() {
            let is_hidden = agent.status == AgentStatus::Hidden;
            if is_hidden != hidden || is_hidden != agent.hidden_by.is_some() {
                wrong.push_str(&format!(
                    "{}: is {:?} behind {:?}\n",
                    case["id"], agent.status, agent.hidden_by
                ));
            }
        }
    }
    assert_eq!(wrong, "");
    assert_eq!(n_cases, 19);
}

#[test]
fn odd_files_are_what_the_specification_makes_of_them() {
    let mut wrong = String::new();
    for line in TABLE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let bytes = bytes(&case);
        if wants_folder(&case, &bytes) {
            continue;
        }
        let path = Path::new(case["file"].as_str().unwrap());
        let file = AgentFile::read(path, &bytes, AgentScope::User, format(&case));
        wrong.push_str(&differences_told(&case, &file));
    }
    assert_eq!(wrong, "");
}
