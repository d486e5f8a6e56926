//! An agent whose file asks for what this version cannot carry out is not started, by whichever way it is asked for; and what a
//! file says does not get lost on the way.

use std::fs;

use serde_json::{Value, json};

use crate::{
    process::{Ended, Home, output},
    support::{Cast, House, Reply, Script},
};

fn own(name: &str, fields: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Looks.\ntools: [read_file]\n{fields}\n---\nYou look.\n"
    )
}

fn claude(name: &str, fields: &str) -> String {
    format!("---\nname: {name}\ndescription: Looks.\ntools: Read\n{fields}\n---\nYou look.\n")
}

const HOOKS: &str =
    "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{ type: command, command: ./check }]";

async fn subagent(home: &Home, arguments: &[&str]) -> Ended {
    output(&mut home.companion(arguments)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_every_product_s_folder_are_held_to_what_they_ask_for() {
    let home = Home::new();
    let write = |path: &str, text: &str| {
        let path = home.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("config/subagentd/agents/guarded.md", &own("guarded", "guardrails: [{ policy: reject }]"));
    write("config/subagentd/agents/slip.md", &own("slip", "guard-rail: [{ policy: reject }]"));
    write("config/subagentd/agents/traced.md", &own("traced", "tracing: { events: [llm] }"));
    write(".claude/agents/hooked.md", &claude("hooked", HOOKS));
    write(".claude/agents/keeper.md", &claude("keeper", "memory: user"));
    write("config/subagentd/agents/plain.md", &own("plain", "memory: { include: false }"));
    write(
        "config/subagentd/agents/lasting.md",
        &own("lasting", "memory: { include: true, longTerm: { backend: files } }"),
    );
    write(".claude/agents/lean.md", &claude("lean", "omitClaudeMd: true"));
    write(".claude/agents/apart.md", &claude("apart", "isolation: worktree"));
    write(".claude/agents/skilled.md", &claude("skilled", "skills: [a]\nhooks: {}"));
    write(
        ".gemini/agents/checked.md",
        &claude("checked", "guardrails: [x]").replace("tools: Read", "tools: [read_file]"),
    );
    write(
        "config/opencode/agent/handing.md",
        "---\ndescription: d\nmode: subagent\nhandoffs: [a]\n---\nYou hand over.\n",
    );
    let listed = subagent(&home, &["list", "--format", "json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let agent =
        |name: &str| listed["agents"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    for (name, field) in [
        ("guarded", "guardrails"),
        ("slip", "guardrails"),
        ("keeper", "memory"),
        ("lasting", "memory"),
        ("apart", "isolation"),
        ("checked", "guardrails"),
        ("handing", "handoffs"),
    ] {
        assert_eq!(agent(name)["status"], "notReady", "{}", agent(name));
        let ran = subagent(&home, &["run", name, "-p", "look", "--model", "offline"]).await;
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("`{field}`")) && ran.stderr.contains("hint: "),
            "{name}: {}",
            ran.stderr
        );
        let validated = subagent(&home, &["validate", name]).await;
        assert_eq!(validated.code, Some(1), "{name}: {}", validated.stdout);
        assert!(validated.stdout.contains("cannot be carried out"), "{name}: {}", validated.stdout);
    }
    for name in ["skilled", "hooked", "traced", "plain", "lean"] {
        assert_eq!(agent(name)["status"], "ok", "{}", agent(name));
        let validated = subagent(&home, &["validate", name]).await;
        assert_eq!(validated.code, Some(0), "{name}: {}", validated.stdout);
    }
    // What does not exist fails too.
    for (what, field) in [
        ("nowhere", "mcp: { servers: [nowhere] }"),
        ("mcp.nowhere.look", "mcp: { servers: [] }"),
        ("no-such-skill", "skills: [no-such-skill]"),
        ("raed_file", "completion: tool"),
        ("llama-9", "model: llama-9"),
    ] {
        let text = own("dreamer", field);
        let text = match what {
            "raed_file" | "mcp.nowhere.look" => text.replace("read_file", what),
            _ => text,
        };
        write("config/subagentd/agents/dreamer.md", &text);
        let validated = subagent(&home, &["validate", "dreamer"]).await;
        assert_eq!(validated.code, Some(1), "{what}: {}", validated.stdout);
        assert!(validated.stdout.contains(what), "{what}: {}", validated.stdout);
    }
    // A model that cannot serve what is asked ends the run as a failure, not well.
    let ran = subagent(&home, &["run", "traced", "-p", "write me a poem", "--model", "offline"]).await;
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("ERROR") && ran.stderr.contains("`offline` follows rules"), "{}", ran.stderr);
}

/// What would narrow an agent, and is no field of ours: taken for an unknown field, the agent would be freer than its file says.
#[tokio::test]
async fn fields_of_others_that_narrow_keep_a_file_of_ours_from_starting() {
    let house = House::new();
    let running = house.boot().await;
    let mut client = running.client();
    for (at, (fields, field)) in [
        ("inputGuardrails: [x]", "inputGuardrails"),
        ("output_guardrails: [x]", "output_guardrails"),
        ("disallowedTools: [run_shell_command]", "disallowedTools"),
        ("permissions:\n  deny: [run_shell_command]", "permissions"),
        ("permission:\n  bash: deny", "permission"),
        ("permissionMode: plan", "permissionMode"),
        ("deny: [run_shell_command]", "deny"),
        ("interrupt_before: [run_shell_command]", "interrupt_before"),
        ("requiresConfirmation: true", "requiresConfirmation"),
        ("run:\n  guardrails: [x]", "run.guardrails"),
        ("run:\n  maxTurnz: 3", "run.maxTurnz"),
        ("approval:\n  mode: plan", "approval.mode"),
        ("approval:\n  require: all", "approval.require"),
        ("sandbx: readOnly", "sandbx"),
        ("aproval:\n  onDetached: deny", "aproval"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("narrowed-{at}");
        let text = own(&name, fields);
        let validated = client.call("agents/validate", json!({ "text": text })).await;
        assert_eq!(validated["valid"], false, "{fields}: {validated:#}");
        assert!(
            validated.to_string().contains(&format!("`{field}` is not a field")),
            "{fields}: {validated:#}"
        );
        client.call("agents/create", json!({ "text": text, "scope": "user" })).await;
        let params =
            json!({ "workspace": running.work(), "agent": name, "prompt": "look", "model": "script" });
        let (kind, error) = client.refused("run/start", params).await;
        assert_eq!(kind, "AGENT_NOT_READY", "{fields}: {error:#}");
    }
    for tools in ["exclude: [run_shell_command]", "ask: [run_shell_command]"] {
        let text =
            own("narrowed", "").replace("tools: [read_file]", &format!("tools:\n  allow: ['*']\n  {tools}"));
        let validated = client.call("agents/validate", json!({ "text": text })).await;
        assert_eq!(validated["valid"], false, "{tools}: {validated:#}");
    }
    let text = own("narrowed", "").replace("[read_file]", "['!run_shell_command', '*']");
    let validated = client.call("agents/validate", json!({ "text": text })).await;
    assert!(validated.to_string().contains("takes nothing away"), "{validated:#}");
    // What asks for nothing narrows nothing; and others' fields that only say something more are left alone.
    let text = own("narrowed", "permissions: {}\nguidance: x\nicon: y\nrun: { maxTurns: 3 }");
    let validated = client.call("agents/validate", json!({ "text": text })).await;
    assert_eq!(validated["valid"], true, "{validated:#}");
    running.stop().await;
}

#[tokio::test]
async fn each_field_keeps_from_starting_in_a_file_and_in_an_inline_definition() {
    let script = Script::new([]);
    let fields = [
        ("guardrails", json!([{ "policy": "reject" }])),
        ("handoffs", json!(["other"])),
        ("memory", json!({ "scope": "user" })),
        ("graph", json!({ "nodes": [] })),
    ];
    let of_file = |(field, said): &(&str, Value)| own(&format!("with-{field}"), &format!("{field}: {said}"));
    let house = fields.iter().fold(House::new().script(&script), |house, field| {
        house.agent(&format!("with-{}", field.0), &of_file(field))
    });
    let running = house.boot().await;
    let mut client = running.client();
    for (field, said) in &fields {
        let mut inline = json!({ "kind": "agent", "name": "inline", "description": "d", "prompt": "Look." });
        inline[field] = said.clone();
        for (way, what) in [("agent", json!(format!("with-{field}"))), ("definition", inline)] {
            let mut params = json!({ "workspace": running.work(), "prompt": "x", "model": "script" });
            params[way] = what;
            let (kind, error) = client.refused("run/start", params).await;
            assert_eq!(kind, "AGENT_NOT_READY", "{field} by {way}: {error}");
            assert_eq!(error["data"]["details"]["fields"], json!([field]), "{field} by {way}: {error}");
        }
    }
    assert!(running.log().await.is_empty(), "something was written");
    running.stop().await;
}

#[tokio::test]
async fn however_much_else_a_file_says_what_keeps_it_from_starting_is_told() {
    let house = House::new();
    let running = house.boot().await;
    let mut client = running.client();
    let unknown: String = (0..150).map(|n| format!("later{n}: x\n")).collect();
    let text = own("crowded", &format!("{unknown}guardrails: [x]\nmemory: true"));
    let told = |problems: &Value| {
        let problems = problems.as_array().unwrap().iter();
        problems.filter(|it| it["code"] == "UNSUPPORTED").count()
    };
    let validated = client.call("agents/validate", json!({ "text": text })).await;
    assert_eq!(validated["valid"], false, "{validated:#}");
    let created = client.call("agents/create", json!({ "text": text, "scope": "user" })).await;
    assert_eq!(told(&created["problems"]), 2, "{created:#}");
    let got = client.call("agents/get", json!({ "name": "crowded" })).await;
    assert_eq!((&got["status"], told(&got["problems"])), (&json!("notReady"), 2));
    let plain = own("crowded", "");
    let updated = client.call("agents/update", json!({ "name": "crowded", "text": plain })).await;
    assert_eq!(updated.get("problems").map_or(0, told), 0, "{updated:#}");
    let updated =
        client.call("agents/update", json!({ "name": "crowded", "definition": { "handoffs": ["a"] } })).await;
    assert_eq!(told(&updated["problems"]), 1, "{updated:#}");
    running.stop().await;
}

#[tokio::test]
async fn a_prompt_that_is_for_such_an_agent_goes_to_no_other() {
    let script = Script::new([Reply::done("done"), Reply::done("done")]);
    let triggers = "triggers: [{ keywords: [bug] }]";
    let house = House::new()
        .script(&script)
        .agent("guarded", &own("guarded", &format!("guardrails: [x]\n{triggers}")))
        .agent("other", &own("other", "triggers: [{ keywords: [poem] }]"));
    let running = house.boot().await;
    let mut client = running.client();
    for (method, params) in [
        ("agents/route", json!({ "prompt": "there is a bug" })),
        (
            "run/start",
            json!({ "agent": "auto", "prompt": "there is a bug", "workspace": running.work(), "model": "script" }),
        ),
    ] {
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "AGENT_NOT_READY", "{method}");
        for word in ["guarded", "bug", "`guardrails`", "enabled: false"] {
            assert!(error.to_string().contains(word), "{method}: {word} is not in {error}");
        }
    }
    assert!(running.log().await.is_empty(), "something was written");
    let routed = client.call("agents/route", json!({ "prompt": "a poem" })).await;
    assert_eq!(routed["agent"], "other");
    running.stop().await;
    // Whoever switches it off has their prompts go elsewhere.
    let house = house.settings(&json!({ "agents": { "overrides": { "guarded": { "enabled": false } } } }));
    let running = house.boot().await;
    let routed = running.client().call("agents/route", json!({ "prompt": "there is a bug" })).await;
    assert_eq!(routed["agent"], "generalist");
    running.stop().await;
}

#[tokio::test]
async fn such_an_agent_is_no_tool_of_others_and_they_are_told() {
    let lead = own("lead", "completion: tool").replace("[read_file]", "[read_file, guarded]");
    let script =
        Script::new([Reply::calls(&[("guarded", json!({ "prompt": "look" }))]), Reply::done("alone")]);
    let house = House::new()
        .script(&script)
        .agent("guarded", &own("guarded", "guardrails: [x]"))
        .agent("lead", &lead)
        .agent("every", &lead.replace("name: lead", "name: every").replace("guarded]", "'*']"));
    let running = house.boot().await;
    let mut client = running.client();
    let why = "the agent `guarded` cannot be called: its file asks for `guardrails`";
    let validated = client.call("agents/validate", json!({ "name": "lead" })).await;
    assert_eq!(validated["valid"], false, "{validated:#}");
    assert!(validated.to_string().contains(why), "{validated:#}");
    let listed = client.call("agents/list", json!({})).await;
    assert!(listed.to_string().contains(why), "{listed:#}");
    let (run, _) = client.start(&running, "lead", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let log = running.log().await;
    let warned = log.iter().any(|it| it["type"] == "warning" && it.to_string().contains(why));
    assert!(warned, "the run says why");
    let started = log.iter().filter(|it| it["type"] == "run.started").count();
    assert_eq!(started, 1, "a call of its name starts nothing");
    let declared =
        |at: usize| script.requests()[at].tools.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(declared(0), ["read_file", "complete_task"]);
    script.replace([Reply::done("alone")]);
    let (run, _) = client.start(&running, "every", json!({})).await;
    client.ended(&run).await;
    assert!(!script.requests().last().unwrap().tools.iter().any(|it| it.name.as_str() == "guarded"));
    running.stop().await;
}

#[tokio::test]
async fn what_is_made_of_such_a_file_is_held_to_the_same() {
    let script = Script::new([Reply::done("done")]);
    let house = House::new()
        .script(&script)
        .agent("guarded", &own("guarded", "guardrails: [{ policy: reject }]"))
        .file("from/keeper.md", claude("keeper", "memory: user"))
        .file("from/hooked.md", claude("hooked", HOOKS));
    let running = house.boot().await;
    let mut client = running.client();
    // As `agents/get` tells it, it can be started as little.
    let got = client.call("agents/get", json!({ "name": "guarded" })).await;
    assert_eq!(got["definition"]["guardrails"], json!([{ "policy": "reject" }]), "{got:#}");
    let params = json!({ "workspace": running.work(), "definition": got["definition"], "prompt": "x", "model": "script" });
    let (kind, error) = client.refused("run/start", params).await;
    assert_eq!(kind, "AGENT_NOT_READY", "{error}");
    // An import brings along what the product would have done.
    let imported = client
        .call(
            "agents/import",
            json!({ "paths": [running.work().join("from")], "scope": "user", "format": "claude" }),
        )
        .await;
    for name in ["keeper", "hooked"] {
        let file = imported["files"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
        assert_eq!(file["outcome"], "written", "{file:#}");
        // Hooks are carried out, what is not keeps an agent from starting.
        let is_ready = name == "hooked";
        assert_eq!(file["problems"].to_string().contains("UNSUPPORTED"), !is_ready, "{file:#}");
        let params = json!({ "workspace": running.work(), "agent": name, "prompt": "x", "model": "script" });
        if !is_ready {
            let (kind, error) = client.refused("run/start", params).await;
            assert_eq!(kind, "AGENT_NOT_READY", "{error}");
        }
        // And it goes back to where it came from.
        let back = client.call("agents/export", json!({ "names": [name], "format": "claude" })).await;
        let field = if name == "keeper" { "memory: user" } else { "PreToolUse" };
        assert!(back["files"][0]["text"].as_str().unwrap().contains(field), "{back:#}");
    }
    // A product that has no guardrails gets none, and whoever writes it out is told.
    let written = client.call("agents/export", json!({ "names": ["guarded"], "format": "claude" })).await;
    assert!(written["files"][0]["lost"].to_string().contains("guardrails"), "{written:#}");
    running.stop().await;
}

#[tokio::test]
async fn only_root_runs_have_those_default_tools_that_may_ask() {
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("plain", json!({ "prompt": "look" }))]), Reply::done("x")]),
        ("plain", vec![Reply::done("x")]),
        ("lead/plain", vec![Reply::done("x")]),
    ]);
    let plain = "---\nkind: agent\nname: plain\ndescription: d\ncompletion: tool\n---\nYou look.\n";
    let lead = own("lead", "completion: tool").replace("[read_file]", "[plain]");
    let house = House::new().model("script", &cast).agent("plain", plain).agent("lead", &lead);
    let running = house.boot().await;
    let mut client = running.client();
    for agent in ["plain", "lead"] {
        let (run, _) = client.start(&running, agent, json!({})).await;
        client.ended(&run).await;
    }
    let tools = |path: &str| {
        let requests = cast.requests(path);
        requests[0].tools.iter().map(|it| it.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let called = "list_directory read_file read_many_files glob grep complete_task";
    assert_eq!(tools("lead/plain"), called);
    // Nobody answers searches here.
    assert_eq!(tools("plain"), called.replace("grep", "grep save_memory"));
    // What the model is promised is what runs hold (tests/it/memory.rs).
    let request = &cast.requests("plain")[0];
    let save_memory = request.tools.iter().find(|it| it.name.as_str() == "save_memory").unwrap();
    let said = &save_memory.description;
    assert!(said.contains("Later runs are told what these files say"), "{said}");
    running.stop().await;
}
