#![doc = include_str!("../README.md")]

pub mod check;
pub mod data;
pub mod diagnostic;
pub mod model;
pub mod network;
pub mod places;
pub mod process;
pub mod property;
pub mod syntax;
pub mod system;
