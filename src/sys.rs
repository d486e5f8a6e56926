//! The seam to the machine: clock, ids, the service manager. Everything that a test must be able to replace, and what only
//! Linux has, lives here.

pub mod clock;
pub mod current;
pub mod ids;
pub mod key_file;
pub mod process;
pub mod systemd;
