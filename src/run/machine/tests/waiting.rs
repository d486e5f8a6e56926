//! Queues, slots, runs below, messages from outside, and holding still.

use super::*;

#[test]
fn a_queued_run_begins_when_its_context_is_free() {
    TOOL.check(
        "
        open queued
        steer s1 | also this
        context-free
        promoted
        restart
        ",
        expect![[""]],
    );
    TOOL.check(
        "
        open queued
        promoted
        gets a slot
        context-free
        model c:complete_task
        done c yes
        ",
        expect![[""]],
    );
    TOOL.check(
        "
        open queued
        cancel
        ",
        expect![[""]],
    );
}

#[test]
fn without_a_slot_a_run_waits_before_it_begins_and_its_clock_stands_still() {
    TOOL.check(
        "
        open without a slot
        wait 2000
        time
        gets a slot
        slot-taken
        ",
        expect![[""]],
    );
}

#[test]
fn a_run_that_waits_for_runs_below_takes_a_slot_again_before_it_asks_the_model() {
    TOOL.check(
        "
        model a b
        child a run-a
        child b run-b
        gives its slot back
        settled a
        settled b
        wait 5000
        time
        restart
        gets a slot
        slot-taken
        model c:complete_task
        done c yes
        ",
        expect![[""]],
    );
}

#[test]
fn a_stop_ends_the_runs_below_first() {
    TOOL.check(
        "
        model a b:probe
        child a run-a
        run b
        cancel
        tool b cancelled
        settled a cancelled
        ",
        expect![[""]],
    );
}

#[test]
fn a_call_that_a_run_answers_is_attached_again_after_a_crash() {
    TOOL.check(
        "
        model a b
        child a run-a
        run b edit
        restart
        restart
        restart
        restart
        restart
        settled a
        ",
        expect![[""]],
    );
    TOOL.check(
        "
        model a
        child a run-a
        cancel
        restart
        settled a cancelled
        ",
        expect![[""]],
    );
}

#[test]
fn tokens_of_runs_below_count() {
    Script { max_tokens: Some(100), ..TOOL }.check(
        "
        model a
        child a run-a
        settled a
        ",
        expect![[""]],
    );
}

#[test]
fn what_is_said_reaches_the_model_at_the_next_turn_and_in_order() {
    TOOL.check(
        "
        steer s1 | first
        model a
        steer s2 | second
        run a
        tool a
        ",
        expect![[""]],
    );
}

#[test]
fn a_result_that_has_not_seen_a_message_does_not_count_yet() {
    TOOL.check(
        "
        steer s1 | wait
        model c:complete_task
        done c early
        model d:complete_task
        done d late
        steer s2 | too late
        ",
        expect![[""]],
    );
    Script { completion: Completion::Message, ..TOOL }.check(
        "
        steer s1 | and that?
        model | done
        model | done with that
        ",
        expect![[""]],
    );
}

#[test]
fn a_run_that_is_ending_takes_no_message() {
    TOOL.check(
        "
        model a c:complete_task
        run a
        done c yes
        steer s1 | too late
        tool a
        ",
        expect![[""]],
    );
    TOOL.check(
        "
        model a
        run a
        cancel
        steer s1 | too late
        ",
        expect![[""]],
    );
    TOOL.check(
        "
        wait 2000
        time
        steer s1 | too late
        ",
        expect![[""]],
    );
}

#[test]
fn a_parked_run_goes_on_where_it_was() {
    TOOL.check(
        "
        model a
        park
        park
        wait 5000
        time
        unpark
        unpark
        run a
        park
        restart
        ",
        expect![[""]],
    );
}
