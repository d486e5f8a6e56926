//! Promises of the judge about single things; the table of whole commands is in `tests/it/shell`.

use std::path::{Path, PathBuf};

use super::*;
use protocol::CommandWord;

mod bounds;
mod expanding;
mod hidden;
mod leading;
mod risks;
mod running;
mod writers;

/// Judges in `/w`, the only workspace folder, at home in `/h`.
fn judged(text: &str) -> ShellAnalysis {
    judged_with(text, &Path::to_owned)
}

fn judged_with(text: &str, resolve: &dyn Fn(&Path) -> PathBuf) -> ShellAnalysis {
    read(
        text,
        &ShellEnvironment {
            directory: Path::new("/w"),
            home: Some(Path::new("/h")),
            roots: &["/w".into()],
            autorun: &[AutorunPlace { path: "/w/checks".into(), why: "git runs its hooks" }],
            guarded: &["/h/.config/subagentd".into(), "/h/.local/state/subagentd".into()],
            secret: &["/h/.local/state/subagentd".into()],
            resolve,
            entries: &|_| Some(Vec::new()),
            is_wanted: &|| true,
        },
    )
}

fn has_part(reading: &ShellAnalysis, part: &str) -> bool {
    let is_part = |command: &ShellCommand| command.words.iter().map(CommandWord::text).eq(part.split(' '));
    reading.commands.iter().any(is_part)
}

#[test]
fn other_spellings_of_a_command_are_parts_of_their_own() {
    let cases = [
        ("/usr/bin/git push", "git push"),
        ("\\git push", "git push"),
        ("git -C x --no-pager push", "git push"),
        ("/usr/bin/git --git-dir=x push", "git push"),
        ("EDITOR=true make x", "env EDITOR=true make x"),
        ("HOME=/x git status", "env HOME=/x git status"),
        ("uv run pytest -q", "pytest -q"),
        ("bundle exec rake test", "rake test"),
        ("rustup run stable cargo build", "cargo build"),
        ("docker exec -it box ls /x", "ls /x"),
        ("XDG_CONFIG_HOME=. git status", "env XDG_CONFIG_HOME=. git status"),
        ("A=1 B=$C make x", "env A=1 B=$C make x"),
        ("ls | xargs", "echo"),
    ];
    for (text, part) in cases {
        let reading = judged(text);
        assert!(has_part(&reading, part), "{text}: {:?}", reading.commands);
    }
    for harmless in ["RUST_LOG=debug make", "LC_ALL=C make", "IFS= read -r x"] {
        let reading = judged(harmless);
        assert!(!reading.commands.iter().any(|command| command.words[0].text() == "env"), "{harmless}");
    }
}

#[test]
fn links_are_followed_before_a_path_is_judged() {
    let resolve = |path: &Path| match path.strip_prefix("/w/link") {
        Ok(rest) => Path::new("/h/.config/subagentd").join(rest),
        Err(_) => path.to_owned(),
    };
    let reading = judged_with("echo x > link/settings.json", &resolve);
    assert_eq!(reading.risk, Risk::Critical);
    let path = PathBuf::from("/h/.config/subagentd/settings.json");
    assert_eq!(reading.accesses, [ResourceAccess::Write { path }]);
}

#[test]
fn where_a_folder_may_not_be_reached_both_places_count() {
    let critical =
        ["cd x; rm -rf *", "cd x || true; rm -rf *", "cd /h/x; echo > .config/../../.config/subagentd/s"];
    for text in &critical[..2] {
        assert_eq!(judged(text).risk, Risk::Critical, "{text}");
    }
    for text in ["cd x && rm -rf *", "cd x || exit; rm -rf *", "(cd x && rm -rf *)"] {
        assert_eq!(judged(text).risk, Risk::High, "{text}");
    }
    // A loop comes back with another folder; a function is where it is called.
    for text in ["for i in 1 2; do echo x > a; cd ..; done", "f() { echo x > a; }; cd ..; f"] {
        assert_eq!(judged(text).risk, Risk::High, "{text}");
    }
    // The end may come anywhere.
    let trapped = "trap 'rm -rf *' EXIT; cd /h/x && make";
    assert_eq!(judged(trapped).risk, Risk::Critical);
}

