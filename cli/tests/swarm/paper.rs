//! The worked examples of informed swarm verification with their numbers, and traces.

use crate::harness::{directory, ends, model, swarm};
use serde_json::Value;
use std::fs;

#[test]
fn the_two_machines_of_the_paper() {
    let spec = model("beverage/machines.mcrl2");
    let report = swarm(
        &spec,
        &["--subsystem", "BeverageMachine", "--unroll", "0", "--jobs", "trace", "--compare-bfs"],
    );
    let s = &report["swarm"];
    // Each of the two searches sees 6 of the 9 states.
    assert_eq!((&s["traces"], &s["searches"]), (&"2".into(), &2.into()));
    assert_eq!((&s["largest_states"], &s["total_states"]), (&6.into(), &12.into()));
    assert_eq!((&s["state_space"], &s["compared"]["verdict"]), (&9.into(), &"holds".into()));
    assert!(s["multiple"].as_f64().is_some_and(|m| (m - 12.0 / 9.0).abs() < 1e-9));
    // Going round is not followed, so nobody knows.
    assert_eq!((&report["verdict"], &report["reason"]), (&"unknown".into(), &"bounded".into()));
    let out = ends(
        &[
            "check",
            &spec,
            "--search",
            "isv",
            "--subsystem",
            "BeverageMachine",
            "--unroll",
            "0",
            "--jobs",
            "trace",
        ],
        3,
    );
    assert!(out.starts_with("unknown (bounded): freedom from deadlock: "), "{out}");
    // Moving freely behind the empty prefix is everything.
    assert_eq!(swarm(&spec, &["--subsystem", "BeverageMachine", "--unroll", "0"])["verdict"], "holds");
}

#[test]
fn the_user_of_the_paper() {
    let spec = model("beverage/beverage.mcrl2");
    for strategy in ["even", "order", "random", "different"] {
        let options =
            ["--subsystem", "User(2)", "--jobs", "trace", "--never", "get_tea", "--strategy", strategy];
        let report = swarm(&spec, &options);
        let s = &report["swarm"];
        assert_eq!((&report["verdict"], &s["traces"]), (&"holds".into(), &"4".into()));
        // Two can be followed to the end; the other two are pruned, by themselves or by others.
        assert_eq!((&s["ids_explored"], &s["ids_pruned"]), (&"2".into(), &"2".into()), "{strategy}");
        let found = swarm(&spec, &["--subsystem", "User(2)", "--jobs", "trace", "--strategy", strategy]);
        assert_eq!((&found["verdict"], &found["property"]), (&"violated".into(), &"deadlock".into()));
        assert_eq!(found["trace"].as_array().map(Vec::len), Some(5));
    }
}

/// Two processes of DRM: far fewer classes than traces, fewer searches, and the same answer.
#[test]
fn orders_of_two_devices_are_one_search() {
    let spec = model("drm/drm-small.mcrl2");
    let devices = ["--subsystem", "Device(C, 0, {}),Device(D, 0, {})"];
    let counted = |orders: &str| {
        let options = [&["traces", &spec, "--json", "--orders", orders][..], &devices].concat();
        let json: Value = serde_json::from_str(&ends(&options, 0)).expect("JSON");
        json["traces"].as_str().and_then(|digits| digits.parse::<u64>().ok()).expect("digits")
    };
    let (all, classes) = (counted("all"), counted("one"));
    assert!(classes * 10 < all, "{classes} {all}");
    let swarm = |more: &[&str]| {
        let options = [&["--jobs", "trace", "--never", "Terminate", "--compare-bfs"], &devices[..], more];
        swarm(&spec, &options.concat())
    };
    // What two processes have is the usual way.
    let (one, each) = (swarm(&[]), swarm(&["--orders", "all"]));
    let (o, e) = (&one["swarm"], &each["swarm"]);
    assert_eq!((&one["verdict"], &each["verdict"]), (&"holds".into(), &"holds".into()));
    assert_eq!((&o["orders"], &o["any_order"], &e["orders"]), (&"one".into(), &true.into(), &"all".into()));
    assert_eq!((&o["traces"], &e["traces"]), (&classes.to_string().into(), &all.to_string().into()));
    assert_eq!((&o["traces_in_all_orders"], &o["open_beginnings"]), (&e["traces"], &0.into()));
    let searches = |s: &Value| s["searches"].as_u64().expect("a number");
    assert!(searches(o) * 4 < searches(e), "{} {}", searches(o), searches(e));
    assert_eq!(swarm(&["--orders", "one", "--strategy", "random", "--seed", "3"])["verdict"], "holds");
    // A class that does not fit into a job is followed in single traces.
    let small = swarm(&["--job-states", "60"]);
    assert_eq!(
        (&small["verdict"], &small["swarm"]["any_order"]),
        (&"holds".into(), &false.into()),
        "{small}"
    );
}

#[test]
fn traces_are_counted_numbered_and_drawn() {
    let (_dir, path) = directory();
    let spec = model("beverage/beverage.mcrl2");
    let out = ends(&["traces", &spec, "--subsystem", "User", "--range", ".."], 0);
    let coffee_tea = "1  push_button(1) . get_coffee . push_button(2) . get_tea . walk_away";
    assert!(out.starts_with("4 traces of User(2)") && out.contains(coffee_tea), "{out}");
    let one = ends(&["traces", &spec, "--subsystem", "User( 2 )", "--id", "1"], 0);
    assert!(one.contains("trace 1\n     1  push_button(1)\n     2  get_coffee\n"), "{one}");
    let json: Value =
        serde_json::from_str(&ends(&["traces", &spec, "--subsystem", "User", "--sample", "2", "--json"], 0))
            .expect("JSON");
    let ids: Vec<&Value> = json["listed"].as_array().expect("a list").iter().map(|t| &t["id"]).collect();
    assert_eq!(ids, ["0", "2"]);
    assert_eq!((&json["cyclic"], &json["states"], &json["traces"]), (&false.into(), &8.into(), &"4".into()));
    let dot = path("user.dot");
    ends(&["traces", &spec, "--subsystem", "User", "--dot", &dot], 0);
    let drawn = fs::read_to_string(dot).expect("written");
    assert!(drawn.contains("0 [label=\"4\"]") && drawn.contains("push_button(1)"), "{drawn}");

    // Two hundred choices of three: far more traces than states of anything.
    let steps = path("many.mcrl2");
    fs::write(
        &steps,
        "act a: Nat; proc P(n: Nat) = (n < 200) -> (a(0) + a(1) + a(2)) . P(n + 1); init P(0);",
    )
    .expect("a file");
    let out = ends(&["traces", &steps, "--subsystem", "P"], 0);
    assert!(out.starts_with("2.65 * 10^95 traces of P(0)"), "{out}");
    let number: Value =
        serde_json::from_str(&ends(&["traces", &steps, "--subsystem", "P", "--json"], 0)).expect("JSON");
    let last = number["traces"].as_str().expect("digits");
    assert!(last.len() == 96 && last.ends_with("001"), "3^200 is {last}");
    // One less than 3^200 takes the last branch everywhere.
    let id = format!("{}0", &last[..95]);
    let trace = ends(&["traces", &steps, "--subsystem", "P", "--id", &id], 0);
    assert_eq!(trace.matches("  a(2)\n").count(), 200, "{trace}");

    let cyclic = ends(&["traces", &model("beverage/machines.mcrl2"), "--subsystem", "SnackMachine"], 0);
    assert!(
        cyclic.starts_with("traces without end of SnackMachine") && cyclic.contains("yes, for instance by")
    );
}
