//! Processes: from checked process expressions to the step semantics of one sequential process.
//!
//! [`program`] holds every process expression as a node with explicit summands, which [`compile`] makes; [`term`] is a local state, a node
//! with the values of its free variables (so dead variables never tell states apart), and its steps; [`action`] holds
//! multi-actions and the operators `allow`, `block`, `comm`, `hide` and `rename` on them, [`stack`] which of several around
//! each other can go; [`points`] names local states.

pub mod action;
pub mod compile;
pub mod points;
pub mod program;
pub mod stack;
pub mod steps;
pub mod substitute;
pub mod term;
