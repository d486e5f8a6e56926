//! Does every question of a run find a person, and does it end once? (Spec 06, "Routing".)
//!
//! A table of cases with runs that really ask: the agents here call the tools that write, and clients come, go and answer
//! as people do. [`scene`] holds every case to the same: one end for each question, the same end told to everybody, a
//! tool that runs at most once, and never an `allow` that no client gave.

mod answers;
mod audience;
mod budgets;
mod deadlines;
mod elsewhere;
mod families;
mod nobody;
mod offered;
mod outcomes;
mod remembering;
mod restarts;
pub mod scene;