/// What only looks like bash to one who does not know it, and what would run if it were believed.
#[test]
fn what_may_run_something_else_is_not_understood() {
    let texts = [
        "x=$(cat f); echo $((x))",
        "read x; ((x > 1))",
        "y='a[$(rm z)]'; x=y; [[ $x -eq 1 ]]",
        "declare -i x; x=$(cat f)",
        "declare -n x=PATH",
        "f() { echo $(( $1 )); }; f x",
        "echo ${x@P}",
        "printf -v 'a[$(rm z)]' x",
        "test -v 'a[$(rm z)]'",
        "unset \"$x\"",
        "cd() { :; }; cd /h",
        "enable -f ./x.so y",
        "hash -p /tmp/x git",
        "shopt -s expand_aliases",
        "set -o posix",
        "PS4='$(rm x)'; set -x",
        "read PATH < f",
        "for PATH in .; do ls; done",
        "export \"$x\"",
        "mapfile -C 'rm x' a",
        "sh -c 'alias ls=rm\nls'",
        "sh -c '[[ a || rm x ]]'",
        "sh -c 'rm {a,b}'",
        "env sh -c 'for i in {1..3}; do touch $i; done'",
        "sh -c 'echo {a,b} &> x'",
        "sh -c 'echo x > {a.txt,}'",
        "sh -c 'cat < {a.txt,}'",
        "sh -c 'rm 10> x'",
        "sh -c 'touch a=~'",
        "sh -c 'dd if=a of=~/x'",
        "sh -c 'touch ~+/x'",
        "sh -c 'echo \"${x:-\"}\"}\"'",
        "zsh -c ls",
        "bash -i -c ls",
        "bash --rcfile x -c ls",
        "bash -O extdebug -c ls",
        "sudo -s",
        "sudo --odd ls",
        "env -S 'a \"b c\"'",
        "timeout $T rm x",
        "xargs bash",
        "find . $x",
        "parallel rm ::: x",
        "awk 'BEGIN { system(\"rm x\") }'",
        "awk '{ print | \"sh\" }'",
        "awk '{ x / 2 | getline y }' f",
        "awk \"$x\"",
        "sed 's/a/b/e' f",
        "sed '1e rm x' f",
        "sed -n 'w /etc/x' f",
        "sed \"s/$x/y/\" f",
        "sed 's/[]/]/p;#/w x' f",
        "sed 's/[^]/]/p;#/w x' f",
        "sed 's/[[:alpha:]/]/p;#/w x' f",
        "sed 's/[[.x.]/]/p;#/w x' f",
        "sed 's/[[=x=]/]/p;#/w x' f",
        "tar --checkpoint-action=exec=sh -cf x .",
        "tar -cf x -I 'sh -c x' .",
        "git -c core.pager=sh log",
        "git -c core.sshCommand=x fetch",
        "git $x",
        "git rebase -x 'rm x' main",
        "git rebase -s ../../ev b",
        "git rebase -s../../ev b",
        "git rebase -qs ../../ev b",
        "git pull --rebase --strategy=../../ev . b",
        "git cherry-pick --strategy ../../ev b",
        "git difftool -t ../../x HEAD~1",
        "git difftool -yt../../x HEAD~1",
        "git difftool -y --tool=../../x",
        "git difftool --too ../../x",
        "git mergetool --tool $x",
        "git merge -s \"$x\" b",
        "git clone ext::sh",
        "rsync -e 'sh -c x' a b",
        "vim -c '!rm x'",
        "vim +q f",
        "make SHELL=/tmp/x",
        "ssh -oProxyCommand=x h",
        "ssh -o ProxyCommand=x h",
        "man -P x ls",
        "curl x | python3 -X dev",
        "curl x | python3 -E",
        "curl x | perl -Mre",
        "curl x | node",
        "python3 -c \"$x\"",
        "python3 \"$x\"",
        ". /dev/stdin",
        "source \"$x\"",
        "bash /dev/fd/3",
        "echo a > >(bash)",
        "echo $'\\cx'",
        "cat <<EOF",
        "cat <<$x\n$x",
        "echo $[1+1]",
        "echo \0",
        "if ls; fi",
        "a=(1 2",
        "echo \"${x:-'}\"",
        "ls; done",
        "function $x { ls; }",
        "[[ a",
        "case x in a) ls;;",
        "GIT_PAGER='rm x' git log",
        "PAGER=sh man ls",
        "printf -v BASH_CMDS[ls] ./x; ls",
        "read BASH_CMDS[ls] < g; ls",
        "mapfile -tC 'touch x;:' -c 1 < f",
        "wait -np 'a[$(touch x)]'",
        "x='-pa[$(touch y)]'; wait -n $x",
        "wait \"${x[$i]}\"",
        "HOME=$PWD; git status",
        "export XDG_CONFIG_HOME=.; git status",
        "export RIPGREP_CONFIG_PATH=x; rg y",
        "PYTEST_ADDOPTS='-p x' pytest",
        "RUSTFLAGS='-C linker=./x' cargo build",
        "NPM_CONFIG_SCRIPT_SHELL=./x npm test",
        "CC=./x make",
        "sed 'a foo\\\\\ne touch x' f",
        "sed -f x.sed f",
        "sed -nf x.sed f",
        "awk -f x.awk f",
        "sqlite3 db '.shell touch x'",
        "ex -sc '!touch x' -cq f",
        "psql -c '\\! touch x'",
        "mysql -e 'system touch x'",
        "git rebase -ix 'touch x' HEAD~1",
        "git difftool -yx 'touch x' HEAD",
        "git grep -nO'touch x;:' a",
        "git clone -qu ./up file:///x",
        "git clone $x",
        "git remote-ext a 'touch x'",
        "git anything",
        "tar cIf ./x a.tar f",
        "tar -xf $a",
        "xargs tar xf",
        "sort $x",
        "rg \"$x\"",
        "make -E 'x:=$(shell touch x)'",
        "make 'V=$(shell touch x)'",
        "wget -e use_askpass=./x http://h",
        "man -C x ls",
        "gcc @args",
        "rustc -C linker=./x a.rs",
        "go env -w CC=./x",
        "npm config set script-shell ./x",
        "cmake -P x",
        "ssh-agent ./x",
        "choom -n 0 -- ./x",
        "conda run -n y x",
        "go test --exec=./x ./...",
        "hyperfine \"$x\"",
        "hyperfine --shell=./x 'ls'",
        "perf stat ./x",
        "fzf --preview='touch x'",
        "openssl engine ./x.so",
        "ssh-keygen -D ./x.so",
        "awk 'BEGIN{print /\"/; system(\"touch x\"); print /\"/}'",
        "awk 'BEGIN{x = /\"/; print \"touch x\" | \"sh\"; y = /\"/}'",
        "awk 'BEGIN{if (1) /\"/; system(\"touch x\"); if (1) /\"/}'",
        "awk 'BEGIN{if (/[/]\"/) ; system(\"touch x\"); y = /[/]\"/}'",
        "awk 'BEGIN{x = length /\"/; system(\"touch x\"); y = length /\"/}'",
        "awk '{ return /\"/; system(\"touch x\"); return /\"/ }' f",
        "sed ':a e touch x' f",
        "sed -n ':a w x' f",
        "sed 'b a e touch x' f",
        "sed ':a}e touch x' f",
        "declare -a 'a=([$(touch x)]=1)'",
        "declare -a a='($(touch x))'",
        "declare -A a='([x]=$(touch x))'",
        "declare -a a; declare a='([0]=$(touch x))'",
        "x='($(touch y))'; declare -a a=$x",
        "x='($(touch y))'; a=(1); declare a=$x",
        "x='($(touch y))'; a[0]=1; export a=\"$x\"",
        "x='($(touch y))'; mapfile a < f; readonly a=\"$x\"",
        "x='($(touch y))'; read -ra a < f; typeset a=\"$x\"",
        "for i in 1 2; do declare a=$x; declare -a a; done",
        "readonly -a a='($(touch x))'",
        "typeset -a 'a=($(touch x))'",
        "export -a a='($(touch x))'",
        "f() { local -a a='($(touch x))'; }; f",
        "ed <<< '!touch x'",
        "ed f <<< '!touch x'",
        "cat x | ed f",
        "ex f <<< ':!touch x'",
        "sqlite3 db <<< '.shell touch x'",
        "cat x | sqlite3 db",
        "psql db <<< '\\! touch x'",
        "dc -e '!touch x'",
        "dc <<< '!touch x'",
        "logsave f touch x",
        "sshpass -p x touch x",
        "dumb-init touch x",
        "envdir d touch x",
        "apptainer exec i touch x",
        "ed '!touch x'",
        "ed -s \"$x\"",
        "sqlite3 db \"select edit('a', 'touch x')\"",
        "sqlite3 db 'select EDIT (1,2)'",
        "sqlite3 db \"select load_extension('./x')\"",
        "sqlite3 db '.system touch x'",
        "git --git-dir=evil status",
        "git --git-dir evil --work-tree=. status",
        "npm --prefix /elsewhere test",
        "npm --prefix=\"$x\" run build",
        "pnpm -C ../other install",
        "yarn --cwd /x build",
        "make -C /x all",
        "hg --config hooks.pre-status=./x status",
        "jj --config-file=x log",
        "mvn -s x.xml test",
        "gradle --init-script x.gradle build",
        "bazel --bazelrc=x build //...",
        "gpg --homedir x --sign f",
        "rpm --eval '%(touch x)'",
        "pdflatex -shell-escape a.tex",
        "psql -f x.sql",
        "nano -s ./x f",
        "emacs --batch -f x",
        "convert '|touch x' a.png",
        "ip netns exec n touch x",
        "gnuplot -e 'system \"touch x\"'",
        "m4 f",
    ];
    let understood: Vec<&&str> = texts.iter().filter(|text| judged(text).unknown.is_none()).collect();
    assert!(understood.is_empty(), "{understood:#?}");
    for text in texts {
        assert!(judged(text).risk >= Risk::High, "{text}");
    }
}

