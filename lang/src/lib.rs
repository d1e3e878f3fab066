//! The front end: mCRL2's process algebra in, a network of process LTSs out.
//!
//! The road of a specification: text → [`syntax`] tree with spans → checked [`model`] → leaves and rules → tables.
//! Data is evaluated only while tables are built.

pub mod check;
pub mod diagnostic;
pub mod model;
pub mod syntax;
