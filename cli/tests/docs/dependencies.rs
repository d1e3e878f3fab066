//! The statements about dependencies: each is judged in `docs/dependencies.md`, and all can be built by the oldest compiler
//! that is promised.

use super::{metadata, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// The names in the first column of the table.
fn judged() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| crate |"));
    let mut names = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells.len() == 5 && cells[1..4].iter().all(|cell| !cell.is_empty()), "{row}");
        // In brackets is what there is to say about it.
        let list = cells[1].split(" (").next().expect("a first part");
        names.extend(list.split(", ").map(str::to_owned));
    }
    names
}

/// The dependencies of the crates of the workspace.
fn direct(metadata: &Value) -> BTreeSet<String> {
    let members = metadata["workspace_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let ours = packages.filter(|package| members.contains(&package["id"]));
    let asked = ours.flat_map(|package| package["dependencies"].as_array().unwrap());
    let names = asked.map(|dependency| dependency["name"].as_str().unwrap().to_owned());
    names.filter(|name| !name.starts_with("gridlock")).collect()
}

#[test]
fn every_dependency_is_judged_and_nothing_else() {
    assert_eq!(judged(), direct(&metadata()));
}

/// `1.91` or `1.91.0` as numbers.
fn version(text: &str) -> Vec<u32> {
    text.split('.').map(|part| part.parse().expect("a number")).chain([0, 0, 0]).take(3).collect()
}

#[test]
fn the_oldest_compiler_that_is_promised_will_do() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let promised = packages.iter().find(|package| package["name"] == "gridlock").unwrap();
    let promised = promised["rust_version"].as_str().expect("a version");
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("a Rust toolchain ({promised} or later)")), "README.md: {promised}");
    let mut told = 0;
    for package in packages {
        let Some(needed) = package["rust_version"].as_str() else { continue };
        assert!(version(needed) <= version(promised), "{} needs {needed}", package["name"]);
        told += 1;
    }
    assert!(told > 40, "only {told} packages say what they need");
}
