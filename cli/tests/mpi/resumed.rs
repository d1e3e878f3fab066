//! Breadth-first search on ranks that are killed: another number of ranks, or threads, gets the same result.

use crate::harness::moments::{bytes_in, end_or, wait_for};
use crate::harness::{command, directory, model, text};
use crate::killed::kill_all;
use crate::ranks::{gridlock, kill_the_rest, mpirun, processes, signal, slow};
use gridlock_lts::base::rng::Rng;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn philosophers(file: &str, n: u32) -> String {
    let text = fs::read_to_string(model("philosophers/philosophers-bug.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number").to_owned();
    fs::write(file, text.replace(&line, &format!("eqn  N = {n};"))).expect("written");
    file.to_owned()
}

fn facts(result: &Value) -> Vec<Value> {
    ["verdict", "reason", "states", "transitions", "deadlocks", "depth", "trace"]
        .map(|name| result[name].clone())
        .to_vec()
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|e| panic!("{e}: {}", text(bytes)))
}

/// Kills a rank or all of them when something has been written after the next checkpoint; returns the exit code if the run
/// ended before.
fn disturbed(line: &[String], place: &str, ranks: usize, left_alone: bool, rng: &mut Rng) -> Option<i32> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let manifest = Path::new(place).join("manifest.json");
    let before = fs::read(&manifest).unwrap_or_default();
    let mut child = gridlock(ranks, &line).spawn().expect("mpirun starts");
    // States are written level by level, so the next checkpoint comes into this as well.
    let more = rng.below(60_000) as u64;
    let mut enough = None;
    let due = || {
        if enough.is_none() && !left_alone && fs::read(&manifest).unwrap_or_default() != before {
            enough = Some(bytes_in(place) + more);
        }
        enough.is_some_and(|enough| bytes_in(place) >= enough)
    };
    if let Some(status) = end_or(&mut child, "an end", due) {
        return status.code();
    }
    let running = processes(place);
    if rng.percent(50)
        && let Some(rank) = running.get(rng.below(running.len().max(1)))
    {
        signal("KILL", *rank);
        let killed = Instant::now();
        while killed.elapsed() < Duration::from_secs(30) {
            match child.try_wait().expect("a child") {
                Some(status) => {
                    kill_the_rest(place);
                    return status.code().filter(|&code| code == 0);
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
    kill_all(&mut child, place);
    None
}

#[test]
fn killed_owners_are_made_good_by_any_number_of_ranks() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 12);
    let line = |place: &str| {
        let options = "--never Terminate --resume --checkpoint-every 0s --checkpoint";
        let mut all = vec!["check".to_owned(), spec.clone()];
        all.extend(options.split(' ').map(str::to_owned));
        all.push(place.to_owned());
        all
    };
    let alone = command(&["check", &spec, "--never", "Terminate", "--json", "-"]).output();
    let expected = facts(&parsed(&alone.expect("gridlock starts").stdout));
    assert_eq!(expected[0], "holds");
    let rng = &mut Rng::new(8);
    let (most, mut kills, mut ends, mut resumed) = (if slow() { 50 } else { 5 }, 0, 0, 0);
    while kills < most {
        ends += 1;
        let place = path(&format!("killed-{ends}"));
        let (mut tries, mut code) = (0, None);
        while code.is_none() {
            tries += 1;
            let left_alone = tries > 4 || kills == most;
            code = disturbed(&line(&place), &place, 2 + rng.below(3), left_alone, rng);
            kills += u32::from(code.is_none());
        }
        assert_eq!(code, Some(0), "after {tries} tries");
        let result = parsed(&fs::read(Path::new(&place).join("result.json")).expect("a result"));
        assert_eq!(facts(&result), expected, "after {tries} tries");
        resumed += u32::from(result["checkpoint"]["resumed_states"].as_u64() > Some(0));
        assert!(processes(&place).is_empty());
    }
    assert!(resumed > 0, "{kills} kills, and nothing was resumed");
    println!("{kills} kills, {ends} runs came to their end, {resumed} of them were resumed");
}

/// From threads to ranks and back, and a counterexample behind the checkpoint.
#[test]
fn checkpoints_go_from_threads_to_ranks_and_back() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 8);
    let queue = model("abp/abp-bug.mcrl2");
    for (k, line) in [
        &["check", &spec][..],
        &["check", &queue, "--tables", "on-demand", "--property", &model("abp/no_loss.mcf")],
    ]
    .iter()
    .enumerate()
    {
        let alone = command(&[line, &["--json", "-"][..]].concat()).output().expect("gridlock starts");
        let expected = facts(&parsed(&alone.stdout));
        assert_eq!(expected[0], "violated");
        for first_ranks in [true, false] {
            let place = path(&format!("run-{k}-{first_ranks}"));
            let kept = ["--checkpoint", &place, "--resume", "--json", "-"];
            for (depth, ranks) in [("2", first_ranks), ("4", !first_ranks), ("1000000", first_ranks)] {
                let all = [line, &kept[..], &["--max-depth", depth]].concat();
                let mut command = if ranks { gridlock(3, &all) } else { command(&all) };
                let output = command.output().expect("it starts");
                let result = parsed(&output.stdout);
                if depth == "1000000" {
                    assert_eq!(facts(&result), expected, "{line:?} {}", text(&output.stderr));
                } else {
                    assert_eq!(result["reason"], "max-depth", "{line:?} {}", text(&output.stderr));
                }
            }
        }
    }
}

