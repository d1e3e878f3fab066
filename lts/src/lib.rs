//! Labelled transition systems and networks of them.
//!
//! This crate knows nothing of syntax or data: everything here is integers and printed labels. A [`network::Network`]
//! is a set of leaves (process LTSs as tables) and synchronisation vectors over them.

pub mod aut;
pub mod dot;
pub mod equivalence;
pub mod explicit;
pub mod explore;
pub mod guide;
pub mod halt;
pub mod hash;
pub mod lazy;
pub mod memory;
pub mod network;
pub mod pack;
pub mod predecessors;
pub mod prepared;
pub mod property;
pub mod random;
pub mod replay;
pub mod search;
pub mod successors;
pub mod synthetic;
pub mod trace;
pub mod trace_file;
pub mod vector_set;
pub mod visited;
pub mod whole_file;
