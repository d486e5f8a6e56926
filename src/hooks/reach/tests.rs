//! Which commands of a person's own hooks run with their rights, and which in the sandbox?

use std::path::Path;

use super::{HookText, of_hook};
use crate::WorkspaceReach;

/// The same of a text for a shell or of words.
fn read_at(
    (command, args): (&str, Option<&[String]>),
    roots: &[String],
    home: &Path,
    folders: &[std::path::PathBuf],
) -> WorkspaceReach {
    of_hook(HookText { command, args }, roots, (home, folders), None)
}

/// Made of what is known alone.
const OUTSIDE: &[&str] = &[
    "\"${CLAUDE_PLUGIN_ROOT}/hook.sh\" \"$CLAUDE_PROJECT_DIR\"",
    "/home/ann/bin/guard \"$PWD\"",
    "~/bin/guard --root=\"$CLAUDE_PROJECT_DIR\"",
    "cd \"$CLAUDE_PROJECT_DIR\" && /elsewhere/guard",
    "cd \"$CLAUDE_PROJECT_DIR\" && node \"${CLAUDE_PLUGIN_ROOT}/run.js\" \"$PWD\"",
    "python3 \"${CLAUDE_PLUGIN_ROOT}/guard.py\" --folder .",
    "bash -e ~/guard.sh . x",
    "bash -euo pipefail ~/guard.sh",
    "python3 -I ~/guard.py",
    "~/bin/guard \"$(jq -r .tool_input.file_path)\"",
    "command -v make >/dev/null && ~/bin/guard",
    "which npm && ~/bin/guard",
    "echo make test >> ~/log",
    "~/bin/guard make test",
    "printf '%s\\n' \"$INPUT\" | python3 ~/guard.py",
    "echo \"make it so\" | sh ~/guard.sh",
    "grep -E \"\\.(ts|js)$\" && ~/guard",
    "jq -r '.tool_input.file_path' >> ~/log 2>&1",
    "curl -s -d @- https://example.com > /dev/null || true",
    "curl -sf -m 5 -d @- \"$SLACK_URL\" > /dev/null",
    "tmux display-message -t \"$TMUX_PANE\" 'done'",
    "notify-send \"Agent\" \"$(jq -r .message)\" &",
    "command -v notify-send >/dev/null && notify-send 'done'",
    "jq -r '\"\\(.tool_name) \\(.tool_input.command // \"\")\"' >> ~/.claude/log.txt",
    "curl -s -H 'Title: done' -d 'The agent waits' https://ntfy.example/me >/dev/null 2>&1 || true",
    "mkdir -p ~/logs && tee -a ~/logs/all.jsonl > /dev/null",
    "timeout 10 python3 ~/hooks/guard.py \"$(pwd)\"",
    "/usr/bin/env python3 ~/hooks/guard.py",
    "exec ~/hooks/guard",
    "bash -c 'echo done >> ~/log'",
    "export CLAUDE_PLUGIN_ROOT=\"$HOME/plugins/guard\"; node \"${CLAUDE_PLUGIN_ROOT}/hooks/guard.js\"",
    "export CLAUDE_PLUGIN_ROOT=~/plugins/guard && \"${CLAUDE_PLUGIN_ROOT}/hook.sh\" \"$PWD\"",
    "paplay ~/sounds/done.wav & exit 0",
    "echo \"$(date -Iseconds) $(basename \"$PWD\")\" >> ~/log",
    "jq -c . | head -n 1 | cut -d , -f1 >> ~/log # one line",
];

