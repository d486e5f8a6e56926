//! Fires the hooks of one run. Nothing else in the engine knows what the crate for hooks calls things.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use hooks::{
    FiredHooks, HookContext, HookFacts, HookFiring, HookPlacesRead, HookServices, HookVerdict, HookWorkspace,
    HookedCall, NoHookServices,
};
use serde_json::Value;

use super::{
    super::{
        driver::RunIdentity,
        machine::{HookEffects, HookRefusal},
    },
    in_force::HooksInForce,
    transcript::HookTranscript,
};
use protocol::{
    AgentName, ApprovalMode, CallId, ContextMessage, HookDecision, HookEventName, HookFired, MessageRole,
    RunId, RunStarted, SessionId, ToolName,
};
use redact::Redactor;
use sys::current::HotSwap;
use tools::{ArtifactFolder, Tool};
use trust::TrustRecords;

/// How the names of tools from servers of the Model Context Protocol begin.
const MCP_TOOL: &str = "mcp.";

/// The hooks of one run, and of those that it calls. A cheap handle.
#[derive(Clone)]
pub struct RunHooks {
    in_force: HooksInForce,
    /// The workspace's folders, canonical.
    roots: Arc<[String]>,
    artifacts: ArtifactFolder,
    known: Arc<HotSwap<KnownHooks>>,
    transcript: Arc<Mutex<HookTranscript>>,
}

/// What was read, and what it depends on.
struct KnownHooks {
    edition: u64,
    trust: Arc<TrustRecords>,
    read: Arc<HookPlacesRead>,
}

/// Where a run stands when its hooks are asked.
#[derive(Clone)]
pub struct HookScene {
    pub session: SessionId,
    pub run: RunId,
    pub root: RunId,
    pub is_child: bool,
    pub agent: AgentName,
    /// From the root run's agent to this one.
    pub path: Vec<AgentName>,
    pub model: String,
    pub turn: u32,
    pub mode: ApprovalMode,
    pub is_headless: bool,
    /// Why hooks are told that the session starts; `None` = it does not.
    pub session_start: Option<&'static str>,
    /// What was said in the run's context.
    pub messages: Arc<[Arc<ContextMessage>]>,
}

/// What the hooks at one point answered.
pub(super) struct AskedHooks {
    /// One for each of them, as the log has it.
    pub fired: Vec<HookFired>,
    pub verdict: HookVerdict,
}

/// Names a firing, the same after a restart.
pub(super) struct FiringName {
    pub id: String,
    pub attempt: u32,
    pub call: Option<CallId>,
}

impl RunHooks {
    /// Those of a workspace with these canonical folders. Blocks on the file system.
    pub fn of(in_force: &HooksInForce, roots: &[String], artifacts: ArtifactFolder) -> RunHooks {
        let known = KnownHooks::read(in_force, roots);
        RunHooks {
            in_force: in_force.clone(),
            roots: roots.into(),
            artifacts,
            known: Arc::new(HotSwap::new(known)),
            transcript: Arc::default(),
        }
    }

    /// The same for a run that this one calls: it is shown what is said in a context of its own.
    pub fn of_child(&self) -> RunHooks {
        RunHooks { transcript: Arc::default(), ..self.clone() }
    }

    /// Whether any hook of these events may have to be asked. Looks at no file.
    pub fn may_fire_any(&self, events: &[HookEventName]) -> bool {
        let known = self.known.get();
        !known.is_current(&self.in_force) || events.iter().any(|event| known.read.set.has_any(*event))
    }

    /// Whether hooks match, as far as that is known without looking at a file.
    pub fn may_match(&self, facts: &HookFacts, scene: &HookScene) -> bool {
        let known = self.known.get();
        if !known.is_current(&self.in_force) {
            return true;
        }
        let set = &known.read.set;
        set.has_any(facts.event()) && !set.matching(&scene.firing(facts.clone(), String::new(), 1)).is_empty()
    }

