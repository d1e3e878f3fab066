//! Searching a network fast: packed states, compiled successors, the visited set, searches, and the replay of findings.
//!
//! Data flow: [`prepared`] builds properties into a network, [`successors`] compiles it over [`pack`]ed states, a
//! [`search`] expands states and keeps them in [`visited`], [`predecessors`] lead back from a finding, and [`replay`],
//! which shares no code with the searches, confirms the trace. [`lazy`] does the same on tables that are still
//! growing. [`game`] decides formulas. [`reduce`] wraps a successor function and leaves out steps that a search does not need.
//! [`runs`] are states as bytes. A [`mesh`] is how ranks that own a part of the states each send states to each other.

pub mod explore;
pub mod game;
pub mod lazy;
pub mod local;
pub mod look;
pub mod mesh;
pub mod pack;
pub mod parts;
pub mod predecessors;
pub mod prepared;
pub mod reduce;
pub mod replay;
pub mod runs;
pub mod search;
pub mod successors;
pub(crate) mod symmetry;
pub mod verdict;
pub mod visited;