/// Written in a way that is not followed, though nothing of it is known to be bad.
const NOT_FOLLOWED: &[&str] = &[
    "P=\"$CLAUDE_PROJECT_DIR\"; ~/bin/guard \"$P\"",
    "ROOT=$(git rev-parse --show-toplevel); ~/bin/guard --root \"$ROOT\"",
    ". ~/guard.sh",
    "source \"${CLAUDE_PLUGIN_ROOT}/lib.sh\" && ~/guard \"$PWD\"",
    "MODE=fast ~/bin/guard",
    "FILE=$(jq -r .tool_input.file_path); ~/bin/guard \"$FILE\"",
    "cd \"$(git rev-parse --show-toplevel)\" && ~/bin/guard",
    "if ! echo \"$CMD\" | grep -qE 'rm -rf|sudo'; then exit 0; fi; echo 'no' >&2; exit 2",
    "G=~/bin/guard; \"$G\" x",
    "MODE=fast; sh -c \"~/guard $MODE\"",
    "export CLAUDE_PLUGIN_ROOT=\"$HOME/plugins/guard\" | node \"${CLAUDE_PLUGIN_ROOT}/hooks/guard.js\"",
    "export CLAUDE_PLUGIN_ROOT=\"~/plugins/guard\"; node \"${CLAUDE_PLUGIN_ROOT}/hooks/guard.js\"",
    "export CLAUDE_PLUGIN_ROOT=\"$HOME/$X\"; node \"${CLAUDE_PLUGIN_ROOT}/hooks/guard.js\"",
    "export CLAUDE_PLUGIN_ROOT=/a/../w; node \"${CLAUDE_PLUGIN_ROOT}/hooks/guard.js\"",
    "export CLAUDE_PLUGIN_ROOT=/a; export CLAUDE_PLUGIN_ROOT=.; node \"${CLAUDE_PLUGIN_ROOT}/x.js\"",
    "~/guard 2>> ~/errors; cat ~/errors; [ -s ~/errors ] && exit 2",
    "[[ \"$TERM\" == dumb ]] || ~/guard",
    "echo \"${X:+set}${Y:-none} ${F##*/} $$ $?\" >> ~/log",
    "true && \\\n  ~/guard",
    // A line that goes on.
    "bash -c \\\n  'make -s lint'",
    "sh -c \\\n 'npx prettier --write .'",
    "curl -s -X POST --data-binary \\\n  @notes.md https://example.com",
    "printf \\\n \"$A\" \"$B\"",
    "~/dot\\\nfiles/guard.sh",
    "~/dot\\files/guard.sh",
    "echo \"a\\\nb\" >> ~/log",
    // Assignments that a shell makes now and then, or for one command alone.
    "F=\"$(jq -r .tool_input.file_path)\"; S=\"$(dirname \"$F\")/.check.sh\"; [ -f \"$S\" ] || S=~/hooks/check.sh; bash \"$S\" \"$F\"",
    "F=\"$(jq -r .x)\"; [ -f \"$F\" ] || F=/dev/null; cat \"$F\" >&2; exit 2",
    "F=\"$(jq -r .x)\"; F=~/a true; cat \"$F\"",
    "F=\"$(jq -r .x)\"; true | F=~/a; cat \"$F\"",
    "F=~/a cat \"$F\"",
    "OPTIND=\"$(jq -r .tool_input.content)\"; true",
    "RANDOM=\"$(jq -r .seed)\" true",
    "D=\"$HOME/dotfiles/hooks\"; \"$D/guard\"",
    // What is read or written.
    "cat ~/dotfiles/RULES.md >&2; exit 2",
    "head -1 x",
    "head x",
    "cut -f1 1",
    "wc notes",
    "paplay done",
    "canberra-gtk-play -f done",
    "echo x > ~/.bashrc",
    "jq -r .x >> ~/.profile",
    "jq -r .x > ~/hooks/last.sh",
    "tee ~/bin/x.py",
    "echo x >> ~/.config/app.toml",
    "tmux display-message '#(make)'",
    "tmux display-message '#{E:pane_title}'",
    // Where a shell reads otherwise.
    "\"\"~/guard",
    "''~/bin/guard",
    "\"\"L=~/x true",
    "\"F\"=x",
    "'export' F=x",
    "bash \"5\">/dev/null ~/guard.sh",
    "echo $\"text\" >> ~/log",
    "bash -o \"$F\" ~/guard.sh",
    "bash -o noexec ~/guard.sh",
    "wc --files0-from -",
    "rev -",
    "logger -sf notes",
    "hostname -Fnotes",
    "mpg123 -w out",
    "jq '.x|modulemeta'",
    "tmux display-message \"$_\"",
    "tmux display-message \"$PWD $X\"",
    "cd ~ && ~/guard",
    // A variable without `/` behind it.
    "bash \"${CLAUDE_PLUGIN_ROOT}hooks/guard.sh\"",
    "node ${CLAUDE_PLUGIN_ROOT}guard.js",
    "bash \"${PROJECT_DIR}hooks/guard.sh\"",
    // A script that may run what it is told.
    "~/hooks/run.sh tools/check.sh",
    "~/hooks/run.sh \"$CLAUDE_PROJECT_DIR/tools/check.sh\"",
    "~/hooks/run.sh \"$(pwd)/tools/check.sh\"",
    "bash ~/hooks/run.sh --with=tools/check.sh",
    "~/hooks/redact.sh audit.json",
    "fish -p ~/x.fish",
    // Written, and run.
    "jq -r .x > ~/a.txt; bash ~/./a.txt",
    "jq -r .x | timeout 5 tee ~/a; bash ~//a",
    "bash -c 'jq -r .x > ~/a'; bash ~/a",
    "jq -r .x > ~/.jq; jq .",
    "echo x > ~/.curlrc; curl -s https://example.com",
    // Programs that are installed, by their paths.
    "~/.npm-packages/bin/cspell .",
    "~/.yarn/bin/xo",
    "~/.fnm/aliases/default/bin/eslint_d .",
    "~/.swiftly/bin/swift build",
    "/opt/sonar/bin/scan",
    "/opt/guard",
    "~/tools/bin/lint",
    "node /usr/lib/node_modules/npm/bin/npx-cli.js prettier .",
    "python3 ~/.local/bin/pylint src",
    "git rev-parse --show-toplevel",
    "exec bash -c 'make'",
];

