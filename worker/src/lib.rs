#![doc = include_str!("../README.md")]

pub mod discovered;
pub mod guided;
pub mod helpers;
pub mod hunt;
pub mod job;
pub mod life;
pub mod sketch;
pub mod slice;
pub mod states;
mod stop;
