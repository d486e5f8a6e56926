//! A home that is the workspace: whatever programs take from it by themselves is no edit like others, nobody makes what will be taken for
//! a key of the person's, and the daemon's settings are read by no tool (spec 11, "Files that other programs run by themselves").

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
};

use serde_json::{Value, json};

use crate::process::{Home, Wire};

const WRITER: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// A daemon of such a home, and who asks it.
struct Asking {
    wire: Wire,
    workspace: String,
}

impl Asking {
    async fn risk(&mut self, tool: &str, arguments: Value) -> String {
        let params =
            json!({ "tool": tool, "arguments": arguments, "workspace": self.workspace, "agent": "writer" });
        let checked = self.wire.request("policy/check", params).await.unwrap();
        checked["result"]["risk"].as_str().unwrap_or_else(|| panic!("{arguments}: {checked}")).to_owned()
    }

    /// Asks about a tool, and about commands that name it.
    async fn risks(&mut self, path: &str) -> Vec<String> {
        let name = path.rsplit('/').next().unwrap();
        let folder = path.strip_suffix(name).unwrap().trim_end_matches('/');
        let folder = if folder.is_empty() { "." } else { folder };
        let mut risks = vec![self.risk("write_file", json!({ "path": path, "content": "x" })).await];
        for command in
            [format!("echo x > {path}"), format!("cp other/{name} {folder}/"), format!("mv f {path}")]
        {
            risks.push(self.risk("run_shell_command", json!({ "command": command })).await);
        }
        risks
    }
}

async fn asking(home: &Home, workspace: &str) -> Asking {
    Asking { wire: home.connect().await, workspace: home.path(workspace).to_str().unwrap().to_owned() }
}

fn home() -> Home {
    let home = Home::new();
    fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
    fs::create_dir_all(home.path("other")).unwrap();
    home
}

/// Some of each family that hostile readers found by trying 367 names, and names that nobody has thought of.
const TAKEN_BY_PROGRAMS: &[&str] = &[
    ".bashrc.d/a.sh",
    ".zshrc.local",
    ".oh-my-zsh/custom/a.zsh",
    ".local/share/zsh/site-functions/_a",
    ".local/share/fish/vendor_conf.d/a.fish",
    ".config/starship.toml",
    ".config/readline/inputrc",
    ".config/containers/systemd/a.container",
    ".local/share/gnome-shell/extensions/a/extension.js",
    ".config/bspwm/bspwmrc",
    ".fluxbox/startup",
    ".forward",
    ".mailcap",
    ".wezterm.lua",
    ".config/kitty/kitty.conf",
    ".emacs.el",
    ".config/micro/init.lua",
    ".config/mpv/scripts/a.lua",
    ".gnuplot",
    ".jupyter/jupyter_server_config.py",
    ".curlrc",
    ".gradle/init.d/a.gradle",
    ".m2/settings.xml",
    ".lein/profiles.clj",
    ".config/pip/pip.conf",
    ".terraformrc",
    ".docker/cli-plugins/a",
    ".config/Cursor/User/settings.json",
    ".amp/a.json",
    ".local/state/nix/profiles/profile/bin/ls",
    ".cache/p10k-instant-prompt-me.zsh",
    ".a-product-of-tomorrow/run",
    ".config/a-product-of-tomorrow/run",
];

#[tokio::test]
async fn what_programs_take_from_a_home_is_high_to_write() {
    let home = home();
    let served = home.start().await;
    let mut asking = asking(&home, "").await;
    for path in TAKEN_BY_PROGRAMS {
        assert_eq!(asking.risks(path).await, ["high"; 4], "{path}");
    }
    for pattern in [".conf*/kitty/kitty.conf", ".z*", "./.inputr?"] {
        let command = format!("tee {pattern}");
        assert_eq!(
            asking.risk("run_shell_command", json!({ "command": command })).await,
            "high",
            "{pattern}"
        );
    }
    for path in ["src/main.rs", ".gitignore", "notes/.hidden", ".local/share/Trash/files/a"] {
        assert_eq!(asking.risks(path).await, ["low", "medium", "medium", "medium"], "{path}");
    }
    drop(asking);
    served.stop().await;
}

/// The daemon's own, and what a login would have by the files that say so.
#[tokio::test]
async fn folders_in_which_programs_are_found_are_high_to_write() {
    let home = home();
    fs::create_dir_all(home.path("real-bin")).unwrap();
    symlink(home.path("real-bin"), home.path("linked-bin")).unwrap();
    fs::write(home.path(".profile"), "PATH=\"$HOME/login-bin:$PATH\"\n").unwrap();
    let path = format!(
        "{}:{}:{}",
        home.path("own-bin").display(),
        home.path("linked-bin").display(),
        std::env::var("PATH").unwrap()
    );
    let served = home.start_with(&[("PATH", &path)]).await;
    let mut asking = asking(&home, "").await;
    for path in ["own-bin/ls", "real-bin/ls", "linked-bin/ls", "login-bin/ls"] {
        let risks = asking.risks(path).await;
        assert_eq!(risks, ["high"; 4], "{path}");
    }
    assert_eq!(asking.risks("bin/ls").await, ["low", "medium", "medium", "medium"]);
    // A workspace that is such a folder.
    asking.workspace = home.path("own-bin").to_str().unwrap().to_owned();
    fs::create_dir_all(home.path("own-bin")).unwrap();
    assert_eq!(asking.risk("write_file", json!({ "path": "ls", "content": "x" })).await, "high");
    drop(asking);
    served.stop().await;
}