    /// Asks the hooks that match; `None` = there are none. Nothing of it is in force before it is committed. Cancel safe: what was
    /// started is ended.
    pub(super) async fn ask(
        &self,
        facts: HookFacts,
        scene: &HookScene,
        name: FiringName,
        (services, redactor): (Arc<dyn HookServices>, &Redactor),
    ) -> Option<AskedHooks> {
        if !self.may_match(&facts, scene) {
            return None;
        }
        let firing = scene.firing(facts, name.id.clone(), name.attempt);
        let read = self.current().await;
        let matching = read.set.matching(&firing);
        if matching.is_empty() {
            return None;
        }
        let workspace = HookWorkspace {
            roots: self.roots.iter().map(PathBuf::from).collect(),
            temporary: self.temporary(&scene.session).await,
            transcript: self.write_transcript(scene).await,
            settings: self.in_force.configuration().settings.clone(),
            redactor: redactor.clone(),
        };
        let fired = self.in_force.runner().fire(&read.set, &firing, &workspace, &services).await;
        let FiredHooks { mut verdict, records } = fired;
        let n_asked = matching.iter().filter(|hook| !hook.is_async).count();
        if records.len() < n_asked {
            // Who was to be asked and left no word would be a guard that was skipped.
            tracing::error!(firing = %name.id, asked = n_asked, answered = records.len(), "hooks left no word");
            let why = "a hook that was asked left no word".to_owned();
            match firing.facts.event() {
                HookEventName::PreToolUse | HookEventName::UserPromptSubmit | HookEventName::BeforeAgent => {
                    verdict.decision = Some(HookDecision::Deny);
                    verdict.reason.get_or_insert(why);
                }
                HookEventName::PermissionRequest => {
                    (verdict.decision, verdict.delegate) = (Some(HookDecision::Ask), None);
                }
                _ => verdict.warnings.push(why),
            }
        }
        let told = |record: HookFired| HookFired {
            firing_id: name.id.clone(),
            attempt: name.attempt,
            call_id: name.call.clone(),
            ..record
        };
        Some(AskedHooks { fired: records.into_iter().map(told).collect(), verdict })
    }

    /// The hooks as they are now, read anew where a file may have changed.
    async fn current(&self) -> Arc<HookPlacesRead> {
        let hooks = self.clone();
        super::super::unblocked(move || {
            let known = KnownHooks::read(&hooks.in_force, &hooks.roots);
            let read = Arc::clone(&known.read);
            hooks.known.replace(known);
            read
        })
        .await
    }

    /// Where programs of the session put what is temporary.
    async fn temporary(&self, session: &SessionId) -> PathBuf {
        let folder = self.artifacts.session_folder(session).map(|folder| folder.join("tmp"));
        let made = super::super::unblocked(move || {
            let folder = folder?;
            std::fs::DirBuilder::new().recursive(true).create(&folder).ok()?;
            Some(folder)
        });
        made.await.unwrap_or_else(std::env::temp_dir)
    }

    /// Brings the file in which hooks read what was said up to now.
    async fn write_transcript(&self, scene: &HookScene) -> PathBuf {
        let folder = self.in_force.transcripts().join(scene.session.as_str());
        let path = folder.join(format!("{}.jsonl", scene.run));
        let (scene, transcript, at) = (scene.clone(), Arc::clone(&self.transcript), path.clone());
        let cwd = self.roots.first().cloned().unwrap_or_default();
        let written = super::super::unblocked(move || {
            // Poisoned or not: what was written is compared with what is to stand there.
            let mut transcript = transcript.lock().unwrap_or_else(PoisonError::into_inner);
            transcript.bring_up_to(&at, &scene, &cwd)
        });
        if let Err(error) = written.await {
            tracing::warn!(path = %path.display(), %error, "the transcript for hooks could not be written");
        }
        path
    }
}

impl HookScene {
    /// Before the run's first event.
    pub fn of_beginning(
        identity: &RunIdentity,
        start: &RunStarted,
        session_start: Option<&'static str>,
        mode: ApprovalMode,
    ) -> HookScene {
        HookScene {
            session: identity.session.clone(),
            run: identity.run.clone(),
            root: start.root_run_id.clone().unwrap_or_else(|| identity.run.clone()),
            is_child: identity.parent.is_some(),
            agent: identity.agent.clone(),
            path: identity.agent_path.clone(),
            model: start.model.clone(),
            turn: 0,
            mode,
            is_headless: start.approval.headless,
            session_start,
            messages: Arc::new([]),
        }
    }

