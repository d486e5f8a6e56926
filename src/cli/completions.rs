//! `subagent completions`: how does a shell complete our commands?

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::{CliArguments, ProcessIo, failure::CommandFailure};

#[derive(Args)]
pub(super) struct CompletionsArguments {
    /// Your shell, e.g. `source <(subagent completions bash)`
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(
    arguments: &CompletionsArguments,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut CliArguments::command(), "subagent", &mut script);
    if arguments.shell == Shell::Bash {
        script.extend_from_slice(BASH_WITH_AGENTS.as_bytes());
    }
    // Written by the generator from our own words, which are UTF-8.
    surroundings.stdout.write(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Completes names of agents, which the generator knows nothing of. It offers options where a word without a dash is expected, too: where
/// there is nothing else, bash would insert the dash that all of them begin with. Starts no daemon.
const BASH_WITH_AGENTS: &str = r#"
_subagent_with_agents() {
    local word command=
    local -a words=()
    _subagent "$@"
    if [[ "$2" != -* ]]; then
        # The command itself: `sessions delete` takes no agent.
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
            [[ "$word" == -* ]] || { command="$word"; break; }
        done
        [[ "$command" == "$3" ]] || command=
        case "$command" in
            run|show|validate|edit|delete|export|prompt)
                # Rows of agents are indented by two blanks, headings and reasons are not.
                while IFS= read -r word; do
                    [[ "$word" =~ ^'  '([^ ]+) && "${BASH_REMATCH[1]}" == "$2"* ]] && words+=( "${BASH_REMATCH[1]}" )
                done < <("$1" --no-spawn list 2>/dev/null)
                COMPREPLY=( "${words[@]}" )
                compopt +o default +o bashdefault 2>/dev/null
                return 0
                ;;
        esac
        for word in "${COMPREPLY[@]}"; do
            [[ "$word" == -* ]] || words+=( "$word" )
        done
        COMPREPLY=( "${words[@]}" )
    fi
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _subagent_with_agents -o nosort -o bashdefault -o default subagent
else
    complete -F _subagent_with_agents -o bashdefault -o default subagent
fi
"#;

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, process};

    use super::*;

    #[test]
    fn bash_completes_agents_behind_commands_that_take_one_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("subagent");
        fs::write(
            &program,
            "#!/bin/sh\nprintf 'yours\\n  fixer  x\\n  finder  $(touch made)\\n  tester  y\\n'\n",
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut script = Vec::new();
        generate(Shell::Bash, &mut CliArguments::command(), "subagent", &mut script);
        script.extend_from_slice(BASH_WITH_AGENTS.as_bytes());
        fs::write(folder.path().join("script"), script).unwrap();
        let offered = |words: &[&str]| {
            let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            let text = format!(
                "source ./script; COMP_WORDS=(subagent {}); COMP_CWORD={}; _subagent_with_agents ./subagent '{last}' '{before}'; \
                 echo \"${{COMPREPLY[*]}}\"",
                quoted.join(" "),
                words.len()
            );
            let mut bash = process::Command::new("bash");
            let done = bash.args(["--norc", "-c", &text]).current_dir(folder.path()).output().unwrap();
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        for command in ["run", "show", "delete", "--no-spawn delete"] {
            let words: Vec<&str> = command.split(' ').chain([""]).collect();
            assert_eq!(offered(&words), "fixer finder tester", "{command}");
        }
        assert_eq!(offered(&["run", "f"]), "fixer finder");
        assert_eq!(offered(&["run", "fi x"]), "");
        for command in ["sessions delete", "sessions show", "skills show", "trace show", "trace export"] {
            let words: Vec<&str> = command.split(' ').chain([""]).collect();
            assert!(!offered(&words).contains("fixer"), "{command}");
        }
        assert!(!folder.path().join("made").exists());
    }
}
