//! A server of the tests' own, which speaks the protocol by hand so that it can misbehave. It is this test program once more,
//! with only the test below running, and [`MODE`] in its environment.

use std::{
    collections::HashSet,
    io::Write as _,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

/// How it behaves.
const MODE: &str = "MCP_TEST_SERVER";

/// The entry of a server that behaves so.
pub fn entry(mode: &str) -> Value {
    let program = std::env::current_exe().unwrap();
    json!({
        "command": program,
        "args": ["--exact", "mcp::server::is_a_server_when_it_is_told_to_be", "--nocapture"],
        "env": { MODE: mode },
    })
}

#[test]
fn is_a_server_when_it_is_told_to_be() {
    let Ok(mode) = std::env::var(MODE) else { return };
    match mode.as_str() {
        "gone" => {
            eprintln!("no license found");
            std::process::exit(3);
        }
        "mute" => while std::io::stdin().lines().next().is_some_and(|line| line.is_ok()) {},
        "noise" => {
            println!("Starting up...\n{{\"not\": \"a message\"}}\n[1, 2\n{{}}");
            for number in 0..50_000 {
                eprintln!("line {number} of what nobody wants to read");
            }
            serve(&mode);
        }
        _ => serve(&mode),
    }
    // The harness would print what came of this test.
    std::process::exit(0);
}

fn print(message: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

fn serve(mode: &str) {
    let cancelled: Arc<Mutex<HashSet<String>>> = Arc::default();
    let mut tools = tools(mode);
    let mut asking = Asking::default();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return };
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].clone();
        let answer = |result: Value| print(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        match message["method"].as_str() {
            Some("initialize") => answer(json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": { "listChanged": true }, "resources": {}, "prompts": {} },
                "serverInfo": { "name": "of-the-tests", "version": "1.2" },
            })),
            Some("tools/list") if mode == "pages" => {
                // Three pages of two.
                let from: usize = message["params"]["cursor"].as_str().map_or(0, |it| it.parse().unwrap());
                let page = (from..from + 2).map(|number| json!({ "name": format!("t{number}") }));
                let mut result = json!({ "tools": page.collect::<Vec<_>>() });
                if from < 4 {
                    result["nextCursor"] = (from + 2).to_string().into();
                }
                answer(result);
            }
            Some("tools/list") if mode == "endless" => {
                answer(json!({ "tools": [{ "name": "again" }], "nextCursor": "x" }));
            }
            Some("tools/list") => {
                if mode == "restless" {
                    // They never do, and whoever believes it lists them for ever.
                    print(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                }
                answer(json!({ "tools": tools }));
            }
            Some("prompts/list") => answer(json!({ "prompts": [
                { "name": "greet", "description": "Greets.", "arguments": [{ "name": "who", "required": true }] },
            ] })),
            // One that no list names.
            Some("prompts/get") if message["params"]["name"] == "odd" => {
                let contents = [
                    json!({ "type": "text", "text": "Look." }),
                    json!({ "type": "image", "mimeType": "image/png", "data": "%%%" }),
                    json!({ "type": "resource", "resource": { "uri": "note://3", "blob": "%%%" } }),
                    json!({ "type": "resource_link", "uri": "note://2", "name": "two", "description": "the second" }),
                    json!({ "type": "hologram", "data": "?" }),
                ];
                let messages = contents.map(|content| json!({ "role": "user", "content": content }));
                answer(json!({ "messages": messages }));
            }
            Some("prompts/get") => answer(json!({ "messages": [
                { "role": "user", "content": { "type": "text",
                  "text": format!("Greet {}.", message["params"]["arguments"]["who"].as_str().unwrap()) } },
            ] })),
            Some("resources/list") => {
                answer(
                    json!({ "resources": [{ "uri": "note://1", "name": "one", "mimeType": "text/plain" }] }),
                );
            }
            Some("resources/read") => {
                let uri = &message["params"]["uri"];
                answer(
                    json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": "what is noted" }] }),
                );
            }
            Some("notifications/initialized") if mode == "early" => asking.ask_early(),
            None => asking.is_answered(&message),
            Some("ping") => answer(json!({})),
            Some("notifications/cancelled") => {
                let id = message["params"]["requestId"].to_string();
                eprintln!("cancelled {id}");
                cancelled.lock().unwrap().insert(id);
            }
            Some("tools/call") => {
                let params = &message["params"];
                if params["name"] == "grow" {
                    tools.as_array_mut().unwrap().push(json!({ "name": "grown" }));
                    let told = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
                    // As some do.
                    print(&told);
                    print(&told);
                }
                if asking.begins(params, &id) {
                    continue;
                }
                match call(params, &id, &cancelled) {
                    Some(Ok(result)) => answer(result),
                    Some(Err(error)) => print(&json!({ "jsonrpc": "2.0", "id": id, "error": error })),
                    None => (),
                }
            }
            _ => (),
        }
    }
}

