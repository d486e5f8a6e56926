//! Which commands run or load something of the workspace by way of a place there?

use std::path::Path;

use crate::{WorkspaceReach, reach};

/// The same whether the folders that they lead to are there or not: an agent makes them.
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

/// Programs that lie elsewhere, and take the project's folder as an argument at most.
const APART: &[&str] = &[
    "\"${CLAUDE_PLUGIN_ROOT}/hook.sh\" \"$CLAUDE_PROJECT_DIR\"",
    "/home/ann/bin/guard \"$PWD\"",
    "~/bin/guard --root=\"$CLAUDE_PROJECT_DIR\"",
    "cd \"$CLAUDE_PROJECT_DIR\" && /elsewhere/guard",
    "cd \"$CLAUDE_PROJECT_DIR\" && node \"${CLAUDE_PLUGIN_ROOT}/run.js\" \"$PWD\"",
    "P=\"$CLAUDE_PROJECT_DIR\"; ~/bin/guard \"$P\"",
    "ROOT=$(git rev-parse --show-toplevel); ~/bin/guard --root \"$ROOT\"",
    "CLAUDE_PROJECT_DIR=\"$CLAUDE_PROJECT_DIR\" ~/bin/guard",
    "python3 \"${CLAUDE_PLUGIN_ROOT}/guard.py\" --folder .",
    "bash -e ~/guard.sh . x",
    ". ~/guard.sh",
    "[ -s \"$NVM_DIR/nvm.sh\" ] && . \"$NVM_DIR/nvm.sh\"; node ~/guard.js",
    "source \"${CLAUDE_PLUGIN_ROOT}/lib.sh\" && ~/guard \"$PWD\"",
    "bash -euo pipefail ~/guard.sh",
    "python3 -W ignore ~/guard.py",
    "python3 -I ~/guard.py",
    "perl -ne 'print if m{a/b}' ~/list",
    "perl -W ~/guard.pl x",
    "awk '{print $1/2}' ~/list",
    "PYTHONPATH=\"${PYTHONPATH:+$PYTHONPATH:}/opt/x\" python3 ~/guard.py",
    "PATH=\"$HOME/bin:/opt/x:$PATH\" ~/guard",
    "export PATH=\"$($SHELL -lc 'echo $PATH' 2>/dev/null):$PATH\"; ~/guard",
    "export PATH=\"$HOME/.nvm/v$(ls ~/.nvm | tail -1)/bin:$PATH\"; ~/guard",
    "export PATH=\"$(brew --prefix)/bin:$PATH\"; ~/guard",
    "MODE=fast ~/bin/guard",
    "ENV=production ~/bin/guard",
    "FILE=$(jq -r .tool_input.file_path); ~/bin/guard \"$FILE\"",
    "make -C ~/guards check",
    "cd ~/guards && make check",
    "cd \"${CLAUDE_PLUGIN_ROOT}\" && npm run guard",
    "npm --prefix \"${CLAUDE_PLUGIN_ROOT}\" run guard",
    "command -v make >/dev/null && ~/bin/guard",
    "which npm && ~/bin/guard",
    "make --version",
    "cd ~/guards && npx guard",
    "cd \"$(git rev-parse --show-toplevel)\" && ~/bin/guard",
    "echo make test >> ~/log",
    "~/bin/guard make test",
    "find . -name '*.md' -exec grep -l x {} +",
    "printf '%s\\n' \"$INPUT\" | python3 ~/guard.py",
    "echo \"make it so\" | sh ~/guard.sh",
    "rg --glob '!dist/**' x ~/list",
    "cp ~/x.{md,txt} ~/y",
    "for f in ~/hooks/*.sh; do sh \"$f\"; done",
    "grep -E \"\\.(ts|js)$\" && ~/guard",
    "git -C ~/guards pull -q; ~/guards/guard",
    "B=$(git branch --show-current); ~/guard \"$B\"",
    "jq -r '.tool_input.file_path' >> ~/log 2>&1",
    "jq -r .tool_input.file_path | xargs -I{} logger 'wrote {}'",
    "curl -s -d @- https://example.com > /dev/null || true",
    "osascript -e 'display notification \"done\"'",
    "case \"$f\" in Write|Edit) notify-send \"$f\" ;; *) true ;; esac",
    "while read -r f; do echo \"$f\" >> ~/log; done",
    "G=~/bin/guard; \"$G\" x",
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
    "x=$(jq -r .x); printf '%s\\n' \"$x\" >> ~/log",
    "read -r x; local y=$x; ~/guard \"$y\"",
    "f=$(jq -r .x); [ -f \"$f\" ] && ~/guard \"$f\"; [ $? -eq 0 ] && [ -z \"${f:-}\" ]",
    "f=$(jq -r .x); echo \"${f##*/} ${f:0:20} ${#f} ${f:-none} ${BASH_REMATCH[1]} ${a[@]}\"",
    "U=https://example.com/x; b=$(jq -c .); curl -s -X POST -d \"$b\" -H \"X: $b\" --data \"$b\" \"$U\"",
    "curl -sf -m 5 -d @- \"$SLACK_URL\" > /dev/null",
    "p=$(jq -r .x); rg -q -e \"$p\" ~/list; rg -- \"$p\" ~/list",
    "MODE=fast; sh -c \"~/guard $MODE\"",
    "m=$(jq -r .x); printf \"$m\\n\" >> ~/log",
    "tmux display-message -t \"$TMUX_PANE\" 'done'",
    "jq -r .x | xargs",
    "jq -r .x | xargs -n1 basename",
];

/// Programs that take settings, plugins, their version or code from the folder, and all that nobody looked up.
const TAKING: &[&str] = &[
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
];

fn reached(text: &str, root: &Path) -> WorkspaceReach {
    reach::of_text(text, &[root.to_str().unwrap().to_owned()], Path::new("/home/ann"), &[])
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
            LEADING.iter().chain(TAKING).filter(is_nothing).map(|text| format!("{is_made} leads: {text}")),
        );
        let apart = APART.iter().filter(|text| !is_nothing(text));
        wrong.extend(apart.map(|text| format!("{is_made} apart: {text}: {:?}", reached(text, &root))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_without_a_shell_is_read_alike() {
    let roots = ["/w".to_owned()];
    let read = |words: &[&str]| {
        let args: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        reach::of_words(words[0], &args, &roots, (Path::new("/home/ann"), &[]))
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
        &["/home/ann/guard", "*.sh", "make"],
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
        ("jq .".to_owned(), true),
        ("curl -s x".to_owned(), true),
        ("cat".to_owned(), false),
        (format!("python3 {own}/guard.py"), true),
        (format!("{own}/guard.py"), true),
        (format!("{own}/guard.ts"), true),
        (format!("{own}/guard.sh"), false),
        (format!("{own}/guard.js"), false),
        (format!("cd {own} && jq ."), false),
    ] {
        let found = reach::of_text(&text, &roots, Path::new("/home/ann"), &folders);
        assert_eq!(found != WorkspaceReach::Nothing, is_taking, "{text}: {found:?}");
    }
}
