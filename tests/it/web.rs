//! What do the web tools reach, what do they refuse, and what do they make of it? Against servers on this machine, with a
//! resolver of the test's own.

mod agents;
mod answered;
mod fetching;
mod grounded;
mod net;
mod pages;
mod runs;
mod searching;
mod secure;
mod site;
