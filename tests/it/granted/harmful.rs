//! Does a grant of a harmless command allow one that begins alike and does harm?

use subagentd::{
    policy::{self, Policy, RememberScope},
    protocol::{GrantScope, Verdict},
};

use super::Asked;

/// What is granted by its words, and what that must not allow.
const HARMFUL: &[(&str, &str)] = &[
    ("make test", "XDG_CACHE_HOME=src/x; make test"),
    ("make test", "TMPDIR=src; make test"),
    ("cargo test", "CARGO_TARGET_DIR=src/x; cargo test"),
    ("cargo test", "for TMPDIR in src; do cargo test; done"),
    ("cargo test", ": ${CARGO_TARGET_DIR:=src/x}; cargo test"),
    ("go test ./...", "GOCACHE=src && go test ./..."),
    ("npm test", "(HTTPS_PROXY=http://x; npm test)"),
    ("npm test", "npm --prefix src test"),
    ("git status", "git --git-dir=src status"),
    ("git status", "git --git-dir src --work-tree=. status"),
    ("make test", ". ./src/x; make test"),
    ("sed -n 1p src/a", "sed -n 's/[]/]/p;#/w src/b' src/a"),
    ("sed -n 1p src/a", "sed -n 's/[[:alpha:]/]/p;#/w src/b' src/a"),
    ("sed -n 1p src/a", "sed -n 's/[^]/]/p;#/w src/b' src/a"),
    ("sed -n 1p src/a", "sed -n 's/[[.x.]/]/p;#/w src/b' src/a"),
    ("cargo test", "/usr/bin/time -o src/x cargo test"),
    ("cargo test", "command time --output=src/x cargo test"),
    ("cargo test", "command time -p -o src/x cargo test"),
    ("git log -3", "git log --output=src/x"),
    ("git log -3", "git log --outp=src/x"),
    ("git log -3", "git log --outp src/x -3"),
    ("git shortlog -s HEAD", "git shortlog --output=src/x HEAD"),
    ("git rev-list HEAD", "git rev-list --output=src/x HEAD"),
    ("git blame src/a", "git blame --output=src/x src/a"),
    ("git commit -m x", "git commit -m x --ame"),
    ("eslint src", "eslint src --fi"),
    ("black --check src", "black --check src --no-check"),
    ("make test", "make -j deploy test"),
    ("make test", "make -j 8 test deploy"),
    ("npm publish --dry-run", "npm publish --dry-run false"),
    ("npm publish --dry-run", "npm publish --dry-run=0"),
    ("cargo publish --dry-run", "cargo publish --dry-run false"),
    ("gh api user", "gh api -X DELETE repos/a/b"),
    ("git fetch", "git fetch . +HEAD:refs/heads/keep"),
    ("git fetch", "git fetch git@example.org:x"),
    ("git fetch", "git fetch https://example.org/x"),
    ("git fetch origin", "git fetch ext::sh"),
    ("git ls-remote", "git ls-remote git@example.org:x"),
    ("git fetch", "git fetch ../other"),
    ("git fetch", "git fetch //example.org/x"),
    ("pytest -q", "pytest -q --basetemp=src"),
    ("pytest -q", "pytest -q --junitxml=src/x"),
    ("pytest -q", "pytest -q -o addopts=-px"),
    ("pytest -q", "pytest -qc src/x.ini"),
    ("go test ./...", "go test -ldflags=-extld=./x ./..."),
    ("go build ./...", "go build -o src/x ./..."),
    ("cargo test", "cargo test --target-dir src/x"),
    ("cargo test", "cargo test --config=src/x.toml"),
    ("ruff check src", "ruff check --output-file src/x src"),
    ("eslint src", "eslint -o src/x src"),
    ("find . -name x", "find . -fprint src/x"),
    ("find . -name x", "find . -fls src/x"),
    ("rg x", "rg --pre ./x y"),
    ("npm test", "npm test --userconfig=src/x"),
    ("npm test", "npm test --globalconfig src/x"),
    ("make test", "make test SHELL=./x"),
    ("cargo test", "cargo test -- --logfile=src/a"),
    ("cargo test", "cargo test -- --logfile src/a"),
    ("go test ./...", "go test -coverprofile=src/a ./..."),
    ("pytest -q", "pytest -q --cov-report=xml:src/a"),
    ("pytest -q", "pytest -q --benchmark-json=src/a"),
    ("pytest -q", "pytest -vvvvvvvp x"),
    ("npm test", "npm test --cache=src"),
    ("mix do test", "mix do run -e x"),
    ("mix eval x", "mix eval y"),
    ("yarn workspaces foreach run build", "yarn workspaces foreach exec sh"),
    ("yarn workspace a run build", "yarn workspace a exec sh"),
    ("yarn node x", "yarn node y"),
    ("pnpm recursive run build", "pnpm recursive exec sh"),
    ("swift build", "swift build -Xswiftc -load-plugin-executable -Xswiftc src/x"),
    ("swift build", "swift build --scratch-path src"),
    ("swift package describe", "swift package reset"),
    ("dotnet build", "dotnet build -p:PreBuildEvent=src/x"),
    ("dotnet build", "dotnet build -o src"),
    ("dotnet test", "dotnet test --results-directory src"),
    ("dotnet msbuild x", "dotnet msbuild y"),
    ("git fetch", "git fetch --prune-tags"),
    ("git fetch", "git fetch -P"),
    ("eslint src", "eslint -f ./src/x.js src"),
    ("eslint src", "eslint -c src/x.js src"),
    ("prettier --check src", "prettier --check --plugin=./src/x.js src"),
    ("stylelint src", "stylelint --custom-formatter=src/x.js src"),
    ("gh release download v1", "gh release download v1 -O src/a"),
    ("eslint src", "eslint --cache --cache-location src/a src"),
    ("cargo fmt --check", "cargo fmt --check -- --emit files"),
    ("cargo fmt --check", "cargo fmt --check -- --config-path src/x"),
    ("cargo clippy", "cargo clippy -- -C linker=./x"),
    ("cargo clippy", "cargo clippy --fix"),
    ("go vet ./...", "go vet -fix ./..."),
];

