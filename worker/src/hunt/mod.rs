//! The searches of a hunt: cheap, very different ways through a system that is too large to verify.

pub mod job;
pub mod sketch;
