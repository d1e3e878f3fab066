//! Slices: the states of a system, partitioned by the local states of a subsystem, searched one slice at a time.
//!
//! A slice is stored as compressed runs of sorted states ([`code`], [`store`]) with an inbox of states that other slices have
//! found for it ([`message`]). An [`activation`] loads it into a [`set`], expands what is new to a fixpoint over the moves
//! that stay in the slice, and returns a new run and the states for other slices, sorted and without duplicates. The
//! [`partition`] defines which slices there are, and to which one a state belongs; a slice that has become too large for the
//! memory of a job is divided in two by [`split`]. A search starts where [`begin`] says; slices that cannot be entered again
//! ([`reach`]) may be forgotten, and [`trace`] finds the path to a finding.
//!
//! Invariant: a state is in at most one run, that of the activation that expanded it. The result of an activation depends on
//! the slice, the partition and the job memory only, not on the worker or the time.

pub mod activation;
pub mod begin;
pub mod buffer;
mod bytes;
pub mod message;
pub mod partition;
pub mod reach;
pub mod set;
pub mod sizes;
pub mod split;
pub mod store;
pub mod trace;

pub use gridlock_lts::engine::runs::{code, layout};
