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

/// Programs of which no table tells, by what such options are called everywhere.
#[test]
fn an_option_that_says_that_it_names_something_to_run_is_not_understood() {
    let runs = [
        "install -s --strip-program=./x a b",
        "install -s --strip-p ./x a b",
        "curl --engine ./x https://example.org",
        "curl --eng=./x https://example.org",
        "curl -K x https://example.org",
        "nm --plugin ./x a.o",
        "gcc-nm --plugin=./x a.o",
        "llvm-ar --plug=./x a.a",
        "sort --compress-program ./x a",
        "man -P ./x ls",
        "tar -cf a.tar --checkpoint-action=exec=./x b",
        "delta --pager ./x",
        "restic --password-command ./x backup",
        "borg create --rsh ./x a b",
        "jest --testRunner ./x.js",
        "eslint --plugin x a.js",
        "tool --plugin-dir x",
        "tool -plugin-path=x",
        "tool --pre ./x",
        "tool --pre-command ./x",
        "tool --preprocessor ./x",
        "tool --post_exec ./x",
        "tool --on-success ./x",
        "tool --exec-batch ./x",
        "tool --execute=./x",
        "tool --chrome-binary ./x",
        "tool --wrapper ./x",
        "tool --runtool ./x",
        "tool --to-command ./x",
        "tool --filter ./x",
        "tool --shell ./x",
        "/usr/bin/tool --wrapper=./x",
        "env tool --wrapper ./x",
        "xargs tool --wrapper ./x",
        "python3 -m tool --wrapper ./x",
        "git -c core.pager=./x log",
        "tool --\"$x\" y",
    ];
    let understood: Vec<&str> = runs.into_iter().filter(|text| judged(text).unknown.is_none()).collect();
    assert!(understood.is_empty(), "{understood:#?}");
    let plain = [
        "git log --pretty=oneline",
        "./configure --prefix=/usr --enable-plugins --with-gnu-ld",
        "cp --preserve=all a b",
        "ping --prefer-ipv6 x",
        "cargo test -- --exec x",
        "cargo build --bin x",
        "npm test -- --shell x",
        "pnpm --filter web build",
        "turbo run build --filter=web",
        "phpunit --filter test_x",
        "dotnet test --filter Name~x",
        "docker ps --filter status=exited",
        "rsync -a --filter='- *.o' a b",
        "journalctl --no-pager -n 5",
        "systemctl status x --no-pager",
        "tool --list-plugins",
        "tool --version",
        "tool --help",
        "tool --debug --verbose --run --edit --view --page 2 --project x --process y",
        "shellcheck --shell=bash a.sh",
        "starship completions --shell zsh",
        "pip list --pre",
        "rg --engine pcre2 a",
        "grep -rn -e --pager src",
        "echo --wrapper ./x",
        "grep --color=auto -- --exec a",
        "sha256sum --binary a",
        "diff --binary a b",
        "python3 tool.py --wrapper x",
        "tool -- --wrapper x",
        "psql --command 'select 1'",
        "playwright test --browser=chromium",
        "tool --description x --function-name y --scripts-prepend",
        "tool --commit x --comment y --common",
        "gcc -print-prog-name=ld",
        "curl -sSL --compressed https://example.org",
    ];
    for text in plain {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// Programs that only look at a text, with what they load before; and those that run what a word of theirs names.
#[test]
fn what_is_loaded_beside_a_check_is_not_understood() {
    let runs = [
        "ruby -c -r./x a.rb",
        "perl -c -Mx a.pl",
        "php -l -d extension=./x.so a.php",
        "javac -J-javaagent:x.jar A.java",
        "javac -processor X A.java",
        "jar -J-javaagent:x.jar tf a.jar",
        "rubocop -r ./x",
        "cabal build --with-compiler=./x",
        "cabal build -w ./x",
        "coresched new -- ./x",
        "sbt '!./x'",
    ];
    let understood: Vec<&str> = runs.into_iter().filter(|text| judged(text).unknown.is_none()).collect();
    assert!(understood.is_empty(), "{understood:#?}");
    for text in ["javac -d out A.java", "rubocop -a", "cabal build", "sbt test"] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// By their own names git's programs are what its sub-commands are.
#[test]
fn a_program_of_gits_own_is_the_sub_command() {
    for (text, part, risk) in [
        ("/usr/lib/git-core/git-push o m", "git push o m", Risk::Medium),
        ("git-push --force", "git push --force", Risk::High),
        ("/usr/lib/git-core/git-reset --hard", "git reset --hard", Risk::High),
        ("/usr/libexec/git-core/git-config core.fsmonitor ./x", "git config core.fsmonitor ./x", Risk::High),
        ("git-filter-branch --x", "git filter-branch --x", Risk::High),
        ("/usr/lib/git-core/git-other", "git other", Risk::High),
    ] {
        let reading = judged(text);
        assert!(has_part(&reading, part), "{text}: {:?}", reading.commands);
        assert!(risk <= reading.risk, "{text}: {:?}", reading.risk);
    }
    assert!(!has_part(&judged("git-cliff --latest"), "git cliff --latest"));
}

/// Where a file has the name of such an option, a pattern becomes the option.
#[test]
fn a_pattern_that_finds_a_file_with_the_name_of_an_option_is_not_understood() {
    let with = |name: &str, text: &str| {
        let found = vec![CandidateName { name: name.to_owned(), kind: CandidateKind::Other }];
        let environment = ShellEnvironment {
            directory: Path::new("/w"),
            home: Some(Path::new("/h")),
            roots: &["/w".into()],
            autorun: &[],
            guarded: &[],
            secret: &[],
            resolve: &Path::to_owned,
            entries: &|_| Some(found.clone()),
            is_wanted: &|| true,
        };
        read(text, &environment).unknown
    };
    assert!(with("--wrapper=x", "tool *").is_some());
    assert_eq!(with("a.o", "tool *"), None);
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
