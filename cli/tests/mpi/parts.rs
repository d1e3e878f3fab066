//! A search by parts on ranks: the tree, figures and verdict of one process, also if undecided properties are handed over, if
//! tables are filled during the search, and if ranks are killed and the run is resumed.

use crate::harness::model;
use crate::obligations::{killed_and_resumed, ranks_agree_with_one_process};
use serde_json::Value;

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
    ranks_agree_with_one_process("parts", &cases);
}

#[test]
fn killed_ranks_are_resumed_by_others() {
    let again = killed_and_resumed("parts", 11);
    // Every trial is known.
    let trials = |report: &Value| -> u64 {
        let all = report["parts"]["obligations"].as_array().expect("a list");
        all.iter().filter_map(|obligation| obligation["trials"].as_u64()).sum()
    };
    assert!(again["parts"]["resumed"].as_u64() >= Some(trials(&again)), "{again}");
}
