//! Ways of programs to run something that no option says in so many words: options that name another place for files which they
//! run by themselves, and words that they hand to a shell.
//!
//! A file that programs run by itself is `high` to write under the name that they look for. So an option by which such a file may
//! have any name is one that runs something. What a person starts themselves (a makefile, a script of `package.json`) is none.

use crate::{
    place::PathTarget,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

/// Options of some programs, and where it is written what they do.
pub(super) struct ProgramOptions {
    pub names: &'static [&'static str],
    pub options: &'static [&'static str],
    #[allow(dead_code, reason = "for whoever reads the table; the tests look that each row has one")]
    pub source: &'static str,
}

const fn row(
    names: &'static [&'static str],
    options: &'static [&'static str],
    source: &'static str,
) -> ProgramOptions {
    ProgramOptions { names, options, source }
}

/// Options that name settings, or start-up files, that run commands.
pub(super) const ELSEWHERE: &[ProgramOptions] = &[
    row(&["npm", "npx", "pnpm"], &["--pnpmfile", "--global-pnpmfile"], "https://pnpm.io/pnpmfile"),
    row(&["bun", "bunx"], &["--config"], "https://bun.com/docs/runtime/bunfig"),
    row(
        &["mvn", "mvnd"],
        &["-s", "--settings", "-gs", "--global-settings", "--toolchains"],
        "https://maven.apache.org/ref/current/maven-embedder/cli.html",
    ),
    row(
        &["gradle"],
        &["-I", "--init-script", "-g", "--gradle-user-home"],
        "https://docs.gradle.org/current/userguide/command_line_interface.html",
    ),
    row(
        &["bazel", "bazelisk"],
        &["--bazelrc", "--home_rc", "--workspace_rc", "--run_under", "--shell_executable", "--install_base"],
        "https://bazel.build/reference/command-line-reference",
    ),
    row(
        &["hg", "chg"],
        &["--config", "-R", "--repository", "--cwd", "--debugger"],
        "hg(1), OPTIONS; hgrc(5), [hooks] and [extensions]",
    ),
    row(
        &["jj"],
        &["--config", "--config-file", "--config-toml", "-R", "--repository"],
        "https://docs.jj-vcs.dev/latest/cli-reference/",
    ),
    row(
        &["svn"],
        &["--config-dir", "--config-option", "--editor-cmd", "--diff-cmd", "--diff3-cmd"],
        "svn help",
    ),
    row(&["pre-commit"], &["-c", "--config"], "https://pre-commit.com/#command-line-interface"),
    row(
        &["mysql", "mariadb"],
        &["--defaults-file", "--defaults-extra-file", "--pager"],
        "https://dev.mysql.com/doc/refman/en/mysql-command-options.html",
    ),
    row(&["psql"], &["-f", "--file"], "psql(1), META-COMMANDS: \\! in a file"),
    row(&["gpg", "gpg2"], &["--homedir", "--options"], "gpg(1); gpg-agent(1), --pinentry-program"),
    row(
        &["ssh", "scp", "sftp"],
        &["-I", "-oPKCS11Provider", "-oSecurityKeyProvider", "-oXAuthLocation"],
        "ssh(1), ssh_config(5)",
    ),
    row(
        &["emacs", "emacsclient"],
        &["-f", "--funcall", "-x", "-e", "--execute", "--init-directory", "--directory"],
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Action-Arguments.html",
    ),
    row(&["nano", "rnano", "pico"], &["-s", "--speller", "-f", "--rcfile"], "nano(1)"),
    row(
        &["lynx", "w3m", "elinks"],
        &["-cfg", "-editor", "-config", "-o", "-eval"],
        "lynx(1), w3m(1), elinks(1)",
    ),
    row(
        &["rpm", "rpmbuild", "rpmspec", "rpmkeys", "rpmdb"],
        &["--eval", "-E", "-D", "--define", "--pipe", "--macros", "--rcfile", "--load"],
        "rpm(8); rpm-macros(7), %(…)",
    ),
    row(
        &["tex", "latex", "pdftex", "pdflatex", "xelatex", "lualatex", "luatex", "latexmk"],
        &[
            "-shell-escape",
            "--shell-escape",
            "-enable-write18",
            "--enable-write18",
            "-lua",
            "--lua",
            "-e",
            "-r",
            "-latex",
            "-pdflatex",
            "-usepretex",
        ],
        "tex(1), latexmk(1)",
    ),
    row(&["gs"], &["-dNOSAFER", "-dDELAYSAFER", "-c"], "gs(1)"),
    row(&["groff", "troff", "nroff"], &["-U", "--unsafe"], "groff(1), -U; groff(7), sy"),
    row(&["cmake"], &["-C"], "cmake(1)"),
    row(
        &["cscope", "ctags", "etags"],
        &["--options", "--options-maybe", "--_xformat"],
        "ctags(1), --options",
    ),
    row(&["mlr"], &["--prepipe", "--prepipex", "--load", "--mload", "-f"], "mlr(1)"),
    row(&["socat", "ncat"], &["-e", "-c"], "socat(1), ncat(1)"),
    row(&["tshark", "wireshark"], &["-X"], "tshark(1), lua_script"),
    row(&["ip"], &["-batch", "-b"], "ip(8)"),
];

