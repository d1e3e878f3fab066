//! The job scripts that need no queueing system, started as a user or as PBS would start them.

use crate::harness::{directory, model, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/cluster").join(name)
}

/// A script with gridlock as its program, where root may run MPI.
fn start(name: &str, dir: &str) -> Command {
    let mut command = Command::new("bash");
    command.arg(script(name)).current_dir(dir).env("GRIDLOCK", env!("CARGO_BIN_EXE_gridlock"));
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// It ran on three ranks, found the violation, and left a checkpoint with the result.
#[track_caller]
fn found(output: &Output, checkpoint: &Path, resumed: bool) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.starts_with("violated"), "{out}{err}");
    assert!(out.contains("3 ranks"), "{out}{err}");
    assert_eq!(out.contains(", 0 results resumed"), !resumed, "{out}{err}");
    assert!(checkpoint.join("result.json").is_file(), "{out}{err}");
}

#[test]
fn a_host_file_is_enough() {
    let (_dir, path) = directory();
    let (dir, hosts, spec) = (path(""), path("hosts"), model("beverage/beverage.mcrl2"));
    fs::write(&hosts, "localhost slots=3\n").expect("a host file");
    for resumed in [false, true] {
        let output = start("mpirun.sh", &dir).args([&hosts, &spec, "--subsystem", "User"]).output();
        found(&output.expect("bash starts"), Path::new(&path("beverage.mcrl2.checkpoint")), resumed);
    }
}

/// Every rank owned a part of the states.
#[track_caller]
fn owned(output: &Output, checkpoint: &Path) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.starts_with("holds") && out.contains("the whole state"), "{out}{err}");
    assert!(checkpoint.join("result.json").is_file(), "{out}{err}");
}

#[test]
fn scripts_leave_the_search_to_who_names_one() {
    let (_dir, path) = directory();
    let (dir, hosts, spec) = (path(""), path("hosts"), model("philosophers/philosophers-8.mcrl2"));
    fs::write(&hosts, "localhost slots=3\n").expect("a host file");
    let line = [hosts.as_str(), &spec, "--never", "Terminate", "--search", "bfs"];
    let output = start("mpirun.sh", &dir).args(line).output().expect("bash starts");
    owned(&output, Path::new(&path("philosophers-8.mcrl2.checkpoint")));
    let mut pbs = start("pbs.sh", "/");
    pbs.env("PBS_O_WORKDIR", &dir).env("PBS_NODEFILE", &hosts);
    pbs.env("ARGS", format!("{spec} --never Terminate --search=bfs"));
    owned(&pbs.output().expect("bash starts"), Path::new(&path("gridlock-checkpoint")));
}

#[test]
fn pbs_gives_a_directory_and_a_list_of_nodes() {
    let (_dir, path) = directory();
    let (dir, nodes, spec) = (path(""), path("nodes"), model("beverage/beverage.mcrl2"));
    // A line for each process.
    fs::write(&nodes, "localhost\n".repeat(3)).expect("a node file");
    for resumed in [false, true] {
        let mut pbs = start("pbs.sh", "/");
        pbs.env("PBS_O_WORKDIR", &dir).env("PBS_NODEFILE", &nodes);
        pbs.env("ARGS", format!("{spec} --subsystem User"));
        let output = pbs.output().expect("bash starts");
        found(&output, Path::new(&path("gridlock-checkpoint")), resumed);
    }
}
