//! What does a login run of what lies in workspaces: the files that links in the home lead to, and the folders of programs?

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    git_programs::is_text,
    home_links::{self, HomeLink},
};
use shell::AutorunPlace;
use sys::guarded::ResolvedPath;

const LINKED: &str = "a link in the home leads there, from where programs take what they run";
const PROGRAMS: &str = "a shell finds its programs there";
const SETTINGS: &str = "programs have their settings there (XDG_CONFIG_HOME)";
const SETTINGS_HOME: &str = "XDG_CONFIG_HOME";

/// The folder that stands for `~/.config` where the environment names another one; none that holds the home. Without links.
/// https://specifications.freedesktop.org/basedir-spec/latest/
fn settings_elsewhere(home: &Path, variable: Option<&OsStr>) -> Option<PathBuf> {
    let named = variable.map(Path::new).filter(|path| path.is_absolute())?;
    let end = ResolvedPath::to(named).end;
    let usual = ResolvedPath::to(&home.join(".config")).end;
    (end != usual && !home.starts_with(&end)).then_some(end)
}

fn own_settings_elsewhere(home: &Path) -> Option<PathBuf> {
    settings_elsewhere(home, std::env::var_os(SETTINGS_HOME).as_deref())
}

/// Finds where links lead whose names in a home begin with a dot, or that lie in the folders of programs there.
pub(super) fn led_to(home: &Path, found: &mut Vec<AutorunPlace>) {
    for HomeLink { path, .. } in home_links::links(home) {
        let ResolvedPath { end, links, .. } = ResolvedPath::to(&path);
        let places = links.into_iter().filter(|link| *link != path).chain([end]);
        found.extend(places.map(|path| AutorunPlace { path, why: LINKED }));
    }
    found.extend(own_settings_elsewhere(home).map(|path| AutorunPlace { path, why: SETTINGS }));
}

/// The names that a folder, without links, has by links below dotted names of a home that lead to it or to a folder around it. Those in folders of
/// a program's folder are left out (`~/.vim/pack/dev/start/x` is a plugin that somebody works on), and those to the home or around it.
/// What stands for `~/.config` has its name, too.
pub(super) fn names_at_home(folder: &Path, home: &Path) -> Vec<PathBuf> {
    named_at_home(folder, home, own_settings_elsewhere(home))
}

fn named_at_home(folder: &Path, home: &Path, settings: Option<PathBuf>) -> Vec<PathBuf> {
    let named = |(path, end): (PathBuf, PathBuf)| {
        let below = folder.strip_prefix(&end).ok().filter(|_| !home.starts_with(&end))?;
        Some(path.components().chain(below.components()).collect())
    };
    let is_in_program = |path: &Path| path.parent().and_then(Path::parent) == Some(home);
    let links = home_links::links(home).into_iter().filter(|it| !it.is_deep || is_in_program(&it.path));
    let ends = links.map(|HomeLink { path, .. }| (path.clone(), ResolvedPath::to(&path).end));
    ends.chain(settings.map(|end| (home.join(".config"), end))).filter_map(named).collect()
}

/// The ones of these that are kept from commands: folders, and files that are texts; what is none is what builds make. So is what is not there
/// yet, unless it may be a program. `is_left`: the link lies where programs write by themselves, or such a place below it; `is_home_in`: the home
/// lies in the workspace, so folders below a name with a dot are kept in another way.
/// Answers the links on the way to them, too.
pub(super) fn kept_ends(
    home: &Path,
    is_left: impl Fn(&Path) -> bool,
    is_home_in: bool,
) -> (Vec<AutorunPlace>, Vec<PathBuf>) {
    let (mut found, mut on_way) = (Vec::new(), Vec::new());
    found.extend(own_settings_elsewhere(home).map(|path| AutorunPlace { path, why: SETTINGS }));
    for HomeLink { path, is_deep } in home_links::links(home).into_iter().filter(|it| !is_left(&it.path)) {
        let ResolvedPath { end, links, id } = ResolvedPath::to(&path);
        let may_be_program = || path.starts_with(home.join(".local"));
        let first = end.strip_prefix(home).ok().and_then(|below| below.iter().next());
        let is_dotted = first.is_some_and(|first| first.as_encoded_bytes().starts_with(b"."));
        let is_kept = match id {
            // What a program fills, maybe: a person's own changes there all the time.
            Some(_) if is_deep && is_home_in && is_dotted && end.is_dir() => false,
            Some(_) => end.is_dir() || is_text(&end),
            None => !may_be_program(),
        };
        if is_kept {
            on_way.extend(links.into_iter().filter(|link| *link != path));
            found.push(AutorunPlace { path: end, why: LINKED });
        }
    }
    (found, on_way)
}

