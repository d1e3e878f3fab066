//! Tests that searches by obligations, local and by parts, share on ranks: they have the same results as one process, and
//! jobs that killed ranks have answered are not done again.

use crate::harness::{directory, model, run, text};
use crate::killed::disturb;
use crate::ranks::{gridlock, slow};
use gridlock_lts::base::rng::Rng;
use serde_json::Value;
use std::fs;
use std::path::Path;

pub fn parsed(out: &[u8], err: &[u8]) -> Value {
    serde_json::from_slice(out).unwrap_or_else(|e| panic!("{e}: {}{}", text(out), text(err)))
}

/// The facts that must be the same on ranks and in one process.
fn facts(report: &Value, search: &str) -> Value {
    let own = &report[search];
    let mut obligations = own["obligations"].clone();
    for obligation in obligations.as_array_mut().expect("a list") {
        obligation["seconds"] = Value::Null;
    }
    let fields = ["verdict", "reason", "states", "trace", "from"].map(|name| report[name].clone());
    serde_json::json!([fields, obligations, own["left"], own["then"]])
}

/// Each case on ranks and in one process.
pub fn ranks_agree_with_one_process(search: &str, cases: &[&[&str]]) {
    for case in cases {
        let line = [&["check", "--quiet", "--json", "-", "--search", search], *case].concat();
        let one = run(&[&line[..], &["--workers", "1"]].concat());
        let expected = facts(&parsed(&one.stdout, &one.stderr), search);
        for ranks in if slow() { &[2, 3, 5][..] } else { &[3] } {
            let output = gridlock(*ranks, &line).output().expect("mpirun starts");
            assert_eq!(output.status.code(), one.status.code(), "{case:?}: {}", text(&output.stderr));
            let got = facts(&parsed(&output.stdout, &output.stderr), search);
            assert_eq!(got, expected, "{case:?} on {ranks} ranks");
        }
    }
}

/// Ranks are killed on two-phase commit with this number of managers, until the run comes to its end: what threads then tell who
/// resume the same once more.
pub fn killed_and_resumed(search: &str, managers: u32) -> Value {
    let (_dir, path) = directory();
    let (spec, formula, place) = (path("spec.mcrl2"), model("twophase/consistent.mcf"), path("run"));
    let text = fs::read_to_string(model("twophase/twophase.mcrl2")).expect("a model");
    let line = text.lines().find(|line| line.starts_with("eqn  N = ")).expect("a number");
    fs::write(&spec, text.replace(line, &format!("eqn  N = {managers};"))).expect("written");
    let line = ["check", "--quiet", "--json", "-", "--search", search, &spec, "--property", &formula];
    let one = run(&line);
    let expected = facts(&parsed(&one.stdout, &one.stderr), search);
    let line = [&line[..], &["--checkpoint", &place, "--resume"]].concat();
    let on_ranks: Vec<String> =
        line.iter().filter(|word| !["--json", "-"].contains(word)).map(|word| (*word).to_owned()).collect();
    let (rng, mut known) = (&mut Rng::new(u64::from(managers)), 0);
    for kills in 0..3 {
        // As soon as there is more in the journal some are killed; at last they are left alone.
        let code = disturb(&on_ranks, &place, 0, 2 + kills % 2, (kills < 2).then_some(101), rng);
        if code == Some(0) {
            let result = fs::read(Path::new(&place).join("result.json")).expect("a result");
            let report = parsed(&result, b"");
            assert_eq!(facts(&report, search), expected, "after {kills} kills");
            assert!(
                known == 0 || report[search]["resumed"].as_u64() > Some(0),
                "{known} were known: {report}"
            );
            // And the same from what is there, on threads.
            let again = run(&line);
            let again = parsed(&again.stdout, &again.stderr);
            assert_eq!(facts(&again, search), expected);
            return again;
        }
        assert_eq!(code, None, "after {kills} kills");
        // There may be nothing yet.
        let status = serde_json::from_slice::<Value>(&run(&["status", &place, "--json"]).stdout);
        known = status.ok().and_then(|status| status["answers"].as_u64()).unwrap_or(0);
    }
    panic!("it never came to its end");
}
