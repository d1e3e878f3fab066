//! The example `ranks` on several ranks: random swarms agree with threads, and a panic is the end of all.
//!
//! Needs Open MPI's mpirun. The example is built with the tests of the package: `cargo test -p gridlock-manager
//! --features mpi`.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn ranks(count: u32, arguments: &[&str]) -> Output {
    let mut example: PathBuf = std::env::current_exe().expect("a path");
    example.pop();
    example.set_file_name("examples");
    example.push("ranks");
    assert!(example.exists(), "{} is not built: run all tests of the package", example.display());
    let mut command = Command::new("mpirun");
    command
        .args(["--oversubscribe", "--bind-to", "none", "-n", &count.to_string()])
        .arg(example)
        .args(arguments);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // Two launchers of Open MPI that make the directory of this machine at the same moment: one of them gives up.
    let session = tempfile::TempDir::new().expect("a directory");
    command.env("OMPI_MCA_orte_tmpdir_base", session.path());
    command.output().expect("mpirun starts")
}

#[test]
fn ranks_agree_with_threads() {
    let output = ranks(3, &[]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.starts_with("30 swarms agree on 3 ranks"), "{out}");
}

#[test]
fn a_panic_of_one_is_the_end_of_all() {
    for rank in ["0", "2"] {
        let begun = Instant::now();
        let output = ranks(3, &["--panic", rank]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(99), "{err}");
        assert!(err.contains(&format!("rank {rank} was told to panic")), "{err}");
        assert!(begun.elapsed() < Duration::from_secs(300), "{:?}", begun.elapsed());
    }
}
