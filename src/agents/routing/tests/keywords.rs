//! Where a keyword is found, and where it is not.

use super::*;

/// One line for each prompt: whether the keyword is found.
pub(super) fn check(cases: &[(&str, &[&str])], expected: Expect) {
    let mut told = String::new();
    for (keyword, prompts) in cases {
        let agents = agents(&[("a", trigger(&[keyword], None, 0))]);
        writeln!(told, "{keyword}").unwrap();
        for prompt in *prompts {
            let sign = if route_among(&agents, prompt).is_some() { '+' } else { '-' };
            writeln!(told, "  {sign} {}", prompt.escape_debug()).unwrap();
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn a_word_begins_with_it() {
    check(
        &[
            (
                "bug",
                &[
                    "bug", "Bugs!", "a bugfix", "debug", "(bug)", "no-bug", "x.bug", "my_bug", "4bug",
                    "ladybug", "🐛bug", "bu g",
                ],
            ),
            (
                "error",
                &[
                    "errors",
                    "IOError",
                    "io::Error",
                    "error404",
                    "terror",
                    "\"error\"",
                    "**error**",
                    "#error",
                    "/tmp/error.log",
                ],
            ),
            ("read_file", &["read_file()", "READ_FILES", "read-file", "thread_file"]),
        ],
        expect![[r#"
            bug
              + bug
              + Bugs!
              + a bugfix
              - debug
              + (bug)
              + no-bug
              + x.bug
              - my_bug
              - 4bug
              - ladybug
              + 🐛bug
              - bu g
            error
              + errors
              - IOError
              + io::Error
              + error404
              - terror
              + \"error\"
              + **error**
              + #error
              + /tmp/error.log
            read_file
              + read_file()
              + READ_FILES
              - read-file
              - thread_file
        "#]],
    );
}

#[test]
fn a_short_one_is_the_whole_word() {
    check(
        &[
            ("go", &["go", "Go!", "go-lang", "golang", "ago", "let's go.", "go2", "go_on", "(GO)"]),
            ("r", &["R", "in R, please", "rust", "for", "R2", "r."]),
            ("c", &["C", "in C.", "C++", "C#", "c'est", "c'", "'c'", "C, C++"]),
            ("d", &["I'd like", "in D", "d'accord"]),
            ("ia", &["l'IA", "l’ia ?", "ia's"]),
            ("ci", &["CI/CD", "CI", "cite", "ci-build", "Ci\u{301}"]),
            ("pr", &["PR#5", "this PR's tests", "pr"]),
            ("42", &["42", "421", "0.42", "x42"]),
            ("é", &["É", "e\u{301}", "été", "e"]),
            ("go", &["go\u{200d}od", "go\u{ad}"]),
        ],
        expect![[r#"
            go
              + go
              + Go!
              + go-lang
              - golang
              - ago
              + let\'s go.
              - go2
              - go_on
              + (GO)
            r
              + R
              + in R, please
              - rust
              - for
              - R2
              + r.
            c
              + C
              + in C.
              - C++
              - C#
              - c\'est
              + c\'
              + \'c\'
              + C, C++
            d
              - I\'d like
              + in D
              - d\'accord
            ia
              + l\'IA
              + l’ia ?
              + ia\'s
            ci
              + CI/CD
              + CI
              - cite
              + ci-build
              - Cí
            pr
              + PR#5
              + this PR\'s tests
              + pr
            42
              + 42
              - 421
              + 0.42
              - x42
            é
              + É
              + é
              - été
              - e
            go
              - go\u{200d}od
              + go\u{ad}
        "#]],
    );
}

#[test]
fn blanks_in_one_are_any_run_of_blanks() {
    check(
        &[
            (
                "stack trace",
                &[
                    "stack trace",
                    "Stack  \t\r\n Traces",
                    "stack\u{a0}trace",
                    "stack\u{3000}trace",
                    "stacktrace",
                    "stack-trace",
                    "stack, trace",
                    "stacks trace",
                    "haystack trace",
                ],
            ),
            ("  stack \n trace  ", &["a stack trace"]),
            ("pull a", &["pull a lever", "pull all"]),
            ("a b", &["a b", "a bc", "c a b", "ca b"]),
        ],
        expect![[r#"
            stack trace
              + stack trace
              + Stack  \t\r\n Traces
              + stack\u{a0}trace
              + stack\u{3000}trace
              - stacktrace
              - stack-trace
              - stack, trace
              - stacks trace
              - haystack trace
              stack 
             trace  
              + a stack trace
            pull a
              + pull a lever
              + pull all
            a b
              + a b
              - a bc
              + c a b
              - ca b
        "#]],
    );
}

#[test]
fn signs_are_signs() {
    check(
        &[
            ("c++", &["C++", "c++17", "in C++, please", "(c++)", "objc++", "c+", "C + +"]),
            ("c#", &["C#", "c#12", "C# 8", "c", "cc#"]),
            (".net", &[".NET", "ASP.NET", "use .net core", "net", "x . net"]),
            ("node.js", &["Node.js", "node.jsx", "nodejs", "node js"]),
            ("don't work", &["I don’t work", "don't works", "dont work"]),
            ("e-mail", &["e‑mail", "E-Mails", "email", "e mail"]),
            ("erreur", &["l'erreur", "l’erreur", "d'erreurs"]),
            ("???", &["what???", "??", "? ??"]),
            ("🐛", &["a 🐛", "bug🐛fix", "🦋"]),
            ("⚠️", &["⚠ careful", "⚠️"]),
            ("#fix", &["#fix", "#fixes", "a#fix", "# fix"]),
            ("1️⃣", &["1️⃣"]),
        ],
        expect![[r#"
            c++
              + C++
              + c++17
              + in C++, please
              + (c++)
              - objc++
              - c+
              - C + +
            c#
              + C#
              + c#12
              + C# 8
              - c
              - cc#
            .net
              + .NET
              + ASP.NET
              + use .net core
              - net
              - x . net
            node.js
              + Node.js
              + node.jsx
              - nodejs
              - node js
            don't work
              + I don’t work
              + don\'t works
              - dont work
            e-mail
              + e‑mail
              + E-Mails
              - email
              - e mail
            erreur
              + l\'erreur
              + l’erreur
              + d\'erreurs
            ???
              + what???
              - ??
              - ? ??
            🐛
              + a 🐛
              + bug🐛fix
              - 🦋
            ⚠️
              + ⚠ careful
              + ⚠️
            #fix
              + #fix
              + #fixes
              + a#fix
              - # fix
            1️⃣
              + 1️⃣
        "#]],
    );
}
