//! Texts at random of one who wants to write or to run something unseen: git, awk, sed, find and writers with odd options and
//! programs, in wrappers and declarations, their words quoted in any way.

use super::generator::{Dice, quoted};

/// Places that a text may want to write to; some lie outside, one by a link.
const PLACES: &[&str] = &[
    "x",
    "src/x",
    "./src/../y",
    "a.txt",
    "../x",
    "/home/ann/out/x",
    "/tmp/far/x",
    "src/../../x",
    "link/x",
    "link/../x",
    "src/../link/../x",
    "/home/ann/shop/z",
];

/// One text.
pub fn hostile(dice: &mut Dice) -> String {
    let depth = dice.below(3);
    composed(dice, depth)
}

fn composed(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return command(dice);
    }
    let one = composed(dice, depth - 1);
    if dice.below(3) > 0 {
        return wrapped(dice, &one);
    }
    let other = command(dice);
    match dice.below(12) {
        0 => format!("{one}; {other}"),
        1 => format!("{one} | {other}"),
        2 => format!("{one}\n{other}"),
        3 => format!("cd /home/ann/shop/src; {one}"),
        4 => format!("cd /home/ann/shop/src && {{\n{one}\n}}; {other}"),
        5 => format!("f() {{\n{one}\n}}; {other}; f"),
        6 => format!("for i in 1 2; do\n{one}\ncd ..\ndone"),
        7 => format!("trap {} EXIT; {other}", quoted(&one)),
        8 => format!("(\n{one}\n) && {other}"),
        9 => format!("if {other}; then\n{one}\nfi"),
        10 => format!("case x in (x) {one}\n;; esac"),
        _ => format!("{{\n{one}\n}} || {other}"),
    }
}

fn wrapped(dice: &mut Dice, inner: &str) -> String {
    let text = quoted(inner);
    match dice.below(14) {
        0 => format!("bash -c {text}"),
        1 => format!("eval {text}"),
        2 => format!("env A=1 sh -c {text}"),
        3 => format!("timeout 1 bash -c {text}"),
        4 => format!("echo $(\n{inner}\n)"),
        5 => format!("bash <<< {text}"),
        6 => format!("bash <<'END_OF_TEXT'\n{inner}\nEND_OF_TEXT"),
        7 => format!("find . -maxdepth 0 -exec bash -c {text} \\;"),
        8 => format!("echo a | xargs -I{{}} bash -c {text}"),
        9 => format!("x=$(\n{inner}\n)"),
        10 => format!("cat <(\n{inner}\n)"),
        11 => format!("nice -n 1 bash -c {text}"),
        12 => format!("command eval {text}"),
        _ => format!("! {{\n{inner}\n}}"),
    }
}

fn command(dice: &mut Dice) -> String {
    let words = match dice.below(10) {
        0 | 1 => awk(dice),
        2 | 3 => sed(dice),
        4 => find(dice),
        5 | 6 => git(dice),
        7 => return declaration(dice),
        _ => writer(dice),
    };
    let mut text: Vec<String> = words.iter().map(|word| spelled(dice, word)).collect();
    let place = place(dice);
    match dice.below(14) {
        0 => text.push(format!("> {}", spelled(dice, &place))),
        1 => text.insert(0, format!("&>>{}", spelled(dice, &place))),
        2 => text.push(format!("3<>{}", spelled(dice, &place))),
        3 => text.push(format!("2>| {}", spelled(dice, &place))),
        4 => text.insert(0, "timeout 1".into()),
        5 => text
            .insert(0, dice.pick(&["command", "exec", "env -u A", "nice", "time -p", "stdbuf -o0"]).into()),
        6 => text.insert(0, format!("command time -o {} -f %e", spelled(dice, &place))),
        7 => text.push("# a comment".into()),
        8 => text.push("> >(cat)".into()),
        9 => text.push(dice.pick(&["> l?nk/x", ">> [l]ink/x", "> src/../li*/x", "> link/../x"]).into()),
        _ => {}
    }
    text.join(dice.pick(&[" ", " ", " ", "\t", " \\\n"]))
}

fn place(dice: &mut Dice) -> String {
    dice.pick(PLACES).to_owned()
}

