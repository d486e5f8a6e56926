//! Which programs are sub-commands of git under a name of their own?

use super::{LEAVES_FILES, OTHERS, RUNS_OTHERS};

/// The folder of git's own programs (git(1), --exec-path).
const OF_GIT: &str = "git-core";

/// The sub-command that a program of this name or path is: `git-push`, `/usr/lib/git-core/git-config`.
pub fn own_program(name: &str) -> Option<&str> {
    let (folder, base) = name.rsplit_once('/').unwrap_or(("", name));
    let sub_command = base.strip_prefix("git-").filter(|it| !it.is_empty() && !it.starts_with('-'))?;
    let is_known = [LEAVES_FILES, OTHERS, RUNS_OTHERS].iter().any(|names| names.contains(&sub_command));
    // Others have programs such as `git-cliff`.
    (is_known || folder.split('/').any(|part| part == OF_GIT)).then_some(sub_command)
}
