//! Ranks that cannot work together: exit code 2, one message, and it says which rank and what differs.

use crate::harness::{command, directory, model, text};
use crate::ranks::{gridlock, mpirun};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

/// Standard error, without the lines that mpirun adds about ranks that ended with an error.
#[track_caller]
fn refused(output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert_eq!(out.matches("holds").count() + out.matches("violated").count(), 0, "{out}{err}");
    assert_eq!(err.matches("error: ").count(), 1, "one speaks: {err}");
    err.lines().find(|line| line.contains("error: ")).expect("a message").to_owned()
}

/// The flags of a swarm, used by tests that need no other.
const SWARM: [&str; 4] = ["--search", "isv", "--subsystem", "User"];

#[test]
fn a_process_that_is_alone_and_should_not_be() {
    let spec = model("beverage/beverage.mcrl2");
    for (variables, says) in [
        (&[("OMPI_COMM_WORLD_SIZE", "4")][..], "one of 4 processes (OMPI_COMM_WORLD_SIZE says so)"),
        (&[("PMI_SIZE", "3")], "one of 3 processes (PMI_SIZE says so)"),
        (&[("SLURM_NTASKS", "8"), ("SLURM_STEP_ID", "0")], "one of 8 processes (SLURM_NTASKS says so)"),
    ] {
        let mut alone = command(&[&["check", &spec], &SWARM[..]].concat());
        alone.envs(variables.iter().copied());
        alone.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let error = refused(&alone.output().expect("gridlock starts"));
        assert!(error.contains(says) && error.contains("MPI sees only this one"), "{error}");
        assert!(error.contains("mpirun of the MPI library"), "a remedy: {error}");
    }
}

#[test]
fn one_rank_is_not_distributed() {
    let spec = model("beverage/beverage.mcrl2");
    let output = gridlock(1, &[&["check", &spec], &SWARM[..]].concat()).output().expect("mpirun starts");
    assert!(text(&output.stdout).starts_with("violated"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn other_commands_are_refused() {
    let spec = model("beverage/beverage.mcrl2");
    for line in [
        &["check", &spec, "--search", "dfs"][..],
        &["info", &spec],
        &["traces", &spec, "--subsystem", "User"],
    ] {
        let error = refused(&gridlock(3, line).output().expect("mpirun starts"));
        assert!(error.contains("only `check` (not --search dfs) and `hunt` run on several"), "{error}");
    }
}

#[test]
fn wrong_arguments_are_told_once() {
    let spec = model("beverage/beverage.mcrl2");
    for (more, says) in [
        (&["--subsystem", "Usr(2)"][..], "did you mean `User(2)`?"),
        (&["--subsystem", "User", "--shard", "3"], "as in 0/16"),
        (&["--subsystem", "User", "--job-memory", "0"], "leaves no room"),
        (&["--subsystem", "User", "--checkpoint", &spec], "needs a directory"),
    ] {
        let line = [&["check", &spec, "--search", "isv"], more].concat();
        let error = refused(&gridlock(3, &line).output().expect("mpirun starts"));
        assert!(error.contains(says), "{error}");
    }
    let line = [&["check", "/none/such.mcrl2"], &SWARM[..]].concat();
    let error = refused(&gridlock(3, &line).output().expect("mpirun starts"));
    assert!(error.contains("/none/such.mcrl2"), "{error}");
}

/// Ranks on different machines may see different files.
#[test]
fn ranks_that_differ_are_named() {
    let (_dir, path) = directory();
    let same = model("beverage/beverage.mcrl2");
    let source = fs::read_to_string(&same).expect("a model");
    let (changed, faulty) = (path("changed.mcrl2"), path("faulty.mcrl2"));
    fs::write(&changed, format!("{source}\n% changed\n")).expect("a file");
    fs::write(&faulty, "init nowhere;").expect("a file");
    let script = path("each");
    fs::write(
        &script,
        "#!/bin/sh\n# each PROGRAM RANK SPEC OTHER OPTIONS...: that rank reads another specification\n\
         program=$1 rank=$2 spec=$3 other=$4\nshift 4\n\
         [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = \"$rank\" ] && spec=$other\nexec \"$program\" check \"$spec\" \"$@\"\n",
    )
    .expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let program = env!("CARGO_BIN_EXE_gridlock");
    let run = |rank: &str, other: &str| {
        let line = [&[program, rank, &same, other], &SWARM[..]].concat();
        refused(&mpirun(3, &script, &line).output().expect("mpirun starts"))
    };
    for rank in ["1", "2"] {
        let error = run(rank, &changed);
        assert!(error.contains(&format!("error: rank {rank} on ")), "{error}");
        assert!(
            error.contains(" has specification ") && error.contains("rank 0 has specification "),
            "{error}"
        );
        assert!(error.contains(&format!("({changed})")) && error.contains(&format!("({same})")), "{error}");
        let error = run(rank, "/none/such.mcrl2");
        assert!(
            error.contains(&format!("error: rank {rank} on ")) && error.contains("/none/such"),
            "{error}"
        );
        let error = run(rank, &faulty);
        assert!(error.contains(&format!("error: rank {rank} on ")), "{error}");
    }
    // Options that jobs do not bring along must be the same everywhere.
    let script = path("options");
    fs::write(
        &script,
        "#!/bin/sh\n# options PROGRAM RANK MEMORY SPEC OPTIONS...: that rank has another --job-memory\n\
         program=$1 rank=$2 memory=4M other=$3\nshift 3\n\
         [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = \"$rank\" ] && memory=$other\n\
         exec \"$program\" check \"$@\" --job-memory $memory\n",
    )
    .expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    for line in [&SWARM[..], &["--search", "isv", "--jobs", "slice"][..]] {
        let line = [&[program, "2", "5M", &same][..], line].concat();
        let error = refused(&mpirun(3, &script, &line).output().expect("mpirun starts"));
        assert!(error.contains("error: rank 2 on ") && error.contains("--job-memory 5242880"), "{error}");
    }
    // If it is rank 0 that differs, the first of the others is named.
    let error = run("0", &changed);
    assert!(error.contains("error: rank 1 on ") && error.contains(" has specification "), "{error}");
    let error = run("0", "/none/such.mcrl2");
    assert!(error.contains("/none/such.mcrl2"), "{error}");
}
