//! The `gridlock` binary: flags, output and exit codes; no algorithms.
fn main() {}
