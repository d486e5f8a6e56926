#![doc = include_str!("ARCHITECTURE.md")]

pub mod protocol;

pub mod cli;
pub mod client;

#[cfg(feature = "daemon")]
pub mod agents;
#[cfg(feature = "daemon")]
pub mod config;
#[cfg(feature = "daemon")]
pub mod daemon;
#[cfg(feature = "daemon")]
pub mod models;
#[cfg(feature = "daemon")]
pub mod notify;
#[cfg(feature = "daemon")]
pub mod policy;
#[cfg(feature = "daemon")]
pub mod project;
#[cfg(feature = "daemon")]
pub mod redact;
#[cfg(feature = "daemon")]
pub mod rules;
#[cfg(feature = "daemon")]
pub mod run;
#[cfg(feature = "daemon")]
pub mod shell;
#[cfg(feature = "daemon")]
pub mod store;
#[cfg(feature = "daemon")]
pub mod sys;
#[cfg(feature = "daemon")]
pub mod tools;
#[cfg(feature = "daemon")]
pub mod trust;
