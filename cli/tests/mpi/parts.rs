//! A search by parts on ranks: the tree, figures and verdict of one process, also if what is left is handed over, if tables
//! are filled meanwhile, and if ranks are killed and the run is resumed.

use crate::harness::{directory, model, run, text};
use crate::ranks::{gridlock, processes, signal, slow};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn parsed(out: &[u8], err: &[u8]) -> Value {
    serde_json::from_slice(out).unwrap_or_else(|e| panic!("{e}: {}{}", text(out), text(err)))
}

/// What must be the same, wherever it was put together.
fn facts(report: &Value) -> Value {
    let mut obligations = report["parts"]["obligations"].clone();
    for obligation in obligations.as_array_mut().expect("a list") {
        obligation["seconds"] = Value::Null;
    }
    let fields = ["verdict", "reason", "states", "trace"].map(|name| report[name].clone());
    serde_json::json!([fields, obligations, report["parts"]["left"], report["parts"]["then"]])
}

#[test]
fn ranks_come_to_what_one_process_comes_to() {
    let (consistent, five) = (model("twophase/consistent.mcf"), model("twophase/twophase-5.mcrl2"));
    let (bug, philosophers) =
        (model("twophase/twophase-bug.mcrl2"), model("philosophers/philosophers-bug-20.mcrl2"));
    let (dkr, unique, steps) =
        (model("dkr/dkr-bug.mcrl2"), model("dkr/unique.mcf"), model("dkr/steps.mcrl2"));
    let cases: [&[&str]; 7] = [
        &[&five, "--property", &consistent],
        &[&bug, "--property", &consistent],
        &[&philosophers],
        // By interfaces.
        &[&dkr, "--property", &unique, "--tables", "ahead", "--then", "none"],
        // What is left goes to all ranks, or to nobody.
        &[&five, "--property", &consistent, "--parts-limit", "5", "--members-limit", "1"],
        &[&five, "--property", &consistent, "--parts-limit", "5", "--members-limit", "1", "--then", "none"],
        // Tables are filled by rank 0 alone.
        &[&steps, "--deadlock", "--tables", "on-demand"],
    ];
    for case in cases {
        let line = [&["check", "--quiet", "--json", "-", "--search", "parts"], case].concat();
        let one = run(&[&line[..], &["--workers", "1"]].concat());
        let expected = facts(&parsed(&one.stdout, &one.stderr));
        for ranks in if slow() { &[2, 3, 5][..] } else { &[3] } {
            let output = gridlock(*ranks, &line).output().expect("mpirun starts");
            assert_eq!(output.status.code(), one.status.code(), "{case:?}: {}", text(&output.stderr));
            assert_eq!(facts(&parsed(&output.stdout, &output.stderr)), expected, "{case:?} on {ranks} ranks");
        }
    }
}

#[test]
fn killed_ranks_are_resumed_by_others() {
    let (_dir, path) = directory();
    let (spec, formula, place) = (path("spec.mcrl2"), model("twophase/consistent.mcf"), path("run"));
    let text = fs::read_to_string(model("twophase/twophase.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number");
    fs::write(&spec, text.replace(line, "eqn  N = 11;")).expect("written");
    let line = ["check", "--quiet", "--json", "-", "--search", "parts", &spec, "--property", &formula];
    let one = run(&line);
    let expected = facts(&parsed(&one.stdout, &one.stderr));
    let line = [&line[..], &["--checkpoint", &place, "--resume"]].concat();
    let journal = Path::new(&place).join("journal");
    let size = || fs::metadata(&journal).map_or(0, |file| file.len());
    for kills in 0..20 {
        let before = size();
        let mut child = gridlock(2 + kills % 2, &line).spawn().expect("mpirun starts");
        let begun = Instant::now();
        // As soon as there is more in the journal a rank is killed, and with it all of them.
        while child.try_wait().expect("a child").is_none() && begun.elapsed() < Duration::from_secs(120) {
            let victim = (kills < 2 && size() > before + 100).then(|| processes(&place).pop()).flatten();
            if let Some(rank) = victim {
                // It may be gone already.
                signal("KILL", rank);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().expect("an end");
        if output.status.code() == Some(0) {
            let report = parsed(&output.stdout, &output.stderr);
            assert_eq!(facts(&report), expected, "after {kills} kills");
            assert!(kills == 0 || report["parts"]["resumed"].as_u64() > Some(0), "{report}");
            // And the same from what is there, on threads: every trial is known.
            let again = run(&line);
            let again = parsed(&again.stdout, &again.stderr);
            assert_eq!(facts(&again), expected);
            let trials = |report: &Value| -> u64 {
                let all = report["parts"]["obligations"].as_array().expect("a list");
                all.iter().filter_map(|obligation| obligation["trials"].as_u64()).sum()
            };
            assert!(again["parts"]["resumed"].as_u64() >= Some(trials(&again)), "{again}");
            return;
        }
    }
    panic!("it never came to its end");
}
