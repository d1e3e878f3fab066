#![doc = include_str!("../README.md")]

pub mod driver;
pub mod hunt;
pub mod ids;
pub mod isv;
pub mod journal;
pub mod machine;
pub mod method;
pub mod slices;
pub mod strategy;
pub mod swarm;
pub mod testbed;
pub mod transport;
pub mod wire;
