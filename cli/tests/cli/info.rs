//! `gridlock info`.

use crate::harness::{BUFFERS, Bench, COUNTER};
use serde_json::Value;

fn json(spec: &str, more: &[&str]) -> Value {
    let b = Bench::new(&[("spec.mcrl2", spec)]);
    let ran = b.run(&[&["info", "spec.mcrl2", "--json"], more].concat()).exits(0);
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e} in {}", ran.out))
}

#[test]
fn the_documented_fields() {
    let info = json(BUFFERS, &[]);
    assert_eq!(info["version"], 1);
    assert_eq!(info["specification"], "spec.mcrl2");
    assert_eq!(info["tables"], "complete");
    assert!(info["build_seconds"].as_f64().is_some_and(|s| s > 0.0));
    let expected = serde_json::json!([
        {"name": "S", "states": 3, "pending": 0, "transitions": 4, "labels": 4, "actions": ["r1", "s2"],
         "cyclic": true, "bits": 2},
        {"name": "R", "states": 3, "pending": 0, "transitions": 4, "labels": 4, "actions": ["r2", "s4"],
         "cyclic": true, "bits": 2},
    ]);
    assert_eq!(info["processes"], expected);
    let rules = info["rules"].as_array().expect("a list");
    assert_eq!(rules.len(), 3);
    let both = serde_json::json!([{"process": "S", "actions": ["s2"]}, {"process": "R", "actions": ["r2"]}]);
    assert!(rules.contains(&both), "{rules:?}");
    // r1 and s4 with two values each, and two hidden communications that look the same.
    assert_eq!((&info["vectors"], &info["labels"]), (&6.into(), &5.into()));
    assert_eq!((&info["bits_per_state"], &info["words_per_state"]), (&4.into(), &1.into()));
    let fields = info.as_object().expect("an object").len();
    let documented = Bench::new(&[]).run(&["info", "--help"]).exits(0).out;
    let documented = documented.split("Fields of --json").nth(1).expect("a section");
    assert!(info.as_object().expect("an object").keys().all(|k| documented.contains(k)), "{fields} fields");
}

#[test]
fn cyclic_or_not() {
    let cyclic = |init: &str| {
        let spec = format!("act a, b; proc P = a . P; Q = a . b . delta; init {init};");
        let info = json(&spec, &[]);
        info["processes"].as_array().expect("a list").iter().map(|p| p["cyclic"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(cyclic("P || Q"), [Value::Bool(true), Value::Bool(false)]);
    assert_eq!(cyclic("Q"), [Value::Bool(false)]);
}

#[test]
fn a_fault_is_no_cycle() {
    let spec = "map f: Nat -> Bool; act a; proc P(n: Nat) = a . (f(n) -> a); init P(0);";
    let info = json(spec, &[]);
    let process = &info["processes"][0];
    assert_eq!((&process["cyclic"], &process["transitions"]), (&Value::Bool(false), &1.into()));
}

#[test]
fn what_is_not_known_is_not_claimed() {
    let info = json(COUNTER, &["--table-limit", "50"]);
    assert_eq!(info["tables"], "on demand");
    let process = &info["processes"][0];
    assert_eq!(process["cyclic"], Value::Null);
    assert!(process["pending"].as_u64().is_some_and(|n| n >= 1), "{process}");
    let info = json(COUNTER, &["--tables", "on-demand"]);
    assert_eq!(info["processes"][0]["pending"], 1);
}

#[test]
fn for_people() {
    let b = Bench::new(&[("spec.mcrl2", BUFFERS)]);
    let out = b.run(&["info", "spec.mcrl2"]).exits(0).out;
    for part in
        ["spec.mcrl2", "tables: complete", "4 bits", "2 processes", "3 rules", "  S: s2  R: r2\n", "yes"]
    {
        assert!(out.contains(part), "no {part} in {out}");
    }
    // Sixty processes make more rules than a person wants to see.
    let parts: Vec<String> = (0..60).map(|i| format!("P({i})")).collect();
    let many = format!("act a: Nat; proc P(n: Nat) = a(n); init allow({{a}}, {});", parts.join("||"));
    b.write("many.mcrl2", many);
    let few = b.run(&["info", "many.mcrl2"]).exits(0).out;
    assert!(few.contains("... and 20 more") && few.contains("60 processes"), "{few}");
    let all = b.run(&["info", "many.mcrl2", "--all"]).exits(0).out;
    assert!(all.contains("  P(59): a\n") && !all.contains("more"), "{all}");
}
