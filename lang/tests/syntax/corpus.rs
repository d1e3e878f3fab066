//! Real specifications, from a directory named by the environment variable `GRIDLOCK_CORPUS`; without it there is
//! nothing to do.

use crate::placeless;
use gridlock_lang::diagnostic::render;
use gridlock_lang::syntax::{self, print};
use std::path::PathBuf;

/// The specifications of the directory, sorted by name.
pub fn specifications() -> Vec<(String, String)> {
    let Some(directory) = std::env::var_os("GRIDLOCK_CORPUS") else { return Vec::new() };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("GRIDLOCK_CORPUS names a directory")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "mcrl2"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "GRIDLOCK_CORPUS has no specification in it");
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("the file can be read");
        (path.display().to_string(), syntax::decode(&bytes).expect("the file is text"))
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_specification_parses_and_prints_to_the_same_tree() {
    for (path, text) in specifications() {
        let spec =
            syntax::parse(&text).unwrap_or_else(|errors| panic!("{}", render(&path, &text, &errors, false)));
        let printed = print::spec(&spec);
        let again = syntax::parse(&printed)
            .unwrap_or_else(|errors| panic!("{path}:\n{}", render("printed", &printed, &errors, false)));
        assert_eq!(placeless(&spec), placeless(&again), "{path}");
    }
}
