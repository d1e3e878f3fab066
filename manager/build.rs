//! Computes a fingerprint of the sources. Ranks compare it: versions are not raised with every change, and ranks of different
//! builds would misread each other's messages.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources that decide the messages between ranks. In a checkout they stand beside this package; a package from a
/// registry has only its own sources, and its version stands for the rest.
const SOURCES: [&str; 5] = ["../Cargo.lock", "../lang/src", "../lts/src", "../worker/src", "src"];

fn main() -> std::io::Result<()> {
    let mut files = Vec::new();
    for place in SOURCES.map(Path::new).into_iter().filter(|place| place.exists()) {
        println!("cargo::rerun-if-changed={}", place.display());
        collect(place, &mut files)?;
    }
    files.sort();
    // FNV-1a: this guards against accidents, not against people who want two programs to look alike.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
        };
        add(file.as_os_str().as_encoded_bytes());
        add(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=GRIDLOCK_SOURCES={hash:016x}");
    Ok(())
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if place.is_file() {
        files.push(place.to_owned());
        return Ok(());
    }
    fs::read_dir(place)?.try_for_each(|entry| collect(&entry?.path(), files))
}
