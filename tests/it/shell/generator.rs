//! Commands in commands, at random: every form that runs something, in each other.
//!
//! `SUBAGENTD_SEED` sets the seed.

use std::hash::{BuildHasher as _, RandomState};

/// SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// Its own seed, or the one that is asked for.
pub fn seed() -> u64 {
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse().unwrap());
    given.unwrap_or_else(|| RandomState::new().hash_one("seed"))
}

/// The seed, and so many texts.
pub fn compositions(count: usize) -> (u64, Vec<String>) {
    let seed = seed();
    let mut dice = Dice::new(seed);
    let texts = (0..count).map(|_| {
        let depth = 1 + dice.below(3);
        composed(&mut dice, depth)
    });
    (seed, texts.collect())
}

const SIMPLE: &[&str] = &[
    "git status",
    "rm x",
    "make all",
    "ls -l",
    "cargo test",
    "tee y",
    "kill 1",
    "g\"i\"t push",
    "\\rm -f z",
    "$'ls'",
    "/bin/cat a",
    "touch 'a b'",
    "npm test",
    "grep x a.txt",
    "A=1 make",
    "git -C src log",
    "mkdir {a,b}",
    "cat < a.txt",
    "sort > out",
    "wc -l \\\n a.txt",
    "head -n 1 # not rm",
    "echo 'rm' $((1 + 2))",
    "sed s/a/b/ a.txt",
    "cut -d';' -f1",
];

/// One command.
pub fn simple(dice: &mut Dice) -> String {
    dice.pick(SIMPLE).to_owned()
}

/// A wrapper around a whole text, which may be any.
pub fn wrapped(dice: &mut Dice, inner: &str) -> String {
    let quoted = quoted(inner);
    match dice.below(9) {
        0 => format!("bash -c {quoted}"),
        1 => format!("env A=1 bash -c {quoted}"),
        2 => format!("echo a | xargs bash -c {quoted}"),
        3 => format!("echo $(\n{inner}\n)"),
        4 => format!("timeout 2 bash -c {quoted}"),
        5 => format!("nice -n 5 bash -c {quoted}"),
        6 => format!("sudo bash -c {quoted}"),
        7 => format!("(\n{inner}\n)"),
        _ => format!("eval {quoted}"),
    }
}

fn composed(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return simple(dice);
    }
    let one = composed(dice, depth - 1);
    let other = composed(dice, depth - 1);
    match dice.below(36) {
        0..=7 => wrapped(dice, &one),
        8 => format!("{one}\n{other}"),
        9 => format!("{{\n{one}\n}} && {{\n{other}\n}}"),
        10 => format!("{{\n{one}\n}} || {{\n{other}\n}}"),
        11 => format!("{{\n{one}\n}} | {{\n{other}\n}}"),
        12 => format!("(\n{one}\n) & wait"),
        13 => format!("if\n{one}\nthen\n{other}\nfi"),
        14 => format!("if false; then :; elif\n{one}\nthen :; else\n{other}\nfi"),
        15 => format!("for i in 1 2; do\n{one}\ndone"),
        16 => format!("case a in b) ;; a)\n{one}\n;& *)\n{other}\n;; esac"),
        17 => format!("trap {} EXIT\n{other}", quoted(&one)),
        18 => format!("f() {{\n{one}\n}}\nf\n{other}"),
        19 => format!("bash <<'JUDGE{depth}'\n{one}\nJUDGE{depth}\n{other}"),
        20 => format!("cat <<JUDGE{depth}\n$(\n{one}\n)\nJUDGE{depth}\n{other}"),
        21 => format!("cat <(\n{one}\n) > >(\n{other}\n)"),
        22 => format!("! {{\n{one}\n}} 2>&1 | cat"),
        23 => format!("x=$(\n{one}\n)\n{other}"),
        24 => format!("echo \"a ${{x:-$(\n{one}\n)}} b\""),
        25 => format!("while\n{one}\nbreak; do :; done"),
        26 => format!("bash <<< {}", quoted(&one)),
        27 => format!("find . -maxdepth 0 -exec bash -c {} _ {{}} \\;", quoted(&one)),
        28 => format!("coproc {{\n{one}\n}}\nwait"),
        29 => {
            let line = dice.pick(&[")$(rm x)", "x)", " )", "x", "(", "\\)", "; rm x; (:)"]);
            let end = format!("JUDGE{depth}");
            format!("echo \"$(cat <<'{end}'\na\n{end}{line}\n{end}\n)\" <({one}\n)")
        }
        30 | 31 => {
            let name = dice.pick(&["RANDOM", "OPTIND", "SECONDS", "BASHPID", "HISTCMD", "LINENO", "x"]);
            let value = quoted(&format!("a[$(\n{one}\n)]"));
            let form =
                dice.pick(&["N=V", "N+=V", "N=(V)", "for N in V; do :; done", "printf -v 'N[0]' %s V"]);
            format!("{}\n{other}", form.replace('N', name).replace('V', &value))
        }
        32 => format!("ls >&{}\n{other}", quoted(&format!("$(\n{one}\n)"))),
        33 => format!("ls >&{}\n{other}", dice.pick(&["out", "2", "'a b'", "{a,b}", "\"$x\"", "'\"y\"'"])),
        _ => format!("[[ -n \"$(\n{one}\n)\" ]] || ( ((1)) && {{\n{other}\n}} )"),
    }
}

/// In single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
