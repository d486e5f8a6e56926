//! Scripts in, decisions out. Every line also checks that folding the log anew makes the same facts.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use protocol::{
    AgentName, BudgetLimits, CallDetails, CompletionMode, ContextId, ContextMessage, FinishReason,
    MessagePart, MessageRole, OnBudget, ParkReason, ReplaySafety, ResourceAccess, RevisionReason, Risk,
    RunErrorCode, RunSafeguards, RunStarted, RunTask, ToolError, ToolErrorType, ToolKind, ToolResult, Usage,
    UsageTotal,
};

struct Script {
    max_turns: u32,
    max_time_ms: Option<u64>,
    max_tokens: Option<u64>,
    on_budget: OnBudget,
    lent: BudgetLimits,
    grace_ms: u64,
    completion: CompletionMode,
    task: RunTask,
    window: Option<u64>,
    care: Option<fn() -> RunSafeguards>,
    past: ContextState,
}

const TOOL: Script = Script {
    max_turns: 5,
    max_time_ms: Some(1_000),
    max_tokens: None,
    on_budget: OnBudget::End,
    lent: BudgetLimits { max_tokens: None, max_cost: None },
    grace_ms: 100,
    completion: CompletionMode::Tool,
    task: RunTask::Work,
    window: None,
    care: None,
    past: ContextState { prompt_tokens: 0, is_compression_off: false, epoch: 0 },
};

impl Script {
    #[track_caller]
    fn check(&self, script: &str, expect: Expect) {
        expect.assert_eq(&self.play(script));
    }

    fn play(&self, script: &str) -> String {
        let limits = RunLimits {
            max_turns: self.max_turns,
            max_time_ms: self.max_time_ms,
            max_tokens: self.max_tokens,
            max_cost: None,
            on_budget: self.on_budget,
            inherited: self.lent,
            grace_ms: self.grace_ms,
            max_depth: 4,
        };
        let run = RunId::from("r");
        let started = RunStarted {
            agent: AgentName::from("a"),
            title: String::new(),
            digest: String::new(),
            model: "m".to_owned(),
            context_id: ContextId::from("c"),
            query: String::new(),
            prompt: None,
            inputs: json!({}),
            limits,
            completion: self.completion,
            approval: Default::default(),
            depth: 0,
            parent_call_id: None,
            root_run_id: None,
            path: String::new(),
            traceparent: None,
            task: self.task,
            context_window: self.window,
            safeguards: Box::new(self.care.map(|care| care()).unwrap_or_default()),
            tracing: Default::default(),
            prompt_sources: None,
        };
        let mut machine = RunMachine::begin(RunConstants { run: run.clone(), start: started });
        machine.remember(self.past);
        let mut log: Vec<(EventBody, PrivateEventFields)> = Vec::new();
        let mut out = String::new();
        let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        // Most scripts begin with a run that has begun.
        let opening = match lines.next_if(|line| line.starts_with("open")) {
            Some("open queued") => StartMode::Queued { front: false },
            other => {
                if other != Some("open without a slot") {
                    machine.hold_slot();
                }
                StartMode::Now
            }
        };
        let opened = machine.open(opening, None, (Vec::new(), Vec::new()));
        if !machine.now.has_slot || machine.side_call().is_some() || machine.is_finished() {
            for draft in &opened {
                writeln!(out, "  {}", render(&draft.body)).unwrap();
            }
        }
        log.extend(opened.into_iter().map(|draft| (draft.body, draft.private)));
        for line in lines {
            writeln!(out, "> {line}").unwrap();
            match line {
                "gets a slot" => {
                    machine.hold_slot();
                    continue;
                }
                "gives its slot back" => {
                    assert!(!machine.is_at_work(), "it works");
                    machine.leave_slot();
                    continue;
                }
                "hooks watch" => {
                    machine.watch_hooks(true);
                    machine.watch_prompts(false, true);
                    continue;
                }
                _ => (),
            }
            if let Some(ms) = line.strip_prefix("wait ") {
                machine.charge(ms.parse::<u64>().unwrap() * 1_000);
                continue;
            }
            let mut drafts = machine.decide(input(&machine, line));
            drafts.extend(budgets::ask(&mut machine));
            if drafts.is_empty() {
                writeln!(out, "  (stale)").unwrap();
            }
            for draft in drafts {
                writeln!(out, "  {}", render(&draft.body)).unwrap();
                log.push((draft.body, draft.private));
            }
            let wants: Vec<String> =
                machine.wants().iter().map(|want| render_with_attempt(&machine, want)).collect();
            writeln!(out, "  wants {}", wants.join(" ")).unwrap();
            let folded = RunMachine::fold(&run, log.iter().map(|(body, private)| (body, private))).unwrap();
            assert!(folded.facts == machine.facts, "folding the log must make the same facts, after {line}");
        }
        facts::hold_in_any_circumstances(&run, &log, &machine.facts);
        out
    }
}

