//! What do start files name, and what of it is kept from commands?

use std::os::unix::fs::symlink;

use super::*;

fn found(home: &Path) -> Vec<String> {
    let below = |place: AutorunPlace| Some(place.path.strip_prefix(home).ok()?.display().to_string());
    named(home).into_iter().filter_map(below).collect()
}

fn write(home: &Path, name: &str, text: &str) {
    fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
    fs::write(home.join(name), text).unwrap();
}

#[test]
fn texts_that_start_files_name_are_kept_and_folders_products_and_what_is_missing_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    write(
        &home,
        ".bashrc",
        ". ~/scripts/lib.sh\nexport GOPATH=~/go\nalias x=~/proj/target/x\n. ~/.more\n. ~/missing\n\
         [ -s \"$HOME/.nvm/nvm.sh\" ] && . \"$HOME/.nvm/nvm.sh\"\n. ~/.cache/wal/colors.sh\nHISTFILE=~/.state/sh/log\n\
         export Z_DATA=\"$HOME/.z\"\nhistory -r ~/.typed_history\nBASH_ENV=~/.tool/env\n",
    );
    write(&home, ".ssh/config", "Host x\n  ProxyCommand ~/tools/px.sh\n  IdentityFile ~/.ssh/key\n");
    let names =
        [".cache/wal/colors.sh", ".more", ".nvm/nvm.sh", ".tool/env", "scripts/lib.sh", "tools/px.sh"];
    for name in names.iter().chain(&[".state/sh/log", ".z", ".typed_history", ".ssh/key"]) {
        write(&home, name, "# a person's\n");
    }
    fs::set_permissions(home.join(".tool/env"), fs::Permissions::from_mode(0o755)).unwrap();
    write(&home, "proj/target/x", "ELF\0");
    fs::create_dir(home.join("go")).unwrap();
    let below = |place: AutorunPlace| place.path.strip_prefix(&home).unwrap().display().to_string();
    let found: Vec<String> = named_texts(&home, &[home.join(".ssh")]).0.into_iter().map(below).collect();
    assert_eq!(found, names);
}

#[test]
fn what_start_files_source_run_or_search_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    write(
        &home,
        ".bashrc",
        "[ -f ~/dot/aliases ] && . ~/dot/aliases\nsource \"$HOME/dot/functions\"\nfor f in ~/dot/rc.d/*.sh; do . \"$f\"; done\n\
         eval \"$(~/sdk/bin/tool env)\"\nexport SDK=$HOME/sdk2\nexport PATH=$PATH:$SDK/bin\nPROMPT_COMMAND=~/prompt/run\n\
         complete -C ~/compl/aws aws\nalias w='cd ~/work'\n# . ~/old\n",
    );
    write(&home, "dot/aliases", "alias ll='~/scripts/ll'\n. ~/dot/more\n");
    write(&home, "dot/more", ". ~/dot/third\n");
    write(&home, "dot/third", ". ~/dot/fourth\n");
    write(&home, "work/x", "");
    write(
        &home,
        ".zshrc",
        "fpath=(~/zfunc $fpath)\nZDOTDIR=~/zd\nexport ZSH=$HOME/omz\nsource $ZSH/omz.sh\n",
    );
    write(&home, "omz/omz.sh", "for f in $ZSH/lib/*.zsh; do source $f; done\n");
    write(&home, ".vimrc", "source ~/vim/x.vim\nset rtp+=~/vimrt\n");
    write(&home, ".tmux.conf", "source-file ~/tmux/x.conf\nrun-shell ~/tmux/y\n");
    write(&home, ".ssh/config", "Include ~/ssh/*.conf\n");
    write(&home, ".config/systemd/user/x.service", "[Service]\nExecStart=/bin/sh %h/svc/run.sh\n");
    write(&home, ".config/autostart/x.desktop", &format!("Exec={}/auto/run.sh\n", home.display()));
    write(&home, ".emacs", "(load \"~/lisp/x.el\")\n");
    write(
        &home,
        ".gitconfig",
        "[alias]\n\tst = !~/git/st\n[core]\n\tpager = ~/git/pager\n[init]\n\ttemplateDir = ~/git/tmpl\n",
    );
    fs::create_dir_all(home.join("vimrt")).unwrap();
    fs::create_dir_all(home.join("git/tmpl/hooks")).unwrap();
    let found = found(&home);
    for wanted in [
        "dot/aliases",
        "dot/functions",
        "dot/rc.d",
        "sdk/bin/tool",
        "sdk2/bin",
        "prompt/run",
        "compl/aws",
        "scripts/ll",
        "dot/more",
        "dot/third",
        "zfunc",
        "zd",
        "omz/omz.sh",
        "omz/lib",
        "vim/x.vim",
        "vimrt",
        "tmux/x.conf",
        "tmux/y",
        "ssh",
        "svc/run.sh",
        "auto/run.sh",
        "lisp/x.el",
        "git/st",
        "git/pager",
        "git/tmpl",
    ] {
        assert!(found.iter().any(|it| it == wanted), "{wanted}: {found:?}");
    }
    for other in ["work", "old", "dot", "", "dot/fourth"] {
        assert!(!found.iter().any(|it| it == other), "{other}: {found:?}");
    }
}

