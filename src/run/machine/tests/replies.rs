//! What becomes of replies that are cut, refused, of no use, or do not come?

use super::*;

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
