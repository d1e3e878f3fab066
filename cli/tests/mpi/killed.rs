//! Ranks that are killed: the job ends, and a resumed one has the same result.

use crate::harness::moments::{bytes_in, end_or};
use crate::harness::{command, directory, model, text};
use crate::ranks::{gridlock, kill_the_rest, processes, signal, slow};
use gridlock_lts::base::rng::Rng;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// A run of some seconds with thousands of answers.
fn line(checkpoint: &str) -> Vec<String> {
    let spec = model("slidingwindow/slidingwindow.mcrl2");
    let options = "--search isv --subsystem Sender --unroll 0 --jobs trace --resume --job-memory 64M";
    let mut all = vec!["check".to_owned(), spec, "--checkpoint".to_owned(), checkpoint.to_owned()];
    all.extend(options.split(' ').map(str::to_owned));
    all
}

/// The facts that must be the same, no matter how often a run was killed.
fn facts(checkpoint: &str) -> Vec<Value> {
    let bytes = fs::read(Path::new(checkpoint).join("result.json")).expect("a result");
    let result: Value = serde_json::from_slice(&bytes).expect("JSON");
    let number = |name: &str| -> u128 {
        result["swarm"][name].as_str().and_then(|digits| digits.parse().ok()).expect("a number")
    };
    assert_eq!(number("ids_explored") + number("ids_pruned"), number("ids_all"));
    let names = ["searches", "ids_explored", "ids_pruned", "largest_states", "largest_job", "total_states"];
    let mut facts: Vec<Value> = names.iter().map(|name| result["swarm"][*name].clone()).collect();
    facts.push(result["swarm"]["total_transitions"].clone());
    facts.extend(["verdict", "reason", "message"].map(|name| result[name].clone()));
    facts
}

/// How many more bytes a checkpoint is to have when ranks are killed: a part of the bytes that a run writes, or none; then
/// ranks are killed as soon as they exist.
pub fn moment(rng: &mut Rng, whole: u64) -> u64 {
    if rng.percent(20) { 0 } else { rng.between(1, whole as usize / 3) as u64 }
}

/// Waits for a process, or kills some ranks, or all together with mpirun, once this many bytes more are in the checkpoint;
/// `None` leaves it alone. Returns the exit code if it ended before that. `end` is the code with which it ends if it is left
/// alone.
pub fn disturb(
    line: &[String],
    checkpoint: &str,
    end: i32,
    ranks: usize,
    more: Option<u64>,
    rng: &mut Rng,
) -> Option<i32> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let before = bytes_in(checkpoint);
    let mut child = gridlock(ranks, &line).spawn().expect("mpirun starts");
    let due = || match more {
        None => false,
        Some(0) => !processes(checkpoint).is_empty(),
        Some(more) => bytes_in(checkpoint) >= before + more,
    };
    if let Some(status) = end_or(&mut child, "an end", due) {
        return status.code();
    }
    if more == Some(0) {
        // mpirun might wait long for one that has not reported to it yet.
        kill_all(&mut child, checkpoint);
        return None;
    }
    let code = kill(child, checkpoint, end, rng);
    kill_the_rest(checkpoint);
    code
}

/// Kills one rank or all of them; returns the exit code if the run had ended before.
fn kill(mut child: Child, checkpoint: &str, end: i32, rng: &mut Rng) -> Option<i32> {
    let running = processes(checkpoint);
    if running.is_empty() || rng.percent(50) {
        kill_all(&mut child, checkpoint);
        return None;
    }
    let there = signal("KILL", running[rng.below(running.len())]);
    // Open MPI's mpirun may wait for ever if a rank is killed before it has reported to it.
    let killed = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if killed.elapsed() > Duration::from_secs(30) {
            kill_all(&mut child, checkpoint);
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("an end");
    match output.status.code() {
        // It was done already. Ranks that are told to stop because another one is dead may end with the same code.
        Some(code) if code == end && !was_interrupted(checkpoint) => Some(end),
        code => {
            assert!(there, "{code:?}: {}", text(&output.stderr));
            None
        }
    }
}

/// Whether a run reports that it was stopped.
fn was_interrupted(checkpoint: &str) -> bool {
    let result = fs::read(Path::new(checkpoint).join("result.json"));
    let result = result.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    result.is_none_or(|result| result["reason"] == "interrupted")
}

/// Kills everything at once, mpirun first so that it cannot be quicker.
pub fn kill_all(mpirun: &mut Child, checkpoint: &str) {
    let running = processes(checkpoint);
    signal("KILL", mpirun.id());
    running.iter().for_each(|pid| {
        signal("KILL", *pid);
    });
    mpirun.wait().expect("an end");
    // Those that had only just been started.
    kill_the_rest(checkpoint);
}

#[test]
fn killed_ranks_are_made_good() {
    let (_dir, path) = directory();
    let undisturbed = path("undisturbed");
    let all = line(&undisturbed);
    let output =
        command(&all.iter().map(String::as_str).collect::<Vec<_>>()).output().expect("gridlock starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let expected = facts(&undisturbed);
    assert!(expected[0].as_u64().is_some_and(|searches| searches > 1000), "{expected:?}");
    let (rng, whole) = (&mut Rng::new(5), bytes_in(&undisturbed));
    let (most, mut kills, mut ends) = (if slow() { 50 } else { 8 }, 0, 0);
    // A run may come to its end while somebody is about to kill it.
    while kills < most && ends < 2 * most {
        ends += 1;
        let place = path(&format!("killed-{ends}"));
        let (mut tries, mut code) = (0, None);
        while code.is_none() {
            tries += 1;
            // At last it is left alone.
            let more = (tries <= 12 && kills < most).then(|| moment(rng, whole));
            code = disturb(&line(&place), &place, 3, 2 + rng.below(3), more, rng);
            kills += u32::from(code.is_none());
        }
        assert_eq!(code, Some(3), "after {tries} tries");
        assert_eq!(facts(&place), expected, "after {tries} tries");
        assert!(processes(&place).is_empty());
    }
    assert!(kills > 0, "nothing was killed in {ends} runs");
    println!("{kills} kills, {ends} runs came to their end");
}
