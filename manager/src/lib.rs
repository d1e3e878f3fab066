#![doc = include_str!("../README.md")]

pub mod discovered;
pub mod fingerprint;
pub mod grid;
pub mod hunt;
pub mod local;
pub mod method;
pub mod parts;
pub mod plan;
pub mod slices;
pub mod traces;
