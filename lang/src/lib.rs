//! The front end: mCRL2's process algebra in, a network of process LTSs out.
//!
//! The road of a specification: text → [`syntax`] tree with spans → [`check`]ed [`model`] → compiled processes
//! ([`process`]) → leaves, rules and tables ([`network`]). [`system::load`] walks the whole road. Data ([`data`]) is
//! evaluated only while tables are built, and once for the values in a [`property`].

pub mod check;
pub mod data;
pub mod diagnostic;
pub mod model;
pub mod network;
pub mod places;
pub mod process;
pub mod property;
pub mod syntax;
pub mod system;
