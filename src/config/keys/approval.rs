//! The settings about questions to people.

use std::time::Duration;

use serde_json::json;

use super::{
    super::{
        KeySource, LayeredSetting,
        approval::{SecretPlace, WebAddress, secret_shown},
        shapes::{BoolShape, IntegerShape, ListOf, OneOf, OrNull, ProtocolShape, SettingShape, TextShape},
    },
    ChangeTiming, LONGEST_MS, SettingKey,
    into::{program_first, word},
};
use protocol::{ApprovalMode, Audience, OnDeadline, OnDetached};

pub(super) const KEYS: &[SettingKey] = &[
    key!(
        "approval.mode", approval.mode, OneOf(&["plan", "default", "autoEdit", "yolo"]),
        in: word, out: |mode: &ApprovalMode| json!(mode),
        "How freely calls run if no rule decides, in sessions that name no mode. `yolo` needs `approval.allowYolo`.",
        expected: "one of \"plan\", \"default\", \"autoEdit\", \"yolo\"",
        example: "\"plan\""
    ),
    key!(
        "approval.allowYolo", approval.allow_yolo, BoolShape,
        in: Ok, out: |allowed: &bool| json!(allowed),
        "Whether a session or a run may use the mode `yolo`, in which everything except critical calls runs.",
        expected: "true or false",
        example: "true"
    ),
    key!(
        "approval.hooksMayApprove", approval.hooks_may_approve, BoolShape,
        in: Ok, out: |allowed: &bool| json!(allowed),
        "Whether a hook of the system's settings or of yours that allows a call may answer the question about it in your place, \
         once and never for a critical one. A project's hooks never may.",
        expected: "true or false",
        example: "true"
    ),
    key!(
        "approval.audience", approval.audience, ProtocolShape::<Audience>::new(),
        in: Ok, out: |audience: &Audience| json!(audience),
        "Who may be asked: all who are attached; whoever started the run first, and all after so many milliseconds; or \
         these clients alone.",
        expected: "\"all\", {\"initiatorFirst\": {\"graceMs\": 30000}} or {\"clients\": [\"a client's id\"]}",
        example: "{\"initiatorFirst\": {\"graceMs\": 30000}}"
    ),
    key!(
        "approval.onDetached", approval.on_detached, OrNull(OneOf(&["wait", "deny", "fail", "park"])),
        in: |text: Option<String>| text.map(word).transpose(), out: |it: &Option<OnDetached>| json!(it),
        "What happens to a question while nobody can be asked; null is `wait`, but `deny` for headless runs.",
        expected: "one of \"wait\", \"deny\", \"fail\", \"park\", or null",
        example: "\"park\""
    ),
    key!(
        "approval.deadlineMs", approval.deadline, OrNull(IntegerShape { least: 1, most: LONGEST_MS }),
        in: |ms: Option<u64>| Ok(ms.map(Duration::from_millis)),
        out: |deadline: &Option<Duration>| json!(deadline.map(|it| it.as_millis())),
        "Milliseconds without anyone who could answer, after which `approval.onDeadline` happens; null is never.",
        expected: "a whole number of milliseconds from 1 to a year, or null",
        example: "3600000"
    ),
    key!(
        "approval.onDeadline", approval.on_deadline, OneOf(&["deny", "cancelRun", "park"]),
        in: word, out: |it: &OnDeadline| json!(it),
        "What happens to a question after `approval.deadlineMs`. No deadline allows a call.",
        expected: "one of \"deny\", \"cancelRun\", \"park\"",
        example: "\"park\""
    ),
    key!(
        "approval.notifyAfterMs", approval.notify_after, IntegerShape { least: 0, most: LONGEST_MS },
        in: |ms| Ok(Duration::from_millis(ms)), out: |after: &Duration| json!(after.as_millis()),
        "Milliseconds without anyone who could answer, after which `approval.notifyCommand` and `approval.webhook` are \
         called.",
        expected: "a whole number of milliseconds from 0 to a year",
        example: "5000"
    ),
    key!(
        "approval.notifyCommand", approval.notify_command, ListOf(TextShape),
        in: program_first, out: |words: &Vec<String>| json!(words),
        "A program and its arguments, run without a shell when nobody is there who could answer. The question, and \
         the token that answers it, come on its standard input as JSON.",
        expected: "a list of words that begins with a program, e.g. [\"/home/me/bin/tell-me\"]",
        example: "[\"/home/me/bin/tell-me\", \"--urgent\"]"
    ),
    key!(
        "approval.webhook.url", approval.webhook_url, OrNull(WebAddress),
        in: Ok, out: |url: &Option<String>| json!(url),
        "Where the question is posted as signed JSON when nobody is there who could answer. Needs \
         `approval.webhook.secret`.",
        expected: "an address that begins with https:// (on this machine also http://), or null",
        example: "\"https://example.com/hooks/subagentd\""
    ),
    key!(
        "approval.webhook.secret", approval.webhook_secret, OrNull(SecretPlace),
        in: Ok, out: |place: &Option<KeySource>| secret_shown(place.as_ref()),
        "Where the secret is that signs what is posted; never the secret itself. Only its owner may be able to read a \
         file.",
        expected: "{\"env\": \"NAME\"}, {\"file\": \"/absolute/path\"} or null",
        example: "{\"env\": \"SUBAGENTD_WEBHOOK_SECRET\"}"
    ),
];
