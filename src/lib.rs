#![doc = include_str!("ARCHITECTURE.md")]

pub use {cli, client, protocol, traces};

#[cfg(feature = "daemon")]
pub use {
    agents, config, daemon, extensions, hooks, memory, models, notify, policy, project, prompts, redact,
    rules, run, sandbox, schemas, shell, skills, store, sys, telemetry, tools, trust, web,
};
