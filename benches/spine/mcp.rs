//! What do servers of the Model Context Protocol cost: a call of theirs, those that nobody uses, and a thousand tools?

use std::{collections::BTreeMap, io::Write as _, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use rmcp::{
    model::{CallToolRequestParams, JsonObject},
    service::serve_client,
};
use serde_json::{Value, json};
use subagentd::{
    agents::{AgentFileCache, AgentPlaces, PlaceSwitches},
    config::{DaemonConfig, LayeredSetting, McpSettings, SettingLayer},
    models::{MediaSupport, ModelRegistry},
    project::ProjectReader,
    protocol::{McpServerConfig, McpTransport, SandboxProfile},
    redact::Redactor,
    rules::{RuleFiles, RulesInForce},
    sandbox::{HiddenPlaces, Sandbox, SandboxMechanism, SandboxRules},
    skills::{SkillPlaces, SkillReader},
    store::EventStore,
    sys::{clock::SystemClock, owner_programs::OwnerPrograms, tasks::TaskGroup},
    tools::{
        BackgroundCommands, CommandRules, CommandRuntime, ProgramLog, ToolElicitation,
        mcp::{McpCaller, McpHub, OAuthSessions, RequestBounds, ServerRules, TextSanitizer, result},
    },
    trust::TrustRecords,
};
use tokio_util::sync::CancellationToken;

use crate::{
    ground::{self, now, since},
    house::{House, HouseParts, client_runtime},
    provider::{MODEL, Provider},
    table::{Row, Table, least, listed, median, middle},
};

/// In the environment of this program when it is a server: how many tools it has.
const TOOLS: &str = "BENCH_MCP_TOOLS";

const ROUNDS: usize = counted!(9, 2);
const CALLS: usize = counted!(300, 5);
/// Servers that nobody uses.
const UNUSED: usize = counted!(20, 2);
/// Tools of two servers together.
const MANY: usize = counted!(1_000, 20);
/// Turns of a run.
const TURNS: usize = counted!(60, 5);

/// Whether this program is a server now; then it serves until nobody speaks to it any more.
pub fn is_a_server() -> bool {
    let Ok(tools) = std::env::var(TOOLS) else { return false };
    let tools: usize = tools.parse().unwrap_or(1);
    let describe = |number: usize| {
        json!({
            "name": format!("tool_{number}"), "description": "Says again what it is told, as often as it is told to.",
            "inputSchema": { "type": "object", "properties": {
                "text": { "type": "string", "description": "What to say." }, "times": { "type": "integer" },
            } },
        })
    };
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "bench", "version": "1" },
            }),
            Some("tools/list") => json!({ "tools": (0..tools).map(describe).collect::<Vec<_>>() }),
            Some("tools/call") => json!({ "content": [{ "type": "text", "text": "said" }] }),
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    true
}

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    calls(table)?;
    unused(table)?;
    many_tools(table)
}

fn entry(tools: usize) -> anyhow::Result<McpServerConfig> {
    let command = std::env::current_exe()?.to_str().context("its path is text")?.to_owned();
    let env = BTreeMap::from([(TOOLS.to_owned(), tools.to_string())]);
    Ok(McpServerConfig {
        transport: McpTransport::Stdio { command, args: Vec::new(), env, cwd: None },
        timeout_ms: 60_000,
        trust: true,
        pin: None,
        include_tools: Vec::new(),
        exclude_tools: Vec::new(),
        auto_start: false,
        network: false,
        oauth: None,
        disabled: false,
        literal: false,
        faulty: false,
    })
}

/// Programs run as they are, so that nothing but the way of calling is compared.
fn sandbox() -> Sandbox {
    let nothing = SandboxMechanism::Nothing("it is left out".to_owned());
    Sandbox::with(PathBuf::from(env!("CARGO_BIN_EXE_subagentd")), HiddenPlaces::default(), nothing)
}

/// A call as runs make it, against the same call with nothing but the SDK, round by round.
fn calls(table: &mut Table) -> anyhow::Result<()> {
    let folder = ground::folder()?;
    let runtime = client_runtime()?;
    let (ours, bare) = runtime.block_on(async {
        let servers = servers(folder.path().to_owned()).await?;
        let roots = vec![folder.path().canonicalize()?.to_string_lossy().into_owned()];
        let (ready, _use, _server) = servers.ready(&roots, "bench").await.map_err(anyhow::Error::msg)?;
        let mut child = tokio::process::Command::new(std::env::current_exe()?)
            .env(TOOLS, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let pipes = (child.stdout.take().context("it is piped")?, child.stdin.take().context("it is piped")?);
        let client = serve_client((), pipes).await?;
        let arguments: JsonObject = serde_json::from_value(json!({ "text": "hello", "times": 2 }))?;
        let cancel = CancellationToken::new();
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut times = Vec::with_capacity(CALLS);
            for _ in 0..CALLS {
                let began = now();
                let (ready, _use, _server) =
                    servers.ready(&roots, "bench").await.map_err(anyhow::Error::msg)?;
                let bounds = RequestBounds { silence: Duration::from_secs(60), total: None, cancel: &cancel };
                let arguments = Value::Object(arguments.clone());
                let caller = McpCaller {
                    session: "bench".into(),
                    server: "bench".to_owned(),
                    tool: "tool_0".to_owned(),
                    words: TextSanitizer::new({
                        let servers = servers.clone();
                        move |text| servers.redacted(text)
                    }),
                    people: ToolElicitation::nobody(),
                    model_access: None,
                    output: None,
                    span: None,
                };
                let answer = ready.connection.call(arguments, &bounds, caller).await?;
                ensure!(
                    result(&answer, MediaSupport { audio: true, pdf: true }).error.is_none(),
                    "it is answered"
                );
                times.push(since(began));
            }
            ours.push(median(&times));
            times.clear();
            for _ in 0..CALLS {
                let began = now();
                let params = CallToolRequestParams::new("tool_0").with_arguments(arguments.clone());
                let answer = client.call_tool(params).await?;
                ensure!(answer.is_error != Some(true), "it is answered");
                times.push(since(began));
            }
            bare.push(median(&times));
        }
        drop(ready);
        client.cancel().await?;
        anyhow::Ok((ours, bare))
    })?;
    let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    table.row(Row {
        name: "an MCP call against the SDK's own, p50",
        figure: middle(&ratios),
        bound: 1.1,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: format!("{} ms against {} ms, {}", middle(&ours), middle(&bare), listed(&ratios)),
    });
    Ok(())
}

