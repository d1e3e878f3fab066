//! Ranks that are killed: the job dies, and a resumed one comes to the same end.

use crate::harness::{command, directory, model, text};
use crate::ranks::{gridlock, processes, signal, slow};
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

/// What must be the same however often a run was killed.
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

/// Waits for a process, or kills some ranks, or all together with mpirun, after a while. Gives the exit code if it came to
/// its end before that.
/// `end` is the code with which it ends if it is left alone.
pub fn disturb(
    line: &[String],
    checkpoint: &str,
    end: i32,
    ranks: usize,
    pause: Duration,
    rng: &mut Rng,
) -> Option<i32> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let mut child = gridlock(ranks, &line).spawn().expect("mpirun starts");
    let begun = Instant::now();
    while begun.elapsed() < pause {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
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
        // It was done already.
        Some(code) if code == end => Some(end),
        code => {
            assert!(there, "{code:?}: {}", text(&output.stderr));
            None
        }
    }
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
    processes(checkpoint).iter().for_each(|pid| {
        signal("KILL", *pid);
    });
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
    let rng = &mut Rng::new(5);
    let (most, mut kills, mut ends) = (if slow() { 50 } else { 8 }, 0, 0);
    while kills < most {
        ends += 1;
        let place = path(&format!("killed-{ends}"));
        let (mut tries, mut code) = (0, None);
        while code.is_none() {
            tries += 1;
            // At last it is left alone.
            let enough = if tries > 12 || kills == most { 600_000 } else { 100 + 1_400 * tries / 8 };
            let pause = Duration::from_millis(rng.between(100, enough as usize + 100) as u64);
            let pause = if enough == 600_000 { Duration::from_millis(enough) } else { pause };
            code = disturb(&line(&place), &place, 3, 2 + rng.below(3), pause, rng);
            kills += u32::from(code.is_none());
        }
        assert_eq!(code, Some(3), "after {tries} tries");
        assert_eq!(facts(&place), expected, "after {tries} tries");
        assert!(processes(&place).is_empty());
    }
    println!("{kills} kills, {ends} runs came to their end");
}
