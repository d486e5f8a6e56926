//! Contexts that last, circles that are left, models that take over. `advice OUTCOME [words]` is what a question of the
//! daemon's own came to.

use expect_test::expect;

use super::{Script, TOOL};
use crate::machine::{
    CompressionResult, ContextState, MachineInput, MeteredUsage, NextSpeaker, RoutedModel, RunMachine,
    SideCallReply, SideCallResult,
};
use protocol::{
    BudgetAmount, CompletionMode, CompressionStatus, ContextCompressed, EventBody, ModelTiers, NamedModel,
    NudgeReason, RunSafeguards, RunTask, SamplingSettings, Usage,
};

pub fn named(name: &str) -> NamedModel {
    let temperature = Some(if name == "strong" { 0.9 } else { 0.1 });
    let sampling = SamplingSettings { temperature, ..SamplingSettings::default() };
    NamedModel { name: name.to_owned(), context_window: 1_000, sampling }
}

fn all() -> RunSafeguards {
    RunSafeguards {
        compress_at: Some(0.5),
        small: Some(named("small")),
        loop_calls: true,
        loop_text: true,
        loop_judge: true,
        ..RunSafeguards::default()
    }
}

const GUARDED: Script = Script { window: Some(1_000), care: Some(all), max_turns: 50, ..TOOL };

pub fn advice(machine: &RunMachine, words: &[&str], text: &str) -> MachineInput {
    let side_call = machine.side_call().expect("nothing is asked");
    let compressed = |status| {
        let tokens_after = words.get(1).map_or(100, |n| n.parse().unwrap());
        let epoch = machine.context().epoch + u32::from(status == CompressionStatus::Compressed);
        SideCallResult::Compressed(CompressionResult {
            told: ContextCompressed {
                status,
                epoch,
                forced: side_call.forced,
                tokens_before: machine.context().prompt_tokens,
                tokens_after,
                counted: false,
                messages_before: 9,
                messages_after: 3,
                outputs_cut: 0,
                message: None,
            },
            compaction: None,
        })
    };
    let advice = match words[0] {
        "compressed" => compressed(CompressionStatus::Compressed),
        "noop" => compressed(CompressionStatus::Noop),
        "inflated" => compressed(CompressionStatus::CompressionFailedInflatedTokenCount),
        "empty" => compressed(CompressionStatus::CompressionFailedEmptySummary),
        "loop" => SideCallResult::Loop { confidence: words[1].parse().unwrap(), reason: text.to_owned() },
        "user" => SideCallResult::NextSpeaker(NextSpeaker::User),
        "model" => SideCallResult::NextSpeaker(NextSpeaker::Model),
        "routed" => SideCallResult::Routed(RoutedModel { model: named(words[1]), reason: text.to_owned() }),
        _ => SideCallResult::Nothing { message: text.to_owned() },
    };
    let calls = if words[0] == "nothing" { Vec::new() } else { vec![one_call()] };
    MachineInput::SideCallEnded { side_call, calls, advice: Box::new(advice) }
}

fn one_call() -> SideCallReply {
    let usage = Usage { prompt_tokens: 5, ..Usage::default() };
    SideCallReply {
        model: "small".to_owned(),
        metered: MeteredUsage { usage, ..MeteredUsage::default() },
        text: "t".to_owned(),
        error: None,
    }
}

/// A call that a question took is over, and the question is not.
pub fn consulted(machine: &RunMachine) -> MachineInput {
    let side_call = machine.side_call().expect("nothing is asked");
    MachineInput::SideCallReplied { side_call, call: Box::new(one_call()) }
}

