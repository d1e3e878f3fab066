//! Guides that are discovered, on ranks: every rank fills its tables in the same order, so states mean the same.

use crate::harness::{directory, swarm, text};
use crate::ranks::gridlock;
use crate::same::strip;
use serde_json::Value;
use std::fs;

#[test]
fn ranks_discover_what_threads_do() {
    let (_dir, path) = directory();
    let spec = path("spec.mcrl2");
    let pair = "act up: Nat; turn, both; proc P(n: Nat) = up(n) . P(n + 1); Q = turn . Q; R = turn . R;
init allow({up, both}, comm({turn|turn -> both}, P(0) || P(0) || Q || R));";
    fs::write(&spec, pair).expect("a file");
    let options = ["--table-limit", "100", "--max-states", "20000", "--job-memory", "64M"];
    for (never, code, ranks) in [("up(130)", 1, 3), ("up(1000000)", 3, 3), ("up(130)", 1, 2)] {
        let mut threads = swarm(&spec, &[&["--never", never], &options[..]].concat());
        let line = ["check", &spec, "--search", "isv", "--json", "-", "--never", never];
        let output = gridlock(ranks, &[&line[..], &options].concat()).output().expect("mpirun starts");
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        let mut together: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
        assert_eq!(together["discovered"]["traffic"]["ranks"], ranks);
        strip(&mut together);
        strip(&mut threads);
        assert_eq!(together, threads);
    }
}