    fn firing(&self, facts: HookFacts, firing_id: String, attempt: u32) -> HookFiring {
        HookFiring {
            firing_id,
            attempt,
            facts,
            session_id: self.session.clone(),
            run_id: Some(self.run.clone()),
            root_run_id: Some(self.root.clone()),
            is_child: self.is_child,
            agent: Some(self.agent.clone()),
            agent_path: self.path.clone(),
            model: Some(self.model.clone()),
            turn_id: Some(format!("{}#{}", self.run, self.turn)),
            mode: self.mode,
            is_headless: self.is_headless,
        }
    }
}

/// What answers come to wherever they are given.
pub(super) fn effects_of(asked: &AskedHooks) -> HookEffects {
    let AskedHooks { fired, verdict } = asked;
    let told = |context: &HookContext| format!("The hook {} adds:\n{}", context.hook, context.text);
    let contexts: Vec<String> = verdict.context.iter().map(told).collect();
    HookEffects {
        fired: fired.clone(),
        warnings: verdict.warnings.clone(),
        block: None,
        stop: verdict.stop.as_ref().map(|stop| match stop.reason.trim() {
            "" => format!("the hook {} stopped the run and did not say why", stop.hook),
            reason => format!("the hook {} stopped the run: {reason}", stop.hook),
        }),
        context: Some(contexts.join("\n\n")).filter(|text| !text.is_empty()),
        output: None,
        refusal: None,
    }
}

impl HookEffects {
    /// As the log keeps it.
    pub(crate) fn redacted(self, redactor: &Redactor) -> HookEffects {
        let hide = |text: Option<String>| text.map(|text| redactor.owned(text));
        let fired = self.fired.into_iter().map(|fired| HookFired {
            reason: hide(fired.reason),
            stderr: hide(fired.stderr),
            ..fired
        });
        HookEffects {
            fired: fired.collect(),
            warnings: self.warnings.into_iter().map(|text| redactor.owned(text)).collect(),
            block: hide(self.block),
            stop: hide(self.stop),
            context: hide(self.context),
            refusal: self
                .refusal
                .map(|refusal| HookRefusal { message: redactor.owned(refusal.message), ..refusal }),
            output: self.output.map(|parts| {
                redactor.message(ContextMessage { role: MessageRole::Tool, parts, raw: None }).parts
            }),
        }
    }
}

impl KnownHooks {
    fn read(in_force: &HooksInForce, roots: &[String]) -> KnownHooks {
        // Before the files: what changes meanwhile is read anew.
        let (edition, trust) = (in_force.edition(), in_force.trust());
        KnownHooks { edition, trust, read: in_force.read(roots) }
    }

    fn is_current(&self, in_force: &HooksInForce) -> bool {
        self.edition == in_force.edition() && Arc::ptr_eq(&self.trust, &in_force.trust())
    }
}

/// A call as hooks see it.
pub(super) fn hooked_call(call_id: &CallId, tool: &ToolName, arguments: &Value) -> HookedCall {
    let of_server = tool.as_str().strip_prefix(MCP_TOOL).and_then(|rest| rest.split_once('.'));
    let mcp = of_server.map(|(server, name)| (server.to_owned(), name.to_owned()));
    HookedCall {
        call_id: call_id.clone(),
        tool: tool.clone(),
        mcp,
        answered_by: None,
        arguments: arguments.clone(),
    }
}

/// What hooks can have done for them at a call: its arguments are compared with the parameters of its tool.
pub(super) struct CallServices {
    pub tool: Arc<dyn Tool>,
}

impl HookServices for CallServices {
    fn call_mcp_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.call_mcp_tool(server, tool, input)
    }

    fn ask_model<'a>(
        &'a self,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.ask_model(prompt, model)
    }

    fn run_agent<'a>(
        &'a self,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.run_agent(prompt, model)
    }

    fn kept_from_commands(&self) -> BoxFuture<'_, Result<Vec<PathBuf>, String>> {
        NoHookServices.kept_from_commands()
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        let violations = tools::violations(&self.tool.declaration().parameters, arguments.clone());
        match violations.is_empty() {
            true => Ok(()),
            false => {
                let told = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message));
                Err(told.collect::<Vec<_>>().join("; "))
            }
        }
    }
}
