//! The manager decides which job comes next; it does not know how a worker searches.
//!
//! A [`swarm::Swarm`] is a state machine over messages: jobs go out, feedback comes in, in any order, twice or never.
//! There are no clocks, threads or files in it, and nothing depends on who answers when: the sequence of jobs and the
//! outcome follow from the configuration and the contents of the feedback. Around it stand the [`transport`]s that jobs
//! and answers travel by, the [`journal`] that makes a killed run cheap, and the [`driver`] that joins them. [`slices`] is
//! the other way to divide a search: every state once, slice by slice.

pub mod driver;
pub mod grid;
pub mod hunt;
pub mod ids;
pub mod isv;
pub mod journal;
pub mod machine;
pub mod method;
pub mod slices;
pub mod strategy;
pub mod swarm;
pub mod testbed;
pub mod transport;
pub mod wire;
