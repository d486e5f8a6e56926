//! Is `proto-docs/` what the daemon really speaks? `UPDATE_EXPECT=1 cargo test --test it proto_docs` writes it.

use std::path::Path;

use expect_test::expect_file;
use subagentd::daemon::rpc::docs;

#[test]
fn proto_docs_are_what_the_types_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto-docs");
    for (name, text) in docs::files() {
        expect_file![folder.join(name)].assert_eq(&text);
    }
}
