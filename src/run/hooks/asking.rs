//! Fires the hooks of one run. Nothing else in the engine knows what the crate for hooks calls things.

use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use hooks::{
    AgentHooks, AsyncHookEnd, AsyncHookEnds, FiredHooks, Hook, HookContext, HookFacts, HookFailurePolicy,
    HookOrigin, HookPlacesRead, HookServices, HookSet, HookState, HookVerdict, HookWorkspace, HookedCall,
    KnownTools,
};
use serde_json::Value;

use super::{
    super::machine::{HookEffects, HookRefusal, LateHook, ToolSideCall},
    in_force::HooksInForce,
    scene::HookScene,
    services::{ChangeableCall, RunHookServices},
    session_log::LateHookLog,
    transcript::HookTranscript,
};
use protocol::{
    CallId, ContextMessage, DroppedChange, FileProblem, HookDecision, HookEventName, HookFired, HookOutcome,
    MessageRole, ResourceAccess, ResultReplacement, RunId, SessionId, ToolName,
};
use redact::Redactor;
use sys::current::HotSwap;
use tools::{ArtifactFolder, CommandRuntime, with_plain_paths};
use trust::TrustRecords;

/// Bytes of a text in place of a result in the record of its hook; spans keep as many of a result.
const MOST_REPLACEMENT_BYTES: usize = 4 << 10;

/// Bytes of arguments that a hook wanted and that did not count.
const MOST_DROPPED_BYTES: usize = 1 << 10;

/// Letters of a session's title that a hook gives.
const MOST_TITLE_CHARS: usize = 200;

/// Below a session's folder: what its hooks keep for a while.
const TEMPORARY: &str = "hooks-tmp";

/// The way in which the names of tools from servers of the Model Context Protocol begin.
const MCP_TOOL: &str = "mcp.";

/// The hooks of one run, and of those that it calls. A cheap handle.
#[derive(Clone)]
pub struct RunHooks {
    in_force: HooksInForce,
    /// The workspace's folders, canonical.
    roots: Arc<[String]>,
    /// The hooks that the run's agent brings along.
    agent: Option<Arc<AgentHooks>>,
    artifacts: ArtifactFolder,
    /// Confines them.
    commands: Arc<CommandRuntime>,
    known: Arc<HotSwap<KnownHooks>>,
    transcript: Arc<Mutex<HookTranscript>>,
}

/// Everything that was read, and what it depends on.
struct KnownHooks {
    edition: (u64, u64),
    trust: Arc<TrustRecords>,
    read: Arc<HookPlacesRead>,
}

/// Everything that the hooks at one point answered.
pub(crate) struct AskedHooks {
    /// One for each of them, as the log has it.
    pub fired: Vec<HookFired>,
    pub verdict: HookVerdict,
    /// Everything that they asked models.
    pub asked: Vec<ToolSideCall>,
}

/// Names a firing, the same after a restart.
pub(crate) struct FiringName {
    pub id: String,
    pub attempt: u32,
    pub call: Option<CallId>,
}

impl RunHooks {
    /// The ones of a workspace with these canonical folders. Blocks on the file system.
    pub fn of(
        in_force: &HooksInForce,
        (roots, agent): (&[String], Option<AgentHooks>),
        (artifacts, commands): (ArtifactFolder, Arc<CommandRuntime>),
    ) -> RunHooks {
        let known = KnownHooks::read(in_force, roots, agent.as_ref());
        RunHooks {
            in_force: in_force.clone(),
            roots: roots.into(),
            agent: agent.map(Arc::new),
            artifacts,
            commands,
            known: Arc::new(HotSwap::new(known)),
            transcript: Arc::default(),
        }
    }

    /// The same for a run that this one calls, of an agent that brings these along: it is shown what is said in a context of its own.
    /// Blocks on the file system where either agent has any.
    pub fn of_child(&self, agent: Option<AgentHooks>) -> RunHooks {
        let transcript = Arc::default();
        if agent.is_none() && self.agent.is_none() {
            return RunHooks { transcript, ..self.clone() };
        }
        let known = KnownHooks::read(&self.in_force, &self.roots, agent.as_ref());
        RunHooks {
            known: Arc::new(HotSwap::new(known)),
            agent: agent.map(Arc::new),
            transcript,
            ..self.clone()
        }
    }

    /// True if the run's agent brings hooks along.
    pub fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// True if any hook of these events may have to be asked. Looks at no file.
    pub fn may_fire_any(&self, events: &[HookEventName]) -> bool {
        let known = self.known.get();
        events.iter().any(|event| known.read.set.has_any(*event))
    }

