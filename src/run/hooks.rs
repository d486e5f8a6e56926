//! Hooks in runs: at which points of a run are they asked, and what becomes of what they say? (spec 08, "Hooks")
//!
//! A point is part of the machine's state, so that one at which the daemon died is come to again, under the same name; what was said
//! at a point is committed with the change of state that it leads to, before anything acts on it. `in_force` holds the hooks that
//! count now, `asking` fires those of one run, `scene` says where it stands, `services` what it does for its hooks, `points` what
//! the driver asks between a call's end and the end of its run, `transcript` the file in which hooks read what was said so far, `elicitations` asks about what MCP servers ask people, `models` and `model_forms` ask about requests to models, `happened` and
//! `watchers` tell hooks what nobody changes any more, `session_log` writes down what they say that no run hears. What
//! they say before a call runs is the gate's to ask (`gate/hooked.rs`).

mod asking;
mod elicitations;
mod happened;
mod in_force;
mod model_forms;
mod models;
mod points;
mod reasons;
mod scene;
mod services;
mod session_log;
mod session_starts;
mod transcript;
mod watchers;

pub use ::hooks::{AgentHooks, AsyncHookEnd, AsyncHookEnds};
pub use asking::RunHooks;
pub(crate) use asking::{FiringName, effects_of, hooked_call};
pub use elicitations::ELICITATION_EVENTS;
pub(crate) use elicitations::{ElicitationAdvice, ElicitationHooks};
pub use happened::TOLD_EVENTS;
pub(crate) use happened::{happened, loaded};
pub use in_force::{HookConfiguration, HooksInForce};
pub use models::MODEL_EVENTS;
pub(crate) use models::{HookedRequest, ModelHookLedger};
pub use points::{BEGIN_EVENTS, POINT_EVENTS, PointOfRun, shows_beginning};
pub(crate) use reasons::said;
pub use scene::HookScene;
pub(crate) use scene::turn_id;
pub(crate) use services::{ChangeableCall, HookModels, HookTools};
pub use session_starts::SessionStarts;
pub use watchers::{HookWatchers, WatchedFact};
