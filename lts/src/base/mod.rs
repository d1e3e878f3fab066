//! The base of all layers: errors, hashing, random numbers, an account of memory, files that appear whole or not at all,
//! and files for what does not fit into memory.
//!
//! Invariant: nothing here knows what a network is.

pub mod error;
pub mod halt;
pub mod hash;
pub mod memory;
pub mod rng;
pub mod spill;
pub mod whole_file;
