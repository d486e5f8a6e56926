//! What bash runs while it reads or assigns: each text here was run by bash 5.2, and each ran what stands in it.

use super::*;

fn understood(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    texts.into_iter().filter(|text| judged(text).unknown.is_none()).collect()
}

#[test]
fn inside_of_a_substitution_a_line_that_begins_with_the_end_of_a_here_document_is_refused() {
    let documents = [
        "<<'EOF'\nMend\nEOF)$(touch x)\nEOF\n",
        "<<'EOF'\nMend\nEOF); touch x\nEOF\n",
        "<<'EOF'\nMend\nEOFx)$(touch x)\nEOF\n",
        "<<EOF\nMend\nEOF)$(touch x)\nEOF\n",
        "<<EOF\nMend\nE\\\nOF)$(touch x)\nEOF\n",
        "<<-'EOF'\nMend\n\tEOF)$(touch x)\n\tEOF\n",
        "<<\\EOF\nMend\nEOF\\)$(touch x)\nEOF\n",
        "<<\"E'F\"\nMend\nE'F)$(touch x)\nE'F\n",
        "<<$'E\\x4fF'\nMend\nEOF)$(touch x)\nEOF\n",
        "<<''\nMend\n)$(touch x)\n\n",
        "<<'EOF'\nMend\nEOF\r)$(touch x)\nEOF\n",
        "<<'A' <<'B'\nx\nA\nMend\nB)$(touch x)\nB\n",
    ];
    let around = [
        ("git commit -m \"$(cat ", ")\""),
        ("git commit -m $(cat ", ")"),
        ("cat <(cat ", ")"),
        ("cat > >(cat ", ")"),
        ("echo $(f() { cat ", "}; f)"),
        ("echo $(if true; then cat ", "fi)"),
        ("echo $( (cat ", ") )"),
        ("echo \"${x:-$(cat ", ")}\""),
        ("x=$(echo $(cat ", "))"),
        ("a[$(cat ", ")]=1"),
        ("cat <<END\n$(cat ", ")\nEND\n"),
        ("bash -c \"$(cat ", ")\""),
        ("sh -c 'echo \"$(cat <<A\nx\nA)\nA\n)\"'; echo \"$(cat ", ")\""),
    ];
    let texts = around.iter().flat_map(|(before, after)| {
        documents.iter().map(move |document| format!("{before}{document}{after}"))
    });
    assert_eq!(understood(texts), Vec::<String>::new());
    // Elsewhere only a line that is the end alone ends it, and messages of several lines stay messages.
    for text in [
        "cat > x.py <<PY\nPYTHON = f()\nPY\n",
        "(cat <<'EOF'\nEOF)\nEOF\n)",
        "git commit -m \"$(cat <<'EOF'\nMend the parser (and more)\n\nThe EOF) is no end.\nEOF\n)\"",
        "echo \"$(cat <<A; cat <<'B'\nx\nA\ny (z)\nB\n)\"",
    ] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// Variables whose values bash computes when they are given one, or may in another version.
const COMPUTED: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "BASHPID",
    "OPTIND",
    "HISTCMD",
    "LINENO",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "BASH_MONOSECONDS",
    "OPTERR",
];

