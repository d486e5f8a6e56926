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
    local word
    local -a words=()
    _subagent "$@"
    if [[ "$2" != -* ]]; then
        case "$3" in
            run|show|validate|edit|delete|export|prompt)
                # Rows of agents are indented by two blanks, headings and reasons are not.
                while IFS= read -r word; do
                    [[ "$word" =~ ^'  '([^ ]+) ]] && words+=( "${BASH_REMATCH[1]}" )
                done < <("$1" --no-spawn list 2>/dev/null)
                COMPREPLY=( $(compgen -W "${words[*]}" -- "$2") )
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
