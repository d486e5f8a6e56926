//! What a person names below `/tmp` for a server is there for it, though a sandbox shows another folder; what cannot be is told.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{house, server};
use crate::{built, process::text, support::Script};

/// Becomes the tests' own server, once all that its entry names has been found.
const SERVE: &str = r#"
. "$(dirname "$0")/parts/lib.sh"
test "$(cat "$1/kept")" = kept && test -e "$2" || { echo "not all is there: $*" >&2; exit 4; }
become "$PROGRAM_PATH"
"#;
const LIB: &str =
    "become() { exec \"$1\" --exact mcp::server::is_a_server_when_it_is_told_to_be --nocapture; }\n";

async fn connected(entry: Value) -> Value {
    let house = house(&Script::new([]), "plain").settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let told = client.call("mcp/connect", asked).await;
    drop(client);
    running.stop().await;
    told
}

#[tokio::test]
async fn a_server_finds_what_lies_beside_its_program_and_what_its_entry_names() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let place = |name: &str| folder.path().join(name);
    for name in ["site/parts", "data", "aside"] {
        fs::create_dir_all(place(name)).unwrap();
    }
    fs::write(place("site/serve.sh"), SERVE).unwrap();
    fs::write(place("site/parts/lib.sh"), LIB).unwrap();
    fs::write(place("data/kept"), "kept").unwrap();
    fs::write(place("aside/here"), "").unwrap();
    let mut entry = server::entry("plain");
    entry["env"]["PROGRAM_PATH"] = entry["command"].clone();
    entry["command"] = json!("/bin/sh");
    entry["args"] = json!([place("site/serve.sh"), place("data"), "here"]);
    entry["cwd"] = json!(place("aside"));
    let told = connected(entry).await;
    assert_eq!(told["state"], "ready", "{told}");
}

#[tokio::test]
async fn a_server_that_misses_what_lies_below_tmp_is_told_what_it_sees_there() {
    if !built::has_bubblewrap("what a view shows of /tmp") {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir_all(place("site")).unwrap();
    fs::create_dir_all(place("lib")).unwrap();
    fs::write(place("lib/parts.sh"), LIB).unwrap();
    fs::write(place("site/serve.sh"), "cat \"$(dirname \"$0\")/../lib/parts.sh\" || exit 1\n").unwrap();
    fs::write(place("site/angry.sh"), "echo 'no license' >&2; exit 1\n").unwrap();
    let told = connected(json!({ "command": "/bin/sh", "args": [place("site/serve.sh")] })).await;
    let reason = text(&told, "reason");
    let seen = place("site").canonicalize().unwrap();
    let expected = format!("of which the sandbox shows it only {}: put what it needs there", seen.display());
    assert!(reason.contains("No such file") && reason.contains(&expected), "{reason}");
    // Whoever misses nothing is told nothing of it.
    let told = connected(json!({ "command": "/bin/sh", "args": [place("site/angry.sh")] })).await;
    assert_eq!(text(&told, "reason"), "its program ended with code 1; it said: no license");
}

#[tokio::test]
async fn what_cannot_be_shown_is_a_reason() {
    if !built::has_bubblewrap("what a view cannot show of /tmp") {
        return;
    }
    let mut entry = server::entry("plain");
    entry["cwd"] = json!("/tmp");
    let told = connected(entry).await;
    assert_eq!(told["state"], "failed", "{told}");
    let reason = text(&told, "reason");
    assert!(
        reason.starts_with("its folder /tmp is another one") && reason.contains("a folder below"),
        "{reason}"
    );

    // What is the daemon's own is hidden from everything; so it is in a house of the tests.
    let house = house(&Script::new([]), "plain");
    let program = house.dir.path().join("state/serve");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    built::copy("/bin/sh", &program);
    let house = house.settings(&json!({ "mcpServers": { "s": { "command": program } } }));
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    let told = client.call("mcp/connect", asked).await;
    let reason = text(&told, "reason");
    assert!(
        Path::new(&program).is_file() && reason.contains("is kept from everything that is started"),
        "{told}"
    );
    drop(client);
    running.stop().await;
}