#[test]
fn links_on_the_way_are_found_and_odd_files_end() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    write(&home, ".bashrc", ". ~/near/x\n. $A/y\n. ~/near/x\nA=$B\nB=$A\n. ~/../out\n. ~\n. $HOME/*\n");
    write(&home, "far/x", ". ~/.bashrc\n. ~/near/x\n");
    symlink(home.join("far"), home.join("near")).unwrap();
    assert_eq!(found(&home), [".bashrc", "far/x", "near"]);
}

/// Settings of programs that run what they name by themselves, one at each prompt, one at each turn of an agent.
#[test]
fn files_that_settings_of_any_program_name_are_found_and_folders_and_patterns_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let at = home.display().to_string();
    let status = r#"{"statusLine": {"command": "~/dot/status.sh"}, "hooks": {"Stop": [{"command": "$HOME/dot/stop.sh --x"}]},
        "permissions": {"allow": ["Read(~/work/**)"], "additionalDirectories": ["~/work"], "pluginPath": "~/work"}}"#;
    write(&home, ".claude/settings.json", status);
    write(&home, ".codex/config.toml", &format!("notify = [\"python3\", \"{at}/dot/notify.py\"]\n"));
    write(&home, ".gemini/settings.json", "{\"mcpServers\": {\"x\": {\"command\": \"~/dot/gemini\"}}}");
    write(
        &home,
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"x\": {\"command\": \"uv\",\n\"args\": [\"--directory\",\n\"~/dot\", \"run\", \"srv.py\"]}}}",
    );
    write(&home, ".config/starship.toml", "[custom.x]\ncommand = \"~/dot/prompt\"\n");
    write(&home, ".aws/config", &format!("credential_process = {at}/dot/cred --x\n"));
    write(&home, ".config/Code/User/settings.json", "{\"x.path\": \"~/dot/tool\"}");
    write(&home, ".wezterm.lua", "dofile(os.getenv('HOME') .. '/dot/wez.lua')\n");
    write(&home, ".config/sway/config", "set $d ~/dot\nexec ~/dot/sway.sh\n");
    write(&home, ".config/fish/functions/x.fish", "source ~/dot/f.fish\n");
    write(&home, ".bashrc", "D=~/dot; source $D/d.sh\n");
    write(&home, "dot/status.sh", "#!/bin/sh\n. ~/dot/lib.sh\nexport GOPATH=~/work\n");
    let names = [
        "d.sh",
        "lib.sh",
        "stop.sh",
        "notify.py",
        "gemini",
        "srv.py",
        "prompt",
        "cred",
        "tool",
        "wez.lua",
        "sway.sh",
        "f.fish",
    ];
    names.iter().for_each(|name| write(&home, &format!("dot/{name}"), "# a person's\n"));
    write(&home, "work/x", "");
    let below = |place: AutorunPlace| place.path.strip_prefix(&home).unwrap().display().to_string();
    let kept: Vec<String> = named_texts(&home, &[]).0.into_iter().map(below).collect();
    let found = found(&home);
    for name in names.iter().chain(&["status.sh"]) {
        let name = format!("dot/{name}");
        assert!(found.contains(&name) && kept.contains(&name), "{name}: {found:?} {kept:?}");
    }
    for other in ["work", "dot", "work/x"] {
        assert!(!found.iter().any(|it| it == other), "{other}: {found:?}");
    }
}

/// What a pattern of a start file finds, an agent may have written: it neither fills the list for settings nor hides what stands beside it.
#[test]
fn files_with_thousands_of_names_keep_nothing_else_from_being_found() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    write(&home, ".bashrc", "for f in ~/dot/rc.d/*.sh; do . $f; done\n. ~/dot/own.sh\n");
    for n in 0..20 {
        let lines: String = (0..3_000).map(|line| format!(". ~/dot/z{n}x{line}\n")).collect();
        write(&home, &format!("dot/rc.d/{n}.sh"), &lines);
    }
    write(&home, ".claude/settings.json", r#"{"statusLine": {"command": "~/dot/status.sh"}}"#);
    write(&home, "dot/own.sh", "# a person's\n");
    write(&home, "dot/status.sh", "# a person's\n");
    let below = |place: AutorunPlace| place.path.strip_prefix(&home).unwrap().display().to_string();
    let kept: Vec<String> = named_texts(&home, &[]).0.into_iter().map(below).collect();
    let found = found(&home);
    for name in ["dot/own.sh", "dot/status.sh"] {
        assert!(found.iter().any(|it| it == name) && kept.iter().any(|it| it == name), "{name}: {kept:?}");
    }
}
