//! Scripts in, decisions out. Every line also checks that folding the log anew makes the same machine.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::protocol::{
    Access, AgentName, CallDetails, Completion, ContextId, FinishReason, Message, ParkReason, Part, Replay,
    Risk, Role, RunErrorCode, RunStarted, ToolError, ToolErrorType, ToolKind, ToolResult,
};

struct Script {
    max_turns: u32,
    max_time_ms: Option<u64>,
    max_tokens: Option<u64>,
    completion: Completion,
}

const TOOL: Script =
    Script { max_turns: 5, max_time_ms: Some(1_000), max_tokens: None, completion: Completion::Tool };

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
            grace_ms: 100,
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
        };
        let mut machine = RunMachine::begin(Terms { run: run.clone(), start: started });
        let mut log: Vec<(EventBody, Private)> = Vec::new();
        let mut out = String::new();
        let mut lines = script.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        // Most scripts begin with a run that has begun.
        let opening = match lines.next_if(|line| line.starts_with("open")) {
            Some("open queued") => Opening::Queued { front: false },
            other => {
                if other != Some("open without a slot") {
                    machine.hold_slot();
                }
                Opening::Now
            }
        };
        let opened = machine.open(opening, None, Vec::new());
        if !machine.has_slot {
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
                _ => (),
            }
            if let Some(ms) = line.strip_prefix("wait ") {
                machine.charge(ms.parse::<u64>().unwrap() * 1_000);
                continue;
            }
            let drafts = machine.decide(input(&machine, line));
            // Time that was charged without an event is the driver's to charge again after a crash.
            let is_stale = drafts.is_empty();
            if is_stale {
                writeln!(out, "  (stale)").unwrap();
            }
            for draft in drafts {
                writeln!(out, "  {}", render(&draft.body)).unwrap();
                log.push((draft.body, draft.private));
            }
            let wants: Vec<String> = machine.wants().iter().map(render_want).collect();
            writeln!(out, "  wants {}", wants.join(" ")).unwrap();
            let mut folded =
                RunMachine::fold(&run, log.iter().map(|(body, private)| (body, private))).unwrap();
            // No fact: a new process holds no slots.
            folded.has_slot = machine.has_slot;
            // Nor has it heard of the runs below.
            for (folded, call) in folded.calls.iter_mut().zip(&machine.calls) {
                folded.child_waits = call.child_waits;
            }
            let is_over = machine.is_finished();
            assert!(
                is_over || is_stale || folded == machine,
                "folding the log must make the same machine, after {line}"
            );
        }
        out
    }
}

