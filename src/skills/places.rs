//! Where do skills lie, and which place goes before which?

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Below a workspace's root, in the order of precedence.
const OF_PROJECT: [&str; 3] = [".subagentd/skills", ".agents/skills", ".claude/skills"];
/// Below the user's home, after those beside the user's settings.
const OF_HOME: [&str; 2] = [".agents/skills", ".claude/skills"];

/// The places that do not depend on a workspace, in the order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillPlaces {
    user: Vec<PathBuf>,
}

impl SkillPlaces {
    /// Beside the user's settings, and below their home.
    pub fn new(config_dir: &Path, home: Option<&Path>) -> SkillPlaces {
        let of_home = home.into_iter().flat_map(|home| OF_HOME.map(|place| home.join(place)));
        SkillPlaces { user: std::iter::once(config_dir.join("skills")).chain(of_home).collect() }
    }

    /// The user's.
    pub fn of_user(&self) -> impl Iterator<Item = &Path> {
        self.user.iter().map(PathBuf::as_path)
    }

    /// The places that a workspace's root may have, below it. A workspace that is the user's home, under whatever name, brings none of
    /// the user's along. `root` is canonical. Blocks on the file system.
    pub(super) fn of_project<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let places = OF_PROJECT.iter().map(move |place| root.join(place));
        let is_it = |user: &PathBuf, place: &PathBuf| {
            user == place || fs::canonicalize(user).is_ok_and(|user| user == *place)
        };
        places.filter(move |place| !self.user.iter().any(|user| is_it(user, place)))
    }
}
