//! Slices on ranks: the results of threads and of the exhaustive search, even if ranks are killed.

use crate::harness::moments::bytes_in;
use crate::harness::{command, directory, expectations, model, run, swarm, text};
use crate::killed::{disturb, moment};
use crate::ranks::{gridlock, processes, slow};
use crate::same::strip;
use gridlock_lts::base::rng::Rng;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn on_ranks(ranks: usize, spec: &str, options: &[&str], file: &str) -> Value {
    on_ranks_with(ranks, spec, options, file).0
}

/// The same, and the figures of each rank.
fn on_ranks_with(ranks: usize, spec: &str, options: &[&str], file: &str) -> (Value, Vec<Value>) {
    let line = [&["check", spec, "--search", "isv", "--json", file], options].concat();
    let output = gridlock(ranks, &line).output().expect("mpirun starts");
    let what = format!("{spec} {options:?} on {ranks} ranks: {}", text(&output.stderr));
    let result = fs::read(file).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut result: Value = serde_json::from_slice(&result).expect("JSON");
    fs::remove_file(file).expect("removed");
    let code = match result["verdict"].as_str() {
        Some("holds") => 0,
        Some("violated") => 1,
        _ => 3,
    };
    assert_eq!(output.status.code(), Some(code), "{what}");
    assert_eq!(text(&output.stdout).matches("largest slice").count(), 1, "one speaks: {what}");
    assert_eq!(result["slices"]["traffic"]["ranks"], ranks, "{what}");
    // Rank 0 has no states, and all others have them all together.
    let parts = result["slices"]["ranks"].as_array().expect("ranks").clone();
    assert_eq!(parts.len(), ranks, "{what}");
    for field in ["slices", "states", "bytes_sent", "spilled_bytes"] {
        assert_eq!(parts[0][field], 0, "{field}: {what}");
    }
    let slices: u64 = parts.iter().filter_map(|part| part["slices"].as_u64()).sum();
    assert_eq!(result["slices"]["slices"], slices, "{what}");
    result["slices"]["ranks"] = Value::Array(Vec::new());
    (result, parts)
}

