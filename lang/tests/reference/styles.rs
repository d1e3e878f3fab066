//! Specifications as they come up in courses and examples, one for each habit of writing: each file in `styles` agrees with
//! the naive semantics.

use crate::{ALL, agrees};
use std::path::Path;

#[test]
fn specifications_as_people_write_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/styles");
    let files = std::fs::read_dir(folder).expect("the folder");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= 40, "only {} files", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        agrees(&text, &file.display().to_string(), 1_000, &ALL).expect_equal(&text);
    }
}