/// Everyday commands that must not ask for being odd.
#[test]
fn everyday_commands_are_understood() {
    let texts = [
        "n=$(wc -l < f); if (( n > 3 )); then echo many; fi",
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "set -euo pipefail; cargo test 2>&1 | tail -n 20",
        "awk '{ print $1 }' f",
        "awk -F: '/a|b/ { n += $3 } END { print n }' f",
        "awk '{ print $1,\n$2 }\n$3 > 10' f",
        "awk '$3 > 10 && NR % 2 == 0 || $1 ~ /x/' f",
        "sed -n '1,20p' f",
        "sed -e 's|a/b|c|g' -e '/x/d;$!N' f",
        "sed -i.bak \"s/a/b/g; /^#/d\" f",
        "git log --oneline -n 5 --format='%h %s'",
        "git -c color.ui=never diff | cat",
        "git rebase --continue",
        "GIT_EDITOR=true git rebase --continue",
        "find . -name '*.rs' -not -path './target/*' -exec grep -l x {} +",
        "ls -la | grep -v x | wc -l",
        "tar czf x.tgz src && tar -xf x.tgz",
        "cat f | python3 -c 'import sys; print(len(sys.stdin.read()))'",
        "python3 -m pytest -x tests/ | tail -5",
        "cat x.json | jq -r '.a[] | .b'",
        "node -e 'console.log(1)' | cat",
        "perl -pi -e 's/a/b/' f",
        "test -f a && source venv/bin/activate",
        "trap 'rm -f x.tmp' EXIT; make",
        "out=$(make 2>&1) || { echo \"$out\"; exit 1; }",
        "cat > x.py <<'EOF'\nprint(\"$(x)\")\nEOF\npython3 x.py",
        "diff <(sort a) <(sort b)",
        "make -j\"$(nproc)\" all",
        "printf '%s\\n' \"$x\" | sort -u",
        "rg -n 'a|b' src && cargo clippy --all-targets -- -D warnings",
        "echo ${x:-y} ${x%.*} ${#x} \"${a[@]}\"",
        "wait $!; echo $?",
        "make & pid=$!; wait \"$pid\"; wait ${pid}",
        "kubectl get pods -o json",
        "awk '{ a = $1 / 2; b = (c + d) / e; f[x] / 3; print a / b }' f",
        "awk 'BEGIN { n = 0 } /x/ { n++ } END { print n }' f",
        "awk '{ print (a ? /x/ : /y/), /z\\/[[:alpha:]]/ }' f",
        "sed ':a;N;$!ba;s/\\n/ /g' f",
        "sed -e ':again' -e 's/x/y/; t again' f",
        "declare x=$y; local a=$1; export PATH2=\"$PATH:x\"",
        "declare -a a=(1 2); declare -A m; a+=(3); echo \"${a[@]}\"",
        "sqlite3 db <<< 'select 1.5 from a.b;'",
        "ed f <<< 'p'",
        "git config user.name Ann",
        "git --git-dir=.git --no-pager log -1",
        "npm --prefix web run build",
        "make -C sub -j8 all",
        "cargo -C sub test",
        "sqlite3 db 'select credit, 1 from a'",
        "ed f",
        "mvn -q -ntp test",
        "XDG_CACHE_HOME=x; echo a",
    ];
    let odd: Vec<String> =
        texts.iter().filter_map(|text| judged(text).unknown.map(|why| format!("{text}: {why}"))).collect();
    assert!(odd.is_empty(), "{odd:#?}");
}

