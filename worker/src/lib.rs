//! The worker turns a job into feedback; it does not know how the job reached it.
//!
//! [`guided::Worker`] does the jobs of an informed swarm: searches of the whole system in which a subsystem follows a
//! given path.

pub mod guided;
pub mod job;
mod states;