    /// One sentence for each hook that rests until a person has looked; so many at most.
    pub fn resting(&self, most: usize) -> Vec<String> {
        let known = self.known.get();
        let told = known.read.set.resting().take(most);
        told.map(|(hook, why)| format!("the hook {} rests: {why} (`subagent hooks list`)", hook.id)).collect()
    }

    /// One sentence for each hook that looks as if it did something and never fires, and one for the files of the workspace whose hooks
    /// are not asked since nobody has acknowledged them; so many at most.
    pub fn idle(&self, tools: &KnownTools, most: usize) -> Vec<String> {
        let read = &self.known.get().read;
        let idle = read.idle(tools).into_iter().chain(read.half_idle(tools));
        let is_of_run = |it: &FileProblem| {
            let of_others = |hook: &Arc<Hook>| hook.file == it.path && hook.state == HookState::Untrusted;
            !read.set.hooks().iter().any(of_others)
        };
        let mut told: Vec<String> =
            idle.filter(is_of_run).map(|it| format!("hooks: {it}")).take(most).collect();
        let mut files: Vec<String> = Vec::new();
        for hook in read.set.hooks().iter().filter(|hook| hook.state == HookState::Untrusted) {
            let file = hook.file.display().to_string();
            if matches!(hook.origin, HookOrigin::Project { .. }) && !files.contains(&file) {
                files.push(file);
            }
        }
        if !files.is_empty() {
            let more = files.len().saturating_sub(most);
            files.truncate(most);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            told.push(format!(
                "hooks are not asked, since nobody has acknowledged their files as they are now (`subagent trust`): {}{more}",
                files.join(", ")
            ));
        }
        told
    }

    /// True if hooks match, as far as that is known without looking at a file.
    pub fn may_match(&self, facts: &HookFacts, scene: &HookScene) -> bool {
        let known = self.known.get();
        let set = &known.read.set;
        set.has_any(facts.event()) && !set.matching(&scene.firing(facts.clone(), String::new(), 1)).is_empty()
    }

    /// The hooks as they were read last. Looks at no file.
    pub fn known(&self) -> HookSet {
        self.known.get().read.set.clone()
    }

    /// True if hooks hear of calls that read or edit files, whichever files those are.
    pub fn hear_of_files(&self) -> bool {
        let set = &self.known.get().read.set;
        set.may_hear(HookEventName::PreToolUse, &["read_file", "edit_file"])
            || set.may_hear(HookEventName::PostToolUse, &["read_file"])
    }

    /// True if hooks match that are waited for, as far as that is known without looking at a file.
    pub fn may_decide(&self, facts: &HookFacts, scene: &HookScene) -> bool {
        let known = self.known.get();
        let set = &known.read.set;
        let firing = || scene.firing(facts.clone(), String::new(), 1);
        set.has_any(facts.event()) && set.matching(&firing()).iter().any(|hook| !hook.is_async)
    }

    /// Asks the hooks that match; `None` = there are none. Nothing of it is in force before it is committed. Cancel safe: what was
    /// started is ended.
    pub(crate) async fn ask(
        &self,
        facts: HookFacts,
        scene: &HookScene,
        name: FiringName,
        (changeable, redactor): (Option<Arc<dyn ChangeableCall>>, &Redactor),
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
        let roots: Vec<PathBuf> = self.roots.iter().map(PathBuf::from).collect();
        let temporary = self.temporary(&scene.session).await;
        let models = scene.models.as_ref().map(|models| models.anew());
        let services: Arc<dyn HookServices> = Arc::new(RunHookServices {
            roots: roots.clone(),
            temporary: temporary.clone(),
            commands: Arc::clone(&self.commands),
            changeable,
            models: models.clone(),
            firing: name.id.clone(),
            call: name.call.clone(),
            news: scene.news.clone(),
            tools: scene.tools.clone(),
            late: LateHookLog {
                log: scene.log.clone(),
                session: scene.session.clone(),
                agent: scene.agent.clone(),
                redactor: redactor.clone(),
            },
        });
        let workspace = HookWorkspace {
            roots,
            temporary,
            transcript: self.write_transcript(scene).await,
            settings: self.in_force.configuration().settings.clone(),
            redactor: redactor.clone(),
        };
        let fired = self.in_force.runner().fire(&read.set, &firing, &workspace, &services).await;
        let FiredHooks { mut verdict, records, deferred } = fired;
        let n_asked = matching.iter().filter(|hook| !hook.is_async).count();
        if records.len() + deferred.len() < n_asked {
            // Who was to be asked and left no word would be a guard that was skipped.
            tracing::error!(firing = %name.id, asked = n_asked, answered = records.len(), "hooks left no word");
            let why = "a hook that was asked left no word".to_owned();
            // Nobody's own word.
            let denied = || format!("{why}, and nothing goes ahead without it");
            match matching.iter().map(|hook| hook.on_failure).max_by_key(|policy| *policy as u8) {
                Some(HookFailurePolicy::Block) => {
                    verdict.decision = Some(HookDecision::Deny);
                    verdict.reason.get_or_insert_with(denied);
                }
                Some(HookFailurePolicy::Ask) => {
                    (verdict.decision, verdict.delegate) =
                        (verdict.decision.max(Some(HookDecision::Ask)), None);
                }
                Some(HookFailurePolicy::Continue) | None => verdict.warnings.push(why),
            }
        }
        let told = |record: HookFired| HookFired {
            firing_id: name.id.clone(),
            attempt: match record.outcome {
                // That is all that becomes of the attempt before; it is not told again.
                HookOutcome::Interrupted => name.attempt.saturating_sub(1).max(1),
                _ => name.attempt,
            },
            call_id: name.call.clone(),
            ..record
        };
        let asked = models.map(|models| models.asked()).unwrap_or_default();
        Some(AskedHooks { fired: records.into_iter().map(told).collect(), verdict, asked })
    }

