//! What comes of a person's edit when hooks have answered: what they said is in the log, whoever decided is named, and what people have not
//! seen is asked again.

use super::{
    unsettled_edits::{answering, edit, guarded_house, keeping, let_go, of_type, replied, until_kept},
    *,
};
use crate::support::{Client, lines};

fn answer(asked: &Value, outcome: &str) -> Value {
    json!({ "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": outcome })
}

/// The question once it is asked again with these words in its reason.
async fn asked_again(client: &mut Client, run: &str, words: &str) -> Value {
    let is_again =
        |it: &Value| it["confirmations"][0]["reason"].as_str().is_some_and(|it| it.contains(words));
    client.until("confirmation/list", json!({ "runId": run }), is_again).await["confirmations"][0].clone()
}

/// Whoever said yes to the call as it was did not know what becomes of the change.
#[tokio::test]
async fn yes_from_before_an_edit_is_dropped_does_not_run_the_call_as_it_was() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    let yes = answering(&running, answer(&asked, "allowOnce"));
    client.settle().await;
    fs::create_dir(house.work().join("b.txt")).unwrap();
    let_go(&house);
    replied(ada).await;
    let yes = replied(yes).await;
    assert_eq!(yes["error"]["data"]["kind"], "CONFIRMATION_STALE", "{yes}");
    asked_again(&mut client, &run, "cannot be done any more").await;
    let log = running.log().await;
    assert_eq!(of_type(&log, "confirmation.resolved"), Vec::<&Value>::new(), "{}", lines(&log));
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    running.stop().await;
}
