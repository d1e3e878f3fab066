//! Ranks and threads have the same results: verdict, traces, searches, states, counterexample, job by job.

use crate::harness::{directory, model, swarm, text};
use crate::ranks::{gridlock, slow};
use serde_json::Value;
use std::fs;

/// At least one of every family of models; the options are those of the swarm.
const RUNS: [(&str, &str); 20] = [
    ("beverage/beverage.mcrl2", "--subsystem User"),
    ("accumulator/accumulator-bug.mcrl2", "--subsystem Client --property accumulator/in_order.mcf"),
    ("chord/chord.mcrl2", "--subsystem Fate --property chord/both_or_none.mcf --job-states 200"),
    ("philosophers/philosophers-bug.mcrl2", "--subsystem Philosopher(0) --unroll 0"),
    ("abp/abp-bug.mcrl2", "--subsystem Sender --unroll 1 --property abp/no_loss.mcf"),
    ("paxos/paxos-two.mcrl2", "--subsystem Observer --never tau --job-states 5000"),
    (
        "twophase/twophase-bug.mcrl2",
        "--subsystem TransactionManager --unroll 1 --property twophase/consistent.mcf",
    ),
    ("slidingwindow/slidingwindow.mcrl2", "--subsystem Sender --unroll 0 --job-states 100"),
    ("tokenring/tokenring-bug.mcrl2", "--subsystem auto --unroll 1 --property tokenring/mutex.mcf"),
    ("peterson/peterson.mcrl2", "--subsystem auto --unroll 0 --property peterson/mutex.mcf"),
    ("msi/msi-bug.mcrl2", "--subsystem auto --unroll 0 --property msi/coherent.mcf"),
    ("dkr/steps.mcrl2", "--subsystem auto --never tau --job-states 2500"),
    // Further ones of the same families, if there is time.
    ("beverage/beverage.mcrl2", "--subsystem User --never get_tea --strategy random"),
    ("accumulator/accumulator.mcrl2", "--subsystem Client --property accumulator/prefix_sums.mcf"),
    ("chord/chord-bug.mcrl2", "--subsystem Fate --property chord/both_or_none.mcf --strategy different"),
    ("paxos/paxos-bug.mcrl2", "--subsystem Observer --property paxos/one_value.mcf --iss dfs"),
    (
        "slidingwindow/slidingwindow-bug.mcrl2",
        "--subsystem Sender --unroll 1 --property slidingwindow/order.mcf",
    ),
    ("ieee1394/ieee1394-single.mcrl2", "--subsystem auto --unroll 0"),
    ("drm/drm-small.mcrl2", "--subsystem auto --unroll 0 --property drm/completes.mcf"),
    ("twophase/twophase.mcrl2", "--subsystem TransactionManager --unroll 1 --simulate-workers 4"),
];

