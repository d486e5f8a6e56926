//! Who let a call run, and what did a hook say? In a line, wherever spans are listed.

mod changers;
mod decided;
mod told;

use std::time::Duration;

use protocol::{
    CallDecision, HookConfinement, HookSpan, MovedAhead, PolicyRule, QueuedBehind, RuleOriginSource,
    SpanFileChange, Timestamp, UndoneChange, WaitCause,
};

pub use self::{
    changers::changers_said,
    decided::{decided, decided_briefly},
    told::told_said,
};
use crate::text::{duration, moment, person};

/// The reason why nothing but handing in a result is left to a run.
pub(crate) const LAST_TURN: &str = "the last turn, in which only complete_task is there";

/// The outcome of a hook that was at work, or was to be told something, when the daemon ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The outcome of a hook beside its run that was at work when the run ended.
pub(crate) const GOES_ON: &str = "goesOn";

/// The words for that.
pub(crate) const WENT_ON: &str = "was still at work when the run ended, and went on beside it";

/// The outcome where a person let a call run as they had changed it.
pub(crate) const MODIFY: &str = "modify";

/// The outcome of a question where a person changed the call, and a hook changed that, so that it was asked again.
pub(crate) const EDITED: &str = "edited";

/// The outcome of a question where a person changed the call and nothing came of that, so that it was asked again as it was.
pub(crate) const EDIT_DROPPED: &str = "editDropped";

/// The outcome of a question that was asked again, since the answer was about something else by then.
pub(crate) const STALE: &str = "stale";

/// The words for a guard that is asked about what a person made of a call.
const EDIT_ASKED: &str = "asked about the call as a person changed it";

/// The change of a file that was written with the content that it had.
pub(crate) const UNCHANGED: &str = "unchanged";

/// The source of what a person decides or changes.
pub(crate) const PERSON: &str = "client";

/// True if a decision lets a call run.
pub fn lets_run(decision: &CallDecision) -> bool {
    !matches!(decision.outcome.as_str(), "deny" | "cancelRun")
}

/// The person who had allowed or changed a call that a rule or a hook refused after that.
pub(crate) fn overruled(decision: &CallDecision) -> Option<String> {
    let is_overruled = matches!(decision.source.as_str(), "hook" | "policy") && !lets_run(decision);
    decision.name.as_deref().filter(|_| is_overruled).map(person)
}

/// An answer in words, with when it came: `allowOnce by ada (pts/3) after 3.2 s`, `allowed with a change by ada (pts/3)`,
/// `changed by ada (pts/3) after 3.2 s, and then denied`. `mark` marks a word of the protocol.
pub fn answer_said(
    decision: &CallDecision,
    mark: impl Fn(&str) -> String,
    plain: impl Fn(&str) -> String,
) -> String {
    let waited = waited(decision).map(|waited| format!(" after {waited}")).unwrap_or_default();
    if let Some(who) = overruled(decision) {
        let did = if decision.source == "hook" { "changed" } else { "allowed" };
        return format!("{did} by {}{waited}, and then denied", plain(&who));
    }
    let who =
        decision.name.as_deref().map_or_else(|| decider(decision).to_owned(), |name| plain(&person(name)));
    let version = of_version(decision);
    match decision.outcome.as_str() {
        MODIFY => format!("allowed with a change{version} by {who}{waited}"),
        EDITED => format!("edited by {who}{waited}{}", unguarded(decision)),
        EDIT_DROPPED => format!("edited by {who}{waited}, of which nothing came"),
        STALE => format!("{who} answered{waited}, when what the call would touch had changed"),
        outcome => format!("{}{version} by {who}{waited}", mark(outcome)),
    }
}

/// The words where a question was over before hooks had answered what a person made of the call; the message says why.
fn unguarded(decision: &CallDecision) -> &'static str {
    if decision.message.is_some() { ", before hooks had answered" } else { "" }
}

/// ` (version 2 of the question)`
fn of_version(decision: &CallDecision) -> String {
    decision.version.map(|version| format!(" (version {version} of the question)")).unwrap_or_default()
}

/// `39.5 s, of which at most 16.6 s without a daemon`
pub(crate) fn waited(decision: &CallDecision) -> Option<String> {
    let waited = duration(Duration::from_millis(decision.waited_ms?));
    let down = without_daemon(decision.down_ms).map(|down| format!(", of which {down}"));
    Some(format!("{waited}{}", down.unwrap_or_default()))
}

