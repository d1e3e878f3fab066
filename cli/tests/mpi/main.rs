//! Swarms on the ranks of an MPI job, from outside: the same as with threads, whatever happens to the ranks.
//!
//!     cargo test -p gridlock --features mpi --test mpi
//!
//! Needs Open MPI's mpirun. GRIDLOCK_SLOW=1 runs more models, more ranks and more kills.
#![cfg(unix)]

#[path = "../swarm/harness.rs"]
mod harness;
mod hunt;
mod killed;
mod ranks;
mod same;
mod stopped;
mod wrong_use;
