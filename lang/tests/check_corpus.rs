//! Every specification of a directory that the reference tool accepts must pass the checker. The directory is named by
//! `GRIDLOCK_CORPUS`; without it there is nothing to do.

use gridlock_lang::{check, syntax};
use std::path::PathBuf;

#[test]
fn corpus_is_accepted() {
    let Some(directory) = std::env::var_os("GRIDLOCK_CORPUS") else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("GRIDLOCK_CORPUS names a directory")
        .map(|entry| entry.expect("readable entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "mcrl2"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut rejected = Vec::new();
    for file in files {
        let bytes = std::fs::read(&file).expect("readable file");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let result = syntax::parse(&text).and_then(|spec| check::check(&spec));
        if let Err(errors) = result {
            for e in errors.iter().take(5) {
                let line = text[..e.span.start as usize].matches('\n').count() + 1;
                let shown = &text[e.span.start as usize..e.span.end as usize];
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                rejected.push(format!("{name}:{line}: {} ({:?}) at {shown}", e.message, e.help));
            }
        }
    }
    assert!(rejected.is_empty(), "{}", rejected.join("\n"));
}
