//! The documentation is true as far as a program can tell: commands run and print the figures of the text, examples can be
//! explored, links lead somewhere, dependencies are judged, licences are allowed.

mod dependencies;
mod folders;
mod language;
mod licences;
mod links;
mod readme;
mod recipes;

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The project's directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace").to_owned()
}

/// What cargo knows about the workspace and all that it is built from.
fn metadata() -> Value {
    let run = Command::new(env!("CARGO"))
        // Packages for other systems may have to be fetched first: no build does that.
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).unwrap()
}
