#![doc = include_str!("../README.md")]

pub mod grid;
pub mod hunt;
pub mod method;
pub mod slices;
pub mod traces;
