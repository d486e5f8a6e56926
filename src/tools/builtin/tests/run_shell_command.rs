//! What run_shell_command is judged by, with the links of a workspace.

use serde_json::json;

use crate::tests::Bench;
use protocol::Risk;

/// The system makes the file at the end of such a link.
#[tokio::test]
async fn what_a_command_writes_through_a_link_to_what_is_not_there_yet_is_judged_by_its_end() {
    let bench = Bench::new(&[("f", "x\n")]);
    bench.link("plain", "made");
    bench.link("a", ".envrc");
    bench.link("b", "a");
    bench.link("c", bench.outside().join("elsewhere"));
    let risk = async |command: &str| {
        let call = bench.prepare("run_shell_command", json!({"command": command})).await.unwrap();
        call.risk().unwrap_or(Risk::Safe)
    };
    for link in ["a", "b", "c"] {
        for command in ["echo x > LINK", "cp f LINK", "tee LINK < f", "cat f >> ./LINK", "dd if=f of=LINK"] {
            let command = command.replace("LINK", link);
            assert!(Risk::High <= risk(&command).await, "{command}");
        }
    }
    assert_eq!(risk("cp f plain").await, Risk::Medium);
}
