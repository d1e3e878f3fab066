//! The manager decides which job comes next; it does not know how a worker searches.
//!
//! A [`swarm::Swarm`] is a state machine over messages: jobs go out, feedback comes in, in any order, twice or never.
//! There are no clocks, threads or files here, and nothing depends on who answers when: the sequence of jobs and the
//! outcome follow from the configuration and the contents of the feedback.

pub mod ids;
pub mod strategy;
pub mod swarm;
pub mod testbed;
