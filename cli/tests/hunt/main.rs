//! Hunts from outside: their findings, that these are found again, and that nothing depends on workers, kills or chance.
//!
//! GRIDLOCK_SLOW=1 runs every seeded bug with twenty seeds.
#![cfg(unix)]

mod checkpoints;
mod findings;
#[allow(dead_code)]
#[path = "../harness/mod.rs"]
mod harness;
mod hunting;
mod live;
mod open;
mod prefix;
mod same;
mod wrong_use;