/// A word that means these letters.
fn spelled(dice: &mut Dice, word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    let plain = !word.is_empty() && word.chars().all(is_plain);
    match dice.below(12) {
        0..=5 if plain => word.to_owned(),
        6 if plain => format!("\"{word}\""),
        7 if word.is_ascii() && !word.contains('\n') => {
            word.chars().map(|letter| format!("\\{letter}")).collect()
        }
        8 if word.is_ascii() => {
            let letters = word.bytes().map(|byte| match byte {
                byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            });
            format!("$'{}'", letters.collect::<String>())
        }
        9 if plain => {
            let (one, other) = word.split_at(dice.below(word.len() + 1));
            format!("{one}''\"{other}\"")
        }
        // An alternative of nothing is no word.
        10 if plain && !word.contains(',') => format!("{{{word},}}"),
        _ => quoted(word),
    }
}

fn words(of: &[&str]) -> Vec<String> {
    of.iter().map(|word| (*word).to_owned()).collect()
}

fn awk(dice: &mut Dice) -> Vec<String> {
    let program = awk_program(dice);
    let mut all = words(&[dice.pick(&["awk", "awk", "mawk"])]);
    match dice.below(6) {
        0 => all.extend(words(&["-F", "/"])),
        1 => all.extend(words(&["-v", "x=1"])),
        2 => all.push("--".into()),
        _ => {}
    }
    all.push(program);
    all.extend(words(&["a.txt"]));
    all
}

fn awk_program(dice: &mut Dice) -> String {
    let statements: Vec<String> = (0..1 + dice.below(4)).map(|_| awk_statement(dice)).collect();
    let body = statements.join(dice.pick(&["; ", "\n", ";"]));
    match dice.below(5) {
        0 => format!("BEGIN {{ {body} }}"),
        1 => format!("{} {{ {body} }}", awk_value(dice)),
        2 => format!("{{ {body} }} END {{ {} }}", awk_statement(dice)),
        3 => format!("function f(a) {{ return a }} {{ {body} }}"),
        _ => format!("{{ {body} }}"),
    }
}

fn awk_value(dice: &mut Dice) -> String {
    dice.pick(&[
        "1",
        "$1",
        "x",
        "/\"/",
        "/[/]/",
        "/[\"]/",
        "/[^]\"]/",
        "/a\\/\"/",
        "$0 ~ /x/",
        "x / 2",
        "x++ /2/ 1",
        "(x) / 2 / 1",
        "length / 2",
        "NR % 2",
        "\"a\\\"b\"",
        "\"#\"",
        "\"/\"",
        "a[1]",
        "-x",
        "!/x/",
    ])
    .to_owned()
}

fn awk_statement(dice: &mut Dice) -> String {
    let (value, other, place) = (awk_value(dice), awk_value(dice), place(dice));
    match dice.below(16) {
        0 => format!("print {value} > \"{place}\""),
        1 => format!("print {value} >> \"{place}\""),
        2 => format!("print {value} | \"./evil\""),
        3 => "system(\"./evil\")".into(),
        4 => "\"./evil\" | getline".into(),
        5 => format!("printf(\"%s\", {value}) > \"{place}\""),
        6 => format!("if ({value}) print {other}"),
        7 => format!("y = {value}"),
        8 => format!("print {value}, {other}"),
        9 => format!("print({value})({other})"),
        10 => format!("print {value} # {other}"),
        11 => format!("y = {value} > {other}"),
        12 => format!("x = \"{place}\"; print {value} > x"),
        13 => format!("for (i in a) print {value}"),
        14 => format!("print {value} \\\n > \"{place}\""),
        _ => format!("print {value}"),
    }
}

fn sed(dice: &mut Dice) -> Vec<String> {
    let mut all = words(&["sed"]);
    for _ in 0..dice.below(3) {
        all.push(
            dice.pick(&["-n", "-E", "-s", "-z", "-u", "--posix", "-nE", "--quiet", "-i", "-i.bak"]).into(),
        );
    }
    let script = sed_script(dice);
    match dice.below(5) {
        0 => all.extend(["-e".into(), script]),
        1 => all.push(format!("-e{script}")),
        2 => all.push(format!("--expression={script}")),
        3 => all.extend(["-e".into(), script, "-e".into(), sed_script(dice)]),
        _ => all.push(script),
    }
    all.extend(words(&["a.txt", "b.txt"]));
    all
}

fn sed_script(dice: &mut Dice) -> String {
    let mut script = String::new();
    for at in 0..1 + dice.below(4) {
        if at > 0 {
            script.push_str(dice.pick(&[";", "\n", " ; ", "}", " "]));
        }
        script.push_str(
            dice.pick(&["", "", "", "1", "$", "2,3", "/x/", "/[/]/", "\\,x,", "1!", "/o/I,$", "0~2"]),
        );
        script.push_str(&sed_command(dice));
    }
    script
}