/// Options that have a program work as if it were started in another folder, whose files it goes by.
const FOLDERS: &[ProgramOptions] = &[
    row(
        &["npm", "npx", "pnpm", "yarn"],
        &["--prefix", "-C", "--dir", "--cwd"],
        "https://docs.npmjs.com/cli/using-npm/config#prefix; https://pnpm.io/pnpm-cli; yarn --help",
    ),
    row(&["bun", "bunx"], &["--cwd"], "https://bun.com/docs/cli/run"),
    row(&["make", "gmake"], &["-C", "--directory"], "make(1)"),
    row(&["cargo", "go"], &["-C"], "cargo(1); go help build"),
    row(&["uv"], &["--directory", "--project"], "https://docs.astral.sh/uv/reference/cli/"),
    row(&["ninja", "meson"], &["-C"], "ninja --help, meson(1)"),
    row(&["terraform", "tofu"], &["-chdir"], "https://developer.hashicorp.com/terraform/cli/commands"),
];

/// Signs in the words of a program, options or not, that it hands something to a shell.
const WORDS: &[(&[&str], &[&str], &str)] = &[
    (&["ed", "red"], &["^!"], "ed(1): a name that begins with `!` is a command"),
    (
        &["sqlite3"],
        &["edit(", "load_extension(", "writefile(", "fts3_tokenizer("],
        "https://sqlite.org/cli.html; https://sqlite.org/lang_corefunc.html#load_extension",
    ),
    (
        &["convert", "magick", "mogrify", "identify", "composite", "montage"],
        &["^|", "msl:", "ephemeral:"],
        "https://imagemagick.org/script/security-policy.php",
    ),
    (&["ip"], &["exec"], "ip-netns(8), ip-vrf(8)"),
    (&["gnuplot"], &["system", "!", "`", "popen"], "http://gnuplot.info: `system`, pipes"),
    (&["mlr"], &["system(", "exec(", "| \""], "mlr(1), system and exec"),
    (&["m4"], &["syscmd"], "https://www.gnu.org/software/m4/manual/m4.html#Shell-commands"),
];

/// Programs of which a row of this file speaks.
pub(super) fn is_listed(base: &str) -> bool {
    let of = |rows: &[ProgramOptions]| rows.iter().any(|row| row.names.contains(&base));
    of(ELSEWHERE) || of(FOLDERS) || WORDS.iter().any(|(names, _, _)| names.contains(&base))
}

impl ScriptWalk<'_> {
    /// Words and folders by which a program runs what no option names.
    pub(super) fn runs_elsewhere(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        for (_, signs, _) in WORDS.iter().filter(|(names, _, _)| names.contains(&base)) {
            let has_sign = |arg: &WordValue| {
                let text: String = arg.hollow().to_lowercase().split_whitespace().collect();
                signs.iter().any(|sign| match sign.strip_prefix('^') {
                    Some(beginning) => {
                        arg.known().is_none() && arg.lead().is_empty() || text.starts_with(beginning)
                    }
                    None => text.contains(&sign.replace(' ', "")),
                })
            };
            if args.iter().any(has_sign) {
                self.draft.unknown(format!("`{base}` may run a command that its words say"));
            }
        }
        for row in FOLDERS.iter().filter(|row| row.names.contains(&base)) {
            for (at, arg) in args.iter().enumerate().take_while(|(_, arg)| !arg.is("--")) {
                let lead = arg.lead();
                let folder = row.options.iter().find_map(|option| {
                    let is_long = option.len() > 2;
                    match lead.strip_prefix(option)? {
                        "" => args.get(at + 1).cloned(),
                        rest if rest.starts_with('=') => Some(arg.after(option.chars().count() + 1)),
                        _ if !is_long => Some(arg.after(option.chars().count())),
                        _ => None,
                    }
                });
                if let Some(folder) = folder
                    && !self.is_folder_here(&folder, scope)
                {
                    self.draft.unknown(format!(
                        "`{base} {}` goes by the files of another folder, which may run commands",
                        arg.raw()
                    ));
                }
            }
        }
    }

    /// True where a word names a folder of the workspace, as `cd` would find it.
    fn is_folder_here(&self, folder: &WordValue, scope: &CommandScope) -> bool {
        let Some(text) = folder.known().filter(|_| !folder.is_pattern()) else { return false };
        scope.place.main.is_some()
            && scope.place.all().all(|from| {
                PathTarget::of_text(text, from).is_some_and(|target| self.is_inside(&self.followed(&target)))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_says_where_it_is_written() {
        let rows = ELSEWHERE.iter().chain(FOLDERS);
        assert!(rows.clone().all(|row| !row.source.is_empty() && !row.options.is_empty()));
        assert!(
            WORDS
                .iter()
                .all(|(names, signs, source)| !names.is_empty() && !signs.is_empty() && !source.is_empty())
        );
    }
}
