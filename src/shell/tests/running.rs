//! Options by which programs run others.

use super::*;
use crate::programs::RUNNING_OPTIONS;

/// Whatever stands around it, and whoever else looks at the program: no row is without effect.
#[test]
fn each_option_that_runs_something_is_not_understood() {
    let mut understood = Vec::new();
    for (names, options) in RUNNING_OPTIONS {
        for (name, option) in names.iter().flat_map(|name| options.iter().map(move |option| (name, option))) {
            let texts = [format!("{name} {option} ./x"), format!("{name} {option}=./x y")];
            let texts = texts.into_iter().filter(|_| !option.ends_with('='));
            let texts = texts.chain(option.ends_with('=').then(|| format!("{name} {option}./x")));
            understood.extend(texts.filter(|text| judged(text).unknown.is_none()));
        }
    }
    assert!(understood.is_empty(), "{understood:#?}");
}

/// Values that programs run, wherever they stand among the words.
#[test]
fn what_a_variable_or_a_setting_has_run_is_not_understood() {
    let runs = [
        "make 'CC=touch x;#' prog",
        "make CC=./evil prog",
        "make 'CFLAGS=; touch x; #' prog",
        "make 'TARGET_ARCH=; touch x;'",
        "make 'OUTPUT_OPTION=; touch x' a.o",
        "make OUTPUT_OPTION=x a.o",
        "make 'a=${shell touch x}' 'CC=$a'",
        "make 'x::!=touch x'",
        "make RM:=./evil clean",
        "npm --silent config set script-shell=./evil",
        "npm --loglevel silent c set script-shell=./evil",
        "npm -s x -- touch x",
        "npm --location=project set script-shell=./evil",
        "go -C . env -w GOFLAGS=-toolexec=./evil",
    ];
    let understood: Vec<&str> = runs.into_iter().filter(|text| judged(text).unknown.is_none()).collect();
    assert!(understood.is_empty(), "{understood:#?}");
    let plain = [
        "make -j4 CFLAGS=-O2 PREFIX=/usr test",
        "make V=1",
        "npm --silent test",
        "npm run build",
        "go -C sub test ./...",
    ];
    for text in plain {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// To ksh and its kin `set -A PATH x` and `nameref` are words of the language; to others commands that do nothing of the kind.
#[test]
fn scripts_of_a_shell_that_has_words_of_its_own_are_not_understood() {
    let with_sh = |shell: &'static str| {
        move |path: &Path| if path == Path::new("/bin/sh") { PathBuf::from(shell) } else { path.to_owned() }
    };
    let texts = [
        "sh -c 'ls a'",
        "find . -exec sh -c 'ls a' ';'",
        "flock x -c 'ls a'",
        "dash -c 'ls a'",
        "sh <<< 'ls a'",
    ];
    for text in texts {
        for shell in ["/usr/bin/mksh", "/usr/bin/ksh93", "/usr/bin/toybox", "/opt/x/yash"] {
            let reading = judged_with(text, &with_sh(shell));
            assert!(reading.unknown.is_some() && reading.risk == Risk::High, "{shell} {text}");
        }
        for shell in ["/usr/bin/dash", "/usr/bin/bash", "/bin/busybox", "/bin/sh"] {
            assert_eq!(judged_with(text, &with_sh(shell)).unknown, None, "{shell} {text}");
        }
    }
    assert!(judged("mksh -c 'ls a'").unknown.is_some() && judged("ksh script.sh").unknown.is_none());
    assert_eq!(judged("ksh -c 'rm -rf /h'").risk, Risk::Critical);
}
