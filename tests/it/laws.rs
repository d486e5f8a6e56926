//! Which logs are lawful? Written from the spec alone: it reads envelopes as JSON, as any client would, and knows
//! nothing of the code that wrote them. The harness puts the log of every test before it.
//!
//! Each law is one function that names its chapter; a violation is one sentence that begins with its `seq`.

use serde_json::Value;

use self::log::{Log, Run, Violations};

mod calls;
mod children;
mod delivery;
mod hooks;
mod log;
mod people;
mod runs;
mod spans;
mod tests;
mod turns;

#[allow(unused_imports, reason = "the vocabulary of the harness; not every test watches a subscription")]
pub use delivery::{Attached, Deltas, check_delivery, check_subscription};

/// Laws over a whole log.
const LOG_LAWS: &[fn(&Log, &mut Violations)] = &[
    log::every_entry_is_a_fact,
    log::seq_rises,
    log::streams_are_never_reused,
    log::calls_belong_to_one_run,
    log::runs_stay_in_their_session,
    calls::put_out_what_their_runs_think,
    children::a_child_begins_with_its_call,
    children::a_child_names_its_parent,
    children::a_child_ends_before_its_call,
    children::one_run_works_in_a_context,
    people::remembered_rules_have_their_answers,
];

/// Laws over the events of one run, finished or not.
const RUN_LAWS: &[fn(&Run, &mut Violations)] = &[
    runs::begins_once,
    runs::ends_once_and_for_good,
    runs::limits_stop_before_they_end,
    runs::nothing_starts_after_a_final_stop,
    runs::grace_comes_once_and_after_a_stop,
    runs::the_stop_decides_the_reason,
    runs::recovered_says_from_what,
    runs::errors_have_a_code_and_others_none,
    runs::goal_is_earned,
    runs::the_record_counts_what_the_log_shows,
    runs::costs_add_up,
    runs::a_side_call_is_over_before_the_run_goes_on,
    runs::circles_and_budgets_are_told_once,
    runs::budgets_are_raised_by_people,
    turns::are_numbered_and_paired,
    turns::every_ask_has_one_answer,
    turns::attempts_count_up,
    turns::thoughts_belong_to_an_ask,
    turns::the_transcript_is_well_formed,
    turns::the_turn_counts_its_calls,
    turns::prompt_ids_name_run_and_turn,
    children::a_queued_run_begins_as_announced,
    children::steers_are_taken_in_once_and_in_order,
    calls::were_asked_for,
    calls::follow_the_state_machine,
    calls::end_once,
    calls::execute_once,
    calls::say_first_what_they_are_and_last_what_came_of_it,
    calls::mark_their_activity,
    calls::none_executes_while_stopping,
    calls::grace_runs_only_complete_task,
    calls::complete_task_ends_last,
    calls::only_a_restart_interrupts,
    calls::a_mutator_is_never_rerun,
    calls::change_files_while_they_execute,
    calls::ask_models_while_they_execute,
    hooks::are_told_once,
    hooks::stand_before_what_they_guard,
    people::are_asked_and_resolved_once,
    people::wait_with_their_calls,
    people::are_answered_before_their_calls_run,
    people::stand_still_while_all_wait,
    people::edits_are_settled_before_anything_runs,
];

/// Checks a whole log, from its first event, of runs that may still be going on. The events are envelopes as
/// `events/list` answers them.
pub fn check(events: &[Value]) -> Result<(), Vec<String>> {
    let log = Log::read(events);
    with_spans(events, verdict(violations(&log)))
}

/// Like [`check`], and demands that everything is over.
pub fn check_finished(events: &[Value]) -> Result<(), Vec<String>> {
    let log = Log::read(events);
    let mut violations = violations(&log);
    for run in &log.runs {
        runs::is_over(run, &mut violations);
    }
    with_spans(events, verdict(violations))
}

fn violations(log: &Log) -> Violations {
    let mut violations = Violations::default();
    for law in LOG_LAWS {
        law(log, &mut violations);
    }
    for run in &log.runs {
        for law in RUN_LAWS {
            law(run, &mut violations);
        }
    }
    violations
}

/// A lawful log can be read as spans; what those of an unlawful one look like is nobody's promise.
fn with_spans(events: &[Value], verdict: Result<(), Vec<String>>) -> Result<(), Vec<String>> {
    verdict?;
    let wrong = spans::check(events);
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn verdict(violations: Violations) -> Result<(), Vec<String>> {
    let sentences = violations.sentences();
    if sentences.is_empty() { Ok(()) } else { Err(sentences) }
}
