//! The manager decides which job comes next; it does not know how a worker searches.
//!
//! [`grid`] is the star: a machine over messages in the middle, workers around it, the transports that jobs and answers
//! travel by, and the journal that makes a killed run cheap. A machine has no clocks, threads or files, and nothing
//! depends on who answers when: the sequence of jobs and the outcome follow from the configuration and the contents of
//! the answers. [`traces`], [`slices`] and [`hunt`] are the three machines, each from a prepared network to a report.

pub mod grid;
pub mod hunt;
pub mod slices;
pub mod traces;
