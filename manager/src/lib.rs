//! The manager decides which job comes next; it does not know how a worker searches.

pub mod slices;