    /// Looks at the files where what was read may not hold any more. Whoever asks whether hooks may fire does so before.
    pub async fn refresh(&self) {
        if !self.known.get().is_current(&self.in_force) {
            self.current().await;
        }
    }

    /// The hooks as they are now, read anew where a file may have changed.
    async fn current(&self) -> Arc<HookPlacesRead> {
        let hooks = self.clone();
        super::super::unblocked(move || {
            let known = KnownHooks::read(&hooks.in_force, &hooks.roots, hooks.agent.as_deref());
            let read = Arc::clone(&known.read);
            hooks.known.replace(known);
            read
        })
        .await
    }

    /// The place where hooks of the session put what is temporary: another one than its commands', who could change what a guard keeps
    /// there. Empty = the folder cannot be made, and no program is run.
    async fn temporary(&self, session: &SessionId) -> PathBuf {
        let folder = self.artifacts.session_folder(session).map(|folder| folder.join(TEMPORARY));
        let made = super::super::unblocked(move || {
            let folder = folder?;
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
            Some(folder)
        });
        made.await.unwrap_or_default()
    }

    /// True if the person's settings let their own hooks answer questions in their place, as they are now.
    pub(crate) fn may_approve(&self) -> bool {
        self.in_force.configuration().may_approve
    }

    /// Everything that asynchronous hooks of this run say from now on.
    pub fn attend(&self, run: &RunId) -> AsyncHookEnds {
        self.in_force.runner().attend(run)
    }

    /// Brings the file in which hooks read what was said up to now.
    async fn write_transcript(&self, scene: &HookScene) -> PathBuf {
        let folder = self.in_force.transcripts().join(scene.session.as_str());
        let path = folder.join(format!("{}.jsonl", scene.subject()));
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

/// The outcome of answers wherever they are given.
pub(crate) fn effects_of(asked: &AskedHooks) -> HookEffects {
    let AskedHooks { fired, verdict, asked } = asked;
    let contexts: Vec<String> = verdict.context.iter().map(added).collect();
    HookEffects {
        fired: fired.clone(),
        asked: asked.clone(),
        warnings: verdict.warnings.clone(),
        block: None,
        stop: verdict.stop.as_ref().map(|stop| match stop.reason.trim() {
            "" => format!("the hook {} stopped the run and did not say why", stop.hook),
            reason => format!("the hook {} stopped the run: {reason}", stop.hook),
        }),
        context: Some(contexts.join("\n\n")).filter(|text| !text.is_empty()),
        output: None,
        follow_up: None,
        refusal: None,
        approval: None,
        session_title: verdict.session_title.as_deref().map(title_of).filter(|title| !title.is_empty()),
    }
}

/// A text in place of a result, as the log has it beside the context, which has all of it. Without secrets already: of half a secret nobody
/// can tell that it is one.
fn shortened(mut text: String, withheld: bool) -> ResultReplacement {
    let whole = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let is_cut = MOST_REPLACEMENT_BYTES < text.len();
    text.truncate(text.floor_char_boundary(MOST_REPLACEMENT_BYTES));
    ResultReplacement { text, bytes: is_cut.then_some(whole), withheld }
}

/// The beginning of arguments that a hook wanted.
fn cut(text: String) -> String {
    match MOST_DROPPED_BYTES < text.len() {
        false => text,
        true => format!("{}…", &text[..text.floor_char_boundary(MOST_DROPPED_BYTES)]),
    }
}

/// A title in one line, of which lists show so much.
fn title_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_TITLE_CHARS).collect()
}

