//! What did the tools do, by their own account, and does the log account for all of it?

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::process::text;

/// What the tools told, call by call.
pub struct Effects {
    calls: BTreeMap<String, Told>,
}

/// How often a call told that it began, and that it was done.
#[derive(Default)]
struct Told {
    is_mutator: bool,
    before: usize,
    after: usize,
}

impl Effects {
    pub fn read(told: &str) -> Effects {
        let mut calls: BTreeMap<String, Told> = BTreeMap::new();
        // A kill may cut the last line off before its end is written.
        let whole = told.rfind('\n').map_or("", |end| &told[..end]);
        for line in whole.lines() {
            let [tool, when, call] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("`{line}` is not what a tool tells")
            };
            let told = calls.entry(call.to_owned()).or_default();
            told.is_mutator = tool == "mutate";
            match when {
                "before" => told.before += 1,
                _ => told.after += 1,
            }
        }
        Effects { calls }
    }

    /// Mutating calls that began.
    pub fn mutations(&self) -> usize {
        self.calls.values().filter(|told| told.is_mutator).count()
    }

    /// Mutating calls that began and were never done.
    pub fn cut(&self) -> usize {
        self.calls.values().filter(|told| told.is_mutator && told.after == 0).count()
    }

    /// Read-only calls that began more than once: what a restart may do.
    pub fn looked_again(&self) -> usize {
        self.calls.values().filter(|told| !told.is_mutator && 1 < told.before).count()
    }

    /// What the tools did and the log does not allow (spec 11, promise 4).
    pub fn violations(&self, log: &[Value]) -> Vec<String> {
        let mut executing: HashMap<&str, u32> = HashMap::new();
        let mut ends: HashMap<&str, &Value> = HashMap::new();
        for event in log.iter().filter(|event| event["type"] == "tool.state") {
            let data = &event["data"];
            match data["to"].as_str() {
                Some("executing") => *executing.entry(text(data, "callId")).or_default() += 1,
                Some("success" | "error" | "cancelled") => {
                    ends.insert(text(data, "callId"), data);
                }
                _ => (),
            }
        }
        let mut violations = Vec::new();
        for (call, told) in &self.calls {
            let Told { is_mutator, before, after } = *told;
            let mut violated = |what: &str| {
                violations.push(format!("call {call} began {before} times, was done {after} times: {what}"));
            };
            if executing.get(&**call) != Some(&1) {
                violated("the log does not say once that it executes");
            }
            if is_mutator && (1 < before || 1 < after || before < after) {
                violated("what changes things runs once");
            }
            let end = ends.get(&**call).map(|end| &end["to"]);
            if is_mutator && end.is_some_and(|to| to == "success") && after == 0 {
                violated("it is said to have succeeded");
            }
        }
        violations
    }
}

mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    /// In the log `a` and `b` execute, and `a` succeeded.
    fn check(told: &str, expected: Expect) {
        let state =
            |call: &str, to: &str| json!({ "type": "tool.state", "data": { "callId": call, "to": to } });
        let log = [state("a", "executing"), state("b", "executing"), state("a", "success")];
        expected.assert_eq(&Effects::read(told).violations(&log).join("\n"));
    }

    #[test]
    fn what_the_log_allows_is_told_apart_from_what_it_does_not() {
        check("mutate before a\nmutate before b\nmutate after a\n", expect![""]);
        check("look before b\nlook before b\nlook after b\nlook af", expect![""]);
        check(
            "mutate before a\nmutate after a\nmutate before a\n",
            expect!["call a began 2 times, was done 1 times: what changes things runs once"],
        );
        check(
            "mutate before a\n",
            expect!["call a began 1 times, was done 0 times: it is said to have succeeded"],
        );
        check(
            "mutate after b\nlook before c\n",
            expect![[r#"
            call b began 0 times, was done 1 times: what changes things runs once
            call c began 1 times, was done 0 times: the log does not say once that it executes"#]],
        );
    }
}
