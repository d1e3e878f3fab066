//! Hunts on ranks have the same results as on threads.

use crate::harness::{directory, model, run, text};
use crate::ranks::gridlock;
use serde_json::Value;

/// The facts that must be the same.
fn facts(out: &[u8]) -> Vec<Value> {
    let mut report: Value = serde_json::from_slice(out).expect("JSON and nothing else");
    let mut findings = report["findings"].take();
    for finding in findings.as_array_mut().expect("findings") {
        finding.as_object_mut().expect("a finding").remove("seconds");
    }
    let mut facts = vec![findings, report["coverage"].take()];
    facts.extend(["verdict", "reason", "searches", "states", "transitions"].map(|name| report[name].take()));
    facts
}

#[test]
fn hunts_on_ranks_find_what_threads_find() {
    let (_dir, path) = directory();
    let out = path("out");
    for (spec, property, jobs, portfolio, ranks) in [
        ("ieee1394/ieee1394-bug.mcrl2", None, "80", None, 3),
        ("paxos/paxos-two.mcrl2", Some("paxos/one_value.mcf"), "70", None, 3),
        ("paxos/paxos-two.mcrl2", Some("paxos/one_value.mcf"), "60", Some("prefix"), 2),
        ("paxos/paxos-two.mcrl2", Some("paxos/one_value.mcf"), "60", Some("prefix"), 3),
    ] {
        let (spec, property) = (model(spec), property.map(model));
        let mut words =
            vec!["hunt", &spec, "--seed", "3", "--job-memory", "16M", "--out", &out, "--json", "-"];
        words.extend(["--max-jobs", jobs, "--findings", "4", "--quiet"]);
        words.extend(property.iter().flat_map(|file| ["--property", file]));
        words.extend(portfolio.iter().flat_map(|members| ["--portfolio", members]));
        let threads = run(&words);
        let ranks = gridlock(ranks, &words).output().expect("mpirun starts");
        assert_eq!(threads.status.code(), ranks.status.code(), "{}", text(&ranks.stderr));
        assert_eq!(facts(&threads.stdout), facts(&ranks.stdout), "{words:?}");
    }
}

/// Ranks fill tables of their own, each in another order.
#[test]
fn hunts_on_ranks_fill_tables_as_needed() {
    let (_dir, path) = directory();
    let (spec, out) = (path("counter.mcrl2"), path("out"));
    let text_of_it = "act up, down: Nat;
proc P(n: Nat) = up(n).P(n + 1) + (n > 0) -> down(n).P(Int2Nat(n - 1));
init allow({up, down}, P(0) || P(0));";
    std::fs::write(&spec, text_of_it).expect("written");
    for (options, ranks) in [
        (&["--never", "up(5)", "--findings", "1"][..], 3),
        (&["--never", "up(60)", "--portfolio", "prefix", "--max-states", "60000"], 3),
        (&["--never", "down(7)", "--findings", "2", "--portfolio", "prefix,bitstate"], 2),
    ] {
        let common = ["hunt", &spec, "--seed", "3", "--job-memory", "16M", "--out", &out, "--json", "-"];
        let words = [&common[..], &["--max-jobs", "70", "--quiet", "--table-limit", "500"], options].concat();
        let threads = run(&words);
        let ranks = gridlock(ranks, &words).output().expect("mpirun starts");
        assert_eq!(threads.status.code(), ranks.status.code(), "{}", text(&ranks.stderr));
        assert_eq!(facts(&threads.stdout), facts(&ranks.stdout), "{words:?}");
    }
}
