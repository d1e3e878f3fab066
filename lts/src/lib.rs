//! Labelled transition systems and networks of them.
//!
//! This crate knows nothing of syntax or data: everything here is integers and printed labels. A [`model::network::Network`]
//! is a set of leaves (process LTSs as tables) and synchronisation vectors over them.
//!
//! Layers, each using only those before it: [`base`], [`model`], [`property`], [`engine`], [`guide`] (which needs no
//! engine). [`samples`] has networks for tests.

pub mod base;
pub mod engine;
pub mod guide;
pub mod model;
pub mod property;
pub mod samples;
