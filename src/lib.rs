#![doc = include_str!("ARCHITECTURE.md")]

pub use {cli, client, protocol};

#[cfg(feature = "daemon")]
pub use {
    agents, config, daemon, models, notify, policy, project, prompts, redact, rules, run, sandbox, schemas,
    shell, skills, store, sys, tools, trust, web,
};
