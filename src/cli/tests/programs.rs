//! What do programs get? The answer as it is on stdout, an error object on stderr, the exit code as ever.

use serde_json::{Value, json};

use super::{commands::rows, *};

/// The row's command line, asking for JSON.
fn asking_for_json(arguments: &[&'static str]) -> Vec<&'static str> {
    let runs = arguments[0] == "run" || arguments[0].contains(' ');
    let option = if runs { "--output-format" } else { "--format" };
    [arguments, &[option, "json"]].concat()
}

#[test]
fn every_command_prints_the_answer_of_its_method() {
    for row in rows() {
        let command = Command::new(&asking_for_json(row.arguments));
        let ran = command.against(vec![row.script(Value::clone)]);
        let printed: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{:?}: {error}: {ran:?}", row.arguments));
        assert_eq!(printed, row.json(), "{:?}", row.arguments);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (row.exit_code, ""), "{:?}", row.arguments);
    }
}

fn refused() -> Value {
    let data = json!({"kind": "NOT_FOUND", "retryable": false, "hint": "look", "comet": 1});
    json!({"code": -31010, "message": "there is none", "data": data})
}

#[test]
fn every_command_prints_the_error_object_of_a_refusal() {
    for row in rows() {
        let (method, greets) = (row.answers[0].0, row.greets);
        let script: DaemonScript = Box::new(move |peer| {
            if greets {
                say_hello(peer);
            }
            peer.refuse(method, refused());
        });
        let ran = Command::new(&asking_for_json(row.arguments)).against(vec![script]);
        assert_eq!((ran.exit_code, ran.stdout.as_str()), (1, ""), "{:?}", row.arguments);
        let [line] = ran.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{}", ran.stderr) };
        assert_eq!(serde_json::from_str::<Value>(line).unwrap(), refused(), "{:?}", row.arguments);
    }
}

#[test]
fn an_error_of_the_command_itself_has_the_same_shape_and_no_code() {
    let folder = tempfile::tempdir().unwrap();
    let fail = |arguments: &[&str]| {
        let ran = Command::new(arguments).run(folder.path());
        let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{ran:?}"));
        assert!(error.get("code").is_none() && error["message"].is_string(), "{error}");
        assert!(error["data"]["hint"].is_string(), "{error}");
        (ran.exit_code, error["data"]["kind"].as_str().unwrap().to_owned())
    };
    assert_eq!(fail(&["runs", "--format", "json"]), (69, "UNAVAILABLE".into()));
    assert_eq!(fail(&["status", "--format", "json"]), (69, "UNAVAILABLE".into()));
    assert_eq!(fail(&["steer", "r1", " ", "--format", "json"]), (2, "USAGE".into()));
    let run = ["run", "x", "-p", "q", "--workspace", "nowhere", "--output-format", "stream-json"];
    assert_eq!(fail(&run), (2, "USAGE".into()));
}

#[test]
fn what_is_only_said_to_people_is_not_said_to_programs() {
    let script = |arguments: &[&str]| {
        let script: DaemonScript = Box::new(|peer| {
            say_hello_as(peer, "9.9.9");
            peer.answer("run/list", json!({"runs": [], "nextCursor": "c7"}));
        });
        Command::new(arguments).against(vec![script]).stderr
    };
    let told = script(&["runs"]);
    assert!(told.contains("version 9.9.9") && told.contains("--cursor c7"), "{told}");
    assert_eq!(script(&["runs", "--format", "json"]), "");
}

#[test]
fn a_run_that_failed_tells_it_in_its_record() {
    let failed = record(json!({"reason": "ERROR", "error": {"code": "PANIC", "message": "oh"}}));
    for (format, is_terminal) in [("json", false), ("stream-json", false), ("json", true)] {
        let arguments = ["run", "scout", "-p", "q", "--new", "--output-format", format];
        let command = Command { is_terminal, ..Command::new(&arguments) };
        let ran = command.against(vec![control(failed.clone()), events(vec![completed(3, &failed)])]);
        assert_eq!(ran.exit_code, 1, "{format}");
        let last =
            if format == "json" { ran.stdout.clone() } else { ran.stdout.lines().last().unwrap().to_owned() };
        assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), failed, "{format}");
        // Whoever sits there still sees it at work.
        assert_eq!(ran.stderr.contains("■ scout"), is_terminal, "{format}: {}", ran.stderr);
        assert!(!ran.stderr.contains("error:"), "{format}: {}", ran.stderr);
    }
}

#[test]
fn what_is_followed_can_be_had_as_events_or_as_a_record() {
    let goal = record(json!({"reason": "GOAL", "result": "done"}));
    let sent = vec![envelope(2, "run.steered", json!({"text": "left"})), completed(3, &goal)];
    for format in ["json", "stream-json"] {
        let (live, ended) = (record(json!({"state": "running"})), goal.clone());
        let control: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer("run/get", live);
            peer.answer("run/get", ended);
        });
        let ran = Command::new(&["attach", "r1", "--output-format", format])
            .against(vec![control, events(sent.clone())]);
        assert_eq!((ran.exit_code, ran.stderr.as_str()), (0, ""), "{format}");
        let printed: Vec<Value> =
            serde_json::Deserializer::from_str(&ran.stdout).into_iter().collect::<Result<_, _>>().unwrap();
        let expected = match format {
            "json" => vec![goal.clone()],
            _ => sent.iter().chain([&goal]).cloned().collect(),
        };
        assert_eq!(printed, expected, "{format}");
    }
}

#[test]
fn a_result_that_is_json_is_laid_out_for_a_person_and_left_as_it_is_for_a_pipe() {
    let goal = record(json!({"reason": "GOAL", "result": r#"{"places":["a.rs:3"]}"#}));
    let run = |is_terminal| {
        let command = Command { is_terminal, ..Command::new(&["run", "scout", "-p", "q", "--new"]) };
        command.against(vec![control(goal.clone()), events(vec![completed(3, &goal)])]).stdout
    };
    assert_eq!(run(true), "Places: a.rs:3\n");
    assert_eq!(run(false), "{\"places\":[\"a.rs:3\"]}\n");
}