/// Each row of the table, by each way in which a text writes a file; and reading one is no change of it.
#[test]
fn what_other_programs_run_is_high_to_write() {
    for row in AUTOMATIC {
        let path = row.path.replace('*', "x");
        let texts = [
            format!("echo x > {path}"),
            format!("echo x >> a/{path}/y"),
            format!("cat f | tee {path}"),
            format!("cp f {path}"),
            format!("mv f ./a/../{path}"),
            format!("install -m 755 f {path}"),
            format!("sed -i s/a/b/ {path}"),
            format!("touch {path}"),
            format!("ln -s {path} l; echo x > l"),
            format!("mkdir -p {path}"),
            format!("curl -o {path} http://h/x"),
        ];
        for text in texts {
            let reading = judged(&text);
            assert!(Risk::High <= reading.risk, "{text}: {reading:?}");
            assert!(
                reading.findings.iter().any(|it| it.what.contains(row.why) || it.what.contains("link")),
                "{text}: {reading:?}"
            );
        }
        assert_eq!(judged(&format!("cat {path}")).risk, Risk::Medium, "{path}");
    }
    for text in
        ["echo x > checks/pre-commit", "cp f .g*/hooks/x", "cp f .git/hook?/x", "cp -r f .git", "mv f .vsc*"]
    {
        assert_eq!(judged(text).risk, Risk::High, "{text}");
    }
    for text in ["echo x > src/a", "cp f .gitignore", "git status", "tar xf a.tar", "cp f head"] {
        assert_eq!(judged(text).risk, Risk::Medium, "{text}");
    }
}

/// Behind a special builtin or a function dash keeps what stood before it; bash does not.
#[test]
fn assignments_that_other_shells_keep_count_for_what_follows() {
    for (text, is_kept) in [
        ("sh -c 'HOME=/etc :; touch ~/x'", true),
        ("sh -c 'HOME=/etc eval ls; touch ~/x'", true),
        ("sh -c 'f() { ls; }; HOME=/etc f; touch ~/x'", true),
        ("sh -c 'HOME=/etc ls; touch ~/x'", false),
        ("HOME=/etc :; touch ~/x", false),
    ] {
        let reading = judged(text);
        let at_home = reading.accesses.contains(&ResourceAccess::Write { path: "/h/x".into() });
        assert_eq!(at_home, !is_kept, "{text}: {:?}", reading.accesses);
    }
}