/// `at most 16.6 s without a daemon`; nothing where there was one all the time.
pub fn without_daemon(ms: u64) -> Option<String> {
    (ms != 0).then(|| format!("at most {} without a daemon", duration(Duration::from_millis(ms))))
}

/// `at least ` before the time of people, a part of which there was no daemon: nobody knows how much of that they took, too.
pub fn at_least(waiting_down_ms: u64) -> &'static str {
    if waiting_down_ms == 0 { "" } else { "at least " }
}

/// True where a question was over before somebody answered it, which stands for a no.
pub(crate) fn is_unanswered(decision: &CallDecision) -> bool {
    let is_by_nobody = decision.name.is_none() && matches!(decision.source.as_str(), "system" | "deadline");
    is_by_nobody && decision.waited_ms.is_some() && !lets_run(decision)
}

/// The one who answered.
pub fn decider(decision: &CallDecision) -> &str {
    decision.name.as_deref().unwrap_or(match decision.source.as_str() {
        "client" => "a person",
        "deadline" => "the deadline",
        "policy" => "a rule",
        "hook" => "a hook",
        _ => "the daemon",
    })
}

/// `in a queue (behind run 019aa1b2 of lead, which had its context when it was asked for, then run 019aa1b3 of lead and 2 more)`
pub fn queued_said(behind: Option<&QueuedBehind>) -> String {
    let behind = behind.map(|it| {
        let then = it.then.as_ref().map(|next| format!(", then run {} of {}", next.run_id, next.agent));
        let more = (it.more != 0).then(|| format!(" and {} more", it.more));
        let later: String = [then, more].into_iter().flatten().collect();
        format!(
            " (behind run {} of {}, which had its context when it was asked for{later})",
            it.run_id, it.agent
        )
    });
    format!("in a queue{}", behind.unwrap_or_default())
}

/// `run 019aa1b3 of lead was moved ahead of it by bob (pts/2) at 2026-11-26 11:04:00Z, and 2 more were`
pub fn moved_ahead_said(moved: &[MovedAhead]) -> Option<String> {
    let (first, more) = moved.split_first()?;
    let by = first.by.as_deref().map(|by| format!(" by {}", person(by))).unwrap_or_default();
    let more = match more.len() {
        0 => String::new(),
        1 => ", and 1 more was".to_owned(),
        count => format!(", and {count} more were"),
    };
    let MovedAhead { run_id, agent, at, .. } = first;
    Some(format!("run {run_id} of {agent} was moved ahead of it{by} at {}{more}", moment(*at)))
}

/// `undone by dave (pts/2) at 2026-11-26 11:04:00Z, over what somebody had changed since`
pub fn undone_said(file: &SpanFileChange) -> Option<String> {
    let UndoneChange { at, by, forced } = file.undone.as_ref()?;
    let by = by.as_deref().map(|by| format!(" by {}", person(by))).unwrap_or_default();
    let over = if *forced { ", over what somebody had changed since" } else { "" };
    Some(format!("undone{by} at {}{over}", moment(*at)))
}

/// The reason that somebody gave for a stop, without the word that it was one.
pub fn stated_reason(message: &str) -> &str {
    message.strip_prefix("cancelled").map_or(message, |rest| rest.trim_start_matches([':', ' ']))
}

/// The lines for what an answer allowed beyond the call that it was about; none where that is nothing.
pub fn granted(decision: &CallDecision) -> Vec<String> {
    let allows = decision.allows.as_ref().map(|allows| format!("From now on it allows: {allows}."));
    let saved = decision.remembers.as_ref().map(|rule| format!("It saved the rule {rule}."));
    let mode = decision.mode.as_ref().map(|mode| format!("The session's mode is {mode} from then on."));
    [allows, saved, mode].into_iter().flatten().collect()
}

