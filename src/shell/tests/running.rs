//! Options by which programs run others.

use super::*;
use crate::programs::RUNNING_OPTIONS;

/// Whatever stands around it, and whoever else looks at the program: no row is without effect.
#[test]
fn each_option_that_runs_something_is_not_understood() {
    let mut understood = Vec::new();
    for (names, options) in RUNNING_OPTIONS {
        for (name, option) in names.iter().flat_map(|name| options.iter().map(move |option| (name, option))) {
            let texts = [format!("{name} {option} ./x"), format!("{name} {option}=./x y")];
            let texts = texts.into_iter().filter(|_| !option.ends_with('='));
            let texts = texts.chain(option.ends_with('=').then(|| format!("{name} {option}./x")));
            understood.extend(texts.filter(|text| judged(text).unknown.is_none()));
        }
    }
    assert!(understood.is_empty(), "{understood:#?}");
}
