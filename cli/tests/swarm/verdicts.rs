//! The verdicts of a swarm about the models are those of the exhaustive search, and those of `models/*/expect.tsv`, which
//! come from other tools.

use crate::harness::{directory, expectations, model, run, swarm};
use serde_json::Value;
use std::fs;

/// The subsystem among the candidates of `auto` that has most traces, but not too many to search along each; if all have
/// too many, the one with fewest, as most of its traces will be pruned.
fn subsystem(report: &Value) -> Option<String> {
    let candidates = report["swarm"]["auto"]["candidates"].as_array()?;
    let traces =
        |c: &Value| c["traces"].as_str().and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let few = candidates.iter().filter(|c| (2..=400).contains(&traces(c))).max_by_key(|c| traces(c));
    let many = candidates.iter().filter(|c| (401..=20_000).contains(&traces(c)));
    let best = few.or_else(|| many.min_by_key(|c| traces(c)))?;
    let names = best["subsystem"].as_array()?.iter().filter_map(Value::as_str);
    Some(names.collect::<Vec<_>>().join(","))
}

/// A subsystem of a specification and the options it needs: one without cycles if there is one. The property holds, since
/// `auto` stops at a candidate with a violation.
fn choose(spec: &str) -> Option<(String, &'static [&'static str])> {
    let (_dir, path) = directory();
    let truth = path("true.mcf");
    fs::write(&truth, "true").expect("a file");
    let unrolled: &[&str] = &["--unroll", "0"];
    [&[][..], unrolled].into_iter().find_map(|more| {
        let options =
            ["check", spec, "--search", "isv", "--json", "-", "--subsystem", "auto", "--jobs", "prefix"];
        let options = [&options[..], &["--property", &truth]].concat();
        let report = serde_json::from_slice(&run(&[&options[..], more].concat()).stdout).ok()?;
        Some((subsystem(&report)?, more))
    })
}

#[test]
fn swarms_say_of_the_models_what_others_say() {
    let rows = expectations(if std::env::var_os("GRIDLOCK_SLOW").is_some() { 30_000 } else { 12_000 });
    assert!(rows.len() > 35, "{}", rows.len());
    let (mut exact, mut bounded, mut too_large, mut once, mut struck) = (0, 0, 0, 0, 0);
    let mut chosen = (String::new(), None);
    for row in &rows {
        if chosen.0 != row.spec {
            chosen = (row.spec.clone(), choose(&row.spec));
        }
        let Some((leaves, more)) = &chosen.1 else { panic!("no subsystem for {}", row.spec) };
        let property: Vec<&str> = row.property.iter().map(String::as_str).collect();
        let budget = (row.states / 2).max(50).to_string();
        // Such small jobs may do any amount of work.
        let small =
            ["--jobs", "prefix", "--borders", "off", "--job-states", &budget, "--work-limit", "1000000"];
        let part = (row.states / 20).max(10).to_string();
        let borders = ["--jobs", "prefix", "--borders", "on", "--job-states", &part];
        let directed = [&borders[..], &["--directed", "on"]].concat();
        for jobs in [&["--jobs", "trace"][..], &["--jobs", "prefix"], &small, &borders, &directed] {
            let options = [&["--subsystem", leaves, "--compare-bfs"], &property[..], more, jobs].concat();
            let report = swarm(&row.spec, &options);
            match (report["verdict"].as_str(), report["reason"].as_str()) {
                // The first prefix is the empty one, so without limits its job is everything.
                (Some("unknown"), Some("bounded")) if !more.is_empty() && jobs != ["--jobs", "prefix"] => {
                    bounded += 1
                }
                (Some("unknown"), Some("job-too-large")) if jobs.len() > 2 => too_large += 1,
                (verdict, _) => {
                    assert_eq!(verdict, Some(row.verdict.as_str()), "{} {options:?}", row.spec);
                    exact += 1;
                }
            }
            let s = &report["swarm"];
            if jobs == borders && more.is_empty() && report["verdict"] == "holds" {
                assert_eq!(s["multiple"], 1.0, "each state once: {} {options:?}", row.spec);
                once += 1;
            }
            let ids = |name: &str| s[name].as_str().and_then(|n| n.parse::<u128>().ok()).expect("a number");
            let parts = ["remaining", "in_work", "explored", "pruned", "irrelevant", "given_up"];
            let parts = parts.map(|part| ids(&format!("ids_{part}")));
            struck += usize::from(parts[4] > 0);
            assert_eq!(parts.iter().sum::<u128>(), ids("ids_all"), "{} {options:?}", row.spec);
        }
    }
    println!("{exact} exact, {bounded} bounded, {too_large} too large");
    assert!(exact > 60, "{exact} exact, {bounded} bounded, {too_large} too large");
    assert!(struck > 5, "{struck} with traces struck off");
    assert!(once > 5, "{once} with borders and an acyclic subsystem");
}