/// Words: `model [id[:tool][=value]]… [| text]` with `done` = complete_task, `run ID [kind] [path]` and `refuse ID`
/// for judgements, `tool ID [error|nospace|cancelled]`, and the other inputs by name.
fn input(machine: &RunMachine, line: &str) -> MachineInput {
    let (words, text) = line.split_once('|').unwrap_or((line, ""));
    let words: Vec<&str> = words.split_whitespace().collect();
    let ask = machine.ask().unwrap_or(ModelAsk { turn: 99, attempt: 1, is_grace: false });
    let call = |n: usize| CallId::from(words[n]);
    let partial = || Some(PartialReply { text: text.trim().to_owned(), ..PartialReply::default() });
    let taken = || words.get(2).map_or(0, |tokens| tokens.parse().unwrap());
    let metered = |prompt_tokens| MeteredUsage {
        usage: Usage { prompt_tokens, ..Usage::default() },
        ..MeteredUsage::default()
    };
    let failure = |kind| ModelFailure {
        message: "boom".to_owned(),
        kind,
        partial: PartialReply { metered: metered(taken()), ..partial().unwrap() },
        now: Timestamp(0),
        jitter: 0.5,
    };
    match words[0] {
        "model" | "stale-model" | "cut-short" | "refused" => {
            let mut parts = Vec::new();
            if !text.is_empty() {
                parts.push(MessagePart::text(text.trim()));
            }
            parts.extend(words[1..].iter().map(|word| {
                let (id, name) = word.split_once(':').unwrap_or((word, "probe"));
                MessagePart::ToolCall(ToolCall {
                    call_id: CallId::from(id),
                    provider_call_id: None,
                    name: name.into(),
                    arguments: json!({}),
                    signature: None,
                    redacted: false,
                })
            }));
            let finish = match words[0] {
                "cut-short" => FinishReason::Length,
                "refused" => FinishReason::Refused { message: "no".to_owned() },
                _ => FinishReason::Stop,
            };
            let is_stale = words[0] == "stale-model";
            let ask = if is_stale { ModelAsk { attempt: 99, ..ask } } else { ask };
            let prompt_tokens =
                if machine.start().context_window.is_some() { text.len() as u64 * 10 } else { 10 };
            let message = ContextMessage { role: MessageRole::Model, parts, raw: None };
            let model = "m".to_owned();
            ended(
                ask,
                ModelEnd::Responded(CompleteReply {
                    model,
                    message,
                    metered: metered(prompt_tokens),
                    finish,
                }),
            )
        }
        "fails" => {
            let retry_after_ms = words.get(1).map(|ms| ms.parse().unwrap());
            ended(ask, ModelEnd::Failed(failure(FailureKind::Passing { retry_after_ms })))
        }
        "too-long" => ended(ask, ModelEnd::Failed(failure(FailureKind::TooLong))),
        "babbles" => ended(ask, ModelEnd::Babbled { partial: partial().unwrap(), chunk: "blah".to_owned() }),
        "consulted" => safeguards::consulted(machine),
        "advice" => safeguards::advice(machine, &words[1..], text.trim()),
        "unusable" => ended(ask, ModelEnd::Failed(failure(FailureKind::Unusable))),
        "fails-for-good" => {
            ended(ask, ModelEnd::Failed(failure(FailureKind::Final(RunErrorCode::ProviderAuth))))
        }
        "backoff-over" => MachineInput::BackoffOver { ask },
        "run" => {
            let kind = match words.get(2) {
                Some(&"edit") => ToolKind::Edit,
                Some(&"execute") => ToolKind::Execute,
                _ => ToolKind::Read,
            };
            let path = words.get(3).copied().unwrap_or("/w/x").into();
            let access = if kind == ToolKind::Read {
                ResourceAccess::Read { path }
            } else {
                ResourceAccess::Write { path }
            };
            let replay = if kind == ToolKind::Read { ReplaySafety::Safe } else { ReplaySafety::Unsafe };
            let prepared = JudgedCall {
                kind,
                accesses: vec![access],
                replay,
                streams: false,
                basis: None,
                child: None,
                lent: None,
                hooks: None,
            };
            let details = CallDetails {
                title: String::new(),
                description: String::new(),
                kind,
                risk: Risk::Safe,
                locations: Vec::new(),
                rule: None,
                rule_origin: None,
                extension: None,
            };
            MachineInput::Judged {
                call: call(1),
                judgement: CallJudgement::Run { details, arguments: json!({}), prepared },
                hooks: Box::default(),
            }
        }
        "child" => {
            let child = Some(RunId::from(words[2]));
            let (kind, replay) = (ToolKind::Think, ReplaySafety::Unsafe);
            let prepared = JudgedCall {
                kind,
                accesses: vec![ResourceAccess::Nothing],
                replay,
                streams: false,
                basis: None,
                child,
                lent: None,
                hooks: None,
            };
            let details = CallDetails {
                title: String::new(),
                description: String::new(),
                kind,
                risk: Risk::Safe,
                locations: Vec::new(),
                rule: None,
                rule_origin: None,
                extension: None,
            };
            let judgement = CallJudgement::Run { details, arguments: json!({}), prepared };
            MachineInput::Judged { call: call(1), judgement, hooks: Box::default() }
        }
        "lent" => clients::lent(words[1], words[2]),
        "answered" => MachineInput::ClientAnswered {
            call: call(1),
            result: ToolResult::text("x"),
            by: Some("editor".to_owned()),
        },
        "back" => MachineInput::ClientBack { call: call(1) },
        "settled" => {
            let result = match words.get(2) {
                Some(&"cancelled") => ToolResult::failure(ToolErrorType::Cancelled, "x"),
                Some(&"wrote") => endings::wrote(call(1), &words[3..]),
                _ => ToolResult::text("x"),
            };
            let usage = Usage { prompt_tokens: 100, ..Usage::default() };
            let output = words.get(3).map(|subject| format!("{subject}\n"));
            let spent = UsageTotal::of(usage, None);
            MachineInput::ChildSettled { call: call(1), result, spent, output }
        }
        "ask" => {
            let kind = match words.get(2) {
                Some(&"read") => ToolKind::Read,
                _ => ToolKind::Edit,
            };
            let path = words.get(3).copied().unwrap_or("/w/x").into();
            let access = if kind == ToolKind::Read {
                ResourceAccess::Read { path }
            } else {
                ResourceAccess::Write { path }
            };
            let prepared = JudgedCall {
                kind,
                accesses: vec![access],
                replay: ReplaySafety::Unsafe,
                streams: false,
                basis: None,
                child: None,
                lent: None,
                hooks: None,
            };
            let confirmation = Box::new(people::question(words[1]));
            let (details, arguments) = (people::details(kind), json!({}));
            let judgement = CallJudgement::Ask { details, arguments, prepared, confirmation };
            MachineInput::Judged { call: call(1), judgement, hooks: Box::default() }
        }
        "asks" | "told" | "unheard" | "takes-back" => tools::input(&words),
        "answer" if words[1] == "budget" => budgets::answer(words[2], words.get(3).copied()),
        "answer" => people::answer(words[1], words[2]),
        "settle" => people::settle(words[1], words[2]),
        "hooks" | "nobody" => facts::hooks(&words, text.trim()),
        "spent" => {
            let usage = Usage { prompt_tokens: words[2].parse().unwrap(), ..Usage::default() };
            MachineInput::ChildSpent { call: call(1), spent: UsageTotal::of(usage, None) }
        }
        "waits" | "works" => MachineInput::ChildWaits { call: call(1), waits: words[0] == "waits" },
        "unpark-by-hand" => MachineInput::Unpark { by: None },
        "steer" => MachineInput::Steer { id: words[1].to_owned(), text: text.trim().to_owned(), by: None },
        "context-free" => MachineInput::ContextFree,
        "slot-taken" => MachineInput::SlotTaken,
        "promoted" => MachineInput::Promoted { by: None },
        "removed" => MachineInput::Removed { by: None },
        "park" => MachineInput::Park { reason: ParkReason::StorageFull },
        "unpark" => MachineInput::Unparked,
        "done" => {
            let result = CompletionResult { result: words[2].to_owned(), output: None };
            MachineInput::Judged {
                call: call(1),
                judgement: CallJudgement::Complete { result },
                hooks: Box::default(),
            }
        }
        "refuse" => {
            let error = ToolError { kind: ToolErrorType::PolicyDenied, message: "no".to_owned() };
            MachineInput::Judged {
                call: call(1),
                judgement: CallJudgement::Refuse(error.into()),
                hooks: Box::default(),
            }
        }
        "tool" => {
            let result = match words.get(2) {
                Some(&"error") => ToolResult::failure(ToolErrorType::ExecutionFailed, "x"),
                Some(&"nospace") => ToolResult::failure(ToolErrorType::NoSpaceLeft, "full"),
                Some(&"cancelled") => ToolResult::failure(ToolErrorType::Cancelled, "x"),
                Some(&"wrote") => endings::wrote(call(1), &words[3..]),
                _ => ToolResult::text("x"),
            };
            MachineInput::ToolFinished {
                call: call(1),
                result,
                asked: Vec::new(),
                near: NearMemoryNews::default(),
            }
        }
        "time" => MachineInput::TimeSpent { partial: partial() },
        "cancel" => MachineInput::Cancel { by: None, reason: None, partial: partial() },
        "restart" => {
            MachineInput::Restarted { unclean: true, away_ms: None, now: Timestamp(0), known: Vec::new() }
        }
        "panic" => MachineInput::Panicked { id: "id".to_owned(), now: Timestamp(0) },
        other => panic!("unknown script word {other}"),
    }
}