fn sed_command(dice: &mut Dice) -> String {
    let place = place(dice);
    match dice.below(16) {
        0..=5 => {
            let end = dice.pick(&["/", "/", "/", "|", ",", "#", ";"]);
            let pattern = dice.pick(&[
                "o",
                "[]/]",
                "[^]/]",
                "[[:alpha:]/]",
                "[/]",
                "\\/",
                "[\\]",
                "[\\/]",
                "[[.o.]/]",
                "[a[]",
                "x*",
                "",
                "\\[",
                "[]|]",
                "[,]",
            ]);
            let new = dice.pick(&["b", "&", "\\/", "p;#", "w x", "\\\n", "", "]", "[", "1e ./evil;#"]);
            let flags = dice.pick(&["", "g", "p", "e", "w PLACE", "2", "gI", "p;w PLACE", "m", "ge"]);
            format!("s{end}{pattern}{end}{new}{end}{}", flags.replace("PLACE", &place))
        }
        6 => format!("w {place}"),
        7 => dice.pick(&["e ./evil", "e", "1e ./evil"]).to_owned(),
        8 => format!("a text\\\\\nw {place}"),
        9 => format!("a\\\ntext\nw {place}"),
        10 => dice.pick(&["i x", "c\\", "a x\\", "a"]).to_owned(),
        11 => dice.pick(&["b x", ":x", "t", "bx", ":x w y", "T x}w x"]).to_owned(),
        12 => dice.pick(&["y/o/x/", "y/\\//x/", "y,a,b,"]).to_owned(),
        13 => dice.pick(&["{p", "{", "}", "{p}", "#n", "# w x"]).to_owned(),
        _ => dice.pick(&["p", "d", "n", "N", "h", "G", "=", "l", "q", "x", "D", "P", "z", "F"]).to_owned(),
    }
}

fn find(dice: &mut Dice) -> Vec<String> {
    let mut all = words(&["find"]);
    all.push(dice.pick(&[".", "src", "./src", "a.txt"]).into());
    for _ in 0..1 + dice.below(3) {
        let place = place(dice);
        all.extend(match dice.below(12) {
            0 => vec!["-fprint".into(), place],
            1 => vec!["-fprintf".into(), place, "%p".into()],
            2 => vec!["-fls".into(), place],
            3 => vec!["-fprint0".into(), place],
            4 => words(&["-exec", "./evil", "{}", ";"]),
            5 => words(&["-exec", "./evil", "{}", "+"]),
            6 => words(&["-exec", "cp", "{}", &place, ";"]),
            7 => words(&["-execdir", "touch", &place, ";"]),
            8 => words(&["(", "-name", "a*", "-o", "-true", ")"]),
            9 => words(&["-name", "-fprint", "-o", "-true"]),
            10 => words(&["-exec", "sh", "-c", "./evil", ";"]),
            _ => words(&["-type", "f"]),
        });
    }
    all
}

fn git(dice: &mut Dice) -> Vec<String> {
    let mut all = words(&["git"]);
    for _ in 0..dice.below(2) {
        let own: &[&str] = match dice.below(8) {
            0 => &["-c", "core.pager=./evil", "-p"],
            1 => &["-c", "alias.zz=!./evil"],
            2 => &["--exec-path=."],
            3 => &["-C", "src"],
            4 => &["-c", "diff.external=./evil"],
            5 => &["-c", "core.fsmonitor=./evil"],
            6 => &["-c", "user.name=x"],
            _ => &["--no-pager"],
        };
        all.extend(words(own));
    }
    let sub_command: &[&str] = dice.pick(&[
        &["log"][..],
        &["diff", "HEAD"],
        &["show"],
        &["status"],
        &["grep", "one"],
        &["blame", "a.txt"],
        &["shortlog", "HEAD"],
        &["rev-list", "HEAD"],
        &["stash", "show"],
        &["reflog"],
        &["whatchanged"],
        &["archive", "HEAD"],
        &["format-patch", "--root", "HEAD"],
        &["ls-remote", "."],
        &["diff", "--no-index", "a.txt", "b.txt"],
        &["range-diff", "HEAD..HEAD", "HEAD..HEAD"],
        &["bundle", "create"],
        &["zz"],
    ]);
    all.extend(words(sub_command));
    let place = place(dice);
    all.extend(match dice.below(14) {
        0 => vec![format!("--output={place}")],
        1 => vec!["--output".into(), place],
        2 => vec![format!("--outp={place}")],
        3 => vec!["-o".into(), place],
        4 => vec![format!("-o{place}")],
        5 => words(&["-O./evil"]),
        6 => words(&["--open-files-in-pager=./evil"]),
        7 => words(&["--upload-pack=./evil"]),
        8 => words(&["--exec=./evil"]),
        9 => words(&["--upl", "./evil"]),
        10 => vec![place],
        11 => vec![format!("--output-directory={place}")],
        12 => words(&["--ext-diff"]),
        _ => words(&["-1"]),
    });
    all
}

