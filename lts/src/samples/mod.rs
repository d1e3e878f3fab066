//! Networks made for tests and measurements of this and other crates: random ones and families of known size.

pub mod random;
pub mod synthetic;