pub fn render(body: &EventBody) -> Option<String> {
    let name = body.type_name();
    Some(match body {
        EventBody::SideCallStarted(it) => {
            let model = it.model.as_deref().unwrap_or("-");
            let forced = if it.forced { " forced" } else { "" };
            let outputs = if it.outputs_only { " outputs" } else { "" };
            format!("{name} {} of {model}{forced}{outputs}", it.purpose.as_str())
        }
        EventBody::SideCallCompleted(it) => {
            format!(
                "{name} {}{}",
                it.purpose.as_str(),
                it.error.as_ref().map(|it| format!(": {it}")).unwrap_or_default()
            )
        }
        EventBody::ContextCompressed(it) => format!("{name} {}", it.status.as_str()),
        EventBody::BudgetWarning(it) => {
            let told = |amount| match amount {
                BudgetAmount::Tokens(tokens) => tokens.to_string(),
                BudgetAmount::Cost(cost) => cost.to_string(),
            };
            format!("{name} {} of {}", told(it.used), told(it.limit))
        }
        EventBody::BudgetRaised(it) => match it.limits.max_tokens {
            Some(tokens) => format!("{name} to {tokens}"),
            None => format!("{name} of nothing"),
        },
        EventBody::ContextCleared(it) => format!("{name} epoch={}", it.epoch),
        EventBody::LoopDetected(it) => format!("{name} {:?} {:?} stops={}", it.kind, it.message, it.stops),
        EventBody::ModelFallback(it) => format!("{name} {} → {}{}", it.from, it.to, sampled(it.sampling)),
        EventBody::ModelRouted(it) => {
            format!("{name} {} {:?} {:?}{}", it.model, it.by, it.reason, sampled(it.sampling))
        }
        EventBody::ContextNudged(it) if it.reason != NudgeReason::CutShort => {
            format!("{name} {:?}", it.reason)
        }
        _ => return None,
    })
}

/// Nothing for a model that samples as the run began.
fn sampled(sampling: Option<SamplingSettings>) -> String {
    let temperature = sampling.and_then(|it| it.temperature);
    temperature.map(|temperature| format!(" at {temperature}")).unwrap_or_default()
}