/// Words: `model [id[:tool][=value]]… [| text]` with `done` = complete_task, `run ID [kind] [path]` and `refuse ID`
/// for judgements, `tool ID [error|nospace|cancelled]`, and the other inputs by name.
fn input(machine: &RunMachine, line: &str) -> Input {
    let (words, text) = line.split_once('|').unwrap_or((line, ""));
    let words: Vec<&str> = words.split_whitespace().collect();
    let ask = machine.ask().unwrap_or(ModelAsk { turn: 99, attempt: 1, is_grace: false });
    let call = |n: usize| CallId::from(words[n]);
    let partial = || Some(Partial { text: text.trim().to_owned(), thought: String::new() });
    let failure = |kind| ModelFailure {
        message: "boom".to_owned(),
        kind,
        partial: Partial { text: text.trim().to_owned(), thought: String::new() },
        now: Timestamp(0),
        jitter: 0.5,
    };
    match words[0] {
        "model" | "stale-model" | "cut-short" | "refused" => {
            let mut parts = Vec::new();
            if !text.is_empty() {
                parts.push(Part::text(text.trim()));
            }
            parts.extend(words[1..].iter().map(|word| {
                let (id, name) = word.split_once(':').unwrap_or((word, "probe"));
                Part::ToolCall(ToolCall {
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
                "refused" => FinishReason::Refused { words: "no".to_owned() },
                _ => FinishReason::Stop,
            };
            let is_stale = words[0] == "stale-model";
            let ask = if is_stale { ModelAsk { attempt: 99, ..ask } } else { ask };
            let usage = Usage { prompt_tokens: 10, ..Usage::default() };
            let message = Message { role: Role::Model, parts, raw: None };
            Input::ModelResponded { ask, reply: Reply { model: "m".to_owned(), message, usage, finish } }
        }
        "fails" => {
            let retry_after_ms = words.get(1).map(|ms| ms.parse().unwrap());
            Input::ModelFailed { ask, failure: failure(FailureKind::Passing { retry_after_ms }) }
        }
        "unusable" => Input::ModelFailed { ask, failure: failure(FailureKind::Unusable) },
        "fails-for-good" => {
            Input::ModelFailed { ask, failure: failure(FailureKind::Final(RunErrorCode::ProviderAuth)) }
        }
        "backoff-over" => Input::BackoffOver { ask },
        "run" => {
            let kind = match words.get(2) {
                Some(&"edit") => ToolKind::Edit,
                Some(&"execute") => ToolKind::Execute,
                _ => ToolKind::Read,
            };
            let path = words.get(3).copied().unwrap_or("/w/x").into();
            let access = if kind == ToolKind::Read { Access::Read { path } } else { Access::Write { path } };
            let replay = if kind == ToolKind::Read { Replay::Safe } else { Replay::Unsafe };
            let prepared = PreparedCall { kind, accesses: vec![access], replay, basis: None, child: None };
            let details = CallDetails {
                title: String::new(),
                description: String::new(),
                kind,
                risk: Risk::Safe,
                locations: Vec::new(),
            };
            Input::Judged {
                call: call(1),
                judgement: Judgement::Run { details, arguments: json!({}), prepared },
            }
        }
        "child" => {
            let child = Some(RunId::from(words[2]));
            let (kind, replay) = (ToolKind::Think, Replay::Unsafe);
            let prepared = PreparedCall { kind, accesses: vec![Access::Nothing], replay, basis: None, child };
            let details = CallDetails {
                title: String::new(),
                description: String::new(),
                kind,
                risk: Risk::Safe,
                locations: Vec::new(),
            };
            let judgement = Judgement::Run { details, arguments: json!({}), prepared };
            Input::Judged { call: call(1), judgement }
        }
        "settled" => {
            let result = match words.get(2) {
                Some(&"cancelled") => ToolResult::failure(ToolErrorType::Cancelled, "x"),
                _ => ToolResult::text("x"),
            };
            let usage = Usage { prompt_tokens: 100, ..Usage::default() };
            let output = words.get(3).map(|subject| format!("{subject}\n"));
            Input::ChildSettled { call: call(1), result, usage, output }
        }
        "ask" => {
            let kind = match words.get(2) {
                Some(&"read") => ToolKind::Read,
                _ => ToolKind::Edit,
            };
            let path = words.get(3).copied().unwrap_or("/w/x").into();
            let access = if kind == ToolKind::Read { Access::Read { path } } else { Access::Write { path } };
            let prepared = PreparedCall {
                kind,
                accesses: vec![access],
                replay: Replay::Unsafe,
                basis: None,
                child: None,
            };
            let confirmation = Box::new(people::question(words[1]));
            let (details, arguments) = (people::details(kind), json!({}));
            let judgement = Judgement::Ask { details, arguments, prepared, confirmation };
            Input::Judged { call: call(1), judgement }
        }
        "answer" => people::answer(words[1], words[2]),
        "settle" => people::settle(words[1], words[2]),
        "waits" | "works" => Input::ChildWaits { call: call(1), waits: words[0] == "waits" },
        "unpark-by-hand" => Input::Unpark { by: None },
        "steer" => Input::Steer { id: words[1].to_owned(), text: text.trim().to_owned(), by: None },
        "context-free" => Input::ContextFree,
        "slot-taken" => Input::SlotTaken,
        "promoted" => Input::Promoted { by: None },
        "removed" => Input::Removed { by: None },
        "park" => Input::Park { reason: ParkReason::StorageFull },
        "unpark" => Input::Unparked,
        "done" => {
            let result = CompletionResult { result: words[2].to_owned(), output: None };
            Input::Judged { call: call(1), judgement: Judgement::Complete { result } }
        }
        "refuse" => {
            let error = ToolError { kind: ToolErrorType::PolicyDenied, message: "no".to_owned() };
            Input::Judged { call: call(1), judgement: Judgement::Refuse(error) }
        }
        "tool" => {
            let result = match words.get(2) {
                Some(&"error") => ToolResult::failure(ToolErrorType::ExecutionFailed, "x"),
                Some(&"nospace") => ToolResult::failure(ToolErrorType::NoSpaceLeft, "full"),
                Some(&"cancelled") => ToolResult::failure(ToolErrorType::Cancelled, "x"),
                _ => ToolResult::text("x"),
            };
            Input::ToolFinished { call: call(1), result }
        }
        "time" => Input::TimeSpent { partial: partial() },
        "cancel" => Input::Cancel { by: None, reason: None, partial: partial() },
        "restart" => Input::Restarted { unclean: true, now: Timestamp(0), known: Vec::new() },
        "panic" => Input::Panicked { id: "id".to_owned(), now: Timestamp(0) },
        other => panic!("unknown script word {other}"),
    }
}

fn render(body: &EventBody) -> String {
    let name = body.type_name();
    match body {
        EventBody::TurnStarted(it) => match it.grace {
            Some(reason) => format!("{name} {} grace={}", it.turn, reason.as_str()),
            None => format!("{name} {}", it.turn),
        },
        EventBody::TurnCompleted(it) => format!("{name} {}", it.turn),
        EventBody::ModelStarted(it) => format!("{name} {}", it.stream),
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
        EventBody::RunWaiting(it) => format!("{name} {}", it.waiting),
        EventBody::ConfirmationResolved(it) => {
            let resolution = &it.resolution;
            format!("{name} {} {:?} by {:?}", it.confirmation_id, resolution.outcome, resolution.by)
        }
        EventBody::ConfirmationRevised(it) => {
            format!("{name} {} {:?}", it.confirmation.confirmation_id, it.why)
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
        EventBody::RunCompleted(it) => {
            let mut line =
                format!("{name} {} turns={} calls={}", it.reason.as_str(), it.turns, it.tool_calls);
            for (key, value) in [("result", &it.result), ("partial", &it.partial_result)] {
                if let Some(value) = value {
                    write!(line, " {key}={value:?}").unwrap();
                }
            }
            if let Some(error) = &it.error {
                write!(line, " {:?}", error.code).unwrap();
            }
            if let Some(from) = it.recovered_from {
                write!(line, " recovered_from={}", from.as_str()).unwrap();
            }
            line
        }
        _ => name.to_owned(),
    }
}

fn render_want(want: &Want) -> String {
    match want {
        Want::Model(ask) => {
            format!("model#{}.{}{}", ask.turn, ask.attempt, if ask.is_grace { "!" } else { "" })
        }
        Want::Backoff { ask, .. } => format!("backoff#{}.{}", ask.turn, ask.attempt),
        Want::Judge { first } => format!("judge({first}…)"),
        Want::Tool { call } => format!("tool({call})"),
        Want::End { call } => format!("end({call})"),
        Want::Child { call, run } => format!("child({call}: {run})"),
        Want::EndChild { call, run } => format!("end-child({call}: {run})"),
        Want::Context => "context".to_owned(),
        Want::Slot => "slot".to_owned(),
        Want::Timer { due_us } => format!("timer@{}ms", due_us / 1_000),
    }
}

#[test]
fn permitted_call_runs_and_the_next_turn_completes() {
    TOOL.check(
        "
        model a
        run a
        tool a
        model z:complete_task
        done z fine
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@1000ms
            > done z fine
              tool.state z Scheduled
              tool.state z Executing
              tool.state z Success
              turn.completed 2
              run.completed GOAL turns=2 calls=2 result="fine"
              wants 
        "#]],
    );
}

#[test]
fn neighbours_of_a_result_run_to_their_end_and_the_result_comes_last() {
    TOOL.check(
        "
        model a z:complete_task b y:complete_task
        run a
        done z first
        refuse b
        done y second
        tool a
        ",
        expect![[r#"
            > model a z:complete_task b y:complete_task
              model.completed "" calls=["a", "z", "b", "y"]
              tool.state a Validating
              tool.state z Validating
              tool.state b Validating
              tool.state y Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z first
              tool.state z Scheduled
              wants judge(b…) tool(a) timer@1000ms
            > refuse b
              tool.state b Error POLICY_DENIED
              wants judge(y…) tool(a) timer@1000ms
            > done y second
              tool.state y Error INVALID_TOOL_PARAMS
              wants tool(a) timer@1000ms
            > tool a
              tool.state a Success
              tool.state z Executing
              tool.state z Success
              turn.completed 1
              run.completed GOAL turns=1 calls=4 result="first"
              wants 
        "#]],
    );
}

#[test]
fn limit_while_neighbours_of_a_result_run_still_ends_goal() {
    TOOL.check(
        "
        model a z:complete_task
        run a
        done z fine
        wait 1000
        time
        tool a cancelled
        ",
        expect![[r#"
            > model a z:complete_task
              model.completed "" calls=["a", "z"]
              tool.state a Validating
              tool.state z Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z fine
              tool.state z Scheduled
              wants tool(a) timer@1000ms
            > wait 1000
            > time
              run.stopping TIMEOUT then=Grace
              wants end(a)
            > tool a cancelled
              tool.state a Cancelled CANCELLED
              tool.state z Executing
              tool.state z Success
              turn.completed 1
              run.completed GOAL turns=1 calls=2 result="fine"
              wants 
        "#]],
    );
}

#[test]
fn cancel_before_a_result_counted_keeps_it_as_partial() {
    TOOL.check(
        "
        model a z:complete_task
        run a
        done z fine
        cancel
        cancel
        tool a cancelled
        cancel
        ",
        expect![[r#"
            > model a z:complete_task
              model.completed "" calls=["a", "z"]
              tool.state a Validating
              tool.state z Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(z…) tool(a) timer@1000ms
            > done z fine
              tool.state z Scheduled
              wants tool(a) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(a)
            > cancel
              (stale)
              wants end(a)
            > tool a cancelled
              tool.state a Cancelled CANCELLED
              tool.state z Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=2 partial="fine"
              wants 
            > cancel
              (stale)
              wants 
        "#]],
    );
}

#[test]
fn time_spent_ends_open_calls_first_then_grants_one_grace_turn() {
    TOOL.check(
        "
        model a b
        run a
        wait 999
        time
        wait 1
        time
        tool a
        model | nothing to say
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > wait 999
            > time
              (stale)
              wants judge(b…) tool(a) timer@1000ms
            > wait 1
            > time
              run.stopping TIMEOUT then=Grace
              tool.state b Cancelled CANCELLED
              wants end(a)
            > tool a
              tool.state a Success
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > model | nothing to say
              model.completed "nothing to say" calls=[]
              run.stopping TIMEOUT then=End
              turn.completed 2
              run.completed TIMEOUT turns=2 calls=2 partial="nothing to say"
              wants 
        "#]],
    );
}

#[test]
fn time_spent_while_the_model_writes_keeps_its_text() {
    TOOL.check(
        "
        wait 1000
        time | half a sen
        stale-model | tence
        model z:complete_task
        done z saved
        ",
        expect![[r#"
            > wait 1000
            > time | half a sen
              model.completed "half a sen" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > stale-model | tence
              (stale)
              wants model#2.1! timer@1100ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@1100ms
            > done z saved
              tool.state z Scheduled
              tool.state z Executing
              tool.state z Success
              turn.completed 2
              run.completed GOAL turns=2 calls=1 result="saved" recovered_from=TIMEOUT
              wants 
        "#]],
    );
}

#[test]
fn grace_has_a_timer_of_its_own() {
    TOOL.check(
        "
        wait 1000
        time
        wait 100
        time | half
        ",
        expect![[r#"
            > wait 1000
            > time
              model.completed "" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > wait 100
            > time | half
              model.completed "half" calls=[] cut
              run.stopping TIMEOUT then=End
              turn.completed 2
              run.completed TIMEOUT turns=2 calls=0 partial="half"
              wants 
        "#]],
    );
}

#[test]
fn turn_limit_and_token_budget_are_checked_between_turns() {
    Script { max_turns: 1, ..TOOL }.check(
        "
        model a
        refuse a
        model z:complete_task
        refuse z
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              run.stopping MAX_TURNS then=Grace
              turn.started 2 grace=MAX_TURNS
              model.started r#2.1
              wants model#2.1! timer@100ms
            > model z:complete_task
              model.completed "" calls=["z"]
              tool.state z Validating
              wants judge(z…) timer@100ms
            > refuse z
              tool.state z Error POLICY_DENIED
              turn.completed 2
              run.completed MAX_TURNS turns=2 calls=2
              wants 
        "#]],
    );
    Script { max_tokens: Some(10), ..TOOL }.check(
        "
        model a
        refuse a
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > refuse a
              tool.state a Error POLICY_DENIED
              turn.completed 1
              run.stopping BUDGET then=Grace
              turn.started 2 grace=BUDGET
              model.started r#2.1
              wants model#2.1! timer@100ms
        "#]],
    );
}

#[test]
fn conversational_run_ends_with_its_text_also_in_grace() {
    let talk = Script { completion: Completion::Message, ..TOOL };
    talk.check(
        "model | hello",
        expect![[r#"
        > model | hello
          model.completed "hello" calls=[]
          turn.completed 1
          run.completed GOAL turns=1 calls=0 result="hello"
          wants 
    "#]],
    );
    talk.check(
        "model |  ",
        expect![[r#"
        > model |
          model.completed "" calls=[]
          run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
          turn.completed 1
          turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
          model.started r#2.1
          wants model#2.1! timer@100ms
    "#]],
    );
    talk.check(
        "
        wait 1000
        time
        model | hello
        ",
        expect![[r#"
            > wait 1000
            > time
              model.completed "" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@1100ms
            > model | hello
              model.completed "hello" calls=[]
              turn.completed 2
              run.completed GOAL turns=2 calls=0 result="hello" recovered_from=TIMEOUT
              wants 
        "#]],
    );
}

#[test]
fn answer_cut_off_by_length_is_continued_once() {
    TOOL.check(
        "
        cut-short | one
        cut-short | two
        ",
        expect![[r#"
            > cut-short | one
              model.completed "one" calls=[]
              context.nudged
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > cut-short | two
              model.completed "two" calls=[]
              run.stopping ERROR then=End
              turn.completed 2
              run.completed ERROR turns=2 calls=0 partial="two" ModelFailed
              wants 
        "#]],
    );
}

#[test]
fn refusal_is_an_error_and_none_of_its_calls_is_acted_on() {
    TOOL.check(
        "refused a | I must not",
        expect![[r#"
        > refused a | I must not
          model.completed "I must not" calls=[]
          run.stopping ERROR then=End
          turn.completed 1
          run.completed ERROR turns=1 calls=0 partial="I must not" ModelFailed
          wants 
    "#]],
    );
}

#[test]
fn passing_failures_back_off_and_five_are_final() {
    let patient = Script { max_time_ms: Some(60_000), ..TOOL };
    patient.check(
        "
        fails
        backoff-over
        backoff-over
        fails | shown
        backoff-over
        restart
        fails
        backoff-over
        fails
        backoff-over
        fails | last words
        ",
        expect![[r#"
            > fails
              model.retrying r#1.1 attempt=2 after=500000us
              wants backoff#1.2 timer@60000ms
            > backoff-over
              model.started r#1.2
              wants model#1.2 timer@60000ms
            > backoff-over
              (stale)
              wants model#1.2 timer@60000ms
            > fails | shown
              model.retrying r#1.2 attempt=3 after=1000000us
              wants backoff#1.3 timer@60000ms
            > backoff-over
              model.started r#1.3
              wants model#1.3 timer@60000ms
            > restart
              run.resumed
              model.retrying r#1.3 attempt=4 after=0us
              model.started r#1.4
              wants model#1.4 timer@60000ms
            > fails
              model.retrying r#1.4 attempt=5 after=2000000us
              wants backoff#1.5 timer@60000ms
            > backoff-over
              model.started r#1.5
              wants model#1.5 timer@60000ms
            > fails
              model.retrying r#1.5 attempt=6 after=4000000us
              wants backoff#1.6 timer@60000ms
            > backoff-over
              model.started r#1.6
              wants model#1.6 timer@60000ms
            > fails | last words
              model.completed "last words" calls=[] cut
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=0 partial="last words" ModelFailed
              wants 
        "#]],
    );
    TOOL.check(
        "fails-for-good",
        expect![[r#"
        > fails-for-good
          model.completed "" calls=[] cut
          run.stopping ERROR then=End
          turn.completed 1
          run.completed ERROR turns=1 calls=0 ProviderAuth
          wants 
    "#]],
    );
}

#[test]
fn a_reply_that_is_no_use_is_asked_for_twice_more() {
    let patient = Script { max_time_ms: Some(60_000), ..TOOL };
    patient.check(
        "
        unusable
        backoff-over
        unusable | half
        backoff-over
        unusable
        ",
        expect![[r#"
            > unusable
              model.retrying r#1.1 attempt=2 after=500000us
              wants backoff#1.2 timer@60000ms
            > backoff-over
              model.started r#1.2
              wants model#1.2 timer@60000ms
            > unusable | half
              model.retrying r#1.2 attempt=3 after=1000000us
              wants backoff#1.3 timer@60000ms
            > backoff-over
              model.started r#1.3
              wants model#1.3 timer@60000ms
            > unusable
              model.completed "" calls=[] cut
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=0 ModelFailed
              wants 
        "#]],
    );
}

#[test]
fn a_wait_that_time_does_not_allow_is_not_begun() {
    // The run's own limit is reached; in grace the reason that granted it stays.
    TOOL.check(
        "
        fails 400
        backoff-over
        wait 300
        fails 800 | half
        fails
        ",
        expect![[r#"
            > fails 400
              model.retrying r#1.1 attempt=2 after=500000us
              wants backoff#1.2 timer@1000ms
            > backoff-over
              model.started r#1.2
              wants model#1.2 timer@1000ms
            > wait 300
            > fails 800 | half
              model.completed "half" calls=[] cut
              run.stopping TIMEOUT then=Grace
              turn.completed 1
              turn.started 2 grace=TIMEOUT
              model.started r#2.1
              wants model#2.1! timer@400ms
            > fails
              model.completed "" calls=[] cut
              turn.completed 2
              run.completed TIMEOUT turns=2 calls=0 partial="half"
              wants 
        "#]],
    );
    // A wait of hours says that there is no quota, whatever time the run has.
    TOOL.check(
        "fails 3600000",
        expect![[r#"
        > fails 3600000
          model.completed "" calls=[] cut
          run.stopping ERROR then=End
          turn.completed 1
          run.completed ERROR turns=1 calls=0 ModelFailed
          wants 
    "#]],
    );
}

#[test]
fn refusal_or_cut_answer_in_grace_keeps_the_first_reason() {
    for word in ["refused", "cut-short"] {
        let story = TOOL.play(&format!("model | said\n{word} | still"));
        let end = story.lines().rev().nth(1).unwrap();
        assert!(end.contains("run.completed ERROR_NO_COMPLETE_TASK_CALL"), "{story}");
    }
}

#[test]
fn failure_in_grace_keeps_the_first_reason() {
    TOOL.check(
        "
        model | no call
        fails-for-good
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > fails-for-good
              model.completed "" calls=[] cut
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="no call"
              wants 
        "#]],
    );
}

#[test]
fn grace_is_once_whatever_becomes_of_it() {
    TOOL.check(
        "
        model | no call
        cut-short | half
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > cut-short | half
              model.completed "half" calls=[]
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="half"
              wants 
        "#]],
    );
    TOOL.check(
        "
        model | no call
        refused | no
        ",
        expect![[r#"
            > model | no call
              model.completed "no call" calls=[]
              run.stopping ERROR_NO_COMPLETE_TASK_CALL then=Grace
              turn.completed 1
              turn.started 2 grace=ERROR_NO_COMPLETE_TASK_CALL
              model.started r#2.1
              wants model#2.1! timer@100ms
            > refused | no
              model.completed "no" calls=[]
              turn.completed 2
              run.completed ERROR_NO_COMPLETE_TASK_CALL turns=2 calls=0 partial="no"
              wants 
        "#]],
    );
}

#[test]
fn conflicting_calls_keep_the_models_order() {
    TOOL.check(
        "
        model a b c d e
        run a read /w/f
        run b edit /w/f
        run c read /w/f
        run d read /w/g
        run e edit /w
        tool a
        run b edit /w/f
        tool d
        tool b
        run c read /w/f
        tool c
        run e edit /w
        ",
        expect![[r#"
            > model a b c d e
              model.completed "" calls=["a", "b", "c", "d", "e"]
              tool.state a Validating
              tool.state b Validating
              tool.state c Validating
              tool.state d Validating
              tool.state e Validating
              wants judge(a…) timer@1000ms
            > run a read /w/f
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run b edit /w/f
              tool.state b Scheduled
              wants judge(c…) tool(a) timer@1000ms
            > run c read /w/f
              tool.state c Scheduled
              wants judge(d…) tool(a) timer@1000ms
            > run d read /w/g
              tool.state d Scheduled
              tool.state d Executing
              wants judge(e…) tool(a) tool(d) timer@1000ms
            > run e edit /w
              tool.state e Scheduled
              wants tool(a) tool(d) timer@1000ms
            > tool a
              tool.state a Success
              wants judge(b…) tool(d) timer@1000ms
            > run b edit /w/f
              tool.state b Executing
              wants tool(b) tool(d) timer@1000ms
            > tool d
              tool.state d Success
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              wants judge(c…) timer@1000ms
            > run c read /w/f
              tool.state c Executing
              wants tool(c) timer@1000ms
            > tool c
              tool.state c Success
              wants judge(e…) timer@1000ms
            > run e edit /w
              tool.state e Executing
              wants tool(e) timer@1000ms
        "#]],
    );
}

#[test]
fn judgements_are_taken_in_the_order_asked() {
    TOOL.check(
        "
        model a b
        run b
        run a
        run a
        run b
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run b
              (stale)
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run a
              (stale)
              wants judge(b…) tool(a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
        "#]],
    );
}

#[test]
fn restart_interrupts_unsafe_calls_and_goes_on_with_the_rest() {
    TOOL.check(
        "
        model r w v
        run r read /w/1
        run w edit /w/2
        restart
        run v read /w/3
        ",
        expect![[r#"
            > model r w v
              model.completed "" calls=["r", "w", "v"]
              tool.state r Validating
              tool.state w Validating
              tool.state v Validating
              wants judge(r…) timer@1000ms
            > run r read /w/1
              tool.state r Scheduled
              tool.state r Executing
              wants judge(w…) tool(r) timer@1000ms
            > run w edit /w/2
              tool.state w Scheduled
              tool.state w Executing
              wants judge(v…) tool(r) tool(w) timer@1000ms
            > restart
              run.resumed
              tool.state w Error INTERRUPTED
              wants judge(v…) tool(r) timer@1000ms
            > run v read /w/3
              tool.state v Scheduled
              tool.state v Executing
              wants tool(r) tool(v) timer@1000ms
        "#]],
    );
}

#[test]
fn restart_while_stopping_ends_what_was_running() {
    TOOL.check(
        "
        model r
        run r
        cancel
        restart
        ",
        expect![[r#"
            > model r
              model.completed "" calls=["r"]
              tool.state r Validating
              wants judge(r…) timer@1000ms
            > run r
              tool.state r Scheduled
              tool.state r Executing
              wants tool(r) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              wants end(r)
            > restart
              run.resumed
              tool.state r Cancelled CANCELLED
              turn.completed 1
              run.completed ABORTED turns=1 calls=1
              wants 
        "#]],
    );
}

#[test]
fn three_restarts_without_progress_are_a_crash_loop() {
    TOOL.check(
        "
        restart
        restart
        restart
        model a
        restart
        restart
        restart
        restart
        ",
        expect![[r#"
            > restart
              run.resumed
              model.retrying r#1.1 attempt=2 after=0us
              model.started r#1.2
              wants model#1.2 timer@1000ms
            > restart
              run.resumed
              model.retrying r#1.2 attempt=3 after=0us
              model.started r#1.3
              wants model#1.3 timer@1000ms
            > restart
              run.resumed
              model.retrying r#1.3 attempt=4 after=0us
              model.started r#1.4
              wants model#1.4 timer@1000ms
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              wants judge(a…) timer@1000ms
            > restart
              run.resumed
              run.stopping ERROR then=End
              tool.state a Cancelled CANCELLED
              turn.completed 1
              run.completed ERROR turns=1 calls=1 CrashLoop
              wants 
        "#]],
    );
}

#[test]
fn full_disk_in_a_tool_ends_the_run() {
    TOOL.check(
        "
        model a b
        run a
        run b
        tool a nospace
        tool b
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants judge(b…) tool(a) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(a) tool(b) timer@1000ms
            > tool a nospace
              tool.state a Error NO_SPACE_LEFT
              run.stopping ERROR then=End
              wants end(b)
            > tool b
              tool.state b Success
              turn.completed 1
              run.completed ERROR turns=1 calls=2 NoSpaceLeft
              wants 
        "#]],
    );
}

#[test]
fn panic_of_the_driver_ends_the_run_with_its_calls() {
    TOOL.check(
        "
        model a
        run a
        panic
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > run a
              tool.state a Scheduled
              tool.state a Executing
              wants tool(a) timer@1000ms
            > panic
              tool.state a Error INTERRUPTED
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=1 Panic
              wants 
        "#]],
    );
    TOOL.check(
        "panic",
        expect![[r#"
        > panic
          model.retrying r#1.1 attempt=2 after=0us
          run.stopping ERROR then=End
          turn.completed 1
          run.completed ERROR turns=1 calls=0 Panic
          wants 
    "#]],
    );
}

#[test]
fn the_end_of_a_call_keeps_what_it_put_out() {
    TOOL.check(
        "
        model a
        child a kid
        settled a cancelled looked
        ",
        expect![[r#"
            > model a
              model.completed "" calls=["a"]
              tool.state a Validating
              wants judge(a…) timer@1000ms
            > child a kid
              tool.state a Scheduled
              tool.state a Executing by=kid
              wants child(a: kid) timer@1000ms
            > settled a cancelled looked
              tool.state a Cancelled CANCELLED output="looked\n"
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
}

mod people;
mod waiting;
