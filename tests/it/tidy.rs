//! What the compiler cannot see inside one crate: who may know whom, and what no file may contain.
