//! The worker turns a job into feedback; it does not know how the job reached it.

pub mod job;
pub mod slice;