/// The wait of a run in words, with the run as the subject: `waits for a person's answer to “Change a.md?”`.
pub fn wait_said(cause: &WaitCause) -> String {
    let about = cause.about.as_deref();
    let ahead = cause.ahead.filter(|ahead| *ahead != 0);
    match (cause.waits_for.as_str(), about) {
        ("person", Some(title)) => format!("waits for a person's answer to “{title}”"),
        ("person", None) => "waits for a person's answer".to_owned(),
        ("hook", None) if cause.confirmation_id.is_some() => format!("waits for hooks, {EDIT_ASKED}"),
        ("hook", Some(hook)) if cause.confirmation_id.is_some() => {
            format!("waits for the hook {hook}, {EDIT_ASKED}")
        }
        ("hook", Some(hook)) => format!("waits for the hook {hook}"),
        ("agent", Some(agent)) => format!("waits for the agent {agent}"),
        ("context", Some(run)) => {
            // One that was asked for later may have been moved there.
            let ahead = ahead.map(|ahead| format!(", and {ahead} before it in the queue"));
            format!("is queued behind {run}, which has its context{}", ahead.unwrap_or_default())
        }
        ("context", None) => {
            let ahead = ahead.map(|ahead| format!(", {ahead} of them before it in the queue"));
            format!("is queued behind other runs of its context{}", ahead.unwrap_or_default())
        }
        ("place", _) => {
            let ahead =
                ahead.map(|ahead| format!(", {ahead} {} before it", if ahead == 1 { "run" } else { "runs" }));
            format!("is queued for a place among the runs at work{}", ahead.unwrap_or_default())
        }
        ("hooks", _) => "waits for what hooks say of its prompt".to_owned(),
        ("unparked", Some("storageFull")) => "is parked: the disk is full".to_owned(),
        ("unparked", Some("unattended")) => {
            "is parked: a question waits, and nobody is there who could answer it".to_owned()
        }
        ("unparked", Some(reason)) => format!("is parked: {reason}"),
        ("unparked", None) => "is parked".to_owned(),
        ("daemon", why) => {
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("was interrupted: the daemon was started again and has not taken it up yet{why}")
        }
        (_, Some(about)) => format!("waits for {about}"),
        (word, None) => format!("waits for {word}"),
    }
}

/// The same with since when it waits. Of one that a daemon before this one left, nobody knows when that ended: with when the log told
/// of it last.
pub fn standing_said(cause: &WaitCause) -> String {
    let since = if cause.waits_for == "daemon" { "last heard of at" } else { "since" };
    format!("{}, {since} {}", wait_said(cause), moment(cause.since))
}

/// The word that a rule of no file goes back to, and what to call the rule before that: a remembered one has a number that
/// tells nobody anything.
fn origin(decision: &CallDecision) -> Option<(String, String)> {
    let (origin, rule) = (decision.origin.as_ref()?, decision.rule.as_deref()?);
    let who = origin.by.as_deref().map(person);
    let words = match (origin.source, who) {
        // A mode is no rule that is remembered.
        (RuleOriginSource::Answer, who) if remembered_scope(rule).is_none() => {
            let who = who.unwrap_or_else(|| "a person".to_owned());
            format!(", by {who}'s answer{}", of_time(origin.at))
        }
        (RuleOriginSource::Answer, who) => {
            let at = of_time(origin.at);
            let scope = remembered_scope(rule).map(|scope| format!(" ({scope})")).unwrap_or_default();
            let who = who.unwrap_or_else(|| "a person".to_owned());
            return Some((format!("remembered from {who}'s answer{at}{scope}"), String::new()));
        }
        (RuleOriginSource::Start, Some(who)) => format!(", as {who} started the run"),
        (RuleOriginSource::Start, None) => ", as the run was started".to_owned(),
        (RuleOriginSource::Agent, _) => ", by the agent's file".to_owned(),
        (RuleOriginSource::Session, who) => {
            let who = who.unwrap_or_else(|| "somebody".to_owned());
            format!(", as {who} set the session's mode{}", of_time(origin.at).replacen(" of", " at", 1))
        }
        (RuleOriginSource::Settings, _) => ", by the settings".to_owned(),
    };
    Some((words, rule.to_owned()))
}

/// ` of 2026-11-26 11:04:00Z`
fn of_time(at: Option<Timestamp>) -> String {
    at.map(|at| format!(" of {}", moment(at))).unwrap_or_default()
}

/// The reach of a remembered rule: `session` of `remembered:session:019aa1b2`.
fn remembered_scope(rule: &str) -> Option<&str> {
    rule.strip_prefix(PolicyRule::REMEMBERED)?.split_once(':').map(|(scope, _)| scope)
}