/// A rank that is full ends the search with a checkpoint, and more ranks finish it.
#[test]
fn ranks_without_memory_are_resumed_by_more_of_them() {
    let (_dir, path) = directory();
    // 4,782,968 states of 8 bytes are more than two ranks have room for, beside what a process takes by itself.
    let spec = philosophers(&path("spec.mcrl2"), 14);
    let place = path("run");
    let line = ["check", &spec, "--never", "Terminate", "--checkpoint", &place];
    let output =
        gridlock(2, &[&line[..], &["--max-memory", "40M"]].concat()).output().expect("mpirun starts");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{out}{}", text(&output.stderr));
    assert!(out.starts_with("unknown (memory, resumable): "), "{out}");
    assert!(out.contains("more ranks, --reduce on, or slices (--search isv)"), "{out}");
    let output = gridlock(3, &[&line[..], &["--resume"]].concat()).output().expect("mpirun starts");
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("4,782,968"), "{}", text(&output.stdout));
    // A file of one rank is gone.
    fs::remove_file(Path::new(&place).join("levels-001-00001")).expect("removed");
    let output = gridlock(2, &[&line[..], &["--resume"]].concat()).output().expect("mpirun starts");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("levels-001-00001 is missing"), "{}", text(&output.stderr));
}

/// The disk of one rank is full, for which a limit on the size of files stands: that costs the checkpoint, not the verdict,
/// and another number of ranks resumes from the checkpoint written before.
#[test]
fn a_full_disk_of_one_rank_costs_no_verdict() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 12);
    let (place, script) = (path("run"), path("each"));
    fs::write(
        &script,
        "#!/bin/sh\n[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ] && trap '' XFSZ && ulimit -f 100\n\
         # Otherwise the memory that MPICH shares is a file, too.\nexport UCX_TLS=self,sysv\nexec \"$@\"\n",
    )
    .expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let line = ["check", &spec, "--never", "Terminate", "--checkpoint", &place, "--resume"];
    let full = |more: &[&str]| {
        let all =
            [&[env!("CARGO_BIN_EXE_gridlock")], &line[..], &["--checkpoint-every", "0s"], more].concat();
        let output = mpirun(3, &script, &all).output().expect("mpirun starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, err) = full(&["--max-states", "400000"]);
    assert_eq!(code, Some(3), "{out}{err}");
    assert!(out.contains("the checkpoint could not be written to the end: "), "{out}{err}");
    assert!(err.contains("the search goes on without"), "{out}{err}");
    let (code, out, err) = full(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.starts_with("holds") && out.contains("resumed at depth"), "{out}{err}");
    let output = gridlock(2, &[&line[..], &["--json", "-"]].concat()).output().expect("mpirun starts");
    let alone = command(&[&line[..4], &["--json", "-"]].concat()).output().expect("gridlock starts");
    assert_eq!(facts(&parsed(&output.stdout)), facts(&parsed(&alone.stdout)), "the checkpoint is whole");
}

/// A rank that hangs is named, and no rank waits for it for ever.
#[test]
fn a_rank_that_hangs_is_named() {
    let (_dir, path) = directory();
    let spec = philosophers(&path("spec.mcrl2"), 16);
    let place = path("run");
    // The patience is long enough for the other ranks to get their turn on a machine that has much to do, and nobody waits for a
    // disk meanwhile.
    let line = ["check", &spec, "--never", "Terminate", "--stuck-after", "20s", "--checkpoint", &place];
    let child = gridlock(3, &line).spawn().expect("mpirun starts");
    wait_for("the search", || Path::new(&place).join("status.json").exists());
    assert!(signal("STOP", processes(&spec)[2]));
    let output = child.wait_with_output().expect("an end");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(err.contains("rank 2 has given no sign of life for"), "{out}{err}");
    assert!(!out.contains("holds"), "{out}");
    processes(&spec).iter().for_each(|pid| {
        signal("KILL", *pid);
    });
}