fn writer(dice: &mut Dice) -> Vec<String> {
    let place = place(dice);
    let place = place.as_str();
    match dice.below(24) {
        0 => words(&["sort", "-o", place, "a.txt"]),
        1 => words(&["sort", &format!("-uo{place}"), "a.txt"]),
        2 => words(&["sort", "a.txt", "--outp", place]),
        3 => words(&["sort", "--compress-program=./evil", "-S1b", "a.txt"]),
        4 => words(&["uniq", "-c", "a.txt", place]),
        5 => words(&["uniq", "-f", "1", "a.txt", place]),
        6 => words(&["tee", "-a", place]),
        7 => words(&["cp", "a.txt", place]),
        8 => words(&["cp", "-t", "src", "a.txt", "b.txt"]),
        9 => words(&["mv", "-f", "b.txt", place]),
        10 => words(&["touch", "-r", "a.txt", place]),
        11 => words(&["dd", "if=a.txt", &format!("of={place}")]),
        12 => words(&["truncate", "-s", "1", place]),
        13 => words(&["split", "-l", "1", "a.txt", place]),
        14 => words(&["csplit", "-f", place, "a.txt", "2"]),
        15 => words(&["tar", "cf", place, "a.txt"]),
        16 => {
            words(&["tar", "-cf", "/dev/null", "--checkpoint=1", "--checkpoint-action=exec=./evil", "a.txt"])
        }
        17 => words(&["tar", "-c", "-f", place, "--use-comp=./evil", "a.txt"]),
        18 => words(&["install", "-m", "600", "a.txt", place]),
        19 => words(&["ln", "-f", "a.txt", place]),
        20 => words(&["xargs", "-a", "list", "cp", "-t", "src"]),
        21 => words(&["shuf", "-o", place, "a.txt"]),
        22 => words(&["cat", "a.txt"]),
        _ => words(&["echo", "one", "-o", place]),
    }
}

fn declaration(dice: &mut Dice) -> String {
    let place = place(dice);
    let run = dice.pick(&["$(./evil)", "`./evil`", "a[$(./evil)]", "${y:=$(./evil)}"]);
    let name =
        dice.pick(&["declare", "typeset", "export", "readonly", "declare -a", "declare -i", "declare -A"]);
    match dice.below(18) {
        0 => format!("{name} x='({run})'; echo \"${{x[@]}}\""),
        1 => format!("{name} x='{run}'; echo $((x))"),
        2 => format!("x='{run}'; [[ $x -eq 1 ]]"),
        3 => format!("x='{run}'; echo \"${{x@P}}\""),
        4 => format!("x={}; echo a > $x", spelled(dice, &place)),
        5 => format!("x={}; echo a > \"$x\"", spelled(dice, &place)),
        6 => format!("printf -v x '{run}'; test -v \"$x\""),
        7 => format!("read x <<< '{run}'; ((x))"),
        8 => format!("mapfile -C './evil' -c 1 x < a.txt; echo > {place}"),
        9 => format!("{name} -n x=y; y='{run}'; echo $x"),
        10 => "alias ls=./evil\nls".to_owned(),
        11 => "ls() { ./evil; }; ls".to_owned(),
        12 => format!("PS4='{run}'; set -x; ls"),
        13 => format!("echo {{a,b}} > {place}"),
        14 => format!("exec 3> {place}; echo a >&3"),
        15 => format!("cat > {place} <<END\n{run}\nEND"),
        16 => "BASH_ENV=./evil bash -c :".to_owned(),
        _ => format!("x=({run} b); echo ${{x[0]}} {{fd}}> {place}"),
    }
}
