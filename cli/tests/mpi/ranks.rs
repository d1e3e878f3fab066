//! Runs the binary on ranks, and finds their processes.

use crate::harness::moments::{wait_for, wait_until_free};
use std::cell::RefCell;
use std::fs;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

thread_local! {
    /// The directories for files of the launchers that a test has started; they are removed when its thread ends.
    static SESSIONS: RefCell<Vec<TempDir>> = const { RefCell::new(Vec::new()) };
}

/// Whether the slow tests are to run.
pub fn slow() -> bool {
    std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1")
}

/// The launcher and its options, from GRIDLOCK_MPIRUN if that is set.
fn launcher() -> Vec<String> {
    let said = std::env::var("GRIDLOCK_MPIRUN").unwrap_or_default();
    let words = if said.trim().is_empty() { "mpirun --oversubscribe --bind-to none" } else { &said };
    words.split_whitespace().map(str::to_owned).collect()
}

/// mpirun of this many ranks, for a program and its arguments.
pub fn mpirun(ranks: usize, program: &str, arguments: &[&str]) -> Command {
    let launcher = launcher();
    let mut command = Command::new(&launcher[0]);
    command.args(&launcher[1..]).args(["-n", &ranks.to_string(), program]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Tests may run in a container, where everybody is root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // Two launchers of Open MPI that make the directory of this machine at the same moment: one of them gives up.
    let session = TempDir::new().expect("a directory");
    command.env("OMPI_MCA_orte_tmpdir_base", session.path());
    SESSIONS.with_borrow_mut(|sessions| sessions.push(session));
    command
}

/// mpirun of gridlock.
pub fn gridlock(ranks: usize, arguments: &[&str]) -> Command {
    mpirun(ranks, env!("CARGO_BIN_EXE_gridlock"), arguments)
}

/// Whether a launcher that was sent a signal ended with the exit code of its ranks. That of MPICH may end with 0 nevertheless.
pub fn ends_as_its_ranks(output: &Output, code: i32) -> bool {
    let any_end = std::env::var_os("GRIDLOCK_MPIRUN").is_some();
    output.status.code() == Some(code) || any_end && output.status.success()
}

/// The ranks whose command lines have this word, by rank: the numbers of their processes.
pub fn processes(word: &str) -> Vec<u32> {
    let mut found: Vec<(usize, u32)> = Vec::new();
    for entry in fs::read_dir("/proc").expect("a system with /proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may be gone before it is looked at.
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let line = read("cmdline");
        let mut words = line.split(|b| *b == 0);
        if words.next() != Some(env!("CARGO_BIN_EXE_gridlock").as_bytes())
            || !words.any(|w| w == word.as_bytes())
        {
            continue;
        }
        let environment = read("environ");
        let rank = environment
            .split(|b| *b == 0)
            .find_map(|v| v.strip_prefix(b"OMPI_COMM_WORLD_RANK=").or(v.strip_prefix(b"PMI_RANK=")));
        let rank = rank.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        found.extend(rank.map(|rank| (rank, pid)));
    }
    found.sort_unstable();
    found.into_iter().map(|(_, pid)| pid).collect()
}

/// Sends a signal; returns whether the process still existed.
pub fn signal(name: &str, pid: u32) -> bool {
    let kill =
        Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).stderr(Stdio::null()).status();
    kill.expect("kill").success()
}

/// Kills the remaining ranks that have this checkpoint, and waits until no process has it open any more. mpirun ends before
/// its ranks do.
#[track_caller]
pub fn kill_the_rest(checkpoint: &str) {
    wait_for("the end of all ranks", || {
        let left = processes(checkpoint);
        left.iter().for_each(|pid| {
            signal("KILL", *pid);
        });
        left.is_empty()
    });
    wait_until_free(checkpoint);
}