/// Commands that lead into the workspace, whether the folders that they lead to are there or not: an agent makes them.
const LEADING: &[&str] = &[
    // A folder in a variable.
    "D=\"$CLAUDE_PROJECT_DIR/tools\"; bash \"$D/guard.sh\"",
    "T=\"$PWD/tools\"; sh \"$T/guard.sh\"",
    "T=tools; sh $T/guard.sh",
    "export T=$PWD/tools && \"$T/guard.sh\"",
    "P=\"$CLAUDE_PROJECT_DIR\"; sh \"$P/tools/guard.sh\"",
    "D=\"$PWD/tools\"; E=\"${D%/}/x\"; . \"$E/guard.sh\"",
    "D=\"$PWD/tools\"; [ -f \"$D/later.sh\" ] && bash \"$D/later.sh\"",
    "D=\"$PWD/tools\"; sh -c \"sh $D/guard.sh\"",
    "for s in \"$PWD\"/tools/a.sh; do sh \"$s\"; done",
    "run() { sh \"$1/guard.sh\"; }; run \"$PWD/tools\"",
    "set -- \"$PWD/tools\"; sh \"$1/guard.sh\"",
    // Other spellings of a path.
    "~+/tools/later",
    "$'t\\x6fols/later'",
    "t{o,}ols/later",
    "{tools/later,}",
    "set -- a:tools/later; IFS=:; G=a:tools/later; set -- $G; $2",
    "for i in tools/*; do [ -x $i ] && $i; done",
    "printf \"tools/later\\n\" | sh",
    "printf 'sh %s\\n' tools/later | bash -s",
    "git -c alias.x='!tools/later' x",
    "vim -es -c '!tools/later' -c q",
    "ed -s <<< '!tools/later'",
    "HOME=. bash -lc true",
    "HOME=\"$CLAUDE_PROJECT_DIR\" bash -lc true",
    // A path of modules or programs.
    "PYTHONPATH=\"$CLAUDE_PROJECT_DIR\" python3 -m pguard",
    "PYTHONPATH=. python3 -c 'import pguard'",
    "export PYTHONPATH=$PYTHONPATH:lib; ~/guard",
    "PERL5LIB=lib perl ~/guard.pl",
    "PERL5OPT=-Ilib perl ~/guard.pl",
    "NODE_PATH=\"$PWD/x\" node ~/guard.js",
    "NODE_OPTIONS=\"--require ./x.js\" node ~/guard.js",
    "RUBYLIB=. ruby ~/guard.rb",
    "LUA_PATH=\"./?.lua;;\" lua ~/guard.lua",
    "LD_LIBRARY_PATH=\"$CLAUDE_PROJECT_DIR/lib\" ~/guard",
    "LD_PRELOAD=./x.so ~/guard",
    "BASH_ENV=tools/guard.sh bash -c :",
    "PATH=tools:$PATH guard.sh",
    "PATH=$PATH: guard.sh",
    "export PATH=\"$PWD/tools:$PATH\"; guard.sh",
    "PATH=\"$CLAUDE_PROJECT_DIR/tools:$PATH\"; guard.sh",
    "env PATH=.:/bin guard.sh",
    "PATH=\"$(git rev-parse --show-toplevel)/tools:$PATH\"; guard.sh",
    // An option.
    "perl -I. -Mpguard -e 1",
    "perl -I lib -Mpguard -e 1",
    "perl -wIlib -Mpguard -e 1",
    "perl -I\"$CLAUDE_PROJECT_DIR\" -Mpguard -e 1",
    "perl -Mlib=lib -Mpguard -e 1",
    "ruby -I. -rpguard -e 1",
    "ruby -r./guard -e 1",
    "node -r ./guard.js ~/x.js",
    "node --import=./guard.mjs ~/x.js",
    "awk -f later.awk",
    "bash --rcfile ./rc -i",
    "php -f guard.php",
    // Its own path.
    "./later.sh",
    "tools/later.sh",
    "sh tools/later.sh; true",
    "bash later.sh",
    "timeout 5 sh -e tools/later.sh",
    "env X=1 tools/later.sh",
    "env -S \"sh tools/later.sh\"",
    "exec \"$CLAUDE_PROJECT_DIR\"/tools/later",
    "eval \"sh tools/later.sh\"",
    "bash <<< \". tools/later.sh\"",
    "bash -o pipefail tools/later.sh",
    "cd \"$CLAUDE_PROJECT_DIR\" && ./later.sh",
    "cd tools && sh later.sh",
    "find tools -name '*.sh' -exec sh {} \\;",
    "find . -name later -exec {} \\;",
    "python3 .",
    "python3 \"$CLAUDE_PROJECT_DIR\"",
    // Behind what another command prints.
    "sh \"$(git rev-parse --show-toplevel)/tools/later.sh\"; true",
    "G=$(git rev-parse --show-toplevel)/tools/later.sh; [ -f \"$G\" ] && sh \"$G\"",
    "T=$(git rev-parse --show-toplevel); sh \"$T/tools/later.sh\"",
    "sh `pwd`/tools/later.sh",
    "sh \"$(basename tools)\"/guard.sh",
    "sh \"$(dirname \"$0\")/guard.sh\"",
    // What the folder says.
    "make lint",
    "make -s -C \"$CLAUDE_PROJECT_DIR\" lint",
    "make -C tools",
    "cd \"$CLAUDE_PROJECT_DIR\" && make",
    "npm test",
    "npm run lint --silent",
    "npm --prefix \"$CLAUDE_PROJECT_DIR\" run lint",
    "npx ./tools/x",
    "npx --no-install eslint .",
    "yarn lint",
    "pnpm exec x",
    "bun run lint",
    "bun test",
    "cargo clippy",
    "just lint",
    "task lint",
    "./gradlew check",
    "gradle check",
    "mvn -q verify",
    "go test ./...",
    "uv run guard",
    "uv run pytest -q",
    "uv run -m guard",
    "uv run --directory \"$CLAUDE_PROJECT_DIR\" guard",
    "poetry run guard",
    "bundle exec guard",
    "docker compose run guard",
    "docker-compose run guard",
    "timeout 60 npm test",
    "jq -r .tool_input.file_path | xargs make",
    "if make lint; then exit 0; fi",
    "x=$(npm test 2>&1); echo \"$x\"",
    "python3 -m pytest",
    "(cd ~/x; true); make lint",
];