fn added(context: &HookContext) -> String {
    format!("The hook {} adds:\n{}", context.hook, context.text)
}

impl LateHook {
    /// Everything that an asynchronous hook said, under this name where it wants it said to the run at once.
    pub fn of(end: AsyncHookEnd, steer_id: String, redactor: &Redactor) -> LateHook {
        let AsyncHookEnd { record, context, rewake, warnings } = end;
        let says = format!("The hook {} says:\n", record.hook_id);
        LateHook {
            fired: HookFired {
                reason: record.reason.map(|text| redactor.owned(text)),
                stderr: record.stderr.map(|text| redactor.owned(text)),
                added: record.added.map(|text| redactor.owned(text)),
                message: record.message.map(|text| redactor.owned(text)),
                ..record
            },
            context: context.as_ref().map(|context| redactor.owned(added(context))),
            rewake: rewake.map(|text| (steer_id, redactor.owned(says + &text))),
            warnings: warnings.into_iter().map(|text| redactor.owned(text)).collect(),
        }
    }
}

impl HookEffects {
    /// The same as the log keeps it.
    pub(crate) fn redacted(self, redactor: &Redactor) -> HookEffects {
        let hide = |text: Option<String>| text.map(|text| redactor.owned(text));
        let fired = self.fired.into_iter().map(|fired| HookFired {
            reason: hide(fired.reason),
            stderr: hide(fired.stderr),
            added: hide(fired.added),
            message: hide(fired.message),
            dropped_change: fired.dropped_change.map(|it| DroppedChange {
                input: cut(redactor.owned(it.input)),
                reason: redactor.owned(it.reason),
            }),
            replacement: fired.replacement.map(|it| shortened(redactor.owned(it.text), it.withheld)),
            ..fired
        });
        let mut fired: Vec<HookFired> = fired.collect();
        let mut warnings: Vec<String> = self.warnings.into_iter().map(|text| redactor.owned(text)).collect();
        let mut follow_up = self.follow_up;
        // What is written down of it is what runs, and a secret is not written down.
        if let Some(call) = follow_up.take_if(|call| redactor.value(&mut call.arguments)) {
            let is_its = |record: &&mut HookFired| record.follow_up.as_ref() == Some(&call.call_id);
            fired.iter_mut().filter(is_its).for_each(|record| record.follow_up = None);
            warnings.push("a hook wants a call with a secret in its arguments; it is not made".to_owned());
        }
        HookEffects {
            fired,
            follow_up,
            asked: self.asked,
            warnings,
            block: hide(self.block),
            stop: hide(self.stop),
            context: hide(self.context),
            approval: self.approval,
            session_title: hide(self.session_title),
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
    fn read(in_force: &HooksInForce, roots: &[String], agent: Option<&AgentHooks>) -> KnownHooks {
        // Before the files: what changes meanwhile is read anew.
        let (edition, trust) = (in_force.edition(), in_force.trust());
        KnownHooks {
            edition,
            trust,
            read: in_force.read(roots, agent.map(std::slice::from_ref).unwrap_or_default()),
        }
    }

    fn is_current(&self, in_force: &HooksInForce) -> bool {
        self.edition == in_force.edition() && Arc::ptr_eq(&self.trust, &in_force.trust())
    }
}

/// A call as hooks see it. `is_agent`: an agent of this name answers it. `accesses`: of a call that was prepared.
pub(crate) fn hooked_call(
    call_id: &CallId,
    (tool, is_agent): (&ToolName, bool),
    arguments: &Value,
    accesses: &[ResourceAccess],
) -> HookedCall {
    let of_server = tool.as_str().strip_prefix(MCP_TOOL).and_then(|rest| rest.split_once('.'));
    let mcp = of_server.map(|(server, name)| (server.to_owned(), name.to_owned()));
    // A server's tool reads its arguments as they stand.
    let arguments = if mcp.is_some() { arguments.clone() } else { with_plain_paths(arguments) };
    HookedCall {
        call_id: call_id.clone(),
        tool: tool.clone(),
        mcp,
        answered_by: is_agent.then(|| tool.as_str().into()),
        arguments,
        accesses: accesses.to_vec(),
        page: None,
    }
}
