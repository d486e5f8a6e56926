//! Where does `cd` lead?

use std::path::PathBuf;

use super::{CommandScope, ScriptWalk};
use crate::{
    place::{PathTarget, WorkingDirectory},
    value::WordValue,
};

impl ScriptWalk<'_> {
    /// `cd` and its kin.
    pub fn moves(&mut self, name: &str, args: &[WordValue], scope: &mut CommandScope) {
        let operands: Vec<&WordValue> = args
            .iter()
            .filter(|arg| !matches!(arg.known(), Some("--" | "-P" | "-L" | "-e" | "-n")))
            .collect();
        let target = match operands.as_slice() {
            [] if name == "cd" => scope.home.clone(),
            [one] if name != "popd" && !one.is("-") && !one.is_pattern() && !one.lead().starts_with('+') => {
                let from = scope.place.main.clone();
                let is_absolute = one.known().is_some_and(|text| text.starts_with('/'));
                let from = from.or_else(|| is_absolute.then(|| PathBuf::from("/")));
                from.and_then(|from| Some(PathTarget::of(one, &from)?.path))
            }
            _ => None,
        };
        // What it leaves behind if it fails is for whoever goes on.
        let others = match &target {
            Some(target) => scope
                .place
                .others
                .iter()
                .map(|other| {
                    let text = operands.first().and_then(|one| PathTarget::of(one, other));
                    text.map_or_else(|| target.clone(), |other| other.path)
                })
                .filter(|other| other != target)
                .collect(),
            None => Vec::new(),
        };
        scope.place = WorkingDirectory { main: target, others };
        scope.keeps_directory = scope.keeps_directory && scope.place.main.is_some();
    }
}