/// Prefix jobs that do the same work again and again are left to slices, by all ranks.
#[test]
fn beyond_the_work_limit_ranks_go_on_by_slices() {
    if !slow() {
        return;
    }
    let (spec, property) = (model("dkr/steps.mcrl2"), model("dkr/greatest.mcf"));
    let line =
        ["check", &spec, "--search", "isv", "--json", "-", "--property", &property, "--subsystem", "Node(0)"];
    let options = ["--jobs", "prefix", "--borders", "off", "--job-states", "300", "--work-limit", "2"];
    let output = gridlock(3, &[&line[..], &options].concat()).output().expect("mpirun starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!((&report["verdict"], &report["states"]), (&"holds".into(), &3_432.into()), "{report}");
    assert_eq!(report["swarm"]["then"], "by slices");
    let ranks = report["slices"]["ranks"].as_array().expect("a list");
    assert!(ranks.len() == 3 && ranks[1..].iter().all(|rank| rank["states"].as_u64() > Some(0)), "{report}");
}

/// What rank 0 sends and receives depends on slices, rounds and messages between them, not on the number of states.
#[test]
fn the_traffic_of_rank_0_does_not_depend_on_the_states() {
    let (_dir, path) = directory();
    let run = |philosophers: u32| {
        let spec = larger(&path("philosophers.mcrl2"), philosophers);
        let options = ["--never", "Terminate", "--subsystem", "Philosopher(1)", "--job-memory", "1G"];
        let result = on_ranks(3, &spec, &options, &path("ranks.json"));
        let traffic = &result["slices"]["traffic"];
        let number = |value: &Value| value.as_u64().expect("a number") as f64;
        (number(&result["states"]), number(&traffic["bytes"]), number(&result["slices"]["rounds"]))
    };
    let (few, many) = (run(9), run(13));
    assert!(many.0 > 80.0 * few.0, "{few:?} {many:?}");
    // A round costs the same, and there may be a few more.
    assert!(many.1 / many.2 < 1.2 * few.1 / few.2, "{few:?} {many:?}");
}

#[test]
fn ranks_say_of_the_models_what_others_say() {
    let (_dir, path) = directory();
    let most = if slow() { 50_000 } else { 3_000 };
    let (mut holds, mut violated, mut family) = (0, 0, None);
    for (k, row) in expectations(most).iter().enumerate() {
        // To start ranks takes longer than to search: a family runs on all numbers of them once, then on one or another.
        let first = family.replace(Path::new(&row.spec).parent()) != Some(Path::new(&row.spec).parent());
        let sizes = if slow() && first { &[2, 3, 5][..] } else { &[[2], [3], [5]][k % 3] };
        let property: Vec<&str> = row.property.iter().map(String::as_str).collect();
        let memory = if k % 2 == 0 { "64M" } else { "300K" };
        let options = [&["--job-memory", memory], &property[..]].concat();
        let mut threads = swarm(&row.spec, &options);
        assert_eq!(threads["verdict"].as_str(), Some(row.verdict.as_str()), "{}", row.spec);
        if row.verdict == "holds" {
            // A formula has states of its own.
            let own = row.property.first().is_some_and(|property| property == "--property");
            assert!(own || threads["states"] == row.states, "{}", row.spec);
            let exhaustive = run(&[&["check", &row.spec, "--json", "-"], &property[..]].concat());
            let exhaustive: Value = serde_json::from_slice(&exhaustive.stdout).expect("JSON");
            for field in ["states", "transitions", "deadlocks"] {
                assert_eq!(threads[field], exhaustive[field], "{field} of {}", row.spec);
            }
        }
        strip(&mut threads);
        for &size in sizes {
            let mut ranks = on_ranks(size, &row.spec, &options, &path("ranks.json"));
            strip(&mut ranks);
            assert_eq!(ranks, threads, "{} {options:?} on {size} ranks", row.spec);
        }
        *(if row.verdict == "holds" { &mut holds } else { &mut violated }) += 1;
    }
    assert!(holds > 10 && violated > 5, "{holds} {violated}");
}

/// Spilling, divided slices that go to other ranks, threads within ranks, states that are longer than a message.
#[test]
fn larger_slices_on_ranks() {
    let (_dir, path) = directory();
    let spec = larger(&path("philosophers.mcrl2"), 13);
    for (memory, more) in [("4G", &["--workers", "2"][..]), ("16M", &["--max-memory", "60M"])] {
        let job = if memory == "4G" { "64M" } else { "2M" };
        let common = ["--never", "Terminate", "--subsystem", "Philosopher(1)", "--job-memory", job];
        let mut threads = swarm(&spec, &common);
        assert_eq!((&threads["verdict"], &threads["states"]), (&"holds".into(), &1_594_322.into()));
        strip(&mut threads);
        let mut ranks = on_ranks(3, &spec, &[&common[..], more].concat(), &path("ranks.json"));
        strip(&mut ranks);
        // What is spilled depends on the memory that there is.
        for result in [&mut ranks, &mut threads] {
            result["slices"]["spilled_bytes"] = 0.into();
        }
        assert_eq!(ranks, threads);
    }
}

/// Every rank that owns slices has less memory than they need: each spills, and the counts are those of threads.
#[test]
fn every_rank_spills() {
    let (_dir, path) = directory();
    let spec = larger(&path("philosophers.mcrl2"), 14);
    let common = ["--never", "Terminate", "--subsystem", "Philosopher(1)", "--job-memory", "2M"];
    let spill = path("spill");
    fs::create_dir(&spill).expect("a directory");
    let less = ["--max-memory", "46M", "--spill", &spill];
    let (ranks, parts) = on_ranks_with(4, &spec, &[&common[..], &less].concat(), &path("ranks.json"));
    assert_eq!((&ranks["verdict"], &ranks["states"]), (&"holds".into(), &4_782_968.into()));
    for (rank, part) in parts.iter().enumerate().skip(1) {
        assert!(part["spilled_bytes"].as_u64() > Some(100_000), "rank {rank}: {parts:?}");
    }
    assert_eq!(fs::read_dir(&spill).expect("a directory").count(), 0, "nothing is left behind");
}

/// The philosophers with another number of them.
fn larger(file: &str, philosophers: u32) -> String {
    let text = fs::read_to_string(model("philosophers/philosophers-bug.mcrl2")).expect("a model");
    let n = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number").to_owned();
    fs::write(file, text.replace(&n, &format!("eqn  N = {philosophers};"))).expect("written");
    file.to_owned()
}

fn facts(checkpoint: &str) -> Vec<Value> {
    let bytes = fs::read(Path::new(checkpoint).join("result.json")).expect("a result");
    let result: Value = serde_json::from_slice(&bytes).expect("JSON");
    let own = ["verdict", "states", "transitions", "deadlocks"].map(|name| result[name].clone());
    let names =
        ["slices", "largest_states", "divided", "rounds", "activations", "states_sent", "states_loaded"];
    own.into_iter().chain(names.map(|name| result["slices"][name].clone())).collect()
}

#[test]
fn killed_ranks_are_made_good() {
    let (_dir, path) = directory();
    let spec = larger(&path("philosophers.mcrl2"), 12);
    let line = |checkpoint: &str| -> Vec<String> {
        let options = "--search isv --never Terminate --job-memory 300K --subsystem Philosopher(1) --resume";
        let mut all = ["check", &spec, "--checkpoint", checkpoint].map(str::to_owned).to_vec();
        all.extend(options.split(' ').map(str::to_owned));
        all
    };
    let undisturbed = path("undisturbed");
    let all = line(&undisturbed);
    // Threads say what it must be.
    let output =
        command(&all.iter().map(String::as_str).collect::<Vec<_>>()).output().expect("gridlock starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let expected = facts(&undisturbed);
    let (rng, whole) = (&mut Rng::new(7), bytes_in(&undisturbed));
    let (most, mut kills, mut runs) = (if slow() { 20 } else { 4 }, 0, 0);
    while kills < most && runs < 2 * most {
        runs += 1;
        let place = path(&format!("killed-{runs}"));
        let (mut tries, mut code) = (0, None);
        while code.is_none() {
            tries += 1;
            let more = (tries <= 8 && kills < most).then(|| moment(rng, whole));
            code = disturb(&line(&place), &place, 0, 2 + rng.below(3), more, rng);
            kills += u32::from(code.is_none());
        }
        assert_eq!(code, Some(0), "after {tries} tries");
        assert_eq!(facts(&place), expected, "after {tries} tries");
        assert!(processes(&place).is_empty());
    }
    assert!(kills > 0, "nothing was killed in {runs} runs");
}
