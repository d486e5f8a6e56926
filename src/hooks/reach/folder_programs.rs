//! Does a program run what the folder says that it is started in?

use super::places::WorkspacePlaces;

/// Programs that run what stands in the folder that they are started in.
const OF_FOLDER: &[&str] = &[
    "make",
    "gmake",
    "bmake",
    "ninja",
    "just",
    "task",
    "go-task",
    "rake",
    "cargo",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "mvnd",
    "ant",
    "sbt",
    "bazel",
    "bazelisk",
    "buck2",
    "cmake",
    "meson",
    "scons",
    "waf",
    "tox",
    "nox",
    "pytest",
    "py.test",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "karma",
    "cypress",
    "playwright",
    "rspec",
    "rails",
    "bundle",
    "bundler",
    "poetry",
    "pdm",
    "pipenv",
    "hatch",
    "rye",
    "pre-commit",
    "lefthook",
    "lint-staged",
    "composer",
    "phpunit",
    "pest",
    "mix",
    "rebar3",
    "stack",
    "cabal",
    "dune",
    "lein",
    "turbo",
    "nx",
    "lerna",
    "rush",
    "grunt",
    "gulp",
    "webpack",
    "vite",
    "rollup",
    "eslint",
    "stylelint",
    "prettier",
    "docker-compose",
    "yarn",
    "pnpm",
    "tilt",
    "skaffold",
    "earthly",
    "vagrant",
    "unittest",
    "pre_commit",
];
/// Programs that do so by these words.
const BY_WORD: &[(&str, &[&str])] = &[
    (
        "npm",
        &[
            "run",
            "run-script",
            "rum",
            "urn",
            "test",
            "t",
            "tst",
            "start",
            "stop",
            "restart",
            "ci",
            "install",
            "i",
            "add",
            "install-test",
            "it",
            "rebuild",
            "rb",
            "pack",
            "publish",
            "version",
            "bin",
            "root",
            "prefix",
        ],
    ),
    ("bun", &["test", "install", "i", "add", "build"]),
    ("deno", &["task", "test", "bench"]),
    ("go", &["run", "test", "generate", "build", "vet", "tool", "install"]),
    ("docker", &["compose"]),
    ("podman", &["compose"]),
    ("uv", &["sync", "build", "lock"]),
    ("dotnet", &["run", "test", "build", "msbuild"]),
    ("swift", &["run", "test", "build"]),
    ("zig", &["build"]),
    ("mise", &["run", "r"]),
    ("devbox", &["run"]),
    ("nix", &["develop", "build", "run"]),
];
/// Programs that fetch another by its name and run it.
const FETCHING: &[&str] = &["npx", "bunx", "uvx", "pnpx"];
/// Options by which a program takes another folder, or another file of definitions, than the one that it finds where it is started.
const PLACES: &[&str] = &[
    "-C",
    "--directory",
    "--prefix",
    "--dir",
    "--cwd",
    "--project",
    "--project-dir",
    "--working-directory",
    "-f",
    "--file",
    "--makefile",
    "--justfile",
    "--taskfile",
];
/// Words by which a program only tells of itself.
const TELLING: &[&str] = &["--version", "-V", "-v", "--help", "-h", "version", "help"];

/// True of a program that runs what the folder says that it is started in, where that one is of the workspace.
pub(super) fn runs_folder(name: &str, given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    if !given.is_empty() && given.iter().all(|word| TELLING.contains(word)) {
        return false;
    }
    let mut operands = given.iter().filter(|word| !word.starts_with('-'));
    if FETCHING.contains(&name) {
        // The package of a name is fetched, unless it may only be one that is there.
        let is_there = given.iter().any(|word| matches!(*word, "--no-install" | "--no"));
        return is_there || operands.next().is_some_and(|word| places.leads(word, false));
    }
    let place = given.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some((option, value)) if PLACES.contains(&option) => Some(value),
        _ if PLACES.contains(word) => given.get(at + 1).copied(),
        _ => word.strip_prefix("-C").filter(|value| !value.is_empty()),
    });
    let first = operands.clone().copied().find(|word| Some(*word) != place);
    let is_elsewhere = match place {
        Some(place) => places.leads_away(place),
        None => places.is_started_elsewhere(),
    };
    let is_of_folder = match (name, first) {
        // It fetches a package by its name.
        ("yarn" | "pnpm", Some("dlx" | "create")) => false,
        ("npm", _) if given.iter().any(|word| matches!(*word, "-g" | "--global")) => false,
        ("npm", Some("exec" | "x")) => given.contains(&"--no"),
        // A package of a version, or one of elsewhere.
        ("go" | "nix", _)
            if operands.any(|word| word.contains(['@', '#', ':']) || places.leads_away(word)) =>
        {
            false
        }
        ("uv", Some("run")) => runs_of_project(given, places),
        ("bun", Some("run")) => operands.nth(1).is_none_or(|word| !places.may_lead_away(word)),
        (name, first) => {
            let has_word = |(program, words): &(&str, &[&str])| {
                *program == name && first.is_some_and(|word| words.contains(&word))
            };
            OF_FOLDER.contains(&name) || BY_WORD.iter().any(has_word)
        }
    };
    is_of_folder && !is_elsewhere
}

/// True of `uv run` that runs a program of the project's, or a script of the workspace.
fn runs_of_project(given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    const WITH_VALUE: &[&str] =
        &["--with", "--python", "-p", "--project", "--directory", "--extra", "--group", "--env-file", "-m"];
    if given.iter().any(|word| matches!(*word, "--no-project")) {
        return given.iter().skip(1).any(|word| places.leads(word, false));
    }
    let mut rest = given.iter().skip_while(|word| **word != "run").skip(1);
    while let Some(word) = rest.next() {
        if word.starts_with('-') {
            if WITH_VALUE.contains(word) {
                let _value = rest.next();
            }
            continue;
        }
        let is_python = word.starts_with("python");
        let script = if is_python { rest.find(|word| !word.starts_with('-')) } else { Some(word) };
        return script.is_none_or(|word| !places.may_lead_away(word));
    }
    // `uv run -m MODULE`
    given.contains(&"-m")
}

/// Programs that go to the folder that they are given before they look at anything (make(1), ninja(1); `npm help config`, prefix).
const GOING: &[&str] = &["make", "gmake", "bmake", "ninja", "npm"];

/// True of a program that is told to do its work in a folder elsewhere, or only tells of itself.
pub(super) fn runs_of_place(name: &str, given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    if !GOING.contains(&name) {
        return false;
    }
    if !given.is_empty() && given.iter().all(|word| TELLING.contains(word)) {
        return name != "npm";
    }
    let place = given.iter().enumerate().find_map(|(at, word)| match *word {
        "-C" | "--directory" | "--prefix" => given.get(at + 1).copied(),
        word => word.strip_prefix("--directory=").or_else(|| word.strip_prefix("--prefix=")),
    });
    place.is_some_and(|place| places.is_away(place)) && !given.iter().any(|word| places.may_lead(word))
}
