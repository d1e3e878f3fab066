//! The star: a machine in the middle, workers around it, for every way to search.
//!
//! A [`machine`] says which job comes next and takes answers; the [`driver`] hands jobs out, notices those that are lost, and
//! keeps answers in the [`journal`]; a [`transport`] carries both. [`work`] defines what a worker does with a job, and runs
//! it on threads or ranks. Invariant: nothing here knows a search.

pub mod driver;
pub mod journal;
pub mod ledger;
pub mod machine;
pub mod placed;
pub mod transport;
pub mod wire;
pub mod work;
