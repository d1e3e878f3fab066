#![doc = include_str!("../README.md")]

pub mod guided;
pub mod hunt;
pub mod job;
pub mod life;
pub mod slice;
mod states;
mod stop;
