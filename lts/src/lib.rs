#![doc = include_str!("../README.md")]

pub mod base;
pub mod engine;
pub mod guide;
pub mod model;
pub mod property;
pub mod samples;
