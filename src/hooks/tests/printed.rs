//! Nothing of what hooks print is written down with half a secret in it.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::*;
use crate::{answer::HandlerEnd, records};
use redact::{Redactor, RedactorParts};

/// Plain output of one that wakes its run goes to the model and, shortened, into the log: what is cut is cut behind the hiding.
#[test]
fn plain_output_is_without_secrets_before_it_is_cut() {
    let bench = Bench::new();
    bench.user(
        &json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "x", "asyncRewake": true }] }] }),
    );
    let read = bench.read(&TrustRecords::default());
    let hook = Arc::clone(&read.set.hooks()[0]);
    assert!(hook.async_rewake);
    let environment = [("MY_TOKEN".to_owned(), "hunter2hunter2".to_owned())].into_iter();
    let redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let workspace = HookWorkspace { redactor, ..bench.workspace() };
    let printed = format!("{}hunter2hunter2", "x".repeat((2 << 10) - 7));
    let end = HandlerEnd {
        exit_code: Some(2),
        without_echo: Some(printed.clone()),
        ..HandlerEnd::answered(printed)
    };
    let asked = records::heard(
        0,
        hook,
        end,
        (&firing(bash("ls")), &workspace),
        (protocol::Timestamp(0), Duration::ZERO),
    );
    assert!(asked.end.stdout.ends_with("[redacted:env:MY_TOKEN]"), "{}", asked.end.stdout);
    assert!(!asked.end.without_echo.unwrap().contains("hunter2"));
}
