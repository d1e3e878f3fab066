//! The documentation is true as far as a program can tell: commands run, links lead somewhere, licences are allowed.

mod licences;
mod links;
mod readme;

use std::path::PathBuf;

/// The project's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace").to_owned()
}