/// The rule that decided, with whose word it is where no file has it: `builtin:risk=low`, `autoApprove:medium, by the agent's file`.
pub fn rule_said(decision: &CallDecision) -> Option<String> {
    origin(decision).map(|(origin, rule)| format!("{rule}{origin}")).or_else(|| decision.rule.clone())
}

/// The words for a call that a hook wants, as its question has them: `the hook user/AfterTool/1 wants this call after read_file, and the
/// agent did not ask for it`. Nothing of one that the agent asked for.
pub fn requested_said(requested_by: Option<&str>, follows_tool: Option<&str>) -> Option<String> {
    let after = follows_tool.map(|tool| format!(" after {tool}")).unwrap_or_default();
    Some(format!("the hook {} wants this call{after}, and the agent did not ask for it", requested_by?))
}

/// The words for a result that was not read, by a model or by the client that made the call, where that is so: which hook kept it back.
pub fn result_said(changed_by: Option<&str>, is_withheld: bool) -> Option<String> {
    match (changed_by, is_withheld) {
        (Some(hook), true) => Some(format!("result withheld by the hook {hook}")),
        (Some(hook), false) => Some(format!("another result was read, by the hook {hook}")),
        (None, true) => Some("result not told: the run ended before its hooks had answered".to_owned()),
        (None, false) => None,
    }
}

/// `ran in a sandbox: its command names tools/check.sh`, `ran with the person's rights: …`
pub fn confinement_said(confinement: &HookConfinement) -> String {
    let place = if confinement.confined { "in a sandbox" } else { "with the person's rights" };
    match confinement.reason.as_str() {
        "" => format!("ran {place}"),
        why => format!("ran {place}: {why}"),
    }
}

/// The words for a hook that was at work when the daemon ended, of which the log told last at this time: nobody knows how long it worked.
pub fn interrupted_said(hook: &HookSpan, heard_at: Option<Timestamp>) -> Option<String> {
    let heard_at = heard_at.filter(|_| hook.outcome == INTERRUPTED)?;
    Some(format!("was interrupted, as the daemon ended; last heard of at {}", moment(heard_at)))
}

/// The words for a guard that was asked about other arguments than the call was asked for with.
pub fn asked_about(hook: &HookSpan) -> Option<&'static str> {
    match (hook.round, hook.edited) {
        (Some(_), _) => Some("asked about the changed arguments"),
        (None, true) => Some(EDIT_ASKED),
        (None, false) => None,
    }
}

/// `ask: who knows; changed it; added: The file is generated.`; empty where it said nothing. `most`: characters of each text that it
/// added or told people.
pub fn hook_said(hook: &HookSpan, most: usize) -> String {
    hook_said_naming(hook, &[], most)
}

/// The same with the names of the arguments that it changed, where they are known: `ask: who knows; changed content, path`.
pub fn hook_said_naming(hook: &HookSpan, names: &[String], most: usize) -> String {
    let cut = |text: &String| match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", text[..end].trim_end()),
        None => text.clone(),
    };
    let again = asked_about(hook).map(str::to_owned);
    let went_on = (hook.outcome == GOES_ON).then(|| WENT_ON.to_owned());
    let decided = [&hook.decision, &hook.reason].into_iter().flatten().cloned().collect::<Vec<_>>();
    let what = if names.is_empty() { "it".to_owned() } else { names.join(", ") };
    let changed = hook.changed.then(|| format!("changed {what}"));
    let dropped = hook.dropped_change.as_ref();
    let dropped =
        dropped.map(|it| format!("proposed {}, which did not count: {}", cut(&it.input), it.reason));
    // The text itself says that it was withheld, and why.
    let read = hook.replacement.as_ref().map(|it| match it.withheld {
        true => "withheld the result".to_owned(),
        false => format!("read in place of the result: {}", cut(&it.text)),
    });
    let changed = changed.filter(|_| read.is_none());
    let wants = hook.follow_up.as_ref().map(|_| "wants one more call in place of this result".to_owned());
    let added = hook.added.as_ref().map(|text| format!("added: {}", cut(text)));
    let message = hook.message.as_ref().map(|text| format!("told people: {}", cut(text)));
    let decided = Some(decided.join(": ")).filter(|text| !text.is_empty());
    let said = [again, went_on, decided, changed, dropped, read, wants, added, message];
    said.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