#[test]
fn what_bash_computes_when_it_is_assigned_is_computed() {
    let forms = [
        "V=P",
        "V+=P",
        "V[0]=P",
        "V[3]+=P",
        "V=(P)",
        "V=(1 P)",
        "V=P true",
        "for V in P; do git status; done",
        "for V in 1 P; do :; done",
        "set -- P; for V; do :; done",
        "select V in P; do break; done <<< 1",
        "read -r V <<< P",
        "read x V <<< P",
        "read -ra V <<< P",
        "mapfile V <<< P",
        "readarray -t V < f",
        "printf -v V %s P",
        "printf -vV %s P",
        "printf -v 'V[0]' %s P",
        "declare V=P",
        "declare V+=P",
        "f() { local V=P; }; f",
        "export V=P",
        "readonly V=P",
        "typeset -a V=(P)",
        "declare -A V; V[x]=P",
        "builtin declare V=P",
        "command export V=P",
        ": ${V:=P}",
        "unset V; : ${V=P}",
        "declare -n r=V; r=P",
        "getopts a: V -a P",
        "x=P; V=$x",
        "for x in P; do V=$x; done",
        "V=$(cat f)",
        "V=$1",
        "V=\"$x\"",
        "V=x; x=P",
        "case x in x) V=P;; esac",
        "{ V=P; } && (V=P)",
        "eval V=P",
        "bash -c \"V=\\\"P\\\"\"",
        "echo $(V=P)",
        "x=V; printf -v $x %s P",
        "true & wait -n -p V",
    ];
    let texts = COMPUTED.iter().flat_map(|name| {
        forms.iter().map(move |form| form.replace('P', "'a[$(touch x)]'").replace('V', name))
    });
    // `wait -p` sets a number.
    let understood = understood(texts);
    let odd: Vec<&String> = understood.iter().filter(|text| !text.contains("wait")).collect();
    assert_eq!(odd, Vec::<&String>::new());
    for text in [
        "RANDOM=42; echo $RANDOM",
        "SECONDS=0; make; echo $SECONDS",
        "OPTIND=1; while getopts ab: o; do echo $o; done; shift $((OPTIND - 1))",
        "f() { local OPTIND=1; }; f",
        "unset OPTIND",
        "echo $LINENO $BASHPID $EPOCHSECONDS",
        "(( CMAKE_JOBS > 1 && AR == 2 && LD <= 3 )); [[ -v VIRTUAL_ENV && -v CC ]]",
        "[ -v HOME ] && test -n \"$x\" -a \"$y\" = 'a[1]'",
        "start=$SECONDS; make; echo $((SECONDS - start))",
    ] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

#[test]
fn what_bash_fills_from_texts_is_no_number() {
    let texts = [
        ": 'a[$(touch x)]'; (( _ ))",
        "[[ 'a[$(touch x)]' =~ .* ]]; (( BASH_REMATCH ))",
        "set -- -a 'a[$(touch x)]'; getopts a: o; echo $((OPTARG))",
        "select x in a; do (( REPLY )); done <<< 'a[$(touch x)]'",
        "read <<< 'a[$(touch x)]'; echo $(( REPLY ))",
        "mapfile <<< 'a[$(touch x)]'; echo $(( MAPFILE ))",
        "x='_'; : 'a[$(touch x)]'; (( x ))",
        "printf -v 'x[0]' %s 'a[$(touch y)]'; (( x ))",
        "read 'x[0]' <<< 'a[$(touch y)]'; (( x ))",
        "x=y; : ${!x:='a[$(touch z)]'}; (( y ))",
        "declare 'x[0]=a[$(touch y)]'; (( x[0] ))",
    ];
    assert_eq!(understood(texts.map(str::to_owned)), Vec::<String>::new());
}

/// What a pattern becomes are names of files, and those may be any.
#[test]
fn names_of_files_are_no_numbers_and_no_options() {
    let texts = [
        "for x in *; do (( x )); done",
        "for x in a b*; do echo $((x)); done",
        "x=(*); (( x ))",
        "for RANDOM in *; do :; done",
        "RANDOM=(*)",
        "for x in *; do ls >&\"$x\"; done",
        "ls >&*M*",
        "test -v a*",
        "[ -? 'a[$(touch x)]' ]",
        "test *v 'a[$(touch x)]'",
        "let a*",
        "printf -v a* x",
        "printf -v* x",
        "read a*",
        "mapfile a*",
        "unset a*",
        "declare R*",
        "export R*",
        "declare -? y=1",
        "local R?",
        "readonly [R]*",
        "fmt=-vRANDOM; printf \"$fmt\" 'a[$(touch x)]'",
        "fmt=-v; printf \"$fmt\" RANDOM 'a[$(touch x)]'",
        "printf \"$(cat f)\" 'a[$(touch x)]'",
        "fmt=$(cat f); printf \"${fmt}\" x",
        "printf \"-v$x\" 'a[$(touch x)]'",
        "printf \"-$x\" RANDOM 'a[$(touch x)]'",
        "x=-vR; printf \"${x}ANDOM\" 'a[$(touch x)]'",
    ];
    assert_eq!(understood(texts.map(str::to_owned)), Vec::<String>::new());
    for text in [
        "for f in *.rs; do echo $f; wc -l \"$f\"; done",
        "files=(*.rs); echo \"${files[@]}\"",
        "[ -f *.lock ] && ls *",
        "[ \"$x\" = *a* ]; [[ $x == *[a-z]* ]]",
        "export A=*.rs B=a*b; declare x=*",
        "printf '%s\\n' *.rs",
        "printf \"$fmt\" x; printf \"$x\"; printf \"$x\\n\" y; printf \"%s $x\" y",
        "fmt='%s\\n'; printf \"$fmt\" x",
        "set -- *.rs; echo $1",
    ] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

/// A number is a folder beside the workspace's other ones, too.
#[test]
fn what_decides_what_runs_is_not_computed() {
    let texts = [
        "(( PATH = 10 )); git status",
        "let PATH=10; git status",
        "let 'PATH = 10'; git status",
        "echo $((PATH=10)); git status",
        "[[ PATH=10 -eq 10 ]]; git status",
        "a[PATH=10]=1; git status",
        "y=ab; echo ${y:PATH=10}; git status",
        "x='PATH=10'; (( x )); git status",
        "RANDOM='PATH=10'; git status",
        "for ((HOME=1;;)); do git status; done",
        "test -v 'x[PATH=10]'; git status",
        "[[ -v x[PATH=10] ]]; git status",
        "x=(1); unset 'x[PATH=10]'; git status",
        "printf -v 'x[PATH=10]' 1; git status",
        "read 'x[PATH=10]' <<< 1; git status",
        "exec {x[PATH=10]}> y; git status",
        "declare 'x[PATH=10]'=1; git status",
        "(( PATH <<= 1 )); git status",
        "(( PATH++ )); git status",
        "(( PWD = 1 )); cat $PWD/x",
        "exec {PATH}> x; git status",
        "{ :; } {HOME}< f; git status",
        "git status {PATH}> x",
        "coproc PATH { :; }; git status",
        "coproc HOME (:); git status",
    ];
    assert_eq!(understood(texts.map(str::to_owned)), Vec::<String>::new());
    for text in [
        "exec {fd}> x; echo a >&$fd",
        "exec {fd}> x; echo a >&\"${fd}\"",
        "coproc cat; wait",
        "coproc C { cat; }",
    ] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}

#[test]
fn what_is_expanded_twice_is_not_understood() {
    let words = [
        "'$(touch x)'",
        "\"\\$(touch x)\"",
        "\\$\\(touch\\ x\\)",
        "$'$(touch x)'",
        "$'\\x24(touch x)'",
        "'`touch x`'",
        "'<(touch x)'",
        "'$((a[$(touch x)]))'",
        "'${x:-$(touch x)}'",
        "'$(touch x)/../out'",
        "\"$x\"",
        "$x",
        "\"$(cat f)\"",
        // Quotes, a `~` and patterns mean something the second time.
        "'\"/etc/x\"'",
        "'\\/etc/x'",
        "'~/x'",
        "'*'",
        "'x?'",
        "'[x]'",
        "'{x,y}'",
    ];
    let around = [
        "ls >&W",
        "ls 1>&W",
        "ls >& W",
        "exec >&W",
        "{ ls; } >&W",
        "f() { ls; } >&W; f",
        "for i in 1; do ls; done >&W",
        "(ls) >&W",
        "bash <<'END'\nls >&W\nEND",
        "echo $(ls >&W)",
    ];
    let texts = words.iter().flat_map(|word| around.iter().map(move |text| text.replace('W', word)));
    assert_eq!(understood(texts), Vec::<String>::new());
    let others = [
        "exec {fd}> x; fd='$(touch y)'; ls >&\"$fd\"",
        "exec {fd}> x; read fd < f; ls >&\"$fd\"",
        "ls {a['$(touch x)']}> y",
        "git status {a[1]}> y",
        "git status {a['$(touch x)']}>&1",
        "x=-v; test \"$x\" 'a[$(touch y)]'",
        "x=-v; test $x 'a[$(touch y)]'",
        "x=-v; [ \"$x\" 'a[$(touch y)]' ]",
        "set -P; cd x/..; ls",
    ];
    assert_eq!(understood(others.map(str::to_owned)), Vec::<String>::new());
    for text in [
        "ls >&2",
        "ls 2>&1",
        "ls >&out.txt",
        "ls >& src/a-b_c.log",
        "ls >&2-",
        "ls >&-",
        "ls 2>&-",
        "cat <&3",
    ] {
        assert_eq!(judged(text).unknown, None, "{text}");
    }
}