/// The end of a request on which hooks had nothing to say.
fn ended(ask: ModelAsk, end: ModelEnd) -> MachineInput {
    MachineInput::ModelEnded { ask, hooks: Box::default(), end }
}

fn render(body: &EventBody) -> String {
    let name = body.type_name();
    match body {
        EventBody::TurnStarted(it) => match it.grace {
            Some(reason) => format!("{name} {} grace={}", it.turn, reason.as_str()),
            None => format!("{name} {}", it.turn),
        },
        EventBody::TurnCompleted(it) => format!("{name} {}", it.turn),
        EventBody::ModelStarted(it) => match it.model.as_str() {
            "m" => format!("{name} {}", it.stream),
            model => format!("{name} {} of {model}", it.stream),
        },
        EventBody::ModelRetrying(it) => {
            format!("{name} {} attempt={} after={}us", it.stream, it.attempt, it.not_before.0)
        }
        EventBody::ModelCompleted(it) => {
            let calls: Vec<&str> = it.calls.iter().map(CallId::as_str).collect();
            format!("{name} {:?} calls={calls:?}{}", it.text, if it.cut { " cut" } else { "" })
        }
        EventBody::ToolState(it) => {
            let error = it.error.as_ref().map(|it| format!(" {}", it.kind.as_str())).unwrap_or_default();
            let child = it.child_run_id.as_ref().map(|run| format!(" by={run}")).unwrap_or_default();
            let output = it.output.as_ref().map(|text| format!(" output={text:?}")).unwrap_or_default();
            format!("{name} {} {:?}{error}{child}{output}", it.call_id, it.to)
        }
        EventBody::ToolClientCall(it) => {
            let again = if it.redelivered { " again" } else { "" };
            format!("{name} {} {} {} {}{again}", it.call_id, it.client_id, it.name, it.arguments)
        }
        EventBody::RunWaiting(it) => format!("{name} {}", it.waiting),
        EventBody::ConfirmationResolved(it) => {
            let resolution = &it.resolution;
            format!("{name} {} {:?} by {:?}", it.confirmation_id, resolution.outcome, resolution.by)
        }
        EventBody::ConfirmationRevised(it) => {
            let reason = Some(&it.confirmation.reason).filter(|_| it.reason == RevisionReason::EditDropped);
            let reason = reason.map(|reason| format!(" {reason:?}")).unwrap_or_default();
            format!("{name} {} {:?}{reason}", it.confirmation.confirmation_id, it.reason)
        }
        EventBody::ConfirmationRequested(it) => format!("{name} {}", it.confirmation.confirmation_id),
        EventBody::RunQueued(it) => {
            let front = if it.front { " front" } else { "" };
            let whole = if it.run.is_some() { " with all it needs" } else { "" };
            format!("{name} for={:?}{front}{whole}", it.waits_for)
        }
        EventBody::RunSteered(it) => match it.turn {
            Some(turn) => format!("{name} {} {:?} turn={turn}", it.steer_id, it.text),
            None => format!("{name} {} {:?}", it.steer_id, it.text),
        },
        EventBody::RunStopping(it) => format!("{name} {} then={:?}", it.reason.as_str(), it.then),
        EventBody::RunCompleted(it) => endings::render(it),
        other => safeguards::render(other).unwrap_or_else(|| name.to_owned()),
    }
}