/// The folders in which this daemon finds programs. `path`: its own.
pub(super) fn program_folders(path: Option<&OsStr>) -> Vec<AutorunPlace> {
    let folders = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let mut places: Vec<PathBuf> = folders
        .flat_map(|folder| {
            let ResolvedPath { end, links, .. } = ResolvedPath::to(&folder);
            links.into_iter().chain([end])
        })
        .filter(|place| place.parent().is_some())
        .collect();
    places.sort();
    places.dedup();
    places.into_iter().map(|path| AutorunPlace { path, why: PROGRAMS }).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Places where stow, dotbot and rcm lay links to single files of a repository with dotfiles.
    const OF_DOTFILES: &str = ".bashrc .zshrc .gitconfig .vimrc .tmux.conf .profile .emacs.d/init.el .emacs.d/early-init.el \
        .emacs.d/lisp/me.el .ssh/config .ssh/rc .gnupg/gpg-agent.conf .gnupg/gpg.conf .cargo/config.toml \
        .claude/settings.json .claude/hooks/guard.sh .claude/commands/x.md .claude/CLAUDE.md \
        .claude/agents/a.md .claude/skills/s/SKILL.md .claude/statusline.sh .codex/config.toml \
        .codex/hooks.json .gemini/settings.json .cursor/mcp.json .zsh/aliases.zsh .zsh.d/a.zsh \
        .bashrc.d/10-x.sh .bash.d/x.sh .profile.d/x.sh .oh-my-zsh/custom/aliases.zsh .oh-my-zsh/custom/plugins/me/me.plugin.zsh .oh-my-zsh/custom/themes/me.zsh-theme .config/git/config \
        .config/git/hooks/pre-commit .git-templates/hooks/post-checkout .config/nvim/init.lua \
        .config/nvim/lua/me.lua .config/nvim/lua/plugins/x.lua .config/nvim/plugin/x.vim \
        .config/nvim/after/ftplugin/python.lua .vim/vimrc .vim/plugin/x.vim .vim/autoload/x.vim \
        .vim/ftplugin/python.vim .config/fish/config.fish .config/fish/conf.d/x.fish \
        .config/fish/functions/ll.fish .config/fish/completions/x.fish .config/zsh/.zshrc \
        .config/zsh/aliases.zsh .config/environment.d/x.conf .config/systemd/user/backup.service \
        .config/systemd/user/backup.timer .config/systemd/user/default.target.wants/b.service \
        .config/systemd/user/a.service.d/o.conf .config/autostart/x.desktop .config/autostart-scripts/x.sh \
        .config/plasma-workspace/env/x.sh .config/hypr/hyprland.conf .config/hypr/scripts/x.sh \
        .config/sway/config .config/sway/config.d/x .config/i3/config .config/i3/scripts/x.sh \
        .config/waybar/config .config/waybar/scripts/x.sh .config/polybar/launch.sh .config/bspwm/bspwmrc \
        .config/sxhkd/sxhkdrc .config/kitty/kitty.conf .config/kitty/kittens/x.py \
        .config/alacritty/alacritty.toml .config/wezterm/wezterm.lua .config/starship.toml \
        .config/direnv/direnvrc .config/direnv/lib/x.sh .config/mise/config.toml .config/mise/tasks/x \
        .config/mise/conf.d/x.toml .config/doom/config.el .config/Code/User/settings.json \
        .config/Code/User/tasks.json .config/zed/settings.json .config/helix/languages.toml \
        .config/ranger/rc.conf .config/ranger/commands.py .config/lf/lfrc .config/yazi/init.lua \
        .config/yazi/plugins/x.yazi/init.lua .config/mpv/scripts/x.lua .config/pip/pip.conf \
        .config/powershell/profile.ps1 .config/nushell/config.nu .config/nushell/scripts/x.nu \
        .config/qutebrowser/config.py .config/subagentd/settings.json .config/subagentd/agents/a.md \
        .config/subagentd/policies/p.toml .config/subagentd/hooks/g.sh .config/subagentd/n.sh \
        .local/bin/tool .local/share/applications/x.desktop .local/share/bash-completion/completions/x \
        .local/share/nvim/site/plugin/x.vim .local/share/systemd/user/x.service \
        .local/share/dbus-1/services/x.service .local/share/nautilus/scripts/x .local/share/kservices5/x \
        .local/lib/python3.13/site-packages/x.pth .ipython/profile_default/startup/x.py \
        .jupyter/jupyter_config.py .gradle/init.d/x.gradle .gradle/gradle.properties .m2/settings.xml .npmrc \
        .npm-init.js .hammerspoon/init.lua .xmonad/xmonad.hs .config/awesome/rc.lua .config/qtile/config.py \
        .tmux/plugins.conf .tmux/scripts/x.sh .password-store/.extensions/x.bash .ghci .gdbinit \
        .config/gdb/gdbinit .lldbinit .config/pypoetry/config.toml .config/uv/uv.toml .kube/config \
        .aws/config .docker/config.json .terraformrc .ansible.cfg .ansible/plugins/x.py .psqlrc .inputrc \
        .dircolors .lesskey .mailcap .muttrc .config/neomutt/neomuttrc .config/msmtp/config .mbsyncrc \
        .config/aerc/aerc.conf .weechat/python/autoload/x.py .irssi/scripts/autorun/x.pl .finicky.js \
        .hushlogin .config/tmux/tmux.conf .config/tmux/scripts/x.sh .config/lazygit/config.yml \
        .config/gh/config.yml .config/jj/config.toml .config/bat/config .config/ripgrep/rc \
        .config/k9s/plugins.yaml .config/fontconfig/x .config/containers/systemd/x.container \
        .config/opencode/plugin/x.js .config/opencode/opencode.json .config/goose/config.yaml \
        .aider.conf.yml .continue/config.yaml .pi/agent/settings.json .pi/agent/extensions/x.ts \
        .qwen/settings.json";

    #[test]
    fn a_link_of_dotfiles_is_followed_however_deep_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let of_name = |(n, name): (usize, &str)| (home.join(name), home.join(format!("dotfiles/f{n}")));
        let all: Vec<(PathBuf, PathBuf)> = OF_DOTFILES.split_whitespace().enumerate().map(of_name).collect();
        fs::create_dir(home.join("dotfiles")).unwrap();
        for (link, target) in &all {
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target, link).unwrap();
        }
        let mut found = Vec::new();
        led_to(&home, &mut found);
        let is_found = |target: &PathBuf| found.iter().any(|place| place.path == *target);
        let missed: Vec<&PathBuf> =
            all.iter().filter(|(_, target)| !is_found(target)).map(|(link, _)| link).collect();
        assert!(missed.is_empty(), "{missed:?}");
    }

    #[test]
    fn what_stands_for_the_folder_of_settings_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("cfg/nvim")).unwrap();
        symlink(home.join("cfg"), home.join("by-link")).unwrap();
        let elsewhere = |name: &str| settings_elsewhere(&home, Some(home.join(name).as_os_str()));
        for name in ["cfg", "by-link", "later"] {
            let real = if name == "later" { "later" } else { "cfg" };
            assert_eq!(elsewhere(name), Some(home.join(real)), "{name}");
        }
        for other in [Some(OsStr::new("relative")), Some(home.join(".config").as_os_str()), None] {
            assert_eq!(settings_elsewhere(&home, other), None, "{other:?}");
        }
        for around in [home.as_path(), home.parent().unwrap(), Path::new("/")] {
            assert_eq!(settings_elsewhere(&home, Some(around.as_os_str())), None, "{around:?}");
        }
        assert_eq!(
            named_at_home(&home.join("cfg/nvim"), &home, elsewhere("cfg")),
            [home.join(".config/nvim")]
        );
        assert!(named_at_home(&home.join("other"), &home, elsewhere("cfg")).is_empty());
    }

    #[test]
    fn folders_of_programs_are_found_where_links_of_the_path_lead() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["tools", "real"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        symlink(home.join("real"), home.join("tools/linked")).unwrap();
        let own = format!(
            "{}:/usr/bin:relative:{}",
            home.join("given").display(),
            home.join("tools/linked").display()
        );
        let found = program_folders(Some(OsStr::new(&own)));
        let found: Vec<&Path> =
            found.iter().map(|it| it.path.strip_prefix(&home).unwrap_or(&it.path)).collect();
        for wanted in ["given", "real", "tools/linked", "/usr/bin"] {
            assert!(found.contains(&Path::new(wanted)), "{wanted}: {found:?}");
        }
        assert!(!found.contains(&Path::new("relative")), "{found:?}");
    }

    #[test]
    fn links_below_hidden_names_of_a_home_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["dot/app", "dot/bin", ".config/kitty", ".local/bin"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for (link, target) in [
            (".inputrc", "dot/rc"),
            (".config/app", "dot/app"),
            (".config/kitty/kitty.conf", "dot/kitty"),
            (".local/bin/x", "dot/bin/x"),
            ("plain", "dot/plain"),
        ] {
            symlink(home.join(target), home.join(link)).unwrap();
        }
        let mut found = Vec::new();
        led_to(&home, &mut found);
        let found: Vec<&Path> = found.iter().map(|it| it.path.strip_prefix(&home).unwrap()).collect();
        for wanted in ["dot/rc", "dot/app", "dot/kitty", "dot/bin/x"] {
            assert!(found.contains(&Path::new(wanted)), "{wanted}: {found:?}");
        }
        assert!(!found.contains(&Path::new("dot/plain")), "{found:?}");
        fs::write(home.join("dot/bin/x"), "ELF\0").unwrap();
        symlink(home.join("dot/later"), home.join(".local/bin/y")).unwrap();
        symlink(home.join("dot/store"), home.join(".store")).unwrap();
        let (kept, _) = kept_ends(&home, |path| path.ends_with(".store"), true);
        let kept: Vec<&Path> = kept.iter().map(|it| it.path.strip_prefix(&home).unwrap()).collect();
        for wanted in ["dot/rc", "dot/app", "dot/kitty"] {
            assert!(kept.contains(&Path::new(wanted)), "{wanted}: {kept:?}");
        }
        for other in ["dot/bin/x", "dot/later", "dot/store"] {
            assert!(!kept.contains(&Path::new(other)), "{other}: {kept:?}");
        }
    }
}