fn tools(mode: &str) -> Value {
    if mode == "odd" {
        return json!([
            { "name": "with.dots and blanks", "inputSchema": { "type": "object" } },
            { "name": "x".repeat(200) },
            { "name": "mcp.other.tool" },
            { "name": "broken", "inputSchema": { "type": 7 } },
            { "name": "broken2", "inputSchema": "nothing" },
            { "name": "far", "inputSchema": { "type": "object", "properties": { "a": { "$ref": "http://127.0.0.1:9/x" } } } },
            17,
        ]);
    }
    let text = json!({
        "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
    });
    let read_only = json!({ "readOnlyHint": true });
    let mut tools = json!([
        { "name": "echo", "title": "Echo", "description": "Says it again.", "inputSchema": text, "annotations": read_only },
        { "name": "refuses" }, { "name": "fails" }, { "name": "kinds" }, { "name": "nonsense" },
        { "name": "dies" }, { "name": "waits" }, { "name": "works" }, { "name": "big" }, { "name": "huge" },
        { "name": "environment" }, { "name": "grow" },
    ]);
    if mode == "traced" {
        tools.as_array_mut().unwrap().push(json!({ "name": "span" }));
    }
    if mode == "writes" {
        let properties = json!({ "path": { "type": "string" }, "text": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": ["path", "text"] });
        tools.as_array_mut().unwrap().push(json!({ "name": "put", "inputSchema": schema }));
    }
    if matches!(mode, "asking" | "early") {
        tools.as_array_mut().unwrap().extend([json!({ "name": "asks" }), json!({ "name": "early" })]);
    }
    tools
}

/// What the server asks while it is at calls, and what it was answered.
#[derive(Default)]
struct Asking {
    /// By the call's id.
    calls: Vec<(Value, Question)>,
    /// What became of a question that was nobody's.
    early: Option<Value>,
}

/// What a call of `asks` has open.
#[derive(Default)]
struct Question {
    /// `rest`: the first answer takes the others back; `die`: the program ends with the first; else all are waited for.
    then: String,
    open: Vec<String>,
    answers: Vec<Value>,
}

impl Asking {
    /// `asks {asks: [params], method?, then?, progress?}` asks all of that at once, and `early` says what came of what was
    /// asked before anybody called.
    fn begins(&mut self, params: &Value, id: &Value) -> bool {
        let arguments = &params["arguments"];
        match params["name"].as_str() {
            Some("early") => {
                let text = self.early.clone().unwrap_or_default().to_string();
                says(id, &text);
            }
            Some("asks") => {
                for told in arguments["progress"].as_array().into_iter().flatten() {
                    let mut told = told.clone();
                    told["progressToken"] = params["_meta"]["progressToken"].clone();
                    print(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": told }));
                }
                let method = arguments["method"].as_str().unwrap_or("elicitation/create");
                let then = arguments["then"].as_str().unwrap_or("all").to_owned();
                let mut question = Question { then, ..Question::default() };
                for (at, asked) in arguments["asks"].as_array().unwrap().iter().enumerate() {
                    let name = format!("ask-{id}-{at}");
                    print(&json!({ "jsonrpc": "2.0", "id": name, "method": method, "params": asked }));
                    question.open.push(name);
                }
                self.calls.push((id.clone(), question));
            }
            _ => return false,
        }
        true
    }

    fn ask_early(&mut self) {
        let params =
            json!({ "message": "Who is there?", "requestedSchema": { "type": "object", "properties": {} } });
        print(&json!({ "jsonrpc": "2.0", "id": "early", "method": "elicitation/create", "params": params }));
    }

    fn is_answered(&mut self, message: &Value) {
        let Some(name) = message["id"].as_str() else { return };
        let answer = message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
        if name == "early" {
            self.early = Some(answer);
            return;
        }
        let is_its = |(_, question): &&mut (Value, Question)| question.open.iter().any(|it| it == name);
        let Some((id, question)) = self.calls.iter_mut().find(is_its) else { return };
        question.open.retain(|it| it != name);
        question.answers.push(answer);
        match question.then.as_str() {
            "die" => std::process::exit(9),
            "rest" => {
                for left in question.open.drain(..) {
                    let params = json!({ "requestId": left, "reason": "not needed any more" });
                    print(
                        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }),
                    );
                }
            }
            _ => (),
        }
        if question.open.is_empty() {
            says(id, &json!(question.answers).to_string());
        }
    }
}

fn says(id: &Value, text: &str) {
    let result = json!({ "content": [{ "type": "text", "text": text }] });
    print(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

/// A picture of one dot.
pub const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// `None` = it is answered later, or never.
fn call(params: &Value, id: &Value, cancelled: &Arc<Mutex<HashSet<String>>>) -> Option<Result<Value, Value>> {
    let says = |text: &str| Some(Ok(json!({ "content": [{ "type": "text", "text": text }] })));
    match params["name"].as_str().unwrap() {
        "echo" => says(params["arguments"]["text"].as_str().unwrap()),
        "span" => says(params["_meta"]["traceparent"].as_str().unwrap_or("none")),
        "put" => {
            let argument = |name: &str| params["arguments"][name].as_str().unwrap();
            match std::fs::write(argument("path"), argument("text")) {
                Ok(()) => says("written"),
                Err(error) => says(&error.to_string()),
            }
        }
        "refuses" => Some(Err(json!({ "code": -32602, "message": "not like that" }))),
        "fails" => {
            Some(Ok(json!({ "content": [{ "type": "text", "text": "no such page" }], "isError": true })))
        }
        "kinds" => Some(Ok(json!({
            "content": [
                { "type": "text", "text": "first" },
                { "type": "image", "mimeType": "image/png", "data": PIXEL },
                { "type": "resource", "resource": { "uri": "note://1", "text": "inside" } },
                { "type": "resource_link", "uri": "note://2", "name": "two" },
                { "type": "hologram", "data": "?" },
            ],
            "structuredContent": { "count": 5 },
        }))),
        "nonsense" => Some(Ok(json!({ "content": "what?" }))),
        "dies" => {
            eprintln!("out of memory");
            std::process::exit(9);
        }
        "waits" => None,
        "works" => {
            let (id, cancelled) = (id.to_string(), Arc::clone(cancelled));
            let token = params["_meta"]["progressToken"].clone();
            std::thread::spawn(move || {
                let mut number = 0;
                while !cancelled.lock().unwrap().contains(&id) {
                    number += 1;
                    print(&json!({ "jsonrpc": "2.0", "method": "notifications/progress",
                                   "params": { "progressToken": token, "progress": number } }));
                    std::thread::yield_now();
                }
            });
            None
        }
        "big" => says(&"x".repeat(50 << 20)),
        "huge" => says(&"x".repeat(90 << 20)),
        "environment" => {
            let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            names.sort();
            let token = std::env::var("TOKEN").unwrap_or_default();
            says(&format!(
                "{} TOKEN={token} in {}",
                names.join(" "),
                std::env::current_dir().unwrap().display()
            ))
        }
        _ => says("done"),
    }
}