/// A want, and for an edit how often hooks have been asked where that is more than once.
fn render_with_attempt(machine: &RunMachine, want: &WantedTask) -> String {
    let WantedTask::Edit { call } = want else { return render_want(want) };
    let attempt = machine.edit(call).map_or(0, |edit| edit.attempt);
    let attempt = if 1 < attempt { format!("#{attempt}") } else { String::new() };
    format!("{}{attempt}", render_want(want))
}

fn render_want(want: &WantedTask) -> String {
    match want {
        WantedTask::Model(ask) => {
            format!("model#{}.{}{}", ask.turn, ask.attempt, if ask.is_grace { "!" } else { "" })
        }
        WantedTask::SideCall(side_call) => {
            let how = if side_call.outputs_only { " outputs" } else { "" };
            let forced = if side_call.forced { " forced" } else { "" };
            format!("side_call#{} {}{forced}{how}", side_call.n, side_call.about.as_str())
        }
        WantedTask::Backoff { ask, .. } => format!("backoff#{}.{}", ask.turn, ask.attempt),
        WantedTask::Judge { first } => format!("judge({first}…)"),
        WantedTask::Edit { call } => format!("edit({call})"),
        WantedTask::Tool { call } => format!("tool({call})"),
        WantedTask::End { call } => format!("end({call})"),
        WantedTask::Child { call, run } => format!("child({call}: {run})"),
        WantedTask::EndChild { call, run } => format!("end-child({call}: {run})"),
        WantedTask::Context => "context".to_owned(),
        WantedTask::Slot => "slot".to_owned(),
        WantedTask::Hooks(point) => format!("hooks({point:?})"),
        WantedTask::Timer { due_us } => format!("timer@{}ms", due_us / 1_000),
    }
}

mod budgets;
mod calls;
mod clients;
mod endings;
mod facts;
mod limits;
mod people;
mod replies;
mod restarts;
mod safeguards;
mod tools;
mod waiting;
