//! The table of files and folders that other programs run by themselves, with their sources.

use super::AutorunPath;

mod agents;
mod version_control;

pub(super) use agents::AGENT_SETTINGS;
pub use version_control::{GIT_CONFIG, GIT_HOOKS};

const fn row(path: &'static str, why: &'static str, source: &'static str) -> AutorunPath {
    AutorunPath { path, why, source, is_kept: false }
}

/// A row of what no build, package manager or version manager writes by itself: settings that people write, of editors, agents' products, hooks and
/// shells.
const fn kept(path: &'static str, why: &'static str, source: &'static str) -> AutorunPath {
    AutorunPath { path, why, source, is_kept: true }
}

const PYTHON_START: &str = "Python runs its lines when it starts, where its packages lie";
const MISE: &str = "mise runs its hooks in the shell that enters the folder";
const EDITOR_TASKS: &str =
    "an editor runs its tasks and takes its programs from there when it opens the folder";
const SHELL_START: &str = "a shell runs it when it starts";
const DESKTOP_START: &str = "the session runs it at the login";
const TOOLCHAIN: &str = "builds, and editors that look into them, take programs from there";
const TERMINAL_START: &str = "a terminal runs what it says when it starts, or when a key is pressed";
const OPENED: &str = "an editor, or its helper for a language, runs or evaluates it when it opens the folder";

/// All of them. Products' pages as they stood in 2026.
pub const AUTOMATIC: &[AutorunPath] = &joined::<
    { version_control::ROWS.len() + ROWS.len() + agents::ROWS.len() },
>([version_control::ROWS, ROWS, agents::ROWS]);

/// The rows of all parts, in their order.
const fn joined<const N: usize>(parts: [&[AutorunPath]; 3]) -> [AutorunPath; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut at, mut next) = (0, 0, 0);
    while next < N {
        if at < parts[part].len() {
            all[next] = parts[part][at];
            at += 1;
            next += 1;
        } else {
            part += 1;
            at = 0;
        }
    }
    all
}

