//! Real specifications, from a directory named by the environment variable `GRIDLOCK_CORPUS`; without it there is
//! nothing to do.

use gridlock_lang::syntax;
use std::path::PathBuf;

/// The specifications of the directory, sorted by name.
fn specifications() -> Vec<(PathBuf, String)> {
    let Some(directory) = std::env::var_os("GRIDLOCK_CORPUS") else { return Vec::new() };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("GRIDLOCK_CORPUS names a directory")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "mcrl2"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "GRIDLOCK_CORPUS has no specification in it");
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read_to_string(&path).expect("the file is text")))
        .collect()
}

#[test]
fn every_specification_parses() {
    let mut bad = Vec::new();
    for (path, text) in specifications() {
        if let Err(errors) = syntax::parse(&text) {
            bad.push(format!("{}: {:?}", path.display(), errors));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
