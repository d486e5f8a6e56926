//! What may a refusal say of a file that a call would have changed?
//!
//! A call is prepared before rules and hooks are asked about it, and whether an edit fits depends on what stands in the file. So an agent
//! that is refused to read a file would learn it line by line from edits that do not fit.

use std::sync::Arc;

use serde_json::Value;

use super::{CallGate, CallToJudge, GateJudgement, JudgeContext, changed::AskedCall, hooked::denied};
use crate::{
    hooks::{HookScene, hooked_call, said},
    machine::{CallJudgement, CallRefusal},
};
use protocol::{HookDecision, ResourceAccess, Risk, ToolErrorType, ToolKind, ToolName};
use tools::{FileTelling, MayTellCheck, ToolLookup, canonical_arguments};

/// The tools by which an agent would read the file.
const READERS: &[&str] = &["read_file", "read_many_files"];

/// The tools that look at a file before anybody has decided whether they may change it.
const LOOKING: &[&str] = &["edit_file", "write_file"];

/// Errors that tell how a call goes together with what stands in the file.
const CONTENTS: &[ToolErrorType] = &[
    ToolErrorType::EditPreparationFailure,
    ToolErrorType::EditNoOccurrenceFound,
    ToolErrorType::EditExpectedOccurrenceMismatch,
    ToolErrorType::EditNoChange,
];

impl CallGate {
    /// The part of a file that may be told, for a call of this tool. Where hooks hear of calls that read or edit files, they decide about
    /// those.
    pub(super) fn may_tell(&self, tool: &ToolName, judge_context: &JudgeContext) -> Option<MayTellCheck> {
        if !LOOKING.contains(&tool.as_str()) {
            return None;
        }
        let has = |tool: &str| matches!(self.toolset.lookup(&ToolName::from(tool)), ToolLookup::Found(_));
        let can_read = READERS.iter().any(|tool| has(tool));
        let is_heard = self.hooks.hear_of_files();
        let (policy, class) = (self.policy(), (ToolKind::Read, Risk::Safe));
        let subject = self.reading_subject(ToolName::from(READERS[0]), class, judge_context);
        Some(Arc::new(move |path, shown| {
            match (subject.may_read_file(&policy, path, shown), is_heard, can_read) {
                (false, ..) => FileTelling::Nothing,
                (true, false, true) => FileTelling::Contents,
                (true, ..) => FileTelling::Fit,
            }
        }))
    }

    /// A call that cannot be made is none of the hooks' business, unless that depends on what stands in a file: an agent that guesses would
    /// pass by whoever guards the file.
    pub(super) async fn judge_refused(
        &self,
        subject: &CallToJudge,
        scene: &HookScene,
        judge_context: &JudgeContext,
        refusal: CallRefusal,
    ) -> GateJudgement {
        let call = &*subject.call;
        let is_by_contents = CONTENTS.contains(&refusal.error.kind);
        let refused = |refusal| GateJudgement::unhooked(CallJudgement::Refuse(refusal), None);
        let name = self.toolset.canonical(&call.name);
        let ToolLookup::Found(tool) = self.toolset.lookup(&name) else { return refused(refusal) };
        if !is_by_contents || !LOOKING.contains(&name.as_str()) {
            return refused(refusal);
        }
        let workspace = &self.prepare.workspace;
        let arguments = canonical_arguments(&tool.declaration().parameters, call.arguments.clone());
        let place = arguments.get("path").and_then(Value::as_str).map(|path| workspace.resolve(path));
        let path = place.and_then(Result::ok).map(|place| workspace.absolute(&place));
        let accesses: Vec<ResourceAccess> =
            path.into_iter().map(|path| ResourceAccess::Write { path }).collect();
        let shown = hooked_call(&call.call_id, (&name, false), &arguments, &accesses);
        let tool = (&call.call_id, Arc::clone(tool));
        let asked = AskedCall::new(self, tool, judge_context, (&arguments, &accesses));
        let Some((effects, verdict)) = self.ask_about(subject, asked, shown, scene).await else {
            return refused(refusal);
        };
        let is_denied = verdict.decision == Some(HookDecision::Deny) || effects.stop.is_some();
        let refusal = if is_denied { denied(said(&verdict, "refused the call")) } else { refusal };
        GateJudgement { hooks: effects, ..refused(refusal) }
    }
}
