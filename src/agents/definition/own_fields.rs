//! An agent's front matter in our own way of writing: everything that its reader reads.

use serde_json::{Map, Value, json};

use super::super::names::title_case;
use config::server_fields;
use protocol::{
    AgentDefinition, AgentLimits, AgentMcp, AgentToolRule, AgentTracing, CompletionMode, InputSpec,
    ModelChoice, OnBudget, OutputSpec, SandboxProfile, ToolSelection, Verdict,
};

/// The fields that say what the definition says, in the order in which people write them. Defaults are left out.
pub(in super::super) fn own_fields(definition: &AgentDefinition) -> Map<String, Value> {
    let mut fields = OwnFieldMap(Map::new());
    fields.put("kind", "agent");
    fields.put("name", definition.name.as_str());
    // Of other products the name itself may be the title.
    if definition.title != title_case(&definition.name) {
        fields.put("title", definition.title.as_str());
    }
    fields.maybe("description", definition.description.as_deref());
    fields.maybe("version", definition.version.as_deref());
    fields.maybe("color", definition.color.as_deref());
    fields.maybe("model", model(&definition.model));
    fields.maybe("run", limits(&definition.limits));
    fields.maybe("completion", definition.completion.map(completion));
    if !is_usual(&definition.inputs) {
        let inputs = definition.inputs.iter().map(|spec| (spec.name.clone(), input(spec)));
        fields.put("inputs", inputs.collect::<Map<_, _>>());
    }
    fields.maybe("output", definition.output.as_ref().map(output));
    let has_prompt = definition.inputs.iter().any(|input| input.name == "prompt");
    let usual = if has_prompt { "${prompt}" } else { "Get Started!" };
    fields.maybe("query", Some(definition.query.as_str()).filter(|query| *query != usual));
    if !definition.initial_messages.is_empty() {
        let message = |it: &protocol::InitialMessage| json!({ "role": it.role, "text": it.text });
        fields.put("initialMessages", definition.initial_messages.iter().map(message).collect::<Vec<_>>());
    }
    fields.maybe("tools", tools(&definition.tools));
    fields.maybe("mcp", mcp(&definition.mcp));
    if definition.prompt_modules != definition.prompt.is_empty() {
        fields.put("prompt", json!({ "modules": definition.prompt_modules }));
    }
    if definition.omits_memory {
        fields.put("memory", json!({ "include": false }));
    }
    if !definition.skills.is_empty() {
        fields.put("skills", json!(definition.skills));
    }
    fields.maybe("hooks", definition.hooks.clone());
    fields.maybe("approval", approval(definition));
    fields.maybe("sandbox", definition.sandbox.map(SandboxProfile::as_str));
    if !definition.triggers.is_empty() {
        fields.put("triggers", definition.triggers.iter().map(trigger).collect::<Vec<_>>());
    }
    fields.maybe("tracing", tracing(&definition.tracing));
    if definition.hidden {
        fields.put("hidden", true);
    }
    fields.0
}

/// Names alone where none is its own.
fn mcp(mcp: &AgentMcp) -> Option<Value> {
    let listed = mcp.servers.as_ref()?;
    let told = |name: &String| match mcp.own.get(name) {
        Some(server) => json!({ name.as_str(): server_fields(server) }),
        None => json!(name),
    };
    Some(json!({ "servers": listed.iter().map(told).collect::<Vec<_>>() }))
}

struct OwnFieldMap(Map<String, Value>);

impl OwnFieldMap {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn maybe(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }
}

/// What an agent has that says nothing of inputs.
fn is_usual(inputs: &[InputSpec]) -> bool {
    let usual = json!({ "type": "string" });
    matches!(inputs, [InputSpec { name, required: true, default: None, schema, description: None }]
        if name == "prompt" && *schema == usual)
}

/// The settings of sampling, if there are any.
pub(in super::super) fn sampled(model: &ModelChoice) -> Option<Map<String, Value>> {
    let sampling = model.sampling;
    let mut fields = OwnFieldMap(Map::new());
    fields.maybe("temperature", sampling.temperature);
    fields.maybe("topP", sampling.top_p);
    fields.maybe("maxOutputTokens", sampling.max_output_tokens);
    fields.maybe("thinkingBudget", sampling.thinking_budget);
    (!fields.0.is_empty()).then_some(fields.0)
}

fn model(model: &ModelChoice) -> Option<Value> {
    let name = model.name.as_ref().map(|name| Value::from(name.as_str()));
    let Some(sampled) = sampled(model) else { return name };
    let mut fields = OwnFieldMap(Map::new());
    fields.maybe("name", name);
    fields.0.extend(sampled);
    Some(fields.0.into())
}

