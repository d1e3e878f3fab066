//! Swarms on the ranks of an MPI job, from outside: the same as with threads, even if ranks are killed or stopped.
//!
//!     cargo test -p gridlock --features mpi --test mpi
//!
//! Needs Open MPI's mpirun. GRIDLOCK_SLOW=1 runs more models, more ranks and more kills. For another MPI library
//! GRIDLOCK_MPIRUN says how to start ranks, and the build must be one with that library:
//!
//!     MPICC=mpicc.mpich GRIDLOCK_MPIRUN=mpiexec.mpich \\
//!         cargo test -p gridlock --features mpi --target-dir target/mpich --test mpi -- --skip scripts::
//!
//! The scripts give mpirun options of Open MPI.
#![cfg(unix)]

mod discovered;
mod formulas;
// Not all of it is needed here.
#[allow(dead_code)]
#[path = "../harness/mod.rs"]
mod harness;
mod hunt;
mod killed;
mod local;
mod obligations;
mod owned;
mod parts;
mod ranks;
mod resumed;
mod same;
mod scripts;
mod slices;
mod stopped;
mod wrong_use;
