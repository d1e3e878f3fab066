//! From the initial process to a network: leaves, synchronisation rules, tables.
//!
//! [`flatten`] splits `init` into leaves (maximal sequential parts) under a tree of operators; [`rules`] works out on
//! names which leaves can move together; [`build`] fills the tables, joining values.

pub mod build;
pub mod flatten;
pub mod join;
mod open;
pub mod rules;