#[allow(clippy::cast_precision_loss, reason = "a year in milliseconds is exact")]
fn limits(limits: &AgentLimits) -> Option<Value> {
    let mut fields = OwnFieldMap(Map::new());
    fields.maybe("maxTurns", limits.max_turns);
    fields.maybe("maxTimeMinutes", limits.max_time_ms.map(in_minutes));
    fields.maybe("maxTokens", limits.max_tokens);
    // A number of dollars; what is written is read to the same amount.
    let dollars = limits.max_cost.map(|cost| cost.dollars());
    fields.maybe("maxCostUsd", dollars);
    fields.maybe("onBudget", limits.on_budget.map(on_budget));
    fields.maybe("maxContextTokens", limits.max_context_tokens);
    let grace = limits.grace_ms.map(|grace| match grace % 1_000 {
        0 => Value::from(grace / 1_000),
        _ => Value::from(grace as f64 / 1_000.0),
    });
    fields.maybe("graceSeconds", grace);
    fields.maybe("maxDepth", limits.max_depth);
    (!fields.0.is_empty()).then(|| fields.0.into())
}

fn on_budget(what: OnBudget) -> &'static str {
    match what {
        OnBudget::End => "end",
        OnBudget::Ask => "ask",
    }
}

fn completion(completion: CompletionMode) -> &'static str {
    match completion {
        CompletionMode::Tool => "tool",
        CompletionMode::Message => "message",
    }
}

fn input(spec: &InputSpec) -> Value {
    let mut fields = OwnFieldMap(Map::new());
    fields.put("schema", spec.schema.clone());
    fields.maybe("description", spec.description.as_deref());
    // True where there is no default.
    if spec.required != spec.default.is_none() {
        fields.put("required", spec.required);
    }
    fields.maybe("default", spec.default.clone());
    fields.0.into()
}

fn output(spec: &OutputSpec) -> Value {
    let mut fields = OwnFieldMap(Map::new());
    fields.put("name", spec.name.as_str());
    fields.maybe("description", spec.description.as_deref());
    fields.put("schema", spec.schema.clone());
    fields.maybe("format", spec.format.as_deref());
    fields.0.into()
}

fn tools(tools: &ToolSelection) -> Option<Value> {
    let names =
        |names: &[protocol::ToolName]| names.iter().map(|it| it.as_str().into()).collect::<Vec<Value>>();
    let mut fields = OwnFieldMap(Map::new());
    fields.maybe("allow", tools.allow.as_deref().map(names));
    fields.maybe("deny", Some(names(&tools.deny)).filter(|names| !names.is_empty()));
    fields.maybe("inherit", Some(true).filter(|_| tools.inherits));
    fields.maybe("agents", Some(true).filter(|_| tools.agents));
    (!fields.0.is_empty()).then(|| fields.0.into())
}

fn approval(definition: &AgentDefinition) -> Option<Value> {
    let mut fields = OwnFieldMap(Map::new());
    if !definition.auto_approve.is_empty() {
        fields.put("autoApprove", json!(definition.auto_approve));
    }
    // A tool's words in their order; of those about the same calls the last counts anyway.
    let mut rules: Map<String, Value> = Map::new();
    for AgentToolRule { tool, about, decision } in &definition.narrowings {
        let cases = rules.entry(tool.as_str()).or_insert_with(|| json!({}));
        if let Some(cases) = cases.as_object_mut() {
            let about = about.as_deref().unwrap_or("*");
            cases.shift_remove(about);
            cases.insert(about.to_owned(), verdict(*decision).into());
        }
    }
    if !rules.is_empty() {
        fields.put("rules", rules);
    }
    (!fields.0.is_empty()).then(|| fields.0.into())
}

fn tracing(tracing: &AgentTracing) -> Option<Value> {
    // The words of the file are those of the type; kinds of which there are no spans say nothing.
    (!tracing.says_nothing()).then(|| json!(tracing))
}

fn trigger(trigger: &protocol::RoutingTrigger) -> Value {
    let mut fields = OwnFieldMap(Map::new());
    fields.maybe("intent", trigger.intent.as_deref());
    if !trigger.keywords.is_empty() {
        fields.put("keywords", json!(trigger.keywords));
    }
    fields.maybe("regex", trigger.regex.as_deref());
    if trigger.priority != 0 {
        fields.put("priority", trigger.priority);
    }
    fields.0.into()
}

/// The word of a verdict in a file.
pub(in super::super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// Minutes as a number, which has no fraction where none is needed.
#[allow(clippy::cast_precision_loss, reason = "a year in milliseconds is exact")]
pub(in super::super) fn in_minutes(milliseconds: u64) -> Value {
    match milliseconds % 60_000 {
        0 => (milliseconds / 60_000).into(),
        _ => (milliseconds as f64 / 60_000.0).into(),
    }
}
