//! The seam to the machine: clock, ids. Everything that a test must be able to replace, and what only
//! Linux has, lives here.

pub mod clock;
pub mod ids;
pub mod process;
