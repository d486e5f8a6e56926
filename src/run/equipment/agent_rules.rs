//! The rules in force with those of the agent's own file (spec 02, "Foreign files", rule 5).

use std::sync::{Arc, Mutex, PoisonError};

use agents::narrowing_rules;
use policy::Policy;
use protocol::{AgentDefinition, PolicyRule};

/// What one agent's file forbids. A cheap handle.
#[derive(Clone)]
pub struct AgentRules {
    shared: Arc<AgentRulesState>,
}

struct AgentRulesState {
    own: Vec<PolicyRule>,
    /// The last policy that was put together, and what it was made from: rules change rarely, calls come often.
    composed: Mutex<Option<(Arc<Policy>, Arc<Policy>)>>,
}

impl AgentRules {
    pub fn of(definition: &AgentDefinition) -> AgentRules {
        let own = narrowing_rules(definition);
        AgentRules { shared: Arc::new(AgentRulesState { own, composed: Mutex::new(None) }) }
    }

    /// These rules, and the agent's own.
    pub fn with(&self, base: Arc<Policy>) -> Arc<Policy> {
        let AgentRulesState { own, composed } = &*self.shared;
        if own.is_empty() {
            return base;
        }
        // Only whole pairs are put in, so a poisoned lock guards a whole one.
        let mut composed = composed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*composed {
            Some((of, policy)) if Arc::ptr_eq(of, &base) => Arc::clone(policy),
            _ => {
                let policy = Arc::new(Policy::new(base.rules().chain(own).cloned().collect()));
                *composed = Some((base, Arc::clone(&policy)));
                policy
            }
        }
    }
}