/// Removes fields that depend on time, the machine and the course of the run.
pub fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let about_the_way =
                ["traffic", "workers", "job_workers", "checkpoint", "peak_memory_bytes", "bytes_per_state"];
            fields.retain(|name, _| !name.contains("second") && !about_the_way.contains(&name.as_str()));
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn ranks_say_what_threads_say() {
    let (_dir, path) = directory();
    let (runs, sizes): (_, &[usize]) = if slow() { (&RUNS[..], &[2, 3, 5]) } else { (&RUNS[..12], &[3]) };
    let (mut verdicts, mut searches) = (Vec::new(), 0);
    for (spec, options) in runs {
        let spec = model(spec);
        let option = |word: &str| if word.ends_with(".mcf") { model(word) } else { word.to_owned() };
        let options: Vec<String> = options.split(' ').map(option).collect();
        // Traces of a guide may be very many.
        let kinds: &[&str] =
            if options.iter().any(|o| o == "auto") { &["prefix"] } else { &["prefix", "trace"] };
        for jobs in kinds {
            let mut all = vec!["--jobs", jobs, "--job-memory", "64M"];
            all.extend(options.iter().map(String::as_str));
            let mut threads = swarm(&spec, &all);
            verdicts.push(threads["verdict"].as_str().expect("a verdict").to_owned());
            searches += threads["swarm"]["searches"].as_u64().expect("a number");
            strip(&mut threads);
            for &size in sizes {
                let file = path("ranks.json");
                let line = [&["check", &spec, "--search", "isv", "--json", &file], &all[..]].concat();
                let output = gridlock(size, &line).output().expect("mpirun starts");
                let what = format!("{spec} {all:?} on {size} ranks: {}", text(&output.stderr));
                let code = match threads["verdict"].as_str() {
                    Some("holds") => 0,
                    Some("violated") => 1,
                    _ => 3,
                };
                assert_eq!(output.status.code(), Some(code), "{what}");
                let mut ranks: Value =
                    serde_json::from_slice(&fs::read(&file).expect("a result")).expect("JSON");
                assert_eq!(ranks["swarm"]["traffic"]["ranks"], size, "{what}");
                strip(&mut ranks);
                assert_eq!(ranks, threads, "{what}");
                // One process has spoken, and once.
                let out = text(&output.stdout);
                assert_eq!(out.matches("states in total").count(), 1, "{what}: {out}");
                fs::remove_file(&file).expect("removed");
            }
        }
    }
    for verdict in ["holds", "violated", "unknown"] {
        assert!(verdicts.iter().any(|v| v == verdict), "no run is {verdict}: {verdicts:?}");
    }
    assert!(searches > 500, "{searches}");
}

/// Threads inside jobs of ranks: `--job-workers` of each.
#[test]
fn jobs_of_ranks_have_threads() {
    let spec = model("drm/drm.mcrl2");
    let secret = model("drm/secret.mcf");
    let options = ["--subsystem", "auto", "--unroll", "0", "--property", &secret, "--job-memory", "64M"];
    for states in ["1000000", "3000"] {
        let options = [&options[..], &["--job-states", states]].concat();
        let mut threads = swarm(&spec, &options);
        strip(&mut threads);
        for (size, job_workers, workers) in [(2, "2", "1"), (3, "2", "2"), (3, "1", "1")] {
            let line = ["check", &spec, "--search", "isv", "--json", "-", "--workers", workers];
            let more = ["--job-workers", job_workers];
            let output =
                gridlock(size, &[&line[..], &more, &options].concat()).output().expect("mpirun starts");
            let mut ranks: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
            assert_eq!(ranks["swarm"]["job_workers"].to_string(), job_workers);
            strip(&mut ranks);
            assert_eq!(
                ranks, threads,
                "{size} ranks, {workers} jobs of {job_workers} threads, {states} states"
            );
        }
    }
}

/// Threads inside ranks: `--workers` of each.
#[test]
fn ranks_have_threads() {
    let spec = model("slidingwindow/slidingwindow.mcrl2");
    let options = ["--subsystem", "Sender", "--unroll", "0", "--job-memory", "64M", "--job-states", "100"];
    let mut threads = swarm(&spec, &options);
    let line = ["check", &spec, "--search", "isv", "--json", "-", "--workers", "3"];
    let output = gridlock(3, &[&line[..], &options].concat()).output().expect("mpirun starts");
    let mut ranks: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    let traffic = ranks["swarm"]["traffic"].clone();
    let number = |name: &str| traffic[name].as_u64().expect("a number");
    let jobs = ranks["swarm"]["jobs_done"].as_u64().expect("a number");
    // A job and its answer, and a few words at the beginning, now and then, and at the end.
    assert!((2 * jobs..=2 * jobs + 100).contains(&number("messages")), "{traffic} for {jobs} jobs");
    assert!(number("bytes") < 4_000 * jobs, "{traffic} for {jobs} jobs");
    strip(&mut ranks);
    strip(&mut threads);
    assert_eq!(ranks, threads);
}
