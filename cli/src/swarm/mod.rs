//! What several commands know about informed swarms: how the user names subsystems and trace IDs, and the figures that
//! a run leaves behind.

pub mod checkpoint;
pub mod fingerprint;
pub mod ids;
pub mod numbers;
pub mod subsystem;
