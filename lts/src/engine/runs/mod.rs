//! Runs: states that are sorted and stored as bytes, for slices, messages and checkpoints.
//!
//! A [`layout`] says in which order states stand and which of their bits all states of a run share; [`code`] writes the
//! differences of neighbours.

pub mod code;
pub mod layout;
