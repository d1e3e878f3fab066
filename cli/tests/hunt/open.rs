//! Hunts on tables that cannot be completed before the search, or are not to be.

use crate::harness::{directory, ends, run, text};
use crate::hunting::{expected, hunt, strip};
use std::fs;

/// A counter that has no end.
const COUNTER: &str = "act up, down: Nat;
proc P(n: Nat) = up(n).P(n + 1) + (n > 0) -> down(n).P(Int2Nat(n - 1));
init P(0);";

#[test]
fn an_endless_counter_is_hunted() {
    let (_dir, path) = directory();
    let (spec, out) = (path("counter.mcrl2"), path("out"));
    fs::write(&spec, COUNTER).expect("written");
    let words = [&spec, "--never", "up(5)", "--out", &out, "--max-jobs", "200", "--table-limit", "500"];
    for seed in ["1", "2"] {
        let report = |workers: &str, more: &[&str]| {
            let own = ["--seed", seed, "--workers", workers, "--job-memory", "8M"];
            let mut report = hunt(&[&words[..], &own, more].concat());
            strip(&mut report);
            report
        };
        let one = report("1", &[]);
        assert_eq!((&one["verdict"], one["trace"].as_array().map(Vec::len)), (&"violated".into(), Some(6)));
        assert_eq!(one["coverage"]["leaves"].as_array().map(Vec::len), Some(0), "nobody knows how many");
        for workers in ["2", "8"] {
            assert_eq!(one, report(workers, &[]), "seed {seed} with {workers} workers");
        }
        // Each member that is left finds it alone, and what found it finds it again.
        for member in ["dfs", "bitstate", "prefix", "walk", "highway"] {
            let alone = report("2", &["--portfolio", member]);
            assert_eq!(alone["verdict"], "violated", "{member}");
            let file = alone["findings"][0]["job_file"].as_str().expect("it is saved").to_owned();
            let place = path("again");
            let again =
                [&spec[..], "--never", "up(5)", "--out", &place, "--repeat", &file, "--table-limit", "500"];
            let again = hunt(&again);
            assert_eq!(again["findings"][0]["trace"], alone["findings"][0]["trace"], "{member}");
            let trace = alone["findings"][0]["trace_file"].as_str().expect("it is saved");
            ends(&["replay", &spec, trace], 0);
        }
    }
    let told = run(&[&["hunt", "--seed", "1"], &words[..]].concat());
    let err = text(&told.stderr);
    assert!(err.contains("rare, beam, lasso and trap are left out: they need all local states"), "{err}");
    for (options, reason) in [
        (&["--portfolio", "aimed"][..], "--portfolio aimed needs complete tables"),
        (&["--prefer", "up(_)"], "--prefer needs complete tables"),
        (&["--inevitable", "down(3)"], "needs complete tables"),
    ] {
        let output = run(&[&["hunt", &spec, "--table-limit", "500"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(text(&output.stderr).contains(reason), "{options:?}: {}", text(&output.stderr));
    }
}

/// The proofs of a hunt by prefixes about the models are the same whether tables are complete or not.
#[test]
fn proofs_do_not_depend_on_how_tables_are_filled() {
    let (_dir, path) = directory();
    let out = path("out");
    let (mut proved, mut violated) = (0, 0);
    let small = |e: &&crate::hunting::Expected| e.states.is_some_and(|n| n < 3_000);
    for case in expected().iter().filter(small).step_by(3) {
        let options = ["--portfolio", "prefix", "--seed", "4", "--max-states", "20000", "--out", &out];
        let report = |tables: &str| hunt(&[&case.words()[..], &options, &["--tables", tables]].concat());
        let (open, complete) = (report("on-demand"), report("auto"));
        let at = &case.arguments;
        assert_eq!(open["verdict"], complete["verdict"], "{at:?}");
        let within = |report: &serde_json::Value| report["coverage"]["no_violation_within"].as_u64();
        if let Some(shortest) = case.shortest.filter(|_| case.violated) {
            assert!(within(&open) < Some(shortest), "{at:?}");
            violated += 1;
        }
        assert_eq!(open["coverage"]["everything"], complete["coverage"]["everything"], "{at:?}");
        proved += usize::from(within(&open).is_some());
    }
    assert!(proved > 3 && violated > 1, "{proved} proved, {violated} violated");
}

#[test]
fn a_checkpoint_of_open_tables_is_resumed() {
    let (_dir, path) = directory();
    let (spec, place, out) = (path("counter.mcrl2"), path("run"), path("out"));
    fs::write(&spec, COUNTER).expect("written");
    let common = [&spec, "--never", "up(90)", "--seed", "5", "--portfolio", "prefix", "--table-limit", "500"];
    let words = [&common[..], &["--out", &out, "--job-memory", "8M"]].concat();
    let mut undisturbed = hunt(&[&words[..], &["--max-jobs", "60"]].concat());
    let with = [&words[..], &["--checkpoint", &place, "--resume"]].concat();
    hunt(&[&with[..], &["--max-jobs", "13", "--workers", "1"]].concat());
    let mut resumed = hunt(&[&with[..], &["--max-jobs", "60", "--workers", "3"]].concat());
    assert!(resumed["resumed"].as_u64() > Some(5), "{resumed}");
    strip(&mut undisturbed);
    strip(&mut resumed);
    assert_eq!(undisturbed, resumed);
    let status = ends(&["status", &place], 0);
    assert!(status.contains("different") && !status.contains("local states"), "{status}");
}