const ROWS: &[AutorunPath] = &[
    kept(".vscode", EDITOR_TASKS, "https://code.visualstudio.com/docs/debugtest/tasks"),
    kept(
        "*.code-workspace",
        EDITOR_TASKS,
        "https://code.visualstudio.com/docs/editing/workspaces/workspaces",
    ),
    kept(
        ".vs",
        EDITOR_TASKS,
        "https://learn.microsoft.com/visualstudio/ide/customize-build-and-debug-tasks-in-visual-studio",
    ),
    kept(".idea", EDITOR_TASKS, "https://www.jetbrains.com/help/idea/settings-tools-startup-tasks.html"),
    kept(".run", EDITOR_TASKS, "https://www.jetbrains.com/help/idea/run-debug-configuration.html"),
    kept(".fleet", EDITOR_TASKS, "https://www.jetbrains.com/help/fleet/run-configurations.html"),
    kept(".theia", EDITOR_TASKS, "https://theia-ide.org/docs/tasks/"),
    row(
        ".bsp",
        "an editor starts the build server that it names",
        "https://build-server-protocol.github.io/docs/overview/server-discovery",
    ),
    kept(".zed", EDITOR_TASKS, "https://zed.dev/docs/tasks"),
    kept(".helix", EDITOR_TASKS, "https://docs.helix-editor.com/languages.html"),
    kept(".config/Code", EDITOR_TASKS, "https://code.visualstudio.com/docs/configure/settings"),
    row(".vscode-server", EDITOR_TASKS, "https://code.visualstudio.com/docs/remote/vscode-server"),
    kept(".config/zed", EDITOR_TASKS, "https://zed.dev/docs/configuring-zed"),
    kept(".config/helix", EDITOR_TASKS, "https://docs.helix-editor.com/configuration.html"),
    kept(
        ".doom.d",
        "Emacs runs it",
        "https://github.com/doomemacs/doomemacs/blob/master/docs/getting_started.org",
    ),
    kept(
        ".config/doom",
        "Emacs runs it",
        "https://github.com/doomemacs/doomemacs/blob/master/docs/getting_started.org",
    ),
    kept(".config/kak", "Kakoune runs its commands", "https://github.com/mawww/kakoune"),
    kept(".nvim.lua", "Neovim runs it when `exrc` is set", "https://neovim.io/doc/user/options.html#'exrc'"),
    kept(".nvimrc", "Neovim runs it when `exrc` is set", "https://neovim.io/doc/user/options.html#'exrc'"),
    kept(".exrc", "vi runs it when `exrc` is set", "ex(1p)"),
    kept(".vimrc", "Vim runs it", "https://vimhelp.org/starting.txt.html"),
    kept(".vim", "Vim runs its plugins", "https://vimhelp.org/starting.txt.html"),
    kept(".config/nvim", "Neovim runs it", "https://neovim.io/doc/user/starting.html"),
    kept(
        ".dir-locals.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    kept(
        ".dir-locals-2.el",
        "Emacs evaluates it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html",
    ),
    kept(
        ".config/emacs",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Find-Init.html",
    ),
    kept(
        ".emacs",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html",
    ),
    kept(
        ".emacs.d",
        "Emacs runs it",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html",
    ),
    kept(
        ".gdbinit",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Init-File-in-the-Current-Directory.html",
    ),
    kept(
        ".gdbearlyinit",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Initialization-Files.html",
    ),
    kept(
        ".config/gdb",
        "gdb runs it",
        "https://sourceware.org/gdb/current/onlinedocs/gdb.html/Initialization-Files.html",
    ),
    kept(".lldbinit*", "lldb runs it", "https://lldb.llvm.org/man/lldb.html"),
    kept(
        ".devcontainer",
        "an editor builds and starts it",
        "https://containers.dev/implementors/json_reference/",
    ),
    kept(
        ".devcontainer.json",
        "an editor builds and starts it",
        "https://containers.dev/implementors/json_reference/",
    ),
    kept(".gitpod.yml", "an environment runs its tasks", "https://www.gitpod.io/docs/references/gitpod-yml"),
    kept(
        ".idx",
        "an environment runs its tasks",
        "https://firebase.google.com/docs/studio/customize-workspace",
    ),
    kept(
        ".envrc*",
        "direnv runs it in the shell that enters the folder",
        "direnv(1); direnv-stdlib(1), source_env_if_exists",
    ),
    kept(".direnvrc", "direnv runs it in the shell that enters a folder", "direnv(1), FILES"),
    kept(".config/direnv", "direnv runs it in the shell that enters a folder", "direnv(1), FILES"),
    kept(
        ".autoenv*",
        "autoenv runs it in the shell that enters the folder",
        "https://github.com/hyperupcall/autoenv",
    ),
    kept("mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    kept(".mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    kept("mise/config.*", MISE, "https://mise.jdx.dev/configuration.html"),
    kept(".config/mise.*", MISE, "https://mise.jdx.dev/configuration.html"),
    kept(".mise", "mise runs its tasks and hooks", "https://mise.jdx.dev/configuration.html"),
    kept(".config/mise", MISE, "https://mise.jdx.dev/configuration.html"),
    kept(
        ".tool-versions",
        "asdf and mise take programs from there, whoever starts one",
        "https://asdf-vm.com/manage/configuration.html",
    ),
    row(".cargo", TOOLCHAIN, "https://doc.rust-lang.org/cargo/reference/config.html"),
    kept(
        "rust-toolchain*",
        "rustup takes `rustc`, `cargo` and others from there, whoever starts one",
        "https://rust-lang.github.io/rustup/overrides.html",
    ),
    row(".npmrc", TOOLCHAIN, "https://docs.npmjs.com/cli/configuring-npm/npmrc"),
    row(".yarnrc*", TOOLCHAIN, "https://yarnpkg.com/configuration/yarnrc"),
    row(".yarn", TOOLCHAIN, "https://yarnpkg.com/configuration/yarnrc"),
    row(".pnp.*", TOOLCHAIN, "https://yarnpkg.com/features/pnp"),
    row(".pnpmfile.*", TOOLCHAIN, "https://pnpm.io/pnpmfile"),
    kept(
        "bunfig.toml",
        "bun runs what it names, whichever script it is given",
        "https://bun.com/docs/runtime/bunfig",
    ),
    row(".mvn", TOOLCHAIN, "https://maven.apache.org/configure.html"),
    row("mvnw*", TOOLCHAIN, "https://maven.apache.org/wrapper/"),
    row("gradle/wrapper/*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row("gradlew*", TOOLCHAIN, "https://docs.gradle.org/current/userguide/gradle_wrapper.html"),
    row(".pyenv", TOOLCHAIN, "https://github.com/pyenv/pyenv"),
    row(".rbenv", TOOLCHAIN, "https://github.com/rbenv/rbenv"),
    row(".nvm", TOOLCHAIN, "https://github.com/nvm-sh/nvm"),
    row(".rvm", TOOLCHAIN, "https://rvm.io/rvm/install"),
    row(".sdkman", TOOLCHAIN, "https://sdkman.io/install"),
    row(".volta", TOOLCHAIN, "https://docs.volta.sh/guide/understanding"),
    row(".bazelversion", TOOLCHAIN, "https://github.com/bazelbuild/bazelisk"),
    row(".bazeliskrc", TOOLCHAIN, "https://github.com/bazelbuild/bazelisk"),
    row(".bazelrc", TOOLCHAIN, "https://bazel.build/run/bazelrc"),
    row(
        ".Rprofile",
        "R runs it when it starts",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
    ),
    kept(".octaverc", "Octave runs it when it starts", "https://docs.octave.org/latest/Startup-Files.html"),
    kept(
        ".ghci",
        "GHCi runs it when it starts",
        "https://downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html",
    ),
    kept(".iex.exs", "IEx runs it when it starts", "https://hexdocs.pm/iex/IEx.html"),
    kept(".irbrc*", "irb runs it when it starts", "https://ruby.github.io/irb/Configurations_md.html"),
    kept(".pryrc", "Pry runs it when it starts", "https://github.com/pry/pry/wiki/Pry-rc"),
    row("sitecustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row("usercustomize.py", "Python runs it when it starts", "https://docs.python.org/3/library/site.html"),
    row("site-packages/*.pth", PYTHON_START, "https://docs.python.org/3/library/site.html"),
    row("dist-packages/*.pth", PYTHON_START, "https://docs.python.org/3/library/site.html"),
    kept(".pdbrc", "pdb runs it", "https://docs.python.org/3/library/pdb.html"),
    row(
        ".ipython",
        "IPython runs its startup files",
        "https://ipython.readthedocs.io/en/stable/config/intro.html",
    ),
    kept(".ocamlinit", "OCaml runs it", "https://ocaml.org/manual/toplevel.html"),
    kept(".sbclrc", "SBCL runs it", "https://www.sbcl.org/manual/"),
    row(".julia/config", "Julia runs it", "https://docs.julialang.org/en/v1/manual/command-line-interface/"),
    kept(".psqlrc", "psql runs it", "psql(1), FILES"),
    kept(".sqliterc", "sqlite3 runs it", "https://sqlite.org/cli.html"),
    kept(".bashrc", SHELL_START, "bash(1), INVOCATION"),
    kept(".bash_profile", SHELL_START, "bash(1), INVOCATION"),
    kept(".bash_login", SHELL_START, "bash(1), INVOCATION"),
    kept(".bash_logout", "a shell runs it when it ends", "bash(1), INVOCATION"),
    kept(".bash_aliases", SHELL_START, "bash(1); read by the usual ~/.bashrc of Debian"),
    kept(".profile", SHELL_START, "bash(1), INVOCATION"),
    kept(".zshenv", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    kept(".zshrc", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    kept(".zprofile", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    kept(".zlogin", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    kept(".zlogout", "a shell runs it when it ends", "zsh(1), STARTUP/SHUTDOWN FILES"),
    kept(".cshrc", SHELL_START, "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    kept(".tcshrc", SHELL_START, "tcsh(1), STARTUP AND SHUTDOWN"),
    kept(".login", SHELL_START, "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    kept(".logout", "a shell runs it when it ends", "csh(1); tcsh(1), STARTUP AND SHUTDOWN"),
    kept(".bash_completion", SHELL_START, "https://github.com/scop/bash-completion"),
    row(".local/share/bash-completion", SHELL_START, "https://github.com/scop/bash-completion"),
    kept(
        ".config/powershell",
        SHELL_START,
        "https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_profiles",
    ),
    kept(".config/nushell", SHELL_START, "https://www.nushell.sh/book/configuration.html"),
    kept(".xonshrc", SHELL_START, "https://xon.sh/xonshrc.html"),
    kept(".kshrc", SHELL_START, "ksh(1), INVOCATION"),
    kept(".mkshrc", SHELL_START, "mksh(1), STARTUP"),
    kept(".config/fish", SHELL_START, "fish(1), CONFIGURATION"),
    // Where ZDOTDIR leads by custom.
    kept(".config/zsh", SHELL_START, "zsh(1), STARTUP/SHUTDOWN FILES"),
    row(".ssh", "ssh runs commands that it names, and lets in whom it lists", "ssh_config(5), sshd(8)"),
    kept(".tmux.conf", "tmux runs its commands", "tmux(1)"),
    kept(".config/tmux", "tmux runs its commands", "tmux(1), FILES"),
    row(".local/bin", "a shell finds its programs there", "file-hierarchy(7), ~/.local/bin/"),
    row(
        ".local/share/applications",
        "the desktop starts programs by it",
        "https://specifications.freedesktop.org/desktop-entry-spec/latest/",
    ),
    row(
        ".local/share/dbus-1",
        "the session's bus starts services by it",
        "https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-starting-services",
    ),
    kept(".config/autostart", DESKTOP_START, "https://specifications.freedesktop.org/autostart-spec/latest/"),
    kept(".config/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    kept(".local/share/systemd", "the user's service manager runs it", "systemd.unit(5)"),
    kept(".config/environment.d", DESKTOP_START, "environment.d(5)"),
    kept(".screenrc", "screen runs its commands", "screen(1), CUSTOMIZATION"),
    kept(".xserverrc", DESKTOP_START, "xinit(1)"),
    kept(".config/i3", DESKTOP_START, "https://i3wm.org/docs/userguide.html"),
    kept(".config/sway", DESKTOP_START, "sway(1), sway(5)"),
    kept(".config/hypr", DESKTOP_START, "https://wiki.hypr.land/Configuring/Keywords/"),
    kept(".config/plasma-workspace", DESKTOP_START, "https://userbase.kde.org/Session_Environment_Variables"),
    kept(".config/openbox", DESKTOP_START, "http://openbox.org/help/Autostart"),
    kept(
        ".config/awesome",
        DESKTOP_START,
        "https://awesomewm.org/doc/api/documentation/05-awesomerc.md.html",
    ),
    kept(".config/qtile", DESKTOP_START, "https://docs.qtile.org/en/stable/manual/config/index.html"),
    kept(".xmonad", DESKTOP_START, "https://xmonad.org/configurations.html"),
    kept(".xprofile", DESKTOP_START, "https://wiki.archlinux.org/title/Xprofile"),
    kept(".xinitrc", DESKTOP_START, "xinit(1)"),
    kept(".xsession*", DESKTOP_START, "Xsession(5)"),
    kept(".pam_environment", DESKTOP_START, "pam_env(8)"),
    // Shells' fragments and frameworks, and programs that a shell's prompt or a key runs.
    kept(
        ".bashrc.d",
        SHELL_START,
        "https://fedoraproject.org/wiki/Changes/Drop-in_bashrc; the usual ~/.bashrc of Fedora",
    ),
    kept(".profile.d", SHELL_START, "a name in wide use; read by the ~/.profile that people write"),
    kept(".zshrc.local", SHELL_START, "https://grml.org/zsh/zsh-lovers.html"),
    kept(".aliases", SHELL_START, "a name in wide use, read by the files that a shell starts with"),
    kept(".inputrc", "what a key types is said there, commands among it", "readline(3), INITIALIZATION FILE"),
    row(".oh-my-zsh", SHELL_START, "https://github.com/ohmyzsh/ohmyzsh/wiki/Customization"),
    kept(".p10k.zsh", SHELL_START, "https://github.com/romkatv/powerlevel10k"),
    kept(
        ".config/starship.toml",
        "the prompt runs its commands",
        "https://starship.rs/config/#custom-commands",
    ),
    kept(".forward", "the mail server runs what it names", "local(8), FORWARDING"),
    kept(".procmailrc", "the mail server runs what it names", "procmailrc(5)"),
    kept(".mailcap", "programs that open files run its commands", "mailcap(5)"),
    kept(".lessfilter", "less runs it for each file", "lesspipe(1), USER DEFINED FILTERS"),
    kept(".xbindkeysrc", DESKTOP_START, "xbindkeys(1)"),
    kept(".wezterm.lua", TERMINAL_START, "https://wezterm.org/config/files.html"),
    kept(".config/wezterm", TERMINAL_START, "https://wezterm.org/config/files.html"),
    kept(".config/kitty", TERMINAL_START, "https://sw.kovidgoyal.net/kitty/conf/"),
    kept(".config/alacritty", TERMINAL_START, "https://alacritty.org/config-alacritty.html"),
    kept(".config/ghostty", TERMINAL_START, "https://ghostty.org/docs/config"),
    kept(".config/containers", "the user's service manager runs containers by it", "podman-systemd.unit(5)"),
    // Programs that read such a file where they are started, or where their user lives.
    row(
        ".Renviron",
        "R runs with it",
        "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Startup.html",
    ),
    kept(".lvimrc", "Vim runs it", "https://github.com/embear/vim-localvimrc"),
    kept(
        ".spacemacs",
        "Emacs runs it",
        "https://www.spacemacs.org/doc/DOCUMENTATION.html#dotfile-configuration",
    ),
    kept(".perldb", "Perl's debugger runs it", "perl5db.pl(1), FILES"),
    kept(".gnuplot", "gnuplot runs it when it starts", "http://gnuplot.info/docs/Initialization.html"),
    row(
        "startup.m",
        "MATLAB runs it when it starts",
        "https://www.mathworks.com/help/matlab/ref/startup.html",
    ),
    kept(".duckdbrc", "duckdb runs it", "https://duckdb.org/docs/stable/clients/cli/overview"),
    kept(".mongoshrc.js", "mongosh runs it", "https://www.mongodb.com/docs/mongodb-shell/mongoshrc/"),
    row(".jupyter", "Jupyter runs its settings", "https://docs.jupyter.org/en/latest/use/config.html"),
    kept("rust-analyzer.toml", EDITOR_TASKS, "https://rust-analyzer.github.io/book/configuration.html"),
    kept(".rust-analyzer.toml", EDITOR_TASKS, "https://rust-analyzer.github.io/book/configuration.html"),
    row(".vscode-insiders", EDITOR_TASKS, "https://code.visualstudio.com/docs/configure/settings"),
    kept(".nova", EDITOR_TASKS, "https://help.nova.app/tasks/working-with/"),
    kept(
        ".codesandbox",
        "an environment runs its tasks",
        "https://codesandbox.io/docs/learn/repositories/task",
    ),
    kept(".buildkite/hooks", "a build runs it before its steps", "https://buildkite.com/docs/agent/v3/hooks"),
    row(".gradle/init.d", TOOLCHAIN, "https://docs.gradle.org/current/userguide/init_scripts.html"),
    row(
        ".gradle/gradle.properties",
        TOOLCHAIN,
        "https://docs.gradle.org/current/userguide/build_environment.html",
    ),
    row(".m2", TOOLCHAIN, "https://maven.apache.org/settings.html"),
    row(".bundle", TOOLCHAIN, "https://bundler.io/man/bundle-config.1.html"),
    row(".gemrc", TOOLCHAIN, "https://guides.rubygems.org/command-reference/#gem-environment"),
    row(".config/pip", TOOLCHAIN, "https://pip.pypa.io/en/stable/topics/configuration/"),
    row(".condarc", TOOLCHAIN, "https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/"),
    row(".bunfig.toml", TOOLCHAIN, "https://bun.com/docs/runtime/bunfig"),
    row(".terraformrc", TOOLCHAIN, "https://developer.hashicorp.com/terraform/cli/config/config-file"),
    row(".asdfrc", TOOLCHAIN, "https://asdf-vm.com/manage/configuration.html"),
    kept("buildServer.json", OPENED, "https://github.com/swiftlang/sourcekit-lsp, build servers"),
    kept("hie.yaml", OPENED, "https://github.com/haskell/hie-bios"),
    row(".merlin", OPENED, "https://github.com/ocaml/merlin/wiki/project-configuration"),
    kept(".lsp/config.edn", OPENED, "https://clojure-lsp.io/settings/"),
    kept(
        ".externalToolBuilders",
        OPENED,
        "https://help.eclipse.org/latest/topic/org.eclipse.platform.doc.user/gettingStarted/qs-96_non_ant_pb.htm",
    ),
    row(
        ".kateproject*",
        OPENED,
        "https://docs.kde.org/stable5/en/kate/kate/kate-application-plugin-projects.html",
    ),
    kept("*.sublime-project", OPENED, "https://www.sublimetext.com/docs/projects.html"),
    kept(".lintr*", OPENED, "https://lintr.r-lib.org/articles/lintr.html"),
    kept(".luacheckrc", OPENED, "https://luacheck.readthedocs.io/en/stable/config.html"),
    kept(
        ".pylintrc*",
        OPENED,
        "https://pylint.readthedocs.io/en/stable/user_guide/configuration/all-options.html, init-hook",
    ),
    kept(
        "pylintrc*",
        OPENED,
        "https://pylint.readthedocs.io/en/stable/user_guide/configuration/all-options.html, init-hook",
    ),
    row(".formatter.exs", OPENED, "https://hexdocs.pm/mix/Mix.Tasks.Format.html"),
    row(".project", OPENED, "https://help.eclipse.org, External Tools Builders"),
    row(".qtcreator", OPENED, "https://doc.qt.io/qtcreator/creator-sharing-project-settings.html"),
    kept("CMakeLists.txt.user*", OPENED, "https://doc.qt.io/qtcreator/creator-sharing-project-settings.html"),
    kept(".ycm_extra_conf.py", OPENED, "https://github.com/ycm-core/YouCompleteMe"),
    kept(".lazy.lua", OPENED, "https://lazy.folke.io/spec, local_spec"),
    kept(".globalrc", OPENED, "gtags.conf(5)"),
];
