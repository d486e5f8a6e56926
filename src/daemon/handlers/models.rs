//! `models/list` and `models/test`: which models are there, and does one answer?

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use serde_json::json;

use super::{
    super::{
        rpc::{MethodHandlers, RpcCaller},
        settings_in_force::ActiveSettings,
    },
    internal,
};
use crate::{daemon_life::DaemonLife, daemon_services::DaemonServices, settings_in_force::SettingsInForce};
use config::{ModelAlias, nearest};
use models::{
    EntryKey, KeyState, ModelError, ModelEvent, ModelList, ModelRegistry, ModelReply, ModelRequest, OFFLINE,
    ProviderEntry, ReplyPart, RequestPurpose, ResolvedModel,
};
use protocol::{
    ContextMessage, ErrorKind, ListedAlias, ListedEntry, ListedKey, ListedKeyState, ListedModel, ModelRef,
    ModelsList, ModelsListParams, ModelsListResult, ModelsTest, ModelsTestParams, ModelsTestResult, Risk,
    RpcError, SamplingSettings, Timestamp, ToolDeclaration, ToolKind,
};
use redact::Redactor;
use run::PlanError;

/// One entry has so long to tell its models, its key's command included: whoever looks at the list is waiting.
const LIST_TIME: Duration = Duration::from_secs(5);
/// Entries that are asked at a time.
const ASKED_AT_ONCE: usize = 8;
/// A model that has not answered by then is of no use to anybody.
const TEST_TIME: Duration = Duration::from_secs(30);
/// The tool that a model under test is asked to call.
const TEST_TOOL: &str = "report_ready";

/// The services that the methods of models use.
pub(super) struct ModelMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, .. } = services.clone();
    let mut api = api.given(Arc::new(ModelMethods { life, settings }));
    api.cancellable::<ModelsList, _, _>(list).cancellable::<ModelsTest, _, _>(test);
}

async fn list(
    state: Arc<ModelMethods>,
    _: RpcCaller,
    params: ModelsListParams,
) -> Result<ModelsListResult, RpcError> {
    let in_force = state.settings.get();
    let all = in_force.models.entries();
    let names = match params.entry {
        None => all,
        Some(name) if all.contains(&name) => vec![name],
        Some(name) => return Err(no_entry(&name, &all, &state.settings.redactor.get())),
    };
    // In the order of their names, however long each one takes.
    let entries = stream::iter(names.into_iter().map(|name| entry(&state, &in_force, name, params.refresh)))
        .buffered(ASKED_AT_ONCE)
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let settings = &in_force.config.models;
    Ok(ModelsListResult {
        entries,
        aliases: aliases(&settings.aliases.value),
        default: settings.default.value.clone(),
        small: settings.small.value.clone(),
        offline: ModelRef::from(OFFLINE),
    })
}

fn no_entry(name: &str, all: &[String], redactor: &Redactor) -> RpcError {
    let message = redactor.owned(format!("no provider's entry is called `{name}`"));
    let refused = RpcError::new(ErrorKind::NotFound, message);
    match nearest(name, all.iter().map(String::as_str)) {
        Some(near) => {
            refused.with_hint(format!("did you mean `{near}`?")).with_details(json!({ "didYouMean": near }))
        }
        None => refused.with_hint("without `entry` all are answered"),
    }
}

fn aliases(aliases: &BTreeMap<String, ModelAlias>) -> Vec<ListedAlias> {
    let listed = |(name, alias): (&String, &ModelAlias)| ListedAlias {
        name: name.clone(),
        model: alias.model.clone(),
    };
    aliases.iter().map(listed).collect()
}

/// One entry. What fails here is told in it, and costs the others nothing.
async fn entry(
    state: &ModelMethods,
    in_force: &ActiveSettings,
    name: String,
    refresh: bool,
) -> Result<ListedEntry, RpcError> {
    let models = &in_force.models;
    let redactor = state.settings.redactor.get();
    let mut deadline = state.life.clock.sleep(LIST_TIME);
    let too_late = || Some(format!("it did not tell its models within {} s", LIST_TIME.as_secs()));
    let empty = ListedEntry {
        name: name.clone(),
        kind: None,
        base_url: None,
        key: None,
        models: Vec::new(),
        listed_at: None,
        truncated: false,
        problem: None,
    };
    let (finder, sought) = (models.clone(), name.clone());
    // A key may be fetched: where blocking harms nobody.
    let finding = tokio::task::spawn_blocking(move || finder.entry(&sought));
    let found = tokio::select! {
        found = finding => found.map_err(|error| internal("a provider's entry was not looked at", &error))?,
        () = &mut deadline => return Ok(ListedEntry { problem: too_late(), ..empty }),
    };
    let ProviderEntry { kind, base_url, key, lister } = found;
    let told = ListedEntry {
        kind: kind.map(|kind| kind.as_str().to_owned()),
        base_url: base_url.map(|url| redactor.owned(url)),
        key: key.map(|key| key_told(key, &redactor)),
        ..empty
    };
    let known = models.learned(&name, state.life.clock.monotonic()).filter(|_| !refresh);
    if let Some((at, list)) = known {
        return Ok(with_models(told, models, list, at));
    }
    let listed = match &lister {
        Ok(lister) => tokio::select! {
            listed = lister.list() => listed,
            () = &mut deadline => return Ok(ListedEntry { problem: too_late(), ..told }),
        },
        Err(problem) => Err(problem.clone()),
    };
    Ok(match listed {
        Ok(list) => {
            let at = state.life.clock.now();
            models.learn(&name, (state.life.clock.monotonic(), at), list.clone());
            with_models(told, models, list, at)
        }
        Err(problem) => ListedEntry { problem: Some(redactor.owned(problem)), ..told },
    })
}

