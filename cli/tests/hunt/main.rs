//! Hunts from outside: what is found, that it is found again, and that nothing depends on workers, kills or luck.
//!
//! GRIDLOCK_SLOW=1 runs every seeded bug with twenty seeds.
#![cfg(unix)]

mod checkpoints;
mod findings;
mod hunting;
mod same;
#[allow(dead_code)]
#[path = "../swarm/harness.rs"]
mod swarm_harness;
mod wrong_use;
