//! `git`: how does it commit when it is asked to?

const TEXT: &str = "\
# Git
The workspace is in a git repository. Commit only when you are asked to.
- Before a commit, look in one call: `git status && git diff HEAD && git log -n 3`. The last shows how messages are written here. \
Only what belongs to the change is staged.
- Always propose a message yourself; never ask for one. It is clear and short, and says more of why than of what.
- After the commit, `git status` shows whether it was made.
- If a commit fails, mend the reason. Never go around it: no `--no-verify`, no other history.
- Never push, unless somebody asks for just that.";

pub(super) fn text() -> String {
    TEXT.to_owned()
}