/// Programs that take settings, plugins, their version or code from the folder, code made of an agent's text, and all that is not known.
const CONFINED: &[&str] = &[
    "node \"$(npm root -g)/guard/run.js\"",
    "npx prettier --write \"$f\"",
    "npx -y guard@1.2.3",
    "npm exec guard",
    "bunx guard",
    "bun x guard status",
    "uvx guard",
    "pnpm dlx guard",
    "yarn dlx guard",
    "bun run \"${CLAUDE_PLUGIN_ROOT}/guard.ts\"",
    "bun \"${CLAUDE_PLUGIN_ROOT}/guard.ts\"",
    "uv run ~/guard.py",
    "uv run --quiet \"${CLAUDE_PLUGIN_ROOT}/guard.py\" \"$PWD\"",
    "uv run python \"${CLAUDE_PLUGIN_ROOT}/guard.py\"",
    "go run example.com/guard@latest",
    "git status",
    "docker run --rm guard",
    "git log --grep 'x!' && notify-send \"Done!\"",
    "guard",
    "guard \"$PWD\"",
    "jq -r .tool_input.file_path | xargs rustfmt",
    "jq -r .tool_input.file_path | xargs npx prettier --write",
    "cd \"$CLAUDE_PROJECT_DIR\" && npx prettier --check .",
    "jq -r .tool_input.file_path | xargs -n1 timeout 5 nice prettier",
    "f=$(jq -r .tool_input.file_path); [[ $f == *.py ]] && ruff format \"$f\"",
    "case \"$f\" in *.rs|*.toml) rustfmt \"$f\" ;; Write) true ;; esac",
    "if true; then x=$(mypy src 2>&1); fi",
    "sh -c 'pylint src'",
    "find . -name '*.py' -exec black {} +",
    "while read -r f; do gofmt -w \"$f\"; done",
    "> /home/ann/log npx x",
    "2>/dev/null npx x",
    "npx x &> /home/ann/log",
    "trap 'npx x' EXIT",
    "run() { eslint .; }; run",
    "cat <(rubocop)",
    "echo \"$(flake8)\"",
    "/usr/local/bin/rubocop -a",
    "~/.cargo/bin/rustfmt x",
    "~/.local/bin/pylint x",
    "~/.asdf/shims/jq .",
    "~/x/node_modules/.bin/prettier x",
    "rustc --version",
    "cargo --version",
    // git runs what the settings of a repository name.
    "git status -s; git diff --stat",
    "git -C \"$CLAUDE_PROJECT_DIR\" diff",
    "f=$(jq -r .tool_input.file_path); cd \"$(dirname \"$f\")\" && git diff",
    "jq -r .tool_input.file_path | xargs dirname | xargs -I{} git -C {} diff --stat",
    "~/.cargo/bin/rustfmt \"$f\"",
    "rustc --edition 2024 --emit metadata x.rs",
    "pylint \"$f\"",
    "python3 -m mypy src",
    "pip install -q .",
    "pip install -q guard",
    "mise exec -- guard",
    "nix fmt",
    "hk check",
    "tsx ~/guard.ts",
    "cd sub && git status",
    "git -C \"$CLAUDE_PROJECT_DIR/sub\" status",
    "git --git-dir=sub/.git diff",
    "GIT_DIR=sub/.git git status",
    "GIT_DIR=sub/.git git rev-parse HEAD",
    "find . -name .git -execdir git status \\;",
    "f=$(jq -r .tool_input.file_path); rubocop -A \"$f\"",
    "jq -r .tool_input.file_path | xargs gofmt -w",
    "ruff check \"$f\" && black \"$f\"",
    "git -C \"$CLAUDE_PROJECT_DIR\" add -A && git commit -q -m x",
    "cd \"$CLAUDE_PROJECT_DIR\" && git diff --stat",
    "cd \"$(git rev-parse --show-toplevel)\" && git status",
    "git -C . log -1; git -C ~/notes pull",
    "gh pr list",
    "function f { npx x; }; f",
    "$(which npx) prettier x",
    "P=$(command -v prettier); $P x",
    "$FORMATTER x",
    "$SHELL -lc 'npx x'",
    "cd ~/x && jq -r .tool_input.file_path | xargs prettier",
    "cd ~/x && git -C \"$CLAUDE_PROJECT_DIR\" diff",
    // Interpreters that look there, and code that an agent names.
    "python3 -m mypy x",
    "python3 -m pylint x",
    "f=$(jq -r .tool_input.file_path); python3 \"$f\"",
    "jq -r .tool_input.file_path | xargs sh",
    "jq -r .tool_input.file_path | xargs -I{} sh -c 'cat {} >> ~/log'",
    "jq -r .x | sh",
    "cmd=$(jq -r .tool_input.command); eval \"$cmd\"",
    "node -e 'require(\"prettier\")'",
    "node --require ts-node/register ~/g.js",
    "node --run lint",
    "tsx ~/g.ts",
    "php ~/g.php",
    "lua ~/g.lua",
    "deno run ~/g.ts",
    "gawk -i inplace 1 ~/x",
    "jq -r .tool_input.file_path | xargs perl -pi -e 's/a/b/'",
    "f=$(jq -r .tool_input.file_path); sort $f",
    "sed -f x.sed ~/list",
    "n=$(jq .x); [[ $n -gt 5 ]] && ~/guard",
    "n=$(jq .x); echo $((n + 1))",
    // Text of an agent's within code, or as the name of a variable.
    "f=$(jq -r .tool_input.file_path); sh -c \"echo $f >> ~/log\"",
    "f=$(jq -r .x); timeout 5 bash -euc \"wc -l '$f'\"",
    "bash -c \"notify-send $(jq -r .x)\"",
    "f=$(jq -r .x); python3 -c \"print('$f')\"",
    "f=$(jq -r .x); perl -e \"print '$f'\"",
    "f=$(jq -r .x); node -e \"console.log('$f')\"",
    "f=$(jq -r .x); awk \"BEGIN { print \\\"$f\\\" }\"",
    "f=$(jq -r .x); date | sed \"s|x|$f|\"",
    "f=$(jq -r .x); date | sed -n -e \"s|x|$f|\"",
    "f=$(jq -r .x); eval \"echo $f\"",
    "f=$(jq -r .x); trap \"echo $f\" EXIT",
    "note() { sh -c \"logger $1\"; }; note x",
    "export $(grep -v '^#' .env | xargs); ~/guard",
    "while IFS== read -r k v; do export \"$k=$v\"; done < .env; ~/guard",
    "jq -r .x | while IFS= read -r f; do sh \"$f\"; done",
    "jq -r .x | while IFS= read -r f; do sort $f; done",
    "x=$(jq -r .x); declare \"$x=1\"",
    "x=$(jq -r .x); unset \"$x\"",
    "x=$(jq -r .x); [[ -v \"$x\" ]] && ~/guard",
    "x=$(jq -r .x); printf -v \"$x\" y",
    "f=$(jq -r .x); [ -f $f ] && ~/guard",
    "f=$(jq -r .x); test $f = y && ~/guard",
    "f=$(jq -r .x); xxd $f",
    "f=$(jq -r .x); printf $f y",
    "f=$(jq -r .x); printf \"$f\" y",
    "k=$(jq -r .x); echo ${!k}",
    "n=$(jq -r .x); x=abc; echo \"${x:$n}\"",
    "n=$(jq -r .x); x=abc; echo \"${x:n:1}\"",
    "n=$(jq -r .x); a=(1 2); echo \"${a[n]}\"",
    "u=$(jq -r .x); curl -sI \"$u\"",
    "p=$(jq -r .x); rg -q \"$p\" ~/list",
    "h=$(jq -r .x); ssh \"$h\" true",
    "jq -r .x | parallel",
    "jq -r .x | xargs -n1 timeout 5",
    "env $(cat .env | xargs) ~/guard",
    "tmux new-window 'npx x'",
    "m=$(jq -r .x); tmux display-message \"$m\"",
    "d=$(jq -r .cwd); PATH=\"$d:$PATH\" ~/guard",
    // Harmless but for what nobody can tell of them.
    "[ -s \"$NVM_DIR/nvm.sh\" ] && . \"$NVM_DIR/nvm.sh\"; node ~/guard.js",
    "python3 -W ignore ~/guard.py",
    "perl -ne 'print if m{a/b}' ~/list",
    "perl -W ~/guard.pl x",
    "awk '{print $1/2}' ~/list",
    "PYTHONPATH=\"${PYTHONPATH:+$PYTHONPATH:}/opt/x\" python3 ~/guard.py",
    "PATH=\"$HOME/bin:/opt/x:$PATH\" ~/guard",
    "export PATH=\"$($SHELL -lc 'echo $PATH' 2>/dev/null):$PATH\"; ~/guard",
    "export PATH=\"$HOME/.nvm/v$(ls ~/.nvm | tail -1)/bin:$PATH\"; ~/guard",
    "export PATH=\"$(brew --prefix)/bin:$PATH\"; ~/guard",
    "ENV=production ~/bin/guard",
    "make -C ~/guards check",
    "cd ~/guards && make check",
    "cd \"${CLAUDE_PLUGIN_ROOT}\" && npm run guard",
    "npm --prefix \"${CLAUDE_PLUGIN_ROOT}\" run guard",
    "make --version",
    "cd ~/guards && npx guard",
    "find . -name '*.md' -exec grep -l x {} +",
    "rg --glob '!dist/**' x ~/list",
    "cp ~/x.{md,txt} ~/y",
    "for f in ~/hooks/*.sh; do sh \"$f\"; done",
    "git -C ~/guards pull -q; ~/guards/guard",
    "jq -r .tool_input.file_path | xargs -I{} logger 'wrote {}'",
    "osascript -e 'display notification \"done\"'",
    "case \"$f\" in Write|Edit) notify-send \"$f\" ;; *) true ;; esac",
    "while read -r f; do echo \"$f\" >> ~/log; done",
    "$SHELL ~/guard.sh",
    "note() { logger \"$1\"; }; note done",
    "node -e 'const d = JSON.parse(require(\"fs\").readFileSync(0)); console.log(d.x)'",
    "python3 -m json.tool",
    "date +%F >> ~/log; touch ~/x-$(date +%s)",
    "sed -n 1p ~/list | tr a b | sort -u",
    "grep -rq FIXME src && echo '{}' || true",
    "trap 'rm -f ~/lock' EXIT; ~/guard",
    "[[ $? -eq 0 ]] && ~/guard",
    "f=$(jq -r .x); sh -c 'wc -l \"$1\"' _ \"$f\"",
    "bash -c \"cd $HOME && ~/guard $(date +%s)\"",
    "f=$(jq -r .x); awk -v f=\"$f\" 'BEGIN { print f }'",
    "f=$(jq -r .x); python3 -c 'import sys; print(sys.argv[1])' \"$f\"",
    "jq -r .x | sed \"s|$CLAUDE_PROJECT_DIR/||; s/x$/y/\" >> ~/log",
    "export F=\"$(jq -r .x)\"; ~/guard",
    "read -r x; local y=$x; ~/guard \"$y\"",
    "f=$(jq -r .x); [ -f \"$f\" ] && ~/guard \"$f\"; [ $? -eq 0 ] && [ -z \"${f:-}\" ]",
    "f=$(jq -r .x); echo \"${f##*/} ${f:0:20} ${#f} ${f:-none} ${BASH_REMATCH[1]} ${a[@]}\"",
    "U=https://example.com/x; b=$(jq -c .); curl -s -X POST -d \"$b\" -H \"X: $b\" --data \"$b\" \"$U\"",
    "p=$(jq -r .x); rg -q -e \"$p\" ~/list; rg -- \"$p\" ~/list",
    "m=$(jq -r .x); printf \"$m\\n\" >> ~/log",
    "jq -r .x | xargs",
    "jq -r .x | xargs -n1 basename",
    // Files of the workspace by their names, which a link leads elsewhere, and texts of an agent's as code.
    "cat >> log.jsonl",
    "date > .last-run",
    "mkdir -p logs && cat >> ~/logs/hooks.jsonl",
    "git rev-parse HEAD > .last-commit",
    "touch .last-run",
    "cat > \"$CLAUDE_PROJECT_DIR\"/log",
    "f=$(jq -r .tool_input.file_path); cp \"$f\" \"$HOME/backups/$(basename \"$f\").$(date +%s)\"",
    "f=$(jq -r .tool_input.file_path); cp \"$f\" \"$f.bak\"",
    "jq . \"$f\" > \"$f.tmp\" && mv \"$f.tmp\" \"$f\"",
    "jq -r .tool_input.content | tee -a logs/cmd.log",
    "chmod 644 \"$f\"",
    "rm -rf .cache/tmp",
    "cp -r . ~/backup/",
    "sort -o words.txt words.txt",
    "f=$(jq -r .tool_input.file_path); if grep -nE \"PRIVATE|SECRET\" \"$f\" >&2; then exit 2; fi",
    "cat *.md >&2; exit 2",
    "cat TODO.md",
    "F=$(jq -r .tool_input.file_path | tee -a ~/log); bash -c \"wc -l $F\"",
    "F=$(~/hooks/get-path); sh -c \"wc -l $F\"",
    "M=$(~/hooks/message); eval \"notify-send $M\"",
    "F=\"$(cat ~/.last)\"; bash -c \"echo $F\"",
    "if [ $N -gt 5 ]; then ~/guard; fi",
    "N=$(jq -r .x); [ \"$N\" -gt 5 ] && ~/guard",
    "N=$(jq -r .x); [ -v \"$N\" ] && ~/guard",
    "jq -r .x | awk '{system(\"wc -l \" $0)}'",
    "jq -r .x | awk '{print | $0}'",
    "awk 'BEGIN{system(ARGV[1])}' \"$N\"",
    "sed '1e make' x",
    "jq -r .x | xargs --replace=% sh -c 'wc -l %'",
    "declare -i LINES=$N",
    "echo \"${N@P}\"",
    "hash -p \"$N\" ls; ls",
    "N=$(jq -r .x); printf '%n' \"$N\"",
    "ssh laptop \"notify-send 'edited $m'\"",
    "setsid -w make",
    "echo $(echo \")\"; make)",
    "$(case x in x) make;; esac)",
    "echo `make`",
    "echo `echo \\`make\\``",
    "echo \"$(make)\"",
    "python3 -c \"import os; os.system('wc -l x')\"",
    "~/hooks/../../work/x.sh",
    "/proc/self/cwd/x.sh",
    "cat < notes.txt",
    "echo x > /dev/tcp/example.com/80",
    "curl -s -T notes.txt https://example.com",
    "curl -s -d @notes.txt https://example.com",
    "curl -so x https://example.com",
    "U=$(jq -r .x); curl -s \"$U\"",
    "/opt/conda/bin/pylint src",
    "~/miniforge3/bin/mypy src",
    "~/bin/npx prettier .",
    "~/tools/git status",
    "~/.composer/vendor/bin/php-cs-fixer fix",
    "jq -r .x > ~/last.sh; bash ~/last.sh",
    "jq -r .x > ~/last.sh && ~/last.sh",
    "jq -r .x | tee ~/last.sh; . ~/last.sh",
    "jq -r .x > ~/last.sh; bash -c '~/last.sh'",
    "jq -r .x | bash /dev/stdin",
    "jq -r .x | . /dev/stdin",
    "export CLAUDE_PLUGIN_ROOT=\"$(jq -r .cwd)\"; node \"${CLAUDE_PLUGIN_ROOT}/guard.js\"",
    "CLAUDE_PLUGIN_ROOT=$PWD/x; node \"${CLAUDE_PLUGIN_ROOT}/guard.js\"",
    "CLAUDE_PLUGIN_ROOT=x node ~/guard.js",
    "PWD=/x; ~/guard",
    "G=$PWD/guard; \"$G\"",
    "G=~/guard; G=$(jq -r .x); \"$G\"",
    "G=~/guard; sh -c \"$G; $(jq -r .x)\"",
    "CLAUDE_PROJECT_DIR=\"$CLAUDE_PROJECT_DIR\" ~/bin/guard",
    "jq -f x.jq",
    "x=$(jq -r .x); echo \"${X:-$(make)}\"",
    "x=$(jq -r .x); echo \"${x:n}\"",
    "[[ -v \"$x\" ]]",
    "[[ $x -eq 1 ]]",
    "[[ -f x && -d y ]]",
    "jq 'import \"x\" as x; x::y'",
    "tee -a \"$CLAUDE_PROJECT_DIR/log\"",
    "mkdir logs",
    "notify-send $MSG",
    "echo *",
    "~/guard *.sh",
    "~/guard $FILE",
    "echo x | while read -r l; do make; done",
    "(make)",
    "{ make; }",
    "cat <<E",
    "make && ~/guard",
    "~/guard; make",
    "~/guard | make",
    "~/guard & make",
    "! make",
    "if make; then ~/guard; fi",
    "\"m\"ake",
    "PATH=\"$(jq -r .cwd)\"; ~/guard",
    "LD_PRELOAD=./x.so; ~/guard",
    "X=$(jq -r .x) ~/guard",
    "\\make",
    "command make",
    "exec make",
    "timeout 5 make",
    "/usr/bin/env make",
];

