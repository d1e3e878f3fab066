//! From the initial process to a network: leaves, synchronisation rules, tables.
//!
//! [`flatten`] splits `init` into leaves (maximal sequential parts) under a tree of operators; [`rules`] works out on
//! names which leaves can move together; [`build`] fills the tables, joining values. [`explain`] says why a leaf does not
//! move.

pub mod build;
pub mod explain;
pub mod flatten;
pub mod join;
pub mod rules;