/// A link in the home may lead there, as programs lay them that keep dotfiles in a repository, which is the workspace.
#[tokio::test]
async fn what_links_of_a_home_lead_to_is_high_to_write() {
    let home = home();
    for (link, target) in
        [(".inputrc", "work/rc"), (".config/kitty/kitty.conf", "work/kitty"), (".config/app", "work/app")]
    {
        fs::create_dir_all(home.path(link).parent().unwrap()).unwrap();
        symlink(home.path(target), home.path(link)).unwrap();
    }
    fs::create_dir_all(home.path("work/app")).unwrap();
    let served = home.start().await;
    let mut asking = asking(&home, "work").await;
    for path in ["rc", "kitty", "app/run"] {
        assert_eq!(
            asking.risk("write_file", json!({ "path": path, "content": "x" })).await,
            "high",
            "{path}"
        );
    }
    assert_eq!(asking.risk("write_file", json!({ "path": "plain", "content": "x" })).await, "low");
    drop(asking);
    served.stop().await;
}

/// Places that no tool reads while they are there: `credential_process`, `exec` and `credHelpers` run programs.
#[tokio::test]
async fn keys_that_are_not_there_yet_are_high_to_make_and_the_settings_are_read_by_no_tool() {
    let home = home();
    fs::write(home.path("config/subagentd/settings.json"), r#"{"shutdown":{"graceSeconds":0}}"#).unwrap();
    let served = home.start().await;
    let mut asking = asking(&home, "").await;
    for path in
        [".pgpass", ".config/gh/hosts.yml", ".aws/config", ".kube/config", ".docker/config.json", ".netrc"]
    {
        assert_eq!(asking.risks(path).await, ["high"; 4], "{path}");
    }
    let read = json!({ "path": "config/subagentd/settings.json" });
    let params =
        json!({ "tool": "read_file", "arguments": read, "workspace": asking.workspace, "agent": "writer" });
    let checked = asking.wire.request("policy/check", params).await.unwrap();
    let said = checked.to_string();
    assert!(
        said.contains("PERMISSION_DENIED") || said.contains("closed") || said.contains("no tool"),
        "{said}"
    );
    drop(asking);
    served.stop().await;
}

/// Programs of the person's run what lies in such a folder, and nothing that a script writes there could be told from that.
#[tokio::test]
async fn commands_only_read_in_a_folder_of_settings_and_say_why() {
    let home = home();
    let rules = home.path("config/subagentd/policies");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
    let served = home.start().await;
    let words =
        ["tools", "call", "run_shell_command", "--args", "command=cat a.sh; echo x >> a.sh; echo y > new"];
    let folders = [
        (".bashrc.d", false),
        (".vim/plugin", false),
        (".config", false),
        (".dotfiles", true),
        ("work", true),
    ];
    for (folder, is_written) in folders {
        let folder = home.path(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a.sh"), "theirs\n").unwrap();
        let called = home.companion(&words).current_dir(&folder).output().await.unwrap();
        let said = [called.stdout, called.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("theirs"), "{}: {said}", folder.display());
        assert_eq!(said.contains("is not written by commands"), !is_written, "{}: {said}", folder.display());
        assert_eq!(folder.join("new").exists(), is_written, "{}: {said}", folder.display());
        let text = fs::read_to_string(folder.join("a.sh")).unwrap();
        assert_eq!(text == "theirs\n", !is_written, "{}", folder.display());
    }
    served.stop().await;
}

/// A repository of dotfiles that was laid out with `ln`: what is written there is what the next shell reads.
#[tokio::test]
async fn what_a_script_writes_to_a_start_file_by_its_second_name_is_taken_back() {
    let programs = tempfile::tempdir().unwrap();
    for folder in ["/usr/bin", "/bin"] {
        for program in fs::read_dir(folder).unwrap().flatten().filter(|it| it.file_name() != "bwrap") {
            // Some are there twice.
            let _linked = symlink(program.path(), programs.path().join(program.file_name()));
        }
    }
    let path = std::env::var("PATH").unwrap();
    for path in [path.as_str(), programs.path().to_str().unwrap()] {
        let home = home();
        let rules = home.path("config/subagentd/policies");
        fs::create_dir_all(&rules).unwrap();
        fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
        let dots = home.path("dotfiles");
        fs::create_dir_all(dots.join("shell")).unwrap();
        let files = [
            (".bashrc", "bashrc"),
            (".profile", "moved"),
            (".zshrc", "replaced"),
            (".tmux.conf", "shell/tmux"),
            (".inputrc", "named"),
        ];
        for (own, second) in files {
            fs::write(home.path(own), format!("{own}\n")).unwrap();
            fs::hard_link(home.path(own), dots.join(second)).unwrap();
        }
        fs::write(
            dots.join("s.sh"),
            "echo evil >> bashrc; echo evil >> moved; mv moved elsewhere; echo evil >> replaced; rm replaced; echo x > replaced; \
             echo evil >> shell/tmux; chmod 000 shell/tmux",
        )
        .unwrap();
        let served = home.start_with(&[("PATH", path)]).await;
        let mut said = String::new();
        for command in ["mkdir -p shell; sh s.sh", "echo wanted >> named"] {
            let words = ["tools", "call", "run_shell_command", "--args", &format!("command={command}")];
            let called = home.companion(&words).current_dir(&dots).output().await.unwrap();
            said += &String::from_utf8_lossy(&[called.stdout, called.stderr].concat());
        }
        for (own, _) in &files[..4] {
            assert_eq!(fs::read_to_string(home.path(own)).unwrap(), format!("{own}\n"), "{path}: {said}");
        }
        let named = fs::read_to_string(home.path(".inputrc")).unwrap();
        assert_eq!(named, ".inputrc\nwanted\n", "{path}: {said}");
        // Still one file.
        assert!(fs::metadata(home.path(".bashrc")).unwrap().nlink() == 2, "{path}: {said}");
        served.stop().await;
    }
}
