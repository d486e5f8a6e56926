//! The boundary of file tools: one or more root folders, held open.

/// The roots of a session.
pub struct Workspace {}
