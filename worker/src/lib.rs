//! The worker turns a job into feedback; it does not know how the job reached it.
//!
//! [`guided::Worker`] does the jobs of an informed swarm: searches of the whole system in which a subsystem follows a
//! given path. [`slice`] has what one activation of a slice does: the states of the system in which a subsystem stands
//! at one place. [`hunt`] has the searches that look for bugs without a claim to completeness.

pub mod guided;
pub mod hunt;
pub mod job;
pub mod life;
pub mod slice;
mod states;
mod stop;