#[test]
fn a_context_that_fills_half_its_window_is_compressed_before_the_next_turn() {
    GUARDED.check(
        "
        model a | not half of the window yet
        run a
        tool a
        model b | fifty letters are five hundred tokens, which is half
        run b
        tool b
        advice compressed 300
        model c | fifty letters are five hundred tokens, which is half
        run c
        tool c
        restart
        advice noop
        model d | fifty letters are five hundred tokens, which is half
        run d
        tool d
        ",
        expect![[r#"
            > model a | not half of the window yet
              model.completed "not half of the window yet" calls=["a"]
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
            > model b | fifty letters are five hundred tokens, which is half
              model.completed "fifty letters are five hundred tokens, which is half" calls=["b"]
              tool.state b Validating
              wants judge(b…) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              turn.completed 2
              turn.started 3
              sideCall.started compression of m
              wants side_call#1 compression hooks(Compaction { n: 1 }) timer@1000ms
            > advice compressed 300
              sideCall.completed compression
              context.compressed COMPRESSED
              model.started r#3.1
              wants model#3.1 timer@1000ms
            > model c | fifty letters are five hundred tokens, which is half
              model.completed "fifty letters are five hundred tokens, which is half" calls=["c"]
              tool.state c Validating
              wants judge(c…) timer@1000ms
            > run c
              tool.state c Scheduled
              tool.state c Executing
              wants tool(c) timer@1000ms
            > tool c
              tool.state c Success
              turn.completed 3
              turn.started 4
              sideCall.started compression of m
              wants side_call#2 compression hooks(Compaction { n: 2 }) timer@1000ms
            > restart
              run.resumed
              wants side_call#2 compression hooks(Compaction { n: 2 }) timer@1000ms
            > advice noop
              sideCall.completed compression
              context.compressed NOOP
              model.started r#4.1
              wants model#4.1 timer@1000ms
            > model d | fifty letters are five hundred tokens, which is half
              model.completed "fifty letters are five hundred tokens, which is half" calls=["d"]
              tool.state d Validating
              wants judge(d…) timer@1000ms
            > run d
              tool.state d Scheduled
              tool.state d Executing
              wants tool(d) timer@1000ms
            > tool d
              tool.state d Success
              turn.completed 4
              turn.started 5
              model.started r#5.1
              wants model#5.1 timer@1000ms
        "#]],
    );
}

#[test]
fn what_made_it_longer_is_not_tried_again_by_itself() {
    GUARDED.check(
        "
        model a | fifty letters are five hundred tokens, which is half
        run a
        tool a
        advice inflated 800
        model b | many letters, so many that this is really nearly the whole window by now .......
        run b
        tool b
        ",
        expect![[r#"
            > model a | fifty letters are five hundred tokens, which is half
              model.completed "fifty letters are five hundred tokens, which is half" calls=["a"]
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
              sideCall.started compression of m
              wants side_call#1 compression hooks(Compaction { n: 1 }) timer@1000ms
            > advice inflated 800
              sideCall.completed compression
              context.compressed COMPRESSION_FAILED_INFLATED_TOKEN_COUNT
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model b | many letters, so many that this is really nearly the whole window by now .......
              model.completed "many letters, so many that this is really nearly the whole window by now ......." calls=["b"]
              tool.state b Validating
              wants judge(b…) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              turn.completed 2
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
        "#]],
    );
    let past = ContextState { prompt_tokens: 900, is_compression_off: true, epoch: 3 };
    assert!(Script { past, ..GUARDED }.play("model a | x").contains("wants judge"));
    let past = ContextState { prompt_tokens: 900, is_compression_off: false, epoch: 3 };
    assert!(Script { past, ..GUARDED }.play("advice compressed").contains("context.compressed COMPRESSED"));
}

#[test]
fn a_request_that_does_not_fit_is_made_to_in_two_steps_and_then_given_up() {
    GUARDED.check(
        "
        too-long
        restart
        advice compressed
        too-long | some text
        advice compressed
        too-long
        ",
        expect![[r#"
            > too-long
              model.retrying r#1.1 attempt=2 after=0us
              sideCall.started compression of m forced
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > restart
              run.resumed
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > advice compressed
              sideCall.completed compression
              context.compressed COMPRESSED
              model.started r#1.2
              wants model#1.2 timer@1000ms
            > too-long | some text
              model.retrying r#1.2 attempt=3 after=0us
              sideCall.started compression of - forced outputs
              wants side_call#2 compression forced outputs timer@1000ms
            > advice compressed
              sideCall.completed compression
              context.compressed COMPRESSED
              model.started r#1.3
              wants model#1.3 timer@1000ms
            > too-long
              model.completed "" calls=[] cut
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=0 ContextOverflow
              wants 
        "#]],
    );
}

#[test]
fn what_cannot_be_made_shorter_is_not_asked_with_again() {
    let played = GUARDED.play("too-long\nadvice noop\nadvice noop");
    let asked = played.matches("model.started").count();
    assert_eq!(asked, 0, "{played}");
    assert!(played.contains("run.completed ERROR turns=1 calls=0 ContextOverflow"), "{played}");
}

#[test]
fn the_same_call_five_times_is_told_once_and_stops_the_second_time() {
    let round = |ids: [&str; 5]| {
        let calls = ids.map(|id| format!("model {id}\nrun {id}\ntool {id}\n"));
        calls.concat()
    };
    GUARDED.check(
        &format!("{}{}", round(["a", "b", "c", "d", "e"]), round(["f", "g", "h", "i", "j"])),
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
            > model b
              model.completed "" calls=["b"]
              tool.state b Validating
              wants judge(b…) timer@1000ms
            > run b
              tool.state b Scheduled
              tool.state b Executing
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              turn.completed 2
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
            > model c
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) timer@1000ms
            > run c
              tool.state c Scheduled
              tool.state c Executing
              wants tool(c) timer@1000ms
            > tool c
              tool.state c Success
              turn.completed 3
              turn.started 4
              model.started r#4.1
              wants model#4.1 timer@1000ms
            > model d
              model.completed "" calls=["d"]
              tool.state d Validating
              wants judge(d…) timer@1000ms
            > run d
              tool.state d Scheduled
              tool.state d Executing
              wants tool(d) timer@1000ms
            > tool d
              tool.state d Success
              turn.completed 4
              turn.started 5
              model.started r#5.1
              wants model#5.1 timer@1000ms
            > model e
              model.completed "" calls=["e"]
              tool.state e Validating
              loop.detected Calls "`probe` was called five times in a row with the same arguments" stops=false
              wants judge(e…) timer@1000ms
            > run e
              tool.state e Scheduled
              tool.state e Executing
              wants tool(e) timer@1000ms
            > tool e
              tool.state e Success
              turn.completed 5
              turn.started 6
              context.nudged Loop
              model.started r#6.1
              wants model#6.1 timer@1000ms
            > model f
              model.completed "" calls=["f"]
              tool.state f Validating
              wants judge(f…) timer@1000ms
            > run f
              tool.state f Scheduled
              tool.state f Executing
              wants tool(f) timer@1000ms
            > tool f
              tool.state f Success
              turn.completed 6
              turn.started 7
              model.started r#7.1
              wants model#7.1 timer@1000ms
            > model g
              model.completed "" calls=["g"]
              tool.state g Validating
              wants judge(g…) timer@1000ms
            > run g
              tool.state g Scheduled
              tool.state g Executing
              wants tool(g) timer@1000ms
            > tool g
              tool.state g Success
              turn.completed 7
              turn.started 8
              model.started r#8.1
              wants model#8.1 timer@1000ms
            > model h
              model.completed "" calls=["h"]
              tool.state h Validating
              wants judge(h…) timer@1000ms
            > run h
              tool.state h Scheduled
              tool.state h Executing
              wants tool(h) timer@1000ms
            > tool h
              tool.state h Success
              turn.completed 8
              turn.started 9
              model.started r#9.1
              wants model#9.1 timer@1000ms
            > model i
              model.completed "" calls=["i"]
              tool.state i Validating
              wants judge(i…) timer@1000ms
            > run i
              tool.state i Scheduled
              tool.state i Executing
              wants tool(i) timer@1000ms
            > tool i
              tool.state i Success
              turn.completed 9
              turn.started 10
              model.started r#10.1
              wants model#10.1 timer@1000ms
            > model j
              model.completed "" calls=["j"]
              tool.state j Validating
              loop.detected Calls "`probe` was called five times in a row with the same arguments" stops=true
              run.stopping LOOP_DETECTED then=Grace
              tool.state j Cancelled CANCELLED
              turn.completed 10
              turn.started 11 grace=LOOP_DETECTED
              model.started r#11.1
              wants model#11.1! timer@100ms
            > run j
              (stale)
              wants model#11.1! timer@100ms
            > tool j
              (stale)
              wants model#11.1! timer@100ms
        "#]],
    );
}

#[test]
fn two_calls_in_turns_and_parallel_ones_are_circles_too() {
    let once = "model a:one b:two\nrun a\nrun b\ntool a\ntool b\n";
    let played = GUARDED.play(&once.repeat(5));
    assert!(played.contains(r#"loop.detected Calls "the same 2 calls, the last of them `two`"#), "{played}");
    let four =
        "model a:one b:two c:three d:four\nrun a\nrun b\nrun c\nrun d\ntool a\ntool b\ntool c\ntool d\n";
    let played = GUARDED.play(&four.repeat(5));
    assert!(played.contains(r#"loop.detected Calls "the same 4 calls, the last of them `four`"#), "{played}");
    let off = || RunSafeguards { loop_calls: false, ..all() };
    let played = Script { care: Some(off), ..GUARDED }.play(&once.repeat(5));
    assert!(!played.contains("loop.detected"), "{played}");
}

#[test]
fn a_model_that_babbles_is_cut_off_told_once_and_stopped_the_second_time() {
    GUARDED.check(
        "
        babbles | blah blah
        model a
        run a
        tool a
        babbles | blah blah
        babbles | blah
        ",
        expect![[r#"
            > babbles | blah blah
              model.completed "blah blah" calls=[] cut
              loop.detected Text "the model says again and again: \"blah\"" stops=false
              turn.completed 1
              turn.started 2
              context.nudged Loop
              model.started r#2.1
              wants model#2.1 timer@1000ms
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
              turn.completed 2
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
            > babbles | blah blah
              model.completed "blah blah" calls=[] cut
              loop.detected Text "the model says again and again: \"blah\"" stops=true
              run.stopping LOOP_DETECTED then=Grace
              turn.completed 3
              turn.started 4 grace=LOOP_DETECTED
              model.started r#4.1
              wants model#4.1! timer@100ms
            > babbles | blah
              model.completed "blah" calls=[] cut
              turn.completed 4
              run.completed LOOP_DETECTED turns=4 calls=1 partial="blah"
              wants 
        "#]],
    );
}

#[test]
fn after_thirty_turns_a_model_is_asked_whether_it_goes_round_in_circles() {
    let mut script = String::new();
    for n in 0..30 {
        script.push_str(&format!("model a{n}:t{n}\nrun a{n}\ntool a{n}\n"));
    }
    script.push_str("advice loop 0.5 | hm\n");
    for n in 30..40 {
        script.push_str(&format!("model a{n}:t{n}\nrun a{n}\ntool a{n}\n"));
    }
    script.push_str("advice loop 0.95 | it reads and writes in turns\n");
    for n in 40..46 {
        script.push_str(&format!("model a{n}:t{n}\nrun a{n}\ntool a{n}\n"));
    }
    script.push_str("restart\nadvice nothing | nobody there\n");
    let played = GUARDED.play(&script);
    let told = played.lines().filter(|line| {
        ["sideCall", "side_call", "loop.detected", "nudged", "turn.started 3", "turn.started 4"]
            .iter()
            .any(|it| line.contains(it))
    });
    let told: Vec<&str> = told.map(str::trim).collect();
    expect![[r#"
        turn.started 3
        turn.started 4
        turn.started 30
        turn.started 31
        sideCall.started loop check of small
        wants side_call#1 loop check timer@1000ms
        sideCall.completed loop check
        turn.started 32
        turn.started 33
        turn.started 34
        turn.started 35
        turn.started 36
        turn.started 37
        turn.started 38
        turn.started 39
        turn.started 40
        turn.started 41
        sideCall.started loop check of small
        wants side_call#2 loop check timer@1000ms
        sideCall.completed loop check
        loop.detected Judge "it reads and writes in turns" stops=false
        context.nudged Loop
        turn.started 42
        turn.started 43
        turn.started 44
        turn.started 45
        turn.started 46
        turn.started 47
        sideCall.started loop check of small
        wants side_call#3 loop check timer@1000ms
        wants side_call#3 loop check timer@1000ms
        sideCall.completed loop check: nobody there"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_conversation_goes_on_when_the_model_has_more_to_say() {
    fn care() -> RunSafeguards {
        RunSafeguards { next_speaker: true, small: Some(named("small")), ..RunSafeguards::default() }
    }
    let script = Script { care: Some(care), completion: CompletionMode::Message, ..TOOL };
    script.check(
        "
        model | I will look first.
        advice model
        model
        model | That is all.
        restart
        advice user
        ",
        expect![[r#"
            > model | I will look first.
              model.completed "I will look first." calls=[]
              sideCall.started next speaker of small
              wants side_call#1 next speaker timer@1000ms
            > advice model
              sideCall.completed next speaker
              context.nudged NextSpeaker
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > model
              model.completed "" calls=[]
              context.nudged NextSpeaker
              turn.completed 2
              turn.started 3
              model.started r#3.1
              wants model#3.1 timer@1000ms
            > model | That is all.
              model.completed "That is all." calls=[]
              sideCall.started next speaker of small
              wants side_call#2 next speaker timer@1000ms
            > restart
              run.resumed
              wants side_call#2 next speaker timer@1000ms
            > advice user
              sideCall.completed next speaker
              turn.completed 3
              run.completed GOAL turns=3 calls=0 result="That is all."
              wants 
        "#]],
    );
    let played = script.play("model | Done.\nadvice nothing | late");
    assert!(played.contains(r#"run.completed GOAL turns=1 calls=0 result="Done.""#), "{played}");
}

#[test]
fn what_is_said_meanwhile_is_answered_before_the_run_is_over() {
    fn care() -> RunSafeguards {
        RunSafeguards { next_speaker: true, small: Some(named("small")), ..RunSafeguards::default() }
    }
    let script = Script { care: Some(care), completion: CompletionMode::Message, ..TOOL };
    script.check(
        "model | Done.\nsteer s | and the rest\nadvice user",
        expect![[r#"
            > model | Done.
              model.completed "Done." calls=[]
              sideCall.started next speaker of small
              wants side_call#1 next speaker timer@1000ms
            > steer s | and the rest
              run.steered s "and the rest"
              wants side_call#1 next speaker hooks(Steer { id: "s" }) timer@1000ms
            > advice user
              sideCall.completed next speaker
              turn.completed 1
              turn.started 2
              run.steered s "and the rest" turn=2
              model.started r#2.1
              wants model#2.1 timer@1000ms
        "#]],
    );
    // One that only changes its context takes no message: whoever says it starts a run.
    let played = Script { task: RunTask::Compact, ..GUARDED }.play("steer s | go on");
    assert!(!played.contains("run.steered"), "{played}");
}

#[test]
fn each_call_of_a_question_is_told_when_it_is_over() {
    Script { task: RunTask::Compact, ..GUARDED }.check(
        "consulted\nconsulted\nrestart\nconsulted\ncancel",
        expect![[r#"
              run.started
              turn.started 1
              sideCall.started compression of m forced
            > consulted
              sideCall.completed compression
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > consulted
              sideCall.completed compression
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > restart
              run.resumed
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > consulted
              sideCall.completed compression
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > cancel
              run.stopping ABORTED then=End
              turn.completed 1
              run.completed ABORTED turns=1 calls=0
              wants 
        "#]],
    );
}

#[test]
fn a_model_that_takes_over_and_cannot_be_asked_hands_on() {
    fn care() -> RunSafeguards {
        RunSafeguards { fallback: vec![named("nokey"), named("free")], ..RunSafeguards::default() }
    }
    let script = Script { care: Some(care), max_time_ms: None, ..TOOL };
    script.check(
        "fails 400000\nbackoff-over\nfails-for-good\nbackoff-over\nfails-for-good",
        expect![[r#"
            > fails 400000
              model.retrying r#1.1 attempt=2 after=0us
              model.fallback m → nokey at 0.1
              wants backoff#1.2
            > backoff-over
              model.started r#1.2 of nokey
              wants model#1.2
            > fails-for-good
              model.retrying r#1.2 attempt=3 after=0us
              model.fallback nokey → free at 0.1
              wants backoff#1.3
            > backoff-over
              model.started r#1.3 of free
              wants model#1.3
            > fails-for-good
              model.completed "" calls=[] cut
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=0 ProviderAuth
              wants 
        "#]],
    );
    // The run's own is what was asked for.
    let played = script.play("fails-for-good");
    assert!(played.contains("ProviderAuth") && !played.contains("model.fallback"), "{played}");
    fn auto() -> RunSafeguards {
        let auto = Some(ModelTiers { fast: named("nokey"), strong: named("strong") });
        RunSafeguards { auto, small: Some(named("small")), ..RunSafeguards::default() }
    }
    let script = Script { care: Some(auto), max_time_ms: None, ..TOOL };
    script.check(
        "advice routed nokey | easy\nfails-for-good\nbackoff-over\nfails-for-good",
        expect![[r#"
              run.started
              turn.started 1
              sideCall.started routing of small
            > advice routed nokey | easy
              sideCall.completed routing
              model.routed nokey Classifier "easy" at 0.1
              model.started r#1.1 of nokey
              wants model#1.1
            > fails-for-good
              model.retrying r#1.1 attempt=2 after=0us
              model.fallback nokey → m
              wants backoff#1.2
            > backoff-over
              model.started r#1.2
              wants model#1.2
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
fn the_next_model_takes_over_when_one_cannot_go_on() {
    fn care() -> RunSafeguards {
        RunSafeguards { fallback: vec![named("m"), named("second")], ..RunSafeguards::default() }
    }
    let script = Script { care: Some(care), max_time_ms: None, ..TOOL };
    script.check(
        "
        fails 400000
        backoff-over
        restart
        fails-for-good
        ",
        expect![[r#"
            > fails 400000
              model.retrying r#1.1 attempt=2 after=0us
              model.fallback m → second at 0.1
              wants backoff#1.2
            > backoff-over
              model.started r#1.2 of second
              wants model#1.2
            > restart
              run.resumed
              model.retrying r#1.2 attempt=3 after=0us
              model.started r#1.3 of second
              wants model#1.3
            > fails-for-good
              model.completed "" calls=[] cut
              run.stopping ERROR then=End
              turn.completed 1
              run.completed ERROR turns=1 calls=0 ProviderAuth
              wants 
        "#]],
    );
    let fails = "fails\nbackoff-over\n";
    let played = script.play(&format!("{}fails\nbackoff-over\n{}fails", fails.repeat(4), fails.repeat(4)));
    assert!(played.contains("model.fallback m → second"), "{played}");
    assert!(played.contains("run.completed ERROR"), "{played}");
}

#[test]
fn a_run_whose_model_is_auto_is_routed_once() {
    fn care() -> RunSafeguards {
        let auto = Some(ModelTiers { fast: named("fast"), strong: named("strong") });
        RunSafeguards { auto, small: Some(named("small")), ..RunSafeguards::default() }
    }
    let script = Script { care: Some(care), ..TOOL };
    script.check(
        "
        restart
        advice routed strong | it is hard
        model a
        run a
        tool a
        ",
        expect![[r#"
              run.started
              turn.started 1
              sideCall.started routing of small
            > restart
              run.resumed
              wants side_call#1 routing timer@1000ms
            > advice routed strong | it is hard
              sideCall.completed routing
              model.routed strong Classifier "it is hard" at 0.9
              model.started r#1.1 of strong
              wants model#1.1 timer@1000ms
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
              model.started r#2.1 of strong
              wants model#2.1 timer@1000ms
        "#]],
    );
    let played = script.play("advice nothing | it took too long");
    assert!(played.contains(r#"model.routed m Default "it took too long""#), "{played}");
}

#[test]
fn a_run_may_do_nothing_but_change_its_context() {
    let compact = Script { task: RunTask::Compact, ..GUARDED };
    compact.check(
        "restart\nadvice compressed 70",
        expect![[r#"
              run.started
              turn.started 1
              sideCall.started compression of m forced
            > restart
              run.resumed
              wants side_call#1 compression forced hooks(Compaction { n: 1 }) timer@1000ms
            > advice compressed 70
              sideCall.completed compression
              context.compressed COMPRESSED
              turn.completed 1
              run.completed GOAL turns=1 calls=0 result="compressed from 0 to 70 tokens"
              wants 
        "#]],
    );
    compact.check(
        "advice empty",
        expect![[r#"
          run.started
          turn.started 1
          sideCall.started compression of m forced
        > advice empty
          sideCall.completed compression
          context.compressed COMPRESSION_FAILED_EMPTY_SUMMARY
          turn.completed 1
          run.completed GOAL turns=1 calls=0 result="not compressed: the model gave no summary"
          wants 
    "#]],
    );
    let past = ContextState { epoch: 4, ..ContextState::default() };
    let played = Script { task: RunTask::Clear, past, ..GUARDED }.play("");
    let told: Vec<&str> = played.lines().map(str::trim).collect();
    let end = r#"run.completed GOAL turns=1 calls=0 result="the context begins anew""#;
    assert_eq!(told, ["run.started", "turn.started 1", "context.cleared epoch=5", "turn.completed 1", end]);
}

#[test]
fn runs_below_draw_on_what_is_left_while_they_go_on() {
    Script { max_tokens: Some(1_000), ..TOOL }.check(
        "
        model a b
        child a r1
        child b r2
        spent a 300
        spent b 400
        spent a 500
        spent b 500
        settled a
        settled b
        ",
        expect![[r#"
            > model a b
              model.completed "" calls=["a", "b"]
              tool.state a Validating
              tool.state b Validating
              wants judge(a…) timer@1000ms
            > child a r1
              tool.state a Scheduled
              tool.state a Executing by=r1
              wants judge(b…) child(a: r1) timer@1000ms
            > child b r2
              tool.state b Scheduled
              tool.state b Executing by=r2
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent a 300
              (stale)
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent b 400
              (stale)
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent a 500
              budget.warning 910 of 1000
              wants child(a: r1) child(b: r2) timer@1000ms
            > spent b 500
              run.stopping BUDGET then=Grace
              wants end-child(a: r1) end-child(b: r2)
            > settled a
              tool.state a Success
              wants end-child(b: r2)
            > settled b
              tool.state b Success
              turn.completed 1
              turn.started 2 grace=BUDGET
              model.started r#2.1
              wants model#2.1! timer@100ms
        "#]],
    );
}
