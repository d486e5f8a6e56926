//! Words that turn out to be something else: options, several words, parts of names; and lines that are joined.

use super::*;
use crate::programs::RUNNING_OPTIONS;

fn understood<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    texts.iter().copied().filter(|text| judged(text).unknown.is_none()).collect()
}

/// Neither understood nor said to write somewhere that nobody knows.
fn taken_for_plain<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let is_open = |text: &&str| {
        let reading = judged(text);
        let opens = |access: &ResourceAccess| matches!(access, ResourceAccess::Opaque { .. });
        reading.unknown.is_some() || reading.accesses.iter().any(opens) && reading.risk >= Risk::High
    };
    texts.iter().copied().filter(|text| !is_open(text)).collect()
}

/// Every program with an option that runs something, and a word that may be this option.
#[test]
fn a_quoted_word_and_a_pattern_may_be_the_option_that_runs_something() {
    let mut texts = Vec::new();
    for name in RUNNING_OPTIONS.iter().flat_map(|(names, _)| names.iter()) {
        texts.extend([format!("{name} \"$x\" a"), format!("{name} *"), format!("x=-z; {name} a \"$x\"")]);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(understood(&texts), Vec::<&str>::new());
}

#[test]
fn what_may_be_an_action_an_option_or_a_sub_command_is_not_understood() {
    let texts = [
        "x=-exec; find . \"$x\" zz {} ';'",
        "find . \"$(printf %s -exec)\" zz ';'",
        "for x in -exec; do find . \"$x\" zz ';'; done",
        "find . -exec echo \"$x\" -exec zz ';'",
        "find . -name $x zz ';'",
        "find . -name [-]* zz ';'",
        "find . [-]* zz ';'",
        "find . -exec echo ? -exec zz ';'",
        "git grep \"$x\" a",
        "git grep a *",
        "git ls-remote \"$x\" .",
        "git fetch \"$x\" .",
        "git pull \"$x\" . main",
        "git push \"$x\" . main:x",
        "git clone -q \"$x\" . c",
        "git archive --remote=. \"$x\" HEAD",
        "git rebase \"$x\" --root",
        "git difftool -y \"$x\"",
        "git init \"$x\"",
        "git bisect \"$x\" zz",
        "git submodule \"$x\" zz",
        "git submodule --quiet \"$x\" zz",
        "git worktree \"$x\" ../out",
        "sed -e p \"$x\" f",
        "sed p \"$x\"",
        "sed -n -e p *",
        "sed -e p ?*",
        "sed -e p [-]*",
        ": > ./-e1ezz; sed -e p *",
        "gawk -e 1 \"$x\" f",
        "python3 -m pytest \"$x\"",
        "python3 -Im pytest -p zz",
        "python3 -mpytest -p zz",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    let plain = [
        "find . -name \"$x\"",
        "find src -type f -name '*.rs' -newer \"$x\" -exec grep -l a {} +",
        "find . -name *.rs",
        "git grep -e \"$x\" -- \"$y\"",
        "git fetch origin \"refs/heads/$x\"",
        "git clone -- \"$x\" c",
        "git bisect good \"$x\"",
        "sed -n p -- \"$x\"",
        "sed -n 1,5p ./*",
        "awk '{ print $1 }' \"$x\"",
        "python3 -m pytest -q tests",
        "git log -n \"$x\" -- \"$y\"",
    ];
    for text in plain {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

#[test]
fn what_may_be_an_option_that_names_a_file_writes_anywhere() {
    let texts = [
        "git log \"$x\"",
        "git diff \"$x\" a",
        "git show \"$x\"",
        "git bundle \"$x\" .envrc HEAD",
        "cp \"$x\" f",
        "mv \"$x\" f",
        "ln \"$x\" f",
        "install \"$x\" f",
        "dd if=f \"$x\"",
        "dd if=f of\"$x\"",
        "curl \"$x\" http://h/",
        "shuf \"$x\" f",
        "tree \"$x\"",
        "iconv \"$x\" f",
        "pandoc \"$x\" f",
    ];
    assert_eq!(taken_for_plain(&texts), Vec::<&str>::new());
    assert!(
        judged("git bundle create a HEAD").accesses.contains(&ResourceAccess::Write { path: "/w/a".into() })
    );
}

/// A pattern is one word here and as many as there are files in bash: the command begins elsewhere.
#[test]
fn a_pattern_before_the_command_of_a_wrapper_is_not_understood() {
    let texts = [
        "timeout [5z]* ls",
        "timeout -k 3 [5z]* ls",
        "timeout -k [3z]* 5 ls",
        "nice -n [5z]* ls",
        "nice -n[5z]* ls",
        "env -u [az]* ls",
        "env A=* ls",
        "flock [az]* ls",
        "stdbuf -o [Lz]* ls",
        "xargs -I [az]* ls",
        "xargs -n [az]* ls",
        "timeout $x ls",
        "nice -n $x ls",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    for text in ["timeout 5 ls *", "nice -n 5 ls *", "env -u A ls a*", "xargs -n 1 ls"] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

#[test]
fn a_line_that_is_joined_within_an_operator_or_a_name_is_not_understood() {
    let texts = [
        "cat <<\\\n-EOF\ntext\nEOF\nzz\n-EOF\n",
        "cat <<-EOF\n\\\n\tEOF\nzz\nEOF\n",
        "cat <<-EOF\nx\n\\\n\t\tEOF\nzz\nEOF\n",
        "(\\\n(ls))",
        "((ls)\\\n)",
        "(\\\n\\\n(ls))",
        "echo $(\\\n(ls))",
        "echo \"$(\\\n(ls))\"",
        "echo $(( x\\\ny ))",
        "(( x\\\ny ))",
        "b=abc; echo ${b:x\\\ny}",
        "b[x\\\ny]=1",
        "echo ${b[x\\\ny]}",
        "find . $HOME\\\nX zz ';'",
        "find . \"$HOME\\\nX\" zz ';'",
        "cat <<E\n$HOME\\\nX\nE\n",
        "echo ${IFS\\\n=a}",
        "echo ${IFS:\\\n=a}",
        "cd a &\\\n& rm b",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    for text in
        ["ls \\\n  -l \\\n  a", "ls &&\\\nls", "ls |\\\n  cat", "echo $(\\\nls)", "echo $(( 1 + \\\n 2 ))"]
    {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// Bash joins lines before it reads anything. So wherever a `\` and a line end are put, it is read as before, or not at all.
#[test]
fn a_joined_line_anywhere_changes_nothing_or_is_not_understood() {
    let texts = [
        "git status && rm -rf a b",
        "if [[ -f a || $x -eq 1 ]]; then cat <<< \"$x\" > f; fi",
        "(cd a; (ls)); ((x = 1)) || echo $((y + 2)) >> f 2>&1",
        "for i in a b; do echo \"${i%.*}$HOME\" | tee -a f; done &",
        "f() { echo $1; }; f \"$(cat a)\" <(ls) {a,b}c",
        "cat <<E | sort -o a\nx $HOME y\nE\nls",
        "x=1 y+=2 env A=b make -j4 >& f; while read -r l; do echo $l; done < f",
        "case a in (b|c) ls;; *) rm a;; esac; a[1]=2; ! true",
    ];
    for text in texts {
        let plain = judged(text);
        for at in (1..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let joined = format!("{}\\\n{}", &text[..at], &text[at..]);
            let reading = judged(&joined);
            let words = |reading: &ShellAnalysis| {
                let text = |word: &CommandWord| word.text().replace("\\\n", "");
                let words = |command: &ShellCommand| command.words.iter().map(text).collect::<Vec<_>>();
                reading.commands.iter().map(words).collect::<Vec<_>>()
            };
            let is_alike = words(&reading) == words(&plain)
                && reading.risk >= plain.risk
                && plain.accesses.iter().all(|access| {
                    matches!(access, ResourceAccess::Opaque { .. }) || reading.accesses.contains(access)
                });
            assert!(reading.unknown.is_some() || is_alike, "{joined:?}: {reading:#?}\n{plain:#?}");
        }
    }
}

/// Words that one awk has for a keyword, and another for a name.
#[test]
fn keywords_of_some_awks_before_a_slash_are_not_understood() {
    let texts = [
        "awk 'BEGIN { case / 1; system(\"zz\"); x = 1 / 1 }'",
        "awk 'BEGIN { switch (x) / 1; system(\"zz\"); x = 1 / 1 }'",
        "awk 'BEGIN { func / 1; system(\"zz\"); x = 1 / 1 }'",
        "awk 'BEGIN { default / 1; system(\"zz\"); x = 1 / 1 }'",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    assert_eq!(judged("awk '{ if ($1 ~ /a/) print $2 / 2 }' f").unknown, None);
}

#[test]
fn names_that_are_put_together_and_other_texts_are_not_computed() {
    let texts = [
        "set -- 'a[$(zz)]'; echo ${!1}",
        "set -- 'a[$(zz)]'; echo ${!@}",
        "set -- 'a[$(zz)]'; echo ${!1:-x}",
        "y='a[$(zz)]'; echo $(( ${x:-y} ))",
        "y='a[$(zz)]'; echo $(( ${z/1/y} ))",
        "y='a[$(zz)]'; echo $(( ${z+y} ))",
        "y='a[$(zz)]'; b[${x:-y}]=1",
        "y='a[$(zz)]'; b=abc; echo ${b:${x:-y}}",
        "x1='a[$(zz)]'; echo $(( x${u}1 ))",
        "x1='a[$(zz)]'; echo $(( x\"1\" ))",
        "x1='a[$(zz)]'; echo $(( x$one ))",
        "x1='a[$(zz)]'; echo $(( x$# ))",
        "x0='a[$(zz)]'; (( x$? ))",
        "x0='a[$(zz)]'; b=abc; echo ${b:x$?}",
        "x1='a[$(zz)]'; [[ x${u}1 -eq 0 ]]",
        "x1='a[$(zz)]'; [[ x\"\"1 -eq 0 ]]",
        "xy='a[$(zz)]'; p=x; echo $(( ${p}y ))",
        "x0='a[$(zz)]'; p=x; p+=0; echo $((p))",
        "x0='a[$(zz)]'; declare p=x; declare p+=0; echo $((p))",
        "xy='a[$(zz)]'; p=xyz; echo $(( ${p:0:2} ))",
        "Y='a[$(zz)]'; p=y; echo $(( ${p^} ))",
        "wc() { echo 'a[$(zz)]'; }; x=$(wc -l); echo $((x))",
        "date() { echo 'a[$(zz)]'; }; echo $(( $(date +%s) ))",
        "cd a; echo $(( ${PWD##*/} ))",
        "cd a; echo $(( PWD ))",
        "cd a; echo $(( OLDPWD ))",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    let plain = [
        "x=1; echo $(( x + 10#$x ))",
        "echo $(( ${#a} + $(wc -l) ))",
        "i=0; i=$((i + 1)); echo ${a[$i]} ${a:$i:2}",
        "x=5; echo $(( ${x:-3} * 2 ))",
        "[[ $# -eq 1 && $? -ne 0 ]]",
        "echo $(( $(date +%s) - 10 ))",
    ];
    for text in plain {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

#[test]
fn options_with_one_hyphen_more_and_options_that_are_handed_on_run_something_too() {
    let texts = [
        "openssl req --engine ./e.so",
        "openssl s_client --engine e",
        "openssl list --provider-path . --provider e",
        "openssl req -config f -new",
        "ld --plugin ./e.so f.o",
        "gcc -Wl,-plugin,./e.so f.c",
        "gcc -Wl,--plugin=./e.so f.c",
        "gcc -Xlinker -plugin -Xlinker ./e.so f.c",
        "sqlite3 --init f db x",
        "sqlite3 --cmd x db y",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
}

/// Bash expands braces in the text, before variables and `~`.
#[test]
fn braces_that_make_other_words_than_they_seem_to_are_not_understood() {
    let texts = [
        "find . $HOME{a,b} zz ';'",
        "find . $PWD{a,b} zz ';'",
        "find . {a,$HOME}X zz ';'",
        "find . {a,$}x zz ';'",
        "sed -e p $HOME{1..2}",
        "git fetch $HOME{a,b}",
        "find . ''{}a,-exec} zz ';'",
        "sed -e p ''{}a,-e1ezz} f",
        "git fetch ''{}a,--upload-pack=zz} .",
        "find . a{b,{}-exec} zz ';'",
    ];
    assert_eq!(understood(&texts), Vec::<&str>::new());
    for text in
        ["cat ~/{a,b}", "touch a{b,c{d,e}} {1..3}", "find . -name a -exec cat {} +", "git show HEAD@{1}"]
    {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// `cp -b` keeps what was there, under a name of its own.
#[test]
fn what_a_copy_keeps_is_judged_by_the_name_that_it_gets() {
    let texts = [
        "cp -b -S rc f .env",
        "cp -b --suffix=rc f .env",
        "mv -b -S rc f .env",
        "ln -f -b -S rc f .env",
        "install -b -S rc f .env",
        "patch -b -z rc .env a.patch",
        "cp -b -S rc sub/.env .",
        "cp -b -S rc -t . sub/.env",
        "SIMPLE_BACKUP_SUFFIX=rc cp -b f .env",
    ];
    let plain: Vec<&str> = texts.into_iter().filter(|text| judged(text).risk < Risk::High).collect();
    assert_eq!(plain, Vec::<&str>::new());
    assert_eq!(judged("cp -b -S .bak f a").risk, Risk::Medium);
}
