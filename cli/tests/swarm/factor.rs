//! How much of the work of an exhaustive search all jobs of a swarm do together: on every model whose subsystem has no cycles,
//! and however small the jobs are.

use crate::harness::{directory, expectations, run, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

#[test]
fn each_state_is_expanded_once_by_however_small_jobs() {
    let most = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 400_000 } else { 8_000 };
    let specs: BTreeMap<String, u64> =
        expectations(most).into_iter().map(|row| (row.spec, row.states)).collect();
    let (_dir, path) = directory();
    // What is asked holds: a search that finds something ends there.
    let truth = path("true.mcf");
    fs::write(&truth, "true").expect("a file");
    let mut compared = 0;
    for (spec, states) in &specs {
        for part in [20, 100] {
            let (budget, states) = ((states / part).max(1).to_string(), states.to_string());
            let options = ["check", spec, "--property", &truth, "--search", "isv", "--jobs", "prefix"];
            let more = ["--subsystem", "auto", "--job-states", &budget, "--states", &states, "--json", "-"];
            let output = run(&[&options[..], &more].concat());
            if output.status.code() == Some(2) {
                // Only what needs --unroll is left out.
                assert!(text(&output.stderr).contains("--unroll"), "{spec}: {}", text(&output.stderr));
                break;
            }
            let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let s = &report["swarm"];
            assert_eq!(report["verdict"], "holds", "{spec}, jobs of {budget} states");
            assert_eq!(
                (&s["multiple"], &s["borders"]),
                (&1.0.into(), &true.into()),
                "{spec}, jobs of {budget}"
            );
            let largest = s["largest_states"].as_u64().expect("a number");
            assert!(largest <= budget.parse().expect("a number"), "{spec}: {largest} of {budget}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}