async fn servers(home: PathBuf) -> anyhow::Result<McpHub> {
    let (clock, tasks) = (SystemClock::new(), (TaskGroup::new(), CancellationToken::new()));
    let sign_ins = OAuthSessions::open(home.join("mcp-auth"), clock.clone(), tasks.clone());
    let commands = Arc::new(CommandRuntime::new(
        sandbox(),
        std::env::vars_os().collect(),
        BackgroundCommands::default(),
    ));
    let store = EventStore::open(&home.join("state"), &tasks.0, clock.clone()).await?;
    let program_log = ProgramLog::open(store, clock.clone(), OwnerPrograms::default()).await?;
    let agents = AgentFileCache::new(AgentPlaces::of_user(home.join("agents")), PlaceSwitches::default());
    let rules = RulesInForce::new(RuleFiles::default(), Vec::new());
    let projects = ProjectReader::new(
        agents,
        (home, Vec::new()),
        (rules, SkillReader::new(SkillPlaces::default())),
        TrustRecords::default(),
    );
    let rules = ServerRules {
        servers: BTreeMap::from([("bench".to_owned(), entry(1)?)]),
        allowed: None,
        excluded: Vec::new(),
        idle_timeout: None,
        commands: CommandRules {
            confinement: SandboxRules { profile: SandboxProfile::Full, ..SandboxRules::default() },
            ..CommandRules::default()
        },
        redactor: Redactor::none(),
        faulty: Vec::new(),
        own_keys: Vec::new(),
        sign_ins,
    };
    Ok(McpHub::new((commands, projects, program_log), clock, tasks, rules, Default::default()))
}

fn config(servers: BTreeMap<String, McpServerConfig>) -> DaemonConfig {
    let mut config = DaemonConfig::default();
    let servers = LayeredSetting { value: servers, origin: SettingLayer::User };
    config.mcp = McpSettings { servers, ..McpSettings::default() };
    config.sandbox.profile = LayeredSetting { value: SandboxProfile::Full, origin: SettingLayer::User };
    config
}

/// A daemon that has servers configured, against one that has none: its start, and its processes.
fn unused(table: &mut Table) -> anyhow::Result<()> {
    let open = |count: usize| -> anyhow::Result<Duration> {
        let servers = (0..count).map(|n| Ok((format!("s{n}"), entry(1)?)));
        let config = config(servers.collect::<anyhow::Result<_>>()?);
        let began = now();
        let house = House::open(HouseParts {
            config,
            sandbox: sandbox(),
            ..HouseParts::with(ModelRegistry::default())
        })?;
        let took = since(began);
        house.close()?;
        Ok(took)
    };
    open(0)?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(open(UNUSED)?);
        without.push(open(0)?);
    }
    table.row(Row {
        name: "a start with 20 servers that nobody uses, p50",
        figure: median(&with) / median(&without),
        bound: 1.1,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: format!("{:.2} ms against {:.2} ms", median(&with), median(&without)),
    });
    Ok(())
}

/// Turns of an agent that has them, against those of one that has none; each request goes to a provider on loopback.
fn many_tools(table: &mut Table) -> anyhow::Result<()> {
    let provider = Provider::start(TURNS)?;
    let servers =
        BTreeMap::from([("one".to_owned(), entry(MANY / 2)?), ("two".to_owned(), entry(MANY / 2)?)]);
    let agent = |name: &str, tools: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Reads.\ncompletion: tool\ntools: [{tools}]\n---\nYou read.\n"
        )
    };
    let house = House::open(HouseParts {
        config: config(servers),
        sandbox: sandbox(),
        agents: vec![
            ("few", agent("few", "read_file")),
            ("many", agent("many", "read_file, \"mcp.one.*\", \"mcp.two.*\"")),
        ],
        ..HouseParts::with(provider.models())
    })?;
    let turns = |agent: &str| -> anyhow::Result<f64> {
        provider.take_exchanges();
        client_runtime()?.block_on(async {
            let mut client = house.client().await?;
            client.run(house.start_of(agent, MODEL)).await
        })?;
        let exchanges = provider.take_exchanges();
        ensure!(TURNS <= exchanges.len(), "{} turns were seen", exchanges.len());
        if agent == "many" {
            let body = String::from_utf8_lossy(&exchanges[0].body);
            ensure!(MANY <= body.matches("tool_").count(), "the tools are declared");
        }
        let times: Vec<Duration> =
            exchanges.windows(2).map(|pair| pair[1].read.saturating_sub(pair[0].read)).collect();
        Ok(median(&times))
    };
    turns("many")?;
    turns("few")?;
    let (mut more, mut all) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS / 2 {
        let (many, few) = (turns("many")?, turns("few")?);
        more.push(many - few);
        all.push(few);
    }
    table.row(Row {
        name: "what 1,000 tools of servers add to a turn, p50",
        figure: least(&more),
        bound: 5.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("a turn without", least(&all))),
        note: listed(&more),
    });
    house.close()
}
