//! Where does `cd` lead?

use std::path::PathBuf;

use protocol::Risk;

use super::{CommandScope, ScriptWalk};
use crate::{
    meaning::is_bundle_with,
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
            [] if name == "cd" => scope.home.as_ref().map(|home| PathTarget::at(home.clone(), Vec::new())),
            [one] if name != "popd" && !one.is("-") && !one.is_pattern() && !one.lead().starts_with('+') => {
                let from = scope.place.main.clone();
                let is_absolute = one.known().is_some_and(|text| text.starts_with('/'));
                let from = from.or_else(|| is_absolute.then(|| PathBuf::from("/")));
                from.and_then(|from| PathTarget::of(one, &from))
            }
            _ => None,
        };
        // The shell goes up by the letters of a path, unless it is told not to or that leads nowhere.
        let is_physical = args.iter().any(|arg| is_bundle_with(arg, 'P'));
        let followed =
            target.as_ref().filter(|target| target.route.is_some()).map(|target| self.followed(target));
        // A link that the text makes leads nobody knows where by then.
        let target = target.filter(|target| !self.goes_up_from_link(target));
        let target = target.map(|target| match &followed {
            Some(followed) if is_physical => followed.clone(),
            _ => target.path,
        });
        let by_letters = target.as_ref().map(|target| (self.around.resolve)(target));
        let elsewhere = followed.filter(|followed| Some(followed) != by_letters.as_ref());
        if let Some(elsewhere) = elsewhere.as_ref().filter(|elsewhere| !self.is_inside(elsewhere)) {
            let what =
                format!("`{name}` may go up from a link, outside of the workspace: {}", elsewhere.display());
            self.draft.found(Risk::High, what);
        }
        // What it leaves behind if it fails is for whoever goes on.
        let mut others: Vec<PathBuf> = match &target {
            Some(target) => scope
                .place
                .others
                .iter()
                .flat_map(|other| match operands.first().and_then(|one| PathTarget::of(one, other)) {
                    Some(other) if other.route.is_some() => vec![self.followed(&other), other.path],
                    Some(other) => vec![other.path],
                    None => vec![target.clone()],
                })
                .filter(|other| other != target)
                .collect(),
            None => Vec::new(),
        };
        others.extend(elsewhere.filter(|elsewhere| target.is_some() && Some(elsewhere) != target.as_ref()));
        scope.place = WorkingDirectory { main: target, others };
        scope.keeps_directory = scope.keeps_directory && scope.place.main.is_some();
    }
}
