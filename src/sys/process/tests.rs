//! Is the end of a process known, reaped or not?

use std::process::{Command, Stdio};

use super::*;

#[tokio::test]
async fn process_has_ended_once_it_has_exited_reaped_or_not() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert!(!has_ended(pid));
    let end = ChildExitWatch::of(&child).unwrap();
    drop(child.stdin.take());
    end.wait().await.unwrap();
    assert!(has_ended(pid), "it has exited and was not reaped");
    child.wait().unwrap();
    assert!(has_ended(pid), "it was reaped");
    assert!(!has_ended(0), "a process of another container is seen as number 0");
}
