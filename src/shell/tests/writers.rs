//! Programs that write where they are told to, by whatever option or place among the words.

use super::*;

fn written(text: &str) -> Vec<String> {
    let written = |access: ResourceAccess| match access {
        ResourceAccess::Write { path } => Some(path.to_str().unwrap().to_owned()),
        _ => None,
    };
    judged(text).accesses.into_iter().filter_map(written).collect()
}

#[test]
fn files_that_options_and_last_words_name_are_written() {
    let cases = [
        ("sort -o a b", "/w/a"),
        ("sort -uoa b", "/w/a"),
        ("sort --outp=a b", "/w/a"),
        ("uniq a b", "/w/b"),
        ("uniq -c -f 2 a b", "/w/b"),
        ("xxd -r a b", "/w/b"),
        ("less -oa b", "/w/a"),
        ("less --log-file=a b", "/w/a"),
        ("tree -o a", "/w/a"),
        ("iconv -f latin1 -o a b", "/w/a"),
        ("split -b 10 a b", "/w/b"),
        ("patch a b.patch", "/w/a"),
        ("patch -o a < b.patch", "/w/a"),
        ("gcc -O2 -o a b.c", "/w/a"),
        ("openssl genrsa -out a 2048", "/w/a"),
        ("zip -r a.zip b", "/w/a.zip"),
        ("tar czf a.tgz b", "/w/a.tgz"),
        ("tar --create --file a.tar b", "/w/a.tar"),
        ("tar -C a -xf b.tar", "/w/a"),
        ("tar xfC b.tar a", "/w/a"),
        ("unzip -d a b.zip", "/w/a"),
        ("unzip -qd a b.zip", "/w/a"),
        ("rsync -a --exclude x a/ b/", "/w/b"),
        ("wget -P a http://h/", "/w/a"),
        ("git log --output=a", "/w/a"),
        ("git diff --outp=a", "/w/a"),
        ("git clone http://h/a.git b", "/w/b"),
        ("git worktree add a", "/w/a"),
        ("git -C src blame --output=a b", "/w/a"),
        ("git format-patch HEAD~2", "/w"),
        ("sed -i.bak s/a/b/ a", "/w/a.bak"),
    ];
    for (text, path) in cases {
        assert!(written(text).contains(&path.to_owned()), "{text}: {:?}", judged(text));
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

#[test]
fn what_only_reads_writes_nothing() {
    for text in [
        "sort a b",
        "sort -k 2 -t o a",
        "uniq a",
        "tar tf a.tar",
        "tar xf a.tar",
        "unzip -l a.zip",
        "less a",
        "rsync a h:b",
        "patch -p1 < a.patch",
        "openssl x509 -in a -noout",
        "split a",
        "git log --oneline a",
    ] {
        assert!(written(text).is_empty(), "{text}: {:?}", judged(text).accesses);
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

#[test]
fn what_they_write_outside_of_the_workspace_is_high() {
    for text in [
        "sort -o /tmp/x a",
        "uniq a ../b",
        "tar -C /opt -xf a.tar",
        "tar -xPf a.tar",
        "cd /tmp && tar xf /w/a.tar",
        "scp h:a /opt/b",
        "unzip -d /opt a.zip",
        "rsync -a a/ /opt/",
        "cp -r a /opt",
        "cd src; git blame --output=../x a",
        "git -C src shortlog --output ../x HEAD",
        "sed -i.bak s/a/b/ ../x",
        "sed -irc s/a/b/ .bash",
        "sed -i'/opt/*' s/a/b/ x",
        "sed -i\"$x\" s/a/b/ x",
        "curl --etag-save ~/x http://h",
        "curl --libcurl ~/x http://h",
        "curl -w '%output{/h/x}' http://h",
        "wget --save-cookies ~/x http://h",
        "cd /opt && git stash pop",
        "git -C /opt clone http://h/a b",
        "git clone http://h/a /opt/b",
    ] {
        assert!(judged(text).risk >= Risk::High, "{text}: {:?}", judged(text));
    }
}

#[test]
fn nothing_of_the_daemon_is_written_by_them() {
    for text in [
        "sort -o /h/.config/subagentd/policies/x.toml a",
        "sort --output=/h/.config/subagentd/settings.json a",
        "less -o/h/.config/subagentd/x a",
        "tree -o ~/.config/subagentd/x",
        "uniq a ~/.config/subagentd/x",
        "tar -C ~/.config -xf a.tar",
        "tar -xf a.tar -C ~",
        "cd ~; tar xf a.tar",
        "unzip -d ~ a.zip",
        "sed -i\"$HOME/.config/subagentd/policies/*\" s/a/a/ evil.toml",
        "sed --in-place='/h/.config/subagentd/*' s/a/a/ evil.toml",
        "gawk -o.config/subagentd/x -f y; cd ~; gawk -o.config/subagentd/x 1 f",
        "git -C ~/.config apply x",
        "git -C ~ checkout -f X",
        "git --work-tree=$HOME checkout .",
        "cd ~/.config && git checkout X -- .",
        "cd ~/.config; patch -p1 < x",
        "cp -r z/. ~/.config",
        "cp -r subagentd ~/.config/",
        "cp -rT z ~/.config",
        "cp -a $x ~/.config",
        "rsync -a z/ ~/.config/",
    ] {
        assert_eq!(judged(text).risk, Risk::Critical, "{text}: {:?}", judged(text).findings);
    }
    // Nothing of it has such a name.
    let text = "cp -r src ~/.config/";
    assert_eq!(judged(text).risk, Risk::High, "{text}: {:?}", judged(text).findings);
}

#[test]
fn a_search_opens_no_secret_for_others() {
    for text in [
        "find ~ -name token -exec cat {} +",
        "find ~ -name 't*' -exec cat {} +",
        "find / -type f -exec grep -l x {} \\;",
        "find ~ -name x -o -name token -exec cat {} +",
        "find ~ ! -name x -exec cat {} +",
        "find ~/.local -type f | xargs cat",
        "find ~ -name subagentd -print0 | xargs -0 tar cf x.tar",
        "find ~ -name \"$x\" -exec cat {} +",
        "grep -d recurse . ~",
        "grep --dir=recurse . ~",
        "git grep --no-index . ~",
        "shopt -s globstar; cat ~/**/token",
        "echo ~/.local/state/subagentd/token | xargs cat",
        "env -C ~/.local/state cat subagentd/token",
        "x=~; cat $x/.local/state/subagentd/token",
        "cat /proc/1/root/h/.local/state/subagentd/token",
    ] {
        assert_eq!(judged(text).risk, Risk::Critical, "{text}: {:?}", judged(text).findings);
    }
    for text in ["find ~ -name '*.rs' -exec wc -l {} +", "find . -type f | xargs cat", "find ~ -name token"] {
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

#[test]
fn the_folder_with_what_agents_may_do_is_changed_by_nobody_without_being_told() {
    for text in [
        "sort -o .subagentd/policies/x.toml a",
        "split a .subagentd/x",
        "csplit -f .en -b 'vrc%.0d' a 2",
        "split -a1 a .bashr",
        "split --additional-suffix=rc a .git/hooks/x",
        "uniq a .subagentd/x",
        "iconv -o .subagentd/x a",
        "git log --output=.subagentd/x",
        "git checkout main -- .subagentd",
        "git restore .subagentd/agents",
        "tar -xf a.tar -C .subagentd",
        "unzip -d .subagentd a.zip",
        "patch .subagentd/x a.patch",
        "rsync -a z/ .subagentd/",
        "openssl rand -out .subagentd/x 9",
        "gcc -o.subagentd/x a.c",
        "anything .subagentd/x",
        "anything --to=.subagentd/x",
        "anything .sub*/x",
        "echo x > .sub*/policies/x.toml",
        "cp x .sub*/policies/",
        "tee .[s]ubagentd/x",
        "rm .sub*/policies/strict.toml",
        "cd .subagentd && make",
    ] {
        assert!(judged(text).risk >= Risk::High, "{text}: {:?}", judged(text));
    }
    for text in ["cat .subagentd/x", "git add .subagentd", "git diff .subagentd/x", "ls -la .subagentd"] {
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

#[test]
fn links_that_the_text_makes_itself_are_followed() {
    for text in [
        "ln -s .subagentd/policies q; echo x > q/x.toml",
        "ln -s ~ q; echo x > q/.bashrc",
        "ln -s .. q && tee q/x < a",
        "ln -s ../.. sub/q && tee sub/q/x < a",
        "ln -s \"$x\" q; cp a q/b",
        "ln -s /opt sub; mv sub other; touch other/x",
        "mkdir d; ln -s /opt -t d; touch d/opt/x",
        "ln -s /opt/x; touch x",
    ] {
        assert!(judged(text).risk >= Risk::High, "{text}: {:?}", judged(text));
    }
    for text in ["ln -s ../lib.so lib.so", "ln -s src q; touch q/x", "ln -s ../x y; touch z"] {
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

/// A hard link is the file itself, and a symbolic one leads there.
#[test]
fn what_is_written_by_the_name_of_a_link_of_the_text_is_told_of_where_it_leads() {
    for text in [
        "ln -f a.txt z; echo x > z",
        "ln -s a.txt z && tee z < b",
        "for i in 1 2; do ls >> z; ln -f a.txt z; cd sub; done",
        "ln a.txt z; mv z y; echo x >> y",
    ] {
        let told = ResourceAccess::Write { path: "/w/a.txt".into() };
        assert!(judged(text).accesses.contains(&told), "{text}: {:?}", judged(text).accesses);
    }
    let told = judged("ln -s a.txt z; rm z").accesses;
    assert!(!told.contains(&ResourceAccess::Write { path: "/w/a.txt".into() }), "{told:?}");
}

/// Whatever program it is, and however its option is written.
#[test]
fn whatever_names_a_file_that_others_run_may_write_it() {
    let texts = [
        "coverage html -d .vscode",
        "gcc -Wl,-o,.envrc a.c",
        "mkfifo .git/hooks/pre-commit",
        "sponge .envrc",
        "git mv a .envrc",
        "git checkout-index --prefix=.vscode/ -a",
        "git config -f .envrc user.name x",
        "psql -o .envrc",
        "7z x -o.vscode a.7z",
        "some-tool --out=.git/config",
        "some-tool --write:.envrc",
        "pytest --debug .envrc",
        "awk 'BEGIN{print \"a\" > \".envrc\"}'",
        // A statement that goes on in the next line.
        "awk 'BEGIN{print \"a\",\n\"b\" > \".envrc\"}'",
        "awk 'BEGIN{print \"a\", # x\n\n \"b\" > \".envrc\"}'",
        "awk 'BEGIN{print (\"a\",\n\"b\") > \".envrc\"}'",
        "awk 'BEGIN{print 1 &&\n2 > \".envrc\"}'",
    ];
    for text in texts {
        assert!(Risk::High <= judged(text).risk, "{text}: {:?}", judged(text));
    }
    let reads = [
        "cat .envrc",
        "grep x .vscode/settings.json",
        "git add .envrc",
        "git log -- .envrc",
        "awk '{print}' .envrc",
    ];
    for text in reads.into_iter().chain(["git rebase HEAD", "some-tool HEAD", "some-tool a.txt", "eslint *"])
    {
        assert!(judged(text).risk < Risk::High, "{text}: {:?}", judged(text));
    }
}

/// A value of an option of `git config` is no setting.
#[test]
fn no_word_hides_the_setting_that_git_is_given() {
    let sets = [
        "git config --comment user.name core.fsmonitor x",
        "git config set --comment user.name core.fsmonitor x",
        "git config --comm user.name core.fsmonitor x",
        "git config --value user.name set core.fsmonitor x",
        "git config --default user.name core.fsmonitor x",
        "git config --file user.name core.fsmonitor x",
        "git config -f user.name core.fsmonitor x",
        "git config --value=user.name set core.fsmonitor x",
    ];
    for text in sets {
        assert!(Risk::High <= judged(text).risk, "{text}: {:?}", judged(text));
    }
    let plain = [
        "git config user.name Ann",
        "git config --global user.email a@b.c",
        "git config set user.name x",
        "git config --type=bool pull.rebase true",
    ];
    for text in plain {
        assert!(judged(text).risk < Risk::High, "{text}: {:?}", judged(text));
    }
}

/// A copy into a folder has the name of its source there.
#[test]
fn what_lands_in_a_folder_is_judged_by_the_name_that_it_has_there() {
    let texts = [
        "cp dir/.envrc .",
        "cp dir/.envrc sub/",
        "cp dir/.envrc \"$x\"/",
        "install dir/.envrc .",
        "ln dir/.envrc .",
        "ln -s dir/.envrc .",
        "cp -t . dir/.envrc",
        "cp a dir/.envrc sub",
        "cp dir/.env* .",
        "cp --parents dir/.envrc sub",
        "cp --parents .vscode/tasks.json sub",
        "cd dir && cp .envrc ..",
        "mkdir sub; cp dir/.envrc sub",
        "mv dir/.envrc sub/",
        "mv dir/.vscode .",
        "find dir -name .envrc -exec cp {} . \\;",
        "find dir -name '.env*' -exec cp -t . {} +",
        "find dir -iname .ENVRC -exec /bin/mv {} sub \\;",
        "find dir -name checks -exec cp -r {} . \\;",
        "cp -r other/checks .",
    ];
    for text in texts {
        assert!(protocol::Risk::High <= judged(text).risk, "{text}: {:?}", judged(text));
    }
    for text in [
        "cp dir/a .",
        "cp dir/.envrc backup",
        "cp dir/* .",
        "find . -name a -exec cp {} sub \\;",
        "find . -name .envrc -exec cat {} +",
    ] {
        assert_eq!(judged(text).risk, protocol::Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

/// Nobody has a list, in a home as workspace, of what programs take.
#[test]
fn what_programs_take_from_a_home_is_high_by_every_way_of_writing() {
    let at_home = |text: &str| {
        read(
            text,
            &ShellEnvironment {
                directory: Path::new("/h"),
                home: Some(Path::new("/h")),
                roots: &["/h".into()],
                autorun: &[],
                guarded: &[],
                secret: &[],
                resolve: &Path::to_owned,
                entries: &|_| Some(Vec::new()),
                is_wanted: &|| true,
            },
        )
    };
    for text in [
        "echo x > .new-product/run",
        "cp f ~/.config/x/y",
        "cp dir/.new .",
        "tee .ne*",
        "mv .config c",
        "sed -i s/a/b/ $HOME/.lo*/x",
        "touch ./src/../.zlogin.local",
        "rm -r .config/x",
        "git config --file .new/x a.b c",
    ] {
        assert!(protocol::Risk::High <= at_home(text).risk, "{text}: {:?}", at_home(text));
    }
    for text in ["echo x > src/.a", "cp f notes/", "cat .bashrc", "tee .gitignore"] {
        assert_eq!(at_home(text).risk, protocol::Risk::Medium, "{text}: {:?}", at_home(text));
    }
}
