//! Stub.

pub mod rpc;
