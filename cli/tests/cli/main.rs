//! The binary as its users meet it: every command, its output, its exit code.

mod bad_input;
mod compare;
mod explain;
mod explore;
mod harness;
mod info;
mod lts;
#[allow(dead_code)]
#[path = "../harness/moments.rs"]
mod moments;
mod newcomer;
mod plan;
mod sim;
mod stopping;
