//! From the initial process to a network: leaves, synchronisation rules, tables.
//!
//! [`flatten`] splits `init` into leaves (maximal sequential parts) under a tree of operators; [`alphabet`] lists what
//! each may do; [`rules`] works out on names which leaves can move together, guided by a [`demand`]; [`build`] fills the
//! tables, joining values. [`explain`] says why a leaf does not move.

pub mod alphabet;
pub mod build;
pub mod demand;
pub mod explain;
pub mod flatten;
pub mod join;
mod open;
pub mod rules;
mod told;
