//! A run that has used up its budget asks a person for more, if it was told to (spec 03, `BUDGET`; spec 06, `budget`).

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ALREADY, Run, Scene, answer_to, refusal, taken};

const HOUR: Duration = Duration::from_secs(3_600);
/// Far less than one turn takes.
const LITTLE: u64 = 10;

/// A run that writes a file in each of three turns, without asking for that.
async fn start(scene: &mut Scene, limits: Value, approval: Value) -> Run {
    let mut approval = approval;
    approval["mode"] = json!("autoEdit");
    scene.start_with("often", json!({ "limits": limits, "approval": approval })).await
}

async fn asking(scene: &mut Scene) -> (Run, Value) {
    let run = start(scene, json!({ "maxTokens": LITTLE, "onBudget": "ask" }), json!({})).await;
    let question = scene.question(&run).await;
    (run, question)
}

fn is_asked_of(run: &Run, question: &Value) {
    assert_eq!((&question["runId"], &question["details"]["type"]), (&json!(run.id), &json!("budget")));
}

#[tokio::test]
async fn a_run_waits_with_its_budget_until_a_person_allows_twice_as_much() {
    let mut scene = Scene::new().await;
    let (run, question) = asking(&mut scene).await;
    is_asked_of(&run, &question);
    let details = &question["details"];
    let used = details["used"]["tokens"].as_u64().unwrap();
    assert_eq!(details["limit"], json!({ "maxTokens": LITTLE }));
    assert!(LITTLE < used, "{details}");
    // It is of no call.
    assert!(["toolCallId", "tool", "kind"].iter().all(|field| question.get(*field).is_none()), "{question}");
    let outcomes: Vec<_> = question["options"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(json!(outcomes), json!(["allowOnce", "modify", "deny", "cancelRun"]));
    let before = scene.run_is(&run, "waiting").await["activeMs"].clone();
    scene.still_open_after(HOUR, &question).await;
    assert_eq!(scene.record(&run).await["activeMs"], before);
    assert_eq!(scene.cast.requests("often").len(), 1, "no model is asked meanwhile");

    let mut ann = scene.person("ann").await;
    let snapshot = ann.attach(&run.session).await;
    assert_eq!(snapshot["data"]["openConfirmations"][0]["confirmationId"], question["confirmationId"]);
    assert_eq!(taken(&ann.answer(&question, "allowOnce").await), json!(["allowOnce", "client", "cli-ann"]));
    // Whoever is late is told so.
    assert_eq!(refusal(&scene.answer(&question, "deny").await).0, ALREADY);
    let raised = scene.log_of(&run, "budget.raised").await;
    let limit = raised[0]["data"]["limits"]["maxTokens"].as_u64().unwrap();
    assert!(used < limit && limit <= 2 * used, "{limit} after {used}");
    assert_eq!((limit / LITTLE).count_ones(), 1, "{limit} is {LITTLE} doubled");
    assert_eq!((raised.len(), &raised[0]["by"]), (1, &json!("cli-ann")));
    // With the same question later on, since that was not enough.
    let again = scene.question(&run).await;
    assert_eq!(again["details"]["limit"]["maxTokens"], limit);
    let generous = json!({ "limits": { "maxTokens": 1_000_000 } });
    assert_eq!(taken(&ann.answer_with(&again, "modify", generous).await)[0], "modify");
    let end = scene.ended(&run).await;
    assert_eq!((&end["reason"], end.get("recovered")), (&json!("GOAL"), None), "{end}");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"; 3]);
    scene.end([ann]).await;
}

#[tokio::test]
async fn an_answer_that_would_not_let_the_run_go_on_is_refused_and_the_question_stays() {
    let mut scene = Scene::new().await;
    let (run, question) = asking(&mut scene).await;
    let used = question["details"]["used"]["tokens"].clone();
    let zero = json!({ "amount": "0", "currency": "USD" });
    let cases = [
        ("modify", json!({}), json!(["/arguments"])),
        ("modify", json!({ "content": "x" }), json!(["/content"])),
        ("modify", json!({ "limits": {} }), json!(["/limits/maxTokens"])),
        ("modify", json!({ "limits": { "maxTokens": used } }), json!(["/limits/maxTokens"])),
        (
            "modify",
            json!({ "limits": { "maxTokens": used, "maxCost": zero } }),
            json!(["/limits/maxTokens", "/limits/maxCost"]),
        ),
        ("modify", json!({ "limits": {}, "arguments": {}, "content": "x" }), json!(["/content", "/limits"])),
        ("allowOnce", json!({ "limits": { "maxTokens": 1_000_000 } }), json!(["/limits"])),
        ("deny", json!({ "limits": { "maxTokens": 1_000_000 } }), json!(["/limits"])),
    ];
    for (outcome, more, pointers) in cases {
        let answer = answer_to(&question, outcome, more);
        let response = scene.script.request("confirmation/respond", answer).await;
        let data = &response["error"]["data"];
        let violations = data["details"]["violations"].as_array().unwrap_or_else(|| panic!("{response}"));
        let told: Vec<_> = violations.iter().map(|it| &it["pointer"]).collect();
        assert_eq!(json!(told), pointers, "{response}");
    }
    let response = scene.answer(&question, "allowSession").await;
    assert_eq!(refusal(&response).0, "OUTCOME_NOT_OFFERED");
    let mut stale = answer_to(&question, "allowOnce", json!({}));
    stale["digest"] = json!("sha256:00");
    let response = scene.script.request("confirmation/respond", stale).await;
    assert_eq!(refusal(&response).0, "CONFIRMATION_STALE");
    assert_eq!(scene.get(&question).await["state"], "queued");
    assert_eq!(scene.log_of(&run, "budget.raised").await, [] as [Value; 0]);
    scene.script.call("run/cancel", json!({ "runId": run.id })).await;
    assert_eq!(scene.ended(&run).await["reason"], "ABORTED");
    assert_eq!(scene.resolution(&question).await, json!(["deny", "system", null]));
    scene.end([]).await;
}

#[tokio::test]
async fn without_more_the_run_has_one_last_turn() {
    let mut scene = Scene::new().await;
    let (run, question) = asking(&mut scene).await;
    let answer = answer_to(&question, "deny", json!({ "message": "the files that are there will do" }));
    assert_eq!(taken(&scene.script.request("confirmation/respond", answer).await)[0], "deny");
    let end = scene.ended(&run).await;
    assert!(scene.model_was_told("often").contains("said: the files that are there will do"));
    assert_eq!((&end["reason"], &end["turns"]), (&json!("BUDGET"), &json!(2)), "{end}");
    assert_eq!(scene.cast.requests("often").len(), 2);

    // Nobody sits there: it is denied at once.
    let limits = json!({ "maxTokens": LITTLE, "onBudget": "ask" });
    let run = start(&mut scene, limits.clone(), json!({ "headless": true })).await;
    let end = scene.ended(&run).await;
    assert_eq!(end["reason"], "BUDGET", "{end}");
    let asked = scene.log_of(&run, "confirmation.requested").await;
    let question = asked[0]["data"]["confirmation"].clone();
    is_asked_of(&run, &question);
    assert_eq!(scene.resolution(&question).await, json!(["deny", "system", null]));

    // Or the run ends for that.
    let run = start(&mut scene, limits.clone(), json!({ "onDetached": "fail" })).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(Duration::from_secs(3)).await;
    assert_eq!(scene.ended(&run).await["reason"], "UNATTENDED");

    // Time never gives more.
    let approval = json!({ "deadlineMs": 60_000, "onDeadline": "deny" });
    let run = start(&mut scene, limits, approval).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(HOUR).await;
    assert_eq!(scene.ended(&run).await["reason"], "BUDGET");
    assert_eq!(scene.resolution(&question).await, json!(["deny", "deadline", null]));
    assert_eq!(scene.logged("budget.raised").await, [] as [Value; 0]);
    scene.end([]).await;
}

#[tokio::test]
async fn the_next_daemon_asks_the_same_and_goes_on_from_there() {
    let mut scene = Scene::new().await;
    let (run, question) = asking(&mut scene).await;
    let mut scene = scene.down_for(HOUR).await;
    let again = scene.question(&run).await;
    for same in ["confirmationId", "digest", "createdAt", "details"] {
        assert_eq!(again[same], question[same], "{same}");
    }
    scene.run_is(&run, "waiting").await;
    let little = question["details"]["used"]["tokens"].as_u64().unwrap() + 1;
    let answer = answer_to(&again, "modify", json!({ "limits": { "maxTokens": little } }));
    let answered = scene.script.request("confirmation/respond", answer.clone()).await;
    assert_eq!(taken(&answered)[0], "modify");
    let next = scene.question(&run).await;
    // What a person gave holds in the next daemon's life, too; and the same client is told the same.
    let mut scene = scene.restart().await;
    let repeated = scene.script.request("confirmation/respond", answer).await;
    assert_eq!(repeated["result"]["replayed"], true, "{repeated}");
    let question = scene.question(&run).await;
    assert_eq!(question["confirmationId"], next["confirmationId"]);
    assert_eq!(question["details"]["limit"]["maxTokens"], little);
    let answer = answer_to(&question, "modify", json!({ "limits": { "maxTokens": 1_000_000 } }));
    assert_eq!(taken(&scene.script.request("confirmation/respond", answer).await)[0], "modify");
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"; 3]);
    assert_eq!(scene.logged("confirmation.requested").await.len(), 2);
    scene.end([]).await;
}

#[tokio::test]
async fn a_run_below_asks_for_its_own_budget_and_never_for_anothers() {
    const OWN: &str = "---\nkind: agent\nname: own\ndescription: Writes.\ncompletion: tool\ntools: [write_file]\nrun:\n  \
                       maxTokens: 10\n  onBudget: ask\n---\nYou write.\n";
    const BOSS: &str =
        "---\nkind: agent\nname: boss\ndescription: Calls.\ncompletion: tool\ntools: [own]\n---\nYou call.\n";
    let mut scene = Scene::with(|house| house.agent("own", OWN).agent("boss", BOSS)).await;
    let generous = json!({ "limits": { "maxTokens": 1_000_000 }, "approval": { "mode": "autoEdit" } });
    let parent = scene.start_with("boss", generous).await;
    let question = scene.question(&parent).await;
    assert_eq!(question["path"], json!(["boss", "own"]));
    assert_ne!(question["runId"], json!(parent.id));
    scene.run_is(&parent, "waiting").await;
    assert_eq!(taken(&scene.answer(&question, "allowOnce").await)[0], "allowOnce");
    let next =
        scene.script.until("run/get", json!({ "runId": parent.id }), |it| it["state"] == "ended").await;
    assert_eq!(next["reason"], "GOAL", "{next}");

    // What is left of the parent's budget is the parent's to ask for.
    let narrow =
        json!({ "limits": { "maxTokens": 1, "onBudget": "ask" }, "approval": { "mode": "autoEdit" } });
    let parent = scene.start_with("boss", narrow).await;
    let question = scene.question(&parent).await;
    assert_eq!(question["path"], json!(["boss"]));
    is_asked_of(&parent, &question);
    assert_eq!(taken(&scene.answer(&question, "cancelRun").await)[0], "cancelRun");
    assert_eq!(scene.ended(&parent).await["reason"], "ABORTED");

    // Also where the run below was lent some of it, less than it would be allowed itself.
    let turn = question["details"]["used"]["tokens"].as_u64().unwrap();
    let lending = json!({ "maxTokens": turn + 8, "onBudget": "ask" });
    let lending = json!({ "limits": lending, "approval": { "mode": "autoEdit" } });
    let parent = scene.start_with("boss", lending).await;
    let params = json!({ "sessionId": parent.session });
    let asks_itself = |listed: &Value| listed["confirmations"][0]["path"] == json!(["boss"]);
    let listed = scene.script.until("confirmation/list", params, asks_itself).await;
    let question = listed["confirmations"][0].clone();
    is_asked_of(&parent, &question);
    assert_eq!(taken(&scene.answer(&question, "cancelRun").await)[0], "cancelRun");
    assert_eq!(scene.ended(&parent).await["reason"], "ABORTED");
    let log = scene.running.log().await;
    let of_this = |it: &&Value| it["sessionId"] == json!(parent.session);
    let of_this: Vec<&Value> = log.iter().filter(of_this).collect();
    let has_child = of_this.iter().any(|it| it["type"] == "run.started" && it.get("parentRunId").is_some());
    let asked = of_this.iter().filter(|it| it["type"] == "confirmation.requested").count();
    assert_eq!((has_child, asked), (true, 1));
    scene.end([]).await;
}
