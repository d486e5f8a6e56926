//! Where do paths and patterns lead that go through links? In `/w` lie the links `conf` to the daemon's settings, `out` to `/o/far`,
//! `lib/h` to the home, `snip` to `.vscode/snippets` and `inner` to `src`; and `second.toml`, which is one of the daemon's rules.

use super::*;
use protocol::CommandReach;

const LINKS: &[(&str, &str)] = &[
    ("/w/conf", "/h/.config/subagentd"),
    ("/w/out", "/o/far"),
    ("/w/lib/h", "/h"),
    ("/w/snip", "/w/.vscode/snippets"),
    ("/w/inner", "/w/src"),
    ("/w/second.toml", "/h/.config/subagentd/policies/p.toml"),
];

fn resolve(path: &Path) -> PathBuf {
    for (link, target) in LINKS {
        if let Ok(rest) = path.strip_prefix(link) {
            return if rest.as_os_str().is_empty() { target.into() } else { Path::new(target).join(rest) };
        }
    }
    path.to_owned()
}

fn entries(folder: &Path) -> Option<Vec<CandidateName>> {
    let of = |names: &[&str], kind: CandidateKind| -> Vec<CandidateName> {
        names.iter().map(|name| CandidateName { name: (*name).to_owned(), kind }).collect()
    };
    match folder.to_str()? {
        "/w" => {
            let mut all = of(&["conf", "out", "snip", "inner", "second.toml"], CandidateKind::Alias);
            all.extend(of(&["lib", "src"], CandidateKind::Folder));
            all.extend(of(&["f", "a.rs"], CandidateKind::Other));
            Some(all)
        }
        "/w/lib" => Some(of(&["h"], CandidateKind::Alias)),
        "/w/src" => Some(of(&["a.rs", "b.rs"], CandidateKind::Other)),
        "/w/huge" => None,
        _ => Some(Vec::new()),
    }
}

fn led(text: &str) -> ShellAnalysis {
    read(
        text,
        &ShellEnvironment {
            directory: Path::new("/w"),
            home: Some(Path::new("/h")),
            roots: &["/w".into()],
            autorun: &[],
            guarded: &["/h/.config/subagentd".into(), "/h/.local/state/subagentd".into()],
            secret: &["/h/.local/state/subagentd".into()],
            resolve: &resolve,
            entries: &entries,
            is_wanted: &|| true,
        },
    )
}

fn risks(texts: &[&str]) -> Vec<(String, Risk)> {
    texts.iter().map(|text| ((*text).to_owned(), led(text).risk)).collect()
}