fn reached(text: &str, root: &Path) -> WorkspaceReach {
    read_at((text, None), &[root.to_str().unwrap().to_owned()], Path::new("/home/ann"), &[])
}

#[test]
fn a_place_of_the_workspace_from_which_something_is_run_is_told_from_one_that_is_an_argument() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut wrong = Vec::new();
    for is_made in [false, true] {
        if is_made {
            std::fs::create_dir_all(root.join("tools/x")).unwrap();
            std::fs::create_dir(root.join("lib")).unwrap();
        }
        let is_nothing = |text: &&&str| reached(text, &root) == WorkspaceReach::Nothing;
        wrong.extend(
            LEADING
                .iter()
                .chain(CONFINED)
                .chain(NOT_FOLLOWED)
                .filter(is_nothing)
                .map(|text| format!("{is_made} leads: {text}")),
        );
        let apart = OUTSIDE.iter().filter(|text| !is_nothing(text));
        wrong.extend(apart.map(|text| format!("{is_made} apart: {text}: {:?}", reached(text, &root))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A repository brings texts of hooks, too.
#[test]
fn text_that_nobody_would_write_is_not_read_for_long() {
    let root = Path::new("/w");
    let nested = format!("{}true{}", "A=$(".repeat(3_000), ")".repeat(3_000));
    let quoted = format!("echo {}true{}", "\"$(echo ".repeat(1_000), ")\"".repeat(1_000));
    let long = "date >> /home/ann/log;".repeat(100_000);
    let odd =
        ["echo\u{a0}done", "echo done\r\n~/guard", "\u{3000}", "echo \u{1}", "~/guard\u{b}x", "echo '\0'"];
    for text in odd.into_iter().chain([nested.as_str(), &quoted, &long]) {
        assert_ne!(reached(text, root), WorkspaceReach::Nothing, "{:.40}", text);
    }
}

#[test]
fn a_command_without_a_shell_is_read_alike() {
    let roots = ["/w".to_owned()];
    let read = |words: &[&str]| {
        let args: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        read_at((words[0], Some(&args)), &roots, Path::new("/home/ann"), &[])
    };
    for words in [
        &["make", "lint"][..],
        &["perl", "-I.", "-Mpguard", "-e", "1"],
        &["bash", "-c", "D=$PWD/tools; sh \"$D/guard.sh\""],
        &["${CLAUDE_PROJECT_DIR}/tools/later"],
    ] {
        assert_ne!(read(words), WorkspaceReach::Nothing, "{words:?}");
    }
    for words in [
        &["node", "${CLAUDE_PLUGIN_ROOT}/run.js", "${CLAUDE_PROJECT_DIR}"][..],
        &["/home/ann/guard", "make", "fast"],
        &["python3", "/home/ann/guard.py"],
    ] {
        assert_eq!(read(words), WorkspaceReach::Nothing, "{words:?}");
    }
}

#[test]
fn a_program_that_starts_the_version_that_the_folder_names_is_one_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for path in ["shims", "bin", "own", "w"] {
        std::fs::create_dir(at(path)).unwrap();
    }
    for (path, text) in [
        ("shims/jq", "#!/bin/sh\n"),
        ("shims/python3", "#!/bin/sh\n"),
        ("bin/mise", "x"),
        ("own/guard.ts", "#!/usr/bin/env -S npx tsx\n"),
        ("own/guard.py", "#!/usr/bin/env python3\n"),
        ("own/guard.sh", "#!/bin/bash\n"),
        ("own/guard.js", "#!/usr/bin/env node\n"),
    ] {
        std::fs::write(at(path), text).unwrap();
    }
    for (path, text) in [
        ("own/binary", "\u{7f}ELF"),
        ("own/plain", "echo x\n"),
        ("own/imports.ts", "#!/usr/bin/env -S node --import tsx\n"),
        ("own/lib.pl", "#!/usr/bin/perl -Ilib\n"),
        ("own/env.py", "#!/usr/bin/env -S PYTHONPATH=. python3\n"),
        ("own/strict.sh", "#!/bin/bash -eu\n"),
    ] {
        std::fs::write(at(path), text).unwrap();
    }
    std::os::unix::fs::symlink("/usr/bin/make", at("own/linked")).unwrap();
    std::os::unix::fs::symlink(at("bin/mise"), at("bin/curl")).unwrap();
    let roots = [at("w").to_str().unwrap().to_owned()];
    let folders = [at("shims"), at("bin")];
    let own = at("own").display().to_string();
    std::os::unix::fs::symlink(at("w"), at("own/link")).unwrap();
    for (text, is_taking) in [
        (format!("{own}/link/later.sh"), true),
        (format!("python3 {own}/link/x/later.py"), true),
        (format!(". {own}/link/later.sh"), true),
        (format!("sh {own}/later.sh"), false),
        (format!("sh {own}"), true),
        (format!("{own}/linked"), true),
        (format!("{own}/binary"), true),
        (format!("{own}/plain"), true),
        (format!("sh {own}/plain"), true),
        (format!("{own}/imports.ts"), true),
        (format!("{own}/lib.pl"), true),
        (format!("{own}/env.py"), true),
        (format!("{own}/strict.sh"), false),
        ("jq .".to_owned(), true),
        ("curl -s x".to_owned(), true),
        ("cat".to_owned(), false),
        (format!("python3 {own}/guard.py"), true),
        (format!("{own}/guard.py"), true),
        (format!("{own}/guard.ts"), true),
        (format!("{own}/guard.sh"), false),
        (format!("{own}/guard.js"), false),
        (format!("cd {own} && jq ."), true),
    ] {
        let found = read_at((&text, None), &roots, Path::new("/home/ann"), &folders);
        assert_eq!(found != WorkspaceReach::Nothing, is_taking, "{text}: {found:?}");
    }
}

/// The answer of a hook that prints words of the event is the agent's.
#[test]
fn a_text_that_prints_the_event_says_nothing_for_its_person() {
    let repeats = |command: &str| {
        super::repeats_input(&crate::HookHandler::Command { command: command.to_owned(), args: None })
    };
    for command in [
        "jq -r .tool_input.command | tee -a ~/log",
        "cat",
        "echo \"$(jq -r .x)\"",
        "printf '%s' \"$INPUT\"",
        "~/guard; jq .",
        "for x in a; do ~/guard; done",
    ] {
        assert!(repeats(command), "{command}");
    }
    for command in [
        "~/guard",
        "cat > /dev/null; printf '%s' '{\"x\":1}'",
        "python3 ~/guard.py \"$PWD\"",
        "bash -c '~/guard x'",
        "exec ~/guard; exit 0",
    ] {
        assert!(!repeats(command), "{command}");
    }
}

/// Where the environment is known, a variable without a value leads nobody knows where.
#[test]
fn a_plugin_folder_without_a_value_is_none_of_a_persons_own() {
    let roots = ["/w".to_owned()];
    let read = |command: &str, args: Option<&[String]>, value: Option<&str>| {
        let value = |_: &str| value.map(str::to_owned);
        of_hook(HookText { command, args }, &roots, (Path::new("/home/ann"), &[]), Some(&value))
    };
    let args = ["${CLAUDE_PLUGIN_ROOT}/guard.js".to_owned()];
    for value in [None, Some("."), Some("/w/x"), Some("")] {
        assert_ne!(read("node", Some(&args), value), WorkspaceReach::Nothing, "{value:?}");
        assert_ne!(
            read("node \"${CLAUDE_PLUGIN_ROOT}/guard.js\"", None, value),
            WorkspaceReach::Nothing,
            "{value:?}"
        );
    }
    assert_eq!(read("node", Some(&args), Some("/home/ann/p")), WorkspaceReach::Nothing);
}
