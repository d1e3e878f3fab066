//! The inputs and results of searches: networks of process LTSs, explicit LTSs, traces, their files, equivalences.
//!
//! Invariant: everything here is the plain definition, slow and obvious; what the [`engine`](crate::engine) does faster
//! is tested against it.

pub mod aut;
pub mod dot;
pub mod equivalence;
pub mod explicit;
pub mod network;
pub mod short_names;
pub mod stuck;
pub mod trace;
pub mod trace_file;
pub mod vector_set;