fn with_models(told: ListedEntry, models: &ModelRegistry, list: ModelList, at: Timestamp) -> ListedEntry {
    let listed = list.models.into_iter().map(|model| {
        let window = models.window(&told.name, &model.id);
        ListedModel {
            model: ModelRef::from(format!("{}/{}", told.name, model.id)),
            title: model.title,
            window: window.tokens,
            window_from: window.from,
        }
    });
    ListedEntry { models: listed.collect(), listed_at: Some(at), truncated: list.is_cut, ..told }
}

fn key_told(key: EntryKey, redactor: &Redactor) -> ListedKey {
    let state = match key.state {
        KeyState::Found => ListedKeyState::Found,
        KeyState::NotNeeded => ListedKeyState::NotNeeded,
        KeyState::Missing => ListedKeyState::Missing,
        KeyState::Unusable => ListedKeyState::Unusable,
    };
    let hidden = |text: Option<String>| text.map(|text| redactor.owned(text));
    ListedKey { state, from: hidden(key.place), problem: hidden(key.problem) }
}

async fn test(
    state: Arc<ModelMethods>,
    _: RpcCaller,
    params: ModelsTestParams,
) -> Result<ModelsTestResult, RpcError> {
    let models = state.settings.get().models.clone();
    let name = params.model;
    let resolving = tokio::task::spawn_blocking(move || models.resolve(&name)).await;
    let resolved = resolving.map_err(|error| internal("the model was not looked for", &error))?;
    let ResolvedModel { name, model, sampling, window, price } =
        resolved.map_err(|error| RpcError::from(PlanError::Model(error)))?;
    let (began, mut deadline) = (state.life.clock.monotonic(), state.life.clock.sleep(TEST_TIME));
    let ms = || {
        let passed = state.life.clock.monotonic().saturating_sub(began);
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    };
    // Asked once: whoever tests a model wants to know how it is now.
    let mut answer = model.stream(question(sampling));
    let mut first_token_ms = None;
    let replied: Result<ModelReply, String> = loop {
        let event = tokio::select! {
            event = answer.next() => event,
            () = &mut deadline => break Err(format!("it did not answer within {} s", TEST_TIME.as_secs())),
        };
        first_token_ms = first_token_ms.or_else(|| matches!(event, Some(Ok(_))).then(&ms));
        match event {
            Some(Ok(ModelEvent::Finished(reply))) => break Ok(reply),
            Some(Ok(
                ModelEvent::TextDelta(_)
                | ModelEvent::ThoughtDelta(_)
                | ModelEvent::Alive
                | ModelEvent::Unshown(_)
                | ModelEvent::Broken
                | ModelEvent::Usage(_)
                | ModelEvent::Grounded(_),
            )) => (),
            Some(Err(error)) => break Err(problem(&error)),
            None => break Err("the answer ended before it was whole".to_owned()),
        }
    };
    let latency_ms = ms();
    let redactor = state.settings.redactor.get();
    let (reply, problem) = match replied {
        Ok(reply) => (Some(reply), None),
        Err(problem) => (None, Some(redactor.owned(problem))),
    };
    let is_call =
        |part: &ReplyPart| matches!(part, ReplyPart::ToolCall { name, .. } if name.as_str() == TEST_TOOL);
    Ok(ModelsTestResult {
        model: ModelRef::from(redactor.owned(name)),
        reachable: reply.is_some(),
        latency_ms,
        first_token_ms,
        tool_calls: reply.as_ref().is_some_and(|reply| reply.parts.iter().any(is_call)),
        usage: reply.as_ref().map(|reply| reply.usage).unwrap_or_default(),
        window: window.tokens,
        window_from: window.from,
        cost: reply.as_ref().and_then(|reply| Some(price?.cost(&reply.usage))),
        problem,
    })
}

fn problem(error: &ModelError) -> String {
    match error {
        ModelError::Passing { message, .. }
        | ModelError::Unusable { message }
        | ModelError::TooLong { message }
        | ModelError::Final { message, .. } => message.clone(),
    }
}

/// As short as a question can be that needs a call.
fn question(sampling: SamplingSettings) -> ModelRequest {
    let tool = ToolDeclaration {
        name: TEST_TOOL.into(),
        title: "Report ready".to_owned(),
        description: "Reports that you are ready.".to_owned(),
        kind: ToolKind::Other,
        risk: Risk::Safe,
        parameters: json!({
            "type": "object",
            "properties": { "ready": { "type": "boolean", "description": "Whether you are." } },
            "required": ["ready"],
            "additionalProperties": false,
        }),
    };
    ModelRequest {
        purpose: RequestPurpose::Utility,
        system: "This is a test of whether you can be reached and call tools.".into(),
        messages: vec![Arc::new(ContextMessage::user(format!(
            "Call the tool `{TEST_TOOL}` once, with `ready` true."
        )))],
        tools: Arc::new([tool]),
        sampling,
        schema: None,
        provider_tool: None,
        ordinal: 0,
        others: 0,
        path: "".into(),
        tree_ordinal: 0,
        room: None,
    }
}
