//! Informed swarms from outside: `check --search isv`, `traces`, `status`, `merge`.

mod beyond;
mod checkpoints;
mod discovered;
mod factor;
#[path = "../harness/mod.rs"]
mod harness;
mod job_workers;
mod large;
mod paper;
mod results;
mod slices;
mod verdicts;
mod wrong_use;
