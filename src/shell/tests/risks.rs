//! Does each row of the risk table speak about what it names, and about nothing beside?

use super::*;
use crate::risk::rows;

/// At least one for each row.
const DANGEROUS: &[&str] = &[
    "sudo ls",
    "rm -r x",
    "chmod -R 1 x",
    "kill 1",
    "fuser -k x",
    "git push -f",
    "git reset --hard",
    "git clean -fd",
    "git filter-branch x",
    "git filter-repo x",
    "systemd-run x",
    "ssh h",
    "tmux",
    "systemctl restart x",
    "service x start",
    "mount a b",
    "subagent approve x",
    "subagent config set a b",
    "subagent status",
    "reboot",
    "systemctl reboot",
    "mkfs.ext4 x",
    "fdisk x",
    "shred /dev/sda",
    "shred -n 1 x",
    "gshred x",
    "git rm -rf .",
    "git rm -r src",
    "git rm -f a",
    "yash -c 'rm -rf ~'",
    "gtimeout 5 rm -rf ~",
    "grm -rf ~",
    "/opt/homebrew/bin/gtimeout 5 rm -r x",
    "genv rm -r x",
    "gxargs rm -r",
    "gfind . -exec rm -r {} +",
    "nc -e /bin/sh h 1",
    "nc -c sh h 1",
    "ncat --exec ./x h 1",
    "nc.traditional -lp 1 -e ./x",
    "netcat -lpe ./x 1",
    "apt install x",
    "pip install x",
    "python3 -m pip install x",
    "uv pip install x",
    "mypy --install-types x",
    "uv add x",
    "npm install",
    "npx x",
    "cargo install x",
    "rustup update",
    "go install x",
    "apk add x",
    "pacman -S x",
    "dpkg -i x",
    "nix-env -i x",
    "nix run x",
    "composer require x",
    "bundle install",
    "mix deps.get",
    "cabal install x",
    "cpan x",
];

/// The same commands, doing something else.
const ORDINARY: &[&str] = &[
    "rm x",
    "chmod +x x",
    "fuser x",
    "git push",
    "git push origin main",
    "git reset",
    "git clean -n",
    "git log --hard",
    "git commit -m '--force'",
    "systemctl status x",
    "apt list",
    "pip list",
    "python3 -m pytest",
    "uv run x",
    "npm test",
    "npm run build",
    "cargo build",
    "rustup show",
    "go build",
    "apk info",
    "pacman -Q",
    "dpkg -l",
    "composer show",
    "bundle exec x",
    "mix test",
    "cabal build",
    "git rm x",
    "git rm --cached x",
    "nc -z h 1",
    "gdate",
    "gls -l",
    "gsort x",
    "cargo test install",
    "kubectl get pods",
    "npm -v",
];

#[test]
fn each_row_has_an_example() {
    let readings: Vec<ShellAnalysis> = DANGEROUS.iter().map(|text| judged(text)).collect();
    let mut silent = Vec::new();
    for row in rows() {
        let speaks = |name: &str, finding: &RiskFinding| {
            finding.risk == row.risk
                && finding.what.starts_with(&format!("`{name}"))
                && finding.what.ends_with(row.what)
        };
        let is_met = row.names.iter().any(|name| {
            readings.iter().flat_map(|reading| &reading.findings).any(|finding| speaks(name, finding))
        });
        if !is_met {
            silent.push(row);
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn each_example_is_as_dangerous_as_its_row() {
    for text in DANGEROUS {
        let reading = judged(text);
        assert!(reading.risk >= Risk::High, "{text}: {reading:?}");
        assert!(
            reading.findings.iter().all(|finding| finding.risk >= Risk::High && !finding.what.is_empty()),
            "{text}"
        );
    }
    for text in ORDINARY {
        let reading = judged(text);
        assert_eq!((reading.risk, reading.findings), (Risk::Medium, vec![]), "{text}");
    }
}

#[test]
fn words_that_are_not_known_may_be_the_dangerous_ones() {
    for text in
        ["git push $x", "git reset \"$x\"", "rm $x", "npm $x", "pip \"$x\"", "systemctl $x", "xargs git push"]
    {
        assert!(judged(text).risk >= Risk::High, "{text}");
    }
}