/// Every state once: where a property holds, the counts are those of the exhaustive search.
#[test]
fn slices_say_of_the_models_what_others_say() {
    let mut counted = 0;
    let most = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 100_000 } else { 30_000 };
    for row in expectations(most) {
        let property: Vec<&str> = row.property.iter().map(String::as_str).collect();
        let exhaustive = ["check", &row.spec, "--json", "-"];
        let whole: Value =
            serde_json::from_slice(&run(&[&exhaustive[..], &property].concat()).stdout).expect("JSON");
        for (memory, workers) in [("64M", "1"), ("300K", "2")] {
            let slices =
                ["--jobs", "slice", "--subsystem", "auto", "--job-memory", memory, "--workers", workers];
            let report = swarm(&row.spec, &[&slices[..], &property].concat());
            assert_eq!(report["verdict"].as_str(), Some(row.verdict.as_str()), "{} {slices:?}", row.spec);
            if row.verdict == "holds" {
                for field in ["states", "transitions", "deadlocks"] {
                    assert_eq!(report[field], whole[field], "{field} of {}, {slices:?}", row.spec);
                }
                counted += 1;
            } else {
                assert!(report["trace"].is_array(), "{}", row.spec);
            }
        }
    }
    assert!(counted > 30, "{counted}");
}

#[test]
fn seeded_bugs_are_found_by_every_strategy() {
    for (spec, leaf, options) in [
        ("beverage/beverage.mcrl2", "User", &["--deadlock"][..]),
        ("accumulator/accumulator-bug.mcrl2", "Client", &["--property", "accumulator/in_order.mcf"]),
        ("chord/chord-bug.mcrl2", "Fate", &["--property", "chord/both_or_none.mcf"]),
        ("chord/chord-failing.mcrl2", "Fate", &["--property", "chord/one_ring.mcf"]),
        ("drm/drm-bug.mcrl2", "Device(D, 0, {})", &["--property", "drm/secret.mcf"]),
        ("drm/drm-unfair.mcrl2", "Device(D, 0, {})", &["--property", "drm/fair.mcf"]),
        ("dkr/dkr-bug.mcrl2", "Node(0)", &["--property", "dkr/unique.mcf", "--unroll", "1"]),
        ("ieee1394/ieee1394-bug.mcrl2", "Link(1, none)", &["--deadlock", "--unroll", "1"]),
        (
            "msi/msi-bug.mcrl2",
            "Cache(1, invalid, zero)",
            &["--property", "msi/coherent.mcf", "--unroll", "2"],
        ),
        ("peterson/peterson-bug.mcrl2", "Process(0)", &["--property", "peterson/mutex.mcf", "--unroll", "1"]),
        (
            "slidingwindow/slidingwindow-bug.mcrl2",
            "Sender",
            &["--property", "slidingwindow/order.mcf", "--unroll", "2"],
        ),
        ("tokenring/tokenring-bug.mcrl2", "Timer", &["--property", "tokenring/mutex.mcf", "--unroll", "1"]),
        ("philosophers/philosophers-bug.mcrl2", "Philosopher(0)", &["--deadlock", "--unroll", "0"]),
        ("abp/abp-bug.mcrl2", "Sender", &["--property", "abp/no_loss.mcf", "--unroll", "1"]),
        ("paxos/paxos-bug.mcrl2", "Observer", &["--property", "paxos/one_value.mcf"]),
        (
            "twophase/twophase-bug.mcrl2",
            "TransactionManager",
            &["--property", "twophase/consistent.mcf", "--unroll", "1"],
        ),
    ] {
        let path = |o: &&str| if o.ends_with(".mcf") { model(o) } else { (*o).to_owned() };
        let options: Vec<String> = options.iter().map(path).collect();
        for strategy in ["even", "order", "random", "different"] {
            for more in [&["--jobs", "trace"][..], &["--jobs", "prefix", "--iss", "dfs"]] {
                let mut all = vec!["--subsystem", leaf, "--strategy", strategy];
                all.extend(options.iter().map(String::as_str).chain(more.iter().copied()));
                let report = swarm(&model(spec), &all);
                assert_eq!(report["verdict"], "violated", "{spec} {all:?}: {}", report["message"]);
                assert!(report["swarm"]["found_by"].is_u64() && report["trace"].is_array());
            }
        }
    }
}