/// What is granted by its words, and what is the same with other arguments.
const HARMLESS: &[(&str, &str)] = &[
    ("cargo test", "/usr/bin/time cargo test"),
    ("cargo test", "command time -p cargo test"),
    ("git fetch", "git fetch --all"),
    ("git log -3", "git log --oneline"),
    ("make test", "make -j 8 test"),
    ("cargo clippy", "cargo clippy -- -D warnings"),
    ("git fetch", "git fetch --all --prune"),
    ("cargo test", "cargo test linker -- --nocapture"),
    ("dotnet build", "dotnet build -c Release"),
    ("eslint src", "eslint src --max-warnings 0"),
    ("find . -name x", "find . -name '*.rs' -type f"),
    ("go test ./...", "go test -run x ./..."),
    ("go vet ./...", "go vet ./x"),
    ("pytest -q", "pytest -q --cov=src -k x"),
    ("sed -n 1p src/a", "sed -n 's/[0-9]/x/p' src/a"),
    ("swift build", "swift build -c release"),
];

/// What becomes of `later` once `first` was allowed by its words; `None` where that was not offered.
fn verdict(first: &str, later: &str) -> Option<Verdict> {
    let builtin = Policy::builtin();
    let offered = Asked::new(first, None).offered(&builtin, RememberScope::Session);
    let rule = offered.into_iter().find(|rule| policy::extent(rule) == GrantScope::Words)?;
    Some(Asked::new(later, None).verdict(&builtin.with(rule)))
}

#[test]
fn a_grant_of_the_harmless_form_does_not_allow_the_harmful_one() {
    let allowed: Vec<_> =
        HARMFUL.iter().filter(|(first, later)| verdict(first, later) == Some(Verdict::Allow)).collect();
    assert!(allowed.is_empty(), "{} of {}: {allowed:#?}", allowed.len(), HARMFUL.len());
}

/// Else the grants above would be good for nothing.
#[test]
fn a_grant_allows_the_same_with_other_arguments() {
    let asked: Vec<_> =
        HARMLESS.iter().filter(|(first, later)| verdict(first, later) != Some(Verdict::Allow)).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

/// What is of no kind is offered only as it stands.
#[test]
fn what_calls_an_interface_or_runs_its_arguments_is_not_granted_by_its_words() {
    for first in [
        "gh api user",
        "make -j deploy test",
        "mix do test",
        "yarn node x.js",
        "cargo rustc",
        "dotnet msbuild x",
    ] {
        assert_eq!(verdict(first, first), None, "{first}");
    }
}
