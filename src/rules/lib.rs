//! Which rules are in force, and which files do they come from? (spec 06, "Policy")
//!
//! Reads the folders of rule files of system, user and project within bounds, and keeps what is in force: the rules of
//! system and user, and those that were remembered from answers. What they mean is the policy's affair. Whatever cannot be
//! read leaves stricter rules behind, never none.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use policy::Policy;
use protocol::{FileProblem, PolicyRule, PolicyTier};
use sys::current::HotSwap;

mod folder;

pub use folder::{RuleFileContents, read_folder};

/// Where rule files lie that do not depend on a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RulePlaces {
    /// `/etc/subagentd/policies/`
    pub system: PathBuf,
    /// `<config>/policies/`
    pub user: PathBuf,
    /// What `~` means in the files.
    pub home: PathBuf,
}

/// The rule files of system and user as they were read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleFiles {
    /// Those of the system first, each folder's by name.
    files: Vec<RuleFileContents>,
}

impl RuleFiles {
    /// Blocks on the file system.
    pub fn read(places: &RulePlaces) -> RuleFiles {
        let RulePlaces { system, user, home } = places;
        let mut files = read_folder(system, PolicyTier::System, home);
        files.extend(read_folder(user, PolicyTier::User, home));
        RuleFiles { files }
    }

    pub fn problems(&self) -> impl Iterator<Item = &FileProblem> {
        self.files.iter().flat_map(|file| &file.problems)
    }

    fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.files.iter().flat_map(|file| &file.rules)
    }

    /// Files that are new, gone, or other than they were.
    pub fn changed_since(&self, before: &RuleFiles) -> Vec<PathBuf> {
        let by_path = |files: &RuleFiles| -> BTreeMap<PathBuf, Vec<PolicyRule>> {
            files.files.iter().map(|file| (file.path.clone(), file.rules.clone())).collect()
        };
        let digests = |files: &RuleFiles| -> BTreeMap<PathBuf, Option<String>> {
            files.files.iter().map(|file| (file.path.clone(), file.digest.clone())).collect()
        };
        let (rules, rules_before) = (by_path(self), by_path(before));
        let (now, then) = (digests(self), digests(before));
        let mut changed: Vec<PathBuf> = now.keys().chain(then.keys()).cloned().collect();
        changed.sort();
        changed.dedup();
        changed.retain(|path| now.get(path) != then.get(path) || rules.get(path) != rules_before.get(path));
        changed
    }
}

/// The rules in force, one value that is swapped whole. A cheap handle.
#[derive(Clone)]
pub struct RulesInForce {
    shared: Arc<RulesShared>,
}

struct RulesShared {
    policy: HotSwap<Policy>,
    /// What `policy` was made from. Locked while it is swapped, so that no change is lost to another.
    parts: Mutex<RuleParts>,
}

struct RuleParts {
    files: Arc<RuleFiles>,
    /// In the order of the log.
    remembered: Vec<PolicyRule>,
    /// Ids of rules that were taken out of force last, newest last: a rule may be removed before whoever wrote it has put it
    /// in force, and no id comes twice.
    forgotten: VecDeque<String>,
}

/// So many are known. Between the commit of a rule and its being in force there are moments.
const MOST_FORGOTTEN: usize = 1_000;

impl RuleParts {
    fn policy(&self) -> Policy {
        Policy::new(self.files.rules().chain(&self.remembered).cloned().collect())
    }
}

impl RulesInForce {
    /// `remembered` as the store has them.
    pub fn new(files: RuleFiles, remembered: Vec<PolicyRule>) -> RulesInForce {
        let parts = RuleParts { files: Arc::new(files), remembered, forgotten: VecDeque::new() };
        let policy = HotSwap::new(parts.policy());
        RulesInForce { shared: Arc::new(RulesShared { policy, parts: Mutex::new(parts) }) }
    }

    /// Without the rules of any project.
    pub fn policy(&self) -> Arc<Policy> {
        self.shared.policy.get()
    }

    pub fn files(&self) -> Arc<RuleFiles> {
        Arc::clone(&self.parts().files)
    }

    /// Puts a rule in force that the log has: call it right after the commit of the `policy.changed` that adds it. One that
    /// was forgotten since stays out.
    pub fn remember(&self, rule: PolicyRule) {
        let mut parts = self.parts();
        if parts.forgotten.contains(&rule.id) {
            return;
        }
        parts.remembered.retain(|other| other.id != rule.id);
        parts.remembered.push(rule.clone());
        let policy = self.policy().with(rule);
        self.shared.policy.replace(policy);
    }

    /// Takes remembered rules out of force, after the log was told.
    pub fn forget(&self, ids: &[String]) {
        let mut parts = self.parts();
        parts.remembered.retain(|other| !ids.contains(&other.id));
        parts.forgotten.extend(ids.iter().cloned());
        let too_many = parts.forgotten.len().saturating_sub(MOST_FORGOTTEN);
        parts.forgotten.drain(..too_many);
        let policy = parts.policy();
        self.shared.policy.replace(policy);
    }

    /// Other files from now on, after the log was told.
    pub fn replace_files(&self, files: RuleFiles) {
        let mut parts = self.parts();
        parts.files = Arc::new(files);
        let policy = parts.policy();
        self.shared.policy.replace(policy);
    }

    fn parts(&self) -> MutexGuard<'_, RuleParts> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What holds in one workspace: the rules in force as they are when it is asked, and the workspace's own.
pub struct WorkspaceRules {
    in_force: RulesInForce,
    own: Vec<PolicyRule>,
    /// The last policy that was put together, and what it was made from.
    composed: Mutex<Option<(Arc<Policy>, Arc<Policy>)>>,
}

impl WorkspaceRules {
    /// `own` are rules of the tier `project` that a person acknowledged.
    pub fn new(in_force: RulesInForce, own: Vec<PolicyRule>) -> WorkspaceRules {
        WorkspaceRules { in_force, own, composed: Mutex::new(None) }
    }

    pub fn policy(&self) -> Arc<Policy> {
        let base = self.in_force.policy();
        if self.own.is_empty() {
            return base;
        }
        let mut composed = self.composed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*composed {
            Some((of, policy)) if Arc::ptr_eq(of, &base) => Arc::clone(policy),
            _ => {
                let rules = base.rules().chain(&self.own).cloned().collect();
                let policy = Arc::new(Policy::new(rules));
                *composed = Some((base, Arc::clone(&policy)));
                policy
            }
        }
    }

    /// The workspace's own.
    pub fn own(&self) -> &[PolicyRule] {
        &self.own
    }

    /// Shared with every other workspace.
    pub fn in_force(&self) -> &RulesInForce {
        &self.in_force
    }
}

impl fmt::Debug for RulesInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesInForce").field("policy", &*self.policy()).finish()
    }
}

/// Where a project's rule files lie below its root.
pub const PROJECT_RULES: &str = ".subagentd/policies";

/// The name by which a rule of a file is known, e.g. `shop.toml`.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
