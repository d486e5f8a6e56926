//! Where do agents lie, and which place goes before which? (spec 02, "Places and precedence")

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use config::{AgentPlaceSettings, ProductSettings};
use protocol::{
    AgentFormat::{self, Claude, Gemini, OpenCode, Own},
    AgentName, AgentScope,
};

/// A folder of this name holds templates, not agents (spec 02, "Places and precedence").
pub(super) const TEMPLATES: &str = "templates";

/// The formats in the order of their places: ours, then those of other products.
const FORMATS: [AgentFormat; 4] = [Own, Gemini, Claude, OpenCode];

/// Where a workspace's agents of our own lie, below its root.
pub const OWN_OF_PROJECT: &str = ".subagentd/agents";

/// Folders below a workspace's root.
const OF_PROJECT: [(AgentFormat, &str); 5] = [
    (Own, OWN_OF_PROJECT),
    (Gemini, ".gemini/agents"),
    (Claude, ".claude/agents"),
    (OpenCode, ".opencode/agent"),
    (OpenCode, ".opencode/agents"),
];

/// The folders of agents that a workspace's root may have.
pub(super) fn of_project(root: &Path) -> impl Iterator<Item = PathBuf> {
    OF_PROJECT.iter().map(move |(_, folder)| root.join(folder))
}

/// Folders of other products below the user's home.
const OF_HOME: [(AgentFormat, &str); 2] = [(Gemini, ".gemini/agents"), (Claude, ".claude/agents")];

/// Folders of other products where settings lie, usually `~/.config`.
const OF_CONFIG: [(AgentFormat, &str); 2] = [(OpenCode, "opencode/agent"), (OpenCode, "opencode/agents")];

/// The places that do not depend on a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlaces {
    /// In the order of precedence.
    user: Vec<(AgentFormat, PathBuf)>,
}

impl AgentPlaces {
    /// The user's agents of our own in this folder, and none of other products'.
    pub fn of_user(folder: impl Into<PathBuf>) -> AgentPlaces {
        AgentPlaces { user: vec![(Own, folder.into())] }
    }

    /// With those of other products: below the user's home, and in the folder that holds the settings of all programs.
    #[must_use]
    pub fn with_products(mut self, home: Option<&Path>, config: Option<&Path>) -> AgentPlaces {
        for (base, folders) in [(home, OF_HOME), (config, OF_CONFIG)] {
            let Some(base) = base else { continue };
            self.user.extend(folders.map(|(format, folder)| (format, base.join(folder))));
        }
        self
    }

    /// Every folder of the user's.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.user.iter().map(|(_, folder)| folder.as_path())
    }

    /// Where the user's agents of our own lie.
    pub fn own_of_user(&self) -> Option<&Path> {
        self.user.iter().find(|(format, _)| *format == Own).map(|(_, folder)| folder.as_path())
    }

    /// Where templates lie, each with whose folder it is: beside the user's agents (spec 02, "Templates"), and in a folder
    /// `templates` of every folder of agents that counts, the user's before those of these roots of a workspace.
    pub fn of_templates(&self, switches: &PlaceSwitches, roots: &[PathBuf]) -> Vec<(PathBuf, AgentFormat)> {
        let beside = self.own_of_user().and_then(Path::parent).map(|folder| (folder.join(TEMPLATES), Own));
        let of_roots = roots.iter().flat_map(|root| self.of_project(root, switches));
        let among = self.of_the_user(switches).into_iter().chain(of_roots);
        let among = among.map(|AgentFolder { place, path }| (path.join(TEMPLATES), place.format));
        beside.into_iter().chain(among).collect()
    }

    /// The user's folders that count.
    pub(super) fn of_the_user(&self, switches: &PlaceSwitches) -> Vec<AgentFolder> {
        let counts = |(format, _): &&(AgentFormat, PathBuf)| switches.user.has(*format);
        let folder = |(format, path): &(AgentFormat, PathBuf)| AgentFolder {
            place: AgentPlace { scope: AgentScope::User, format: *format },
            path: path.clone(),
        };
        self.user.iter().filter(counts).map(folder).collect()
    }

    /// The folders of a workspace's root that count. A workspace that is the user's home brings none of the user's along.
    pub(super) fn of_project(&self, root: &Path, switches: &PlaceSwitches) -> Vec<AgentFolder> {
        let counts = |(format, _): &&(AgentFormat, &str)| switches.project.has(*format);
        let folder = |(format, path): &(AgentFormat, &str)| AgentFolder {
            place: AgentPlace { scope: AgentScope::Project, format: *format },
            path: root.join(path),
        };
        let is_the_users = |folder: &AgentFolder| self.folders().any(|users| users == folder.path);
        OF_PROJECT.iter().filter(counts).map(folder).filter(|folder| !is_the_users(folder)).collect()
    }
}

/// One place: two agents of one name in it are somebody's slip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentPlace {
    pub scope: AgentScope,
    pub format: AgentFormat,
}

impl AgentPlace {
    pub const BUILT_IN: AgentPlace = AgentPlace { scope: AgentScope::Builtin, format: Own };

    /// The first place goes before all others.
    pub fn rank(self) -> (Reverse<AgentScope>, Option<usize>) {
        (Reverse(self.scope), FORMATS.iter().position(|format| *format == self.format))
    }
}

/// A folder of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentFolder {
    pub place: AgentPlace,
    pub path: PathBuf,
}

/// Which places count, and which agents do not wherever they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceSwitches {
    project: Products,
    user: Products,
    pub(super) built_in: bool,
    /// Names that the settings switch off (`agents.overrides`).
    pub(super) disabled: Arc<BTreeSet<AgentName>>,
}

/// Whose agents count in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Products([bool; FORMATS.len()]);

impl Products {
    fn of(settings: &ProductSettings) -> Products {
        let ProductSettings { own, gemini, claude, opencode } = settings;
        Products(FORMATS.map(|format| match format {
            Own => own.value,
            Gemini => gemini.value,
            Claude => claude.value,
            OpenCode => opencode.value,
        }))
    }

    fn has(&self, format: AgentFormat) -> bool {
        FORMATS.iter().zip(self.0).any(|(known, counts)| *known == format && counts)
    }
}

impl PlaceSwitches {
    /// As the settings say.
    pub fn of(settings: &AgentPlaceSettings) -> PlaceSwitches {
        let AgentPlaceSettings { project, user, built_in } = settings;
        PlaceSwitches {
            project: Products::of(project),
            user: Products::of(user),
            built_in: built_in.value,
            disabled: Arc::default(),
        }
    }

    /// The same without these agents.
    #[must_use]
    pub fn without(self, disabled: impl IntoIterator<Item = AgentName>) -> PlaceSwitches {
        PlaceSwitches { disabled: Arc::new(disabled.into_iter().collect()), ..self }
    }
}

impl Default for PlaceSwitches {
    /// All of them count.
    fn default() -> PlaceSwitches {
        let all = Products([true; FORMATS.len()]);
        PlaceSwitches { project: all, user: all, built_in: true, disabled: Arc::default() }
    }
}
