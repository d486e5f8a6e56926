//! Facts follow from events alone, whatever a process knows beside them.

use super::*;

/// Processes that live through each log.
const LIVES: u64 = 4;

/// Applies the events of a log in several processes to which other things happen between them: all of them come to these facts.
#[track_caller]
pub(super) fn hold_in_any_circumstances(
    run: &RunId,
    log: &[(EventBody, PrivateEventFields)],
    facts: &LoggedFacts,
) {
    for life in 0..LIVES {
        let mut dice = Dice(life);
        let (first, later) = log.split_at(1);
        let mut machine = RunMachine::fold(run, first.iter().map(|(body, private)| (body, private))).unwrap();
        for (body, private) in later {
            for _ in 0..dice.roll(4) {
                something_happens(&mut machine, &mut dice);
            }
            machine.apply(body, private);
        }
        assert!(machine.facts == *facts, "life {life} came to other facts: {:#?}", machine.facts);
    }
}

/// A change of what only this process knows.
fn something_happens(machine: &mut RunMachine, dice: &mut Dice) {
    match dice.roll(10) {
        0 => machine.hold_slot(),
        1 => machine.leave_slot(),
        2 => machine.close(),
        3 => machine.charge(dice.roll(1_000_000)),
        4 => machine.remember(ContextState {
            prompt_tokens: dice.roll(1_000),
            is_compression_off: dice.roll(2) == 0,
            epoch: 3,
        }),
        5 => machine.watch_hooks(dice.roll(2) == 0),
        6 => machine.watch_prompts(dice.roll(2) == 0, dice.roll(2) == 0),
        7 => {
            for (call, _) in machine.open_children() {
                let usage = Usage { prompt_tokens: dice.roll(100), ..Usage::default() };
                machine.now.child_mut(&call).spent = UsageTotal::of(usage, None);
            }
        }
        8 => {
            for (call, _) in machine.open_children() {
                machine.now.child_mut(&call).waits = Some(dice.roll(2) == 0);
            }
        }
        _ => {
            for point in machine.due_points() {
                machine.pass(&point);
            }
        }
    }
}

/// Throws that are the same in each run of the tests.
struct Dice(u64);

impl Dice {
    /// Below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Everything that hooks say at a point, or, with `nobody`, that there is none.
pub(super) fn hooks(words: &[&str], text: &str) -> MachineInput {
    let n = || words[2].parse().unwrap();
    let point = match words[1] {
        "ended" => HookPoint::CallEnded { call: words[2].into() },
        "turn" => HookPoint::TurnEnded { turn: n() },
        "goal" => HookPoint::Goal { n: n() },
        _ => HookPoint::Steer { id: words[2].to_owned() },
    };
    let said = json!({
        "firingId": words.join(" "), "hookId": "h", "event": "Stop", "source": "user", "outcome": "answered", "durationMs": 1,
    });
    let hooks = HookEffects {
        fired: vec![serde_json::from_value(said).unwrap()],
        block: Some(text.to_owned()).filter(|text| !text.is_empty()),
        ..HookEffects::default()
    };
    let is_asked = words[0] == "hooks";
    MachineInput::Hooked { point, hooks: Box::new(if is_asked { hooks } else { HookEffects::default() }) }
}

/// Which calls and messages hooks were asked about, and of which there was nobody to ask, leaves the same facts; the log has the
/// former, and the process the latter.
#[test]
fn process_stands_at_points_that_its_log_says_are_not_settled() {
    TOOL.check(
        "
        hooks watch
        model a b
        run a
        run b
        tool a
        hooks ended a
        tool b
        nobody ended b
        restart
        hooks turn 1
        steer s | more
        model c
        nobody steer s
        run c
        tool c
        nobody ended c
        nobody turn 2
        ",
        expect![[r#"
            > hooks watch
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
            > tool a
              tool.state a Success
              wants tool(b) hooks(CallEnded { call: CallId("a") }) timer@1000ms
            > hooks ended a
              hook.fired
              wants tool(b) timer@1000ms
            > tool b
              tool.state b Success
              wants hooks(CallEnded { call: CallId("b") }) timer@1000ms
            > nobody ended b
              (stale)
              wants hooks(TurnEnded { turn: 1 }) timer@1000ms
            > restart
              run.resumed
              wants hooks(TurnEnded { turn: 1 }) timer@1000ms
            > hooks turn 1
              hook.fired
              turn.completed 1
              turn.started 2
              model.started r#2.1
              wants model#2.1 timer@1000ms
            > steer s | more
              run.steered s "more"
              wants model#2.1 hooks(Steer { id: "s" }) timer@1000ms
            > model c
              model.completed "" calls=["c"]
              tool.state c Validating
              wants judge(c…) hooks(Steer { id: "s" }) timer@1000ms
            > nobody steer s
              (stale)
              wants judge(c…) timer@1000ms
            > run c
              tool.state c Scheduled
              tool.state c Executing
              wants tool(c) timer@1000ms
            > tool c
              tool.state c Success
              wants hooks(CallEnded { call: CallId("c") }) timer@1000ms
            > nobody ended c
              (stale)
              wants hooks(TurnEnded { turn: 2 }) timer@1000ms
            > nobody turn 2
              turn.completed 2
              turn.started 3
              run.steered s "more" turn=3
              model.started r#3.1
              wants model#3.1 timer@1000ms
        "#]],
    );
}