/// How far the last command of each text reaches.
fn reaches(texts: &[&str], inside: bool) -> Vec<String> {
    let stays = |text: &&&str| {
        let reading = led(text);
        reading.commands.iter().all(|command| command.reach != CommandReach::Anywhere) == inside
    };
    texts.iter().filter(|text| !stays(text)).map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_link_is_followed_before_a_path_goes_up() {
    let critical = [
        "printf x > conf/../subagentd/policies/a.toml",
        "printf x > src/../conf/../subagentd/policies/a.toml",
        "cp f conf/../subagentd/policies/",
        "tee conf/./../subagentd/settings.json < f",
        "cd conf && echo x > ../subagentd/settings.json",
        "cd conf; cd policies; echo x > ../settings.json",
        "cd -P conf/.. && echo x > subagentd/settings.json",
        "rm -rf lib/h/x/..",
    ];
    let mild: Vec<_> = risks(&critical).into_iter().filter(|(_, risk)| *risk < Risk::Critical).collect();
    assert_eq!(mild, []);
    let high = [
        "cp f snip/../tasks.json",
        "echo x > snip/../tasks.json",
        "sed -i s/a/b/ snip/../tasks.json",
        "cd snip && echo x > ../settings.json",
        "echo x > out/../y",
        "cd out/.. && echo x > y",
        "cd out/../far && echo x > y",
        "git -C out/.. init && echo x > out/../z",
        "ln -s src/deep l; echo x > l/../../y",
        "ln -s /o l && cd l && echo x > ../y",
    ];
    let mild: Vec<_> = risks(&high).into_iter().filter(|(_, risk)| *risk < Risk::High).collect();
    assert_eq!(mild, []);
    let write = |path: &str| ResourceAccess::Write { path: path.into() };
    assert_eq!(led("echo x > out/../y").accesses, [write("/o/y")]);
    assert_eq!(led("echo x > inner/../y").accesses, [write("/w/y")]);
    assert_eq!(led("echo x > src/../y").accesses, [write("/w/y")]);
    assert_eq!(led("cat < out/../y").accesses, [ResourceAccess::Read { path: "/o/y".into() }]);
    let many = format!("echo x > {}y", "src/../".repeat(100));
    assert!(led(&many).risk >= Risk::High, "nobody follows so many");
}

#[test]
fn a_grant_ends_where_a_link_leads_out() {
    let outside = [
        "cat out/../y",
        "cat src/../out/../y",
        "head -n1 --x=out/../y",
        "ls lib/h/..",
        "cd out && cat ../y",
        "cd lib/h/.. && cat y",
        "ln -s . l; cat l/../y",
        "cat o*/y",
        "cat ou?",
        "cat [o]ut/x",
        "cat */y",
        "cat */*",
        "cat lib/*",
        "cat l*/h/x",
        "cat s*.toml",
        "cat .*/y",
        "grep x --file=/etc/*",
        "shopt -s globstar; cat **/y",
        "cat huge/*",
    ];
    assert_eq!(reaches(&outside, false), Vec::<String>::new());
    let inside = [
        "cat src/*.rs",
        "cat *.rs",
        "cat i*/a.rs",
        "cat inner/../f",
        "cat src/../f",
        "cat src/?.rs src/[ab].rs",
        "ls src/**/*.rs",
        "cat src/*/x",
        "ls nothing/*",
        "cd src && cat ../f",
        "cd inner && cat ../f",
        "git log HEAD~2..HEAD -- src",
        "cat 'o*/y'",
    ];
    assert_eq!(reaches(&inside, true), Vec::<String>::new());
    for text in inside {
        assert_eq!((led(text).risk, led(text).unknown), (Risk::Medium, None), "{text}");
    }
}

#[test]
fn what_a_pattern_matches_is_judged_by_where_it_leads() {
    let critical = [
        "cp f conf/policies/",
        "cp f con?/policies/",
        "cp f c*/policies/",
        "cp f s*.toml",
        "echo x > sec*.toml",
        "rm -rf lib/h/*",
        "rm -rf lib/?/*",
        "rm -rf */h/*",
        "sed -i s/a/b/ c*/settings.json",
        "rm -rf con*/",
    ];
    let mild: Vec<_> = risks(&critical).into_iter().filter(|(_, risk)| *risk < Risk::Critical).collect();
    assert_eq!(mild, []);
    let high =
        ["cp f sni?/x", "cp f ou?/x", "touch o*/x", "tee ou? < f", "echo x > huge/*", "chmod +x huge/*"];
    let mild: Vec<_> = risks(&high).into_iter().filter(|(_, risk)| *risk < Risk::High).collect();
    assert_eq!(mild, []);
    // Removing a link leaves what it leads to.
    for text in ["rm lib/?", "rm src/*.rs", "touch src/*.rs", "cp f i*/x", "chmod +x src/*.rs"] {
        assert_eq!(led(text).risk, Risk::Medium, "{text}");
    }
}

/// A file of the name `-rf` is an option to whoever is given `*`.
#[test]
fn a_name_that_a_pattern_matches_may_be_an_option() {
    let judged_beside = |text: &str, names: &'static [&'static str]| {
        let entries = move |_: &Path| {
            let entry = |name: &&str| CandidateName { name: (*name).to_owned(), kind: CandidateKind::Other };
            Some(names.iter().map(entry).collect())
        };
        read(
            text,
            &ShellEnvironment {
                directory: Path::new("/w"),
                home: None,
                roots: &["/w".into()],
                autorun: &[],
                guarded: &[],
                secret: &[],
                resolve: &Path::to_owned,
                entries: &entries,
                is_wanted: &|| true,
            },
        )
    };
    for text in ["rm ?*f", "rm -- x; rm *f", "rm [-]rf x", "cd src && rm *f"] {
        assert_eq!(judged_beside(text, &["f", "-rf"]).risk, Risk::High, "{text}");
        assert_eq!(judged_beside(text, &["f", "rf"]).risk, Risk::Medium, "{text}");
    }
    assert_eq!(judged_beside("rm ./*f src/?f", &["f", "-rf"]).risk, Risk::Medium);
}

#[test]
fn a_pattern_takes_little_time_whatever_it_is() {
    let name = "a".repeat(250);
    let many = |_: &Path| {
        let entry = |at: usize| CandidateName { name: format!("{name}{at}"), kind: CandidateKind::Other };
        Some((0..1_000).map(entry).collect())
    };
    let text = format!("cat {}", "*a*a*a*a*a*a*a*a*b ".repeat(200));
    // It would not come to an end in anybody's time if each star doubled the work.
    read(
        &text,
        &ShellEnvironment {
            directory: Path::new("/w"),
            home: None,
            roots: &["/w".into()],
            autorun: &[],
            guarded: &[],
            secret: &[],
            resolve: &Path::to_owned,
            entries: &many,
            is_wanted: &|| true,
        },
    );
}
