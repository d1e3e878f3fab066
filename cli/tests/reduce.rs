//! `gridlock check --reduce on` from outside: the verdicts of the models are those of the full search, with fewer states;
//! unsupported combinations are refused.

#[allow(dead_code, reason = "other tests need the rest of it")]
#[path = "harness/mod.rs"]
mod harness;

use harness::{directory, model, models, run, text};
use serde_json::Value;
use std::fs;

/// The JSON of a check.
#[track_caller]
fn check(arguments: &[&str]) -> Value {
    let output = run(&[&["check", "--quiet", "--json", "-"], arguments].concat());
    let parsed = serde_json::from_slice(&output.stdout);
    parsed.unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}", text(&output.stderr)))
}

/// Models larger than this take too long in a test.
const MOST: u64 = 10_000;
/// The same for searches that begin slowly.
const FEW: u64 = 1_000;

#[test]
fn the_models_keep_their_verdicts_and_shortest_counterexamples() {
    let mut seen = 0;
    for dir in fs::read_dir(models()).expect("models").flatten() {
        let Ok(rows) = fs::read_to_string(dir.path().join("expect.tsv")) else { continue };
        for row in rows.lines().filter(|row| !row.starts_with('#')) {
            let fields: Vec<&str> = row.split('\t').collect();
            let [spec, states, _, _, property, verdict, length, ..] = fields[..] else { continue };
            let (Ok(states), "holds" | "violated") = (states.parse::<u64>(), verdict) else { continue };
            if states > MOST {
                continue;
            }
            let path = |name: &str| dir.path().join(name).display().to_string();
            let (spec, formula) = (path(spec), path(property));
            let mut asked = vec![spec.as_str()];
            match property {
                "deadlock" => asked.push("--deadlock"),
                "liveness.mcf" => continue,
                property if property.ends_with(".mcf") => asked.extend(["--property", &formula]),
                _ => continue,
            }
            let of = |more: &[&str]| check(&[&asked[..], more].concat());
            let reduced = of(&["--reduce", "on"]);
            seen += 1;
            let shortest = of(&["--reduce", "on", "--shortest"]);
            let depth_first = of(&["--reduce", "on", "--search", "dfs"]);
            let mut reports = vec![&reduced, &shortest, &depth_first];
            // To choose a subsystem takes longer than to search what is small.
            let more = (states <= FEW).then(|| {
                let slices = of(&["--reduce", "on", "--search", "isv", "--jobs", "slice"]);
                (slices, of(&["--reduce", "two-phase"]), of(&["--symmetry", "auto"]))
            });
            if let Some((slices, phases, like)) = &more {
                reports.extend([slices, phases]);
                assert_eq!(like["verdict"], verdict, "{row}");
                if verdict == "holds" {
                    assert_eq!(slices["states"], reduced["states"], "{row}");
                }
            }
            for report in reports {
                assert_eq!(report["verdict"], verdict, "{row}");
                assert!(report["reduction"].is_object(), "{row}: {report}");
            }
            if let Ok(length) = length.parse::<usize>() {
                assert_eq!(shortest["trace"].as_array().map(Vec::len), Some(length), "{row}");
            }
            if verdict == "holds" {
                let [states, fewer] = [&of(&[])["states"], &reduced["states"]].map(Value::as_u64);
                assert!(fewer <= states, "{row}: {fewer:?} of {states:?}");
                // Little memory, so that what is remembered about processes is given up sooner.
                for more in [&["--workers", "2"][..], &["--workers", "4", "--max-memory", "100M"]] {
                    let same = of(&[&["--reduce", "on"], more].concat());
                    for figure in ["states", "transitions", "depth", "deadlocks"] {
                        assert_eq!(same[figure], reduced[figure], "{row} {more:?}");
                    }
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} rows were checked");
}

#[test]
fn many_orders_of_the_same_steps_are_few_states() {
    let report = check(&[&model("philosophers/philosophers-bug-8.mcrl2"), "--reduce", "on"]);
    assert_eq!(report["verdict"], "violated", "{report}");
    let full = check(&[&model("philosophers/philosophers-bug-8.mcrl2")]);
    assert!(report["states"].as_u64() < full["states"].as_u64(), "{report}");
    assert_eq!((&full["reduction"], full["verdict"].as_str()), (&Value::Null, Some("violated")));
}

#[test]
fn like_processes_stand_for_each_other() {
    let spec = model("twophase/twophase-5.mcrl2");
    let [full, like, both] = [&[][..], &["--symmetry", "auto"], &["--symmetry", "auto", "--reduce", "on"]]
        .map(|more| check(&[&[spec.as_str(), "--deadlock"][..], more].concat()));
    let states = |report: &Value| report["states"].as_u64().expect("a number");
    assert_eq!([&like["verdict"], &both["verdict"]], [&full["verdict"], &full["verdict"]]);
    assert!(10 * states(&like) < states(&full) && states(&both) < states(&full), "{like} {both}");
    assert_eq!(like["symmetry"][0].as_array().map(Vec::len), Some(5), "{like}");
    assert_eq!((&full["symmetry"], &like["depth"]), (&Value::Null, &full["depth"]));
    // One that is named is not like the others.
    let named = check(&[&spec, "--never", "commits(2)", "--symmetry", "auto"]);
    assert_eq!(named["verdict"], "violated", "{named}");
    assert_ne!(named["symmetry"], like["symmetry"], "{named}");
}

#[test]
fn what_a_reduction_cannot_do_is_refused() {
    let (_dir, path) = directory();
    let counter = path("counter.mcrl2");
    fs::write(&counter, "act up: Nat; proc P(n: Nat) = up(n) . P(n + 1); init P(0);").expect("a file");
    let abp = model("abp/abp.mcrl2");
    for (arguments, why) in [
        (&["check", &counter, "--reduce", "on"][..], "--reduce on needs"),
        (&["check", &abp, "--shortest"], "--shortest belongs to --reduce on"),
        (&["check", &abp, "--search", "isv", "--jobs", "prefix", "--reduce", "on"], "--reduce belongs to"),
        (
            &["check", &abp, "--search", "isv", "--jobs", "slice", "--reduce", "chains"],
            "takes --reduce on or off",
        ),
        (&["check", &abp, "--reduce", "chains", "--symmetry", "auto"], "--symmetry auto goes with"),
        (&["check", &abp, "--reduce", "two-phase", "--max-depth", "3"], "--max-depth counts steps"),
        (&["check", &abp, "--reduce", "two-phase", "--checkpoint", "nowhere"], "--checkpoint does not keep"),
        (
            &["check", &abp, "--search", "dfs", "--reduce", "on", "--shortest"],
            "--shortest belongs to --search bfs",
        ),
    ] {
        let output = run(arguments);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), told.contains(why)), (Some(2), true), "{arguments:?}: {told}");
    }
}

/// More than forty million states, and no flag about reduction.
#[test]
fn what_is_large_is_reduced_unless_every_step_is_asked_for() {
    let (_dir, path) = directory();
    let (arcs, json) = (model("philosophers/arcs-eight.mcrl2"), path("result.json"));
    let output = run(&["check", &arcs, "--json", &json]);
    let told = text(&output.stdout);
    for part in
        ["violated", "states visited", "stubborn sets", "--reduce auto", "reduced: that was over when"]
    {
        assert!(told.contains(part), "no {part}: {told}");
    }
    let report: Value = serde_json::from_slice(&fs::read(&json).expect("a result")).expect("JSON");
    assert!(report["reduction"]["instead_of"].as_u64() >= Some(1 << 20), "{report}");
    assert_eq!(report["trace"].as_array().map(Vec::len), Some(16), "as short as can be");
    let output = run(&["check", &arcs, "--reduce", "off", "--max-states", "1200000"]);
    assert!(text(&output.stdout).starts_with("unknown"), "{output:?}");
}

#[test]
fn auto_takes_every_step_of_what_is_small_or_has_open_tables() {
    let philosophers = model("philosophers/philosophers-bug-8.mcrl2");
    for search in ["bfs", "dfs"] {
        let [auto, off] = ["auto", "off"].map(|when| {
            let mut report = check(&[&philosophers, "--reduce", when, "--search", search]);
            let keys = ["verdict", "states", "transitions", "depth", "trace", "reduction"];
            keys.map(|key| report[key].take())
        });
        assert_eq!(auto, off, "{search}");
    }
    let output = run(&["check", &philosophers, "--reduce", "auto"]);
    assert!(text(&output.stdout).contains("took every step: the system is small"), "{output:?}");
    // Where nobody asked, nothing is said.
    let output = run(&["check", &philosophers]);
    assert!(!text(&output.stdout).contains("--reduce"), "{output:?}");
    let (_dir, path) = directory();
    let counter = path("counter.mcrl2");
    fs::write(&counter, "act up: Nat; proc P(n: Nat) = up(n) . P(n + 1); init P(0);").expect("a file");
    let output = run(&["check", &counter, "--never", "up(7)", "--reduce", "auto", "--tables", "on-demand"]);
    assert!(text(&output.stderr).contains("a reduction needs complete tables"), "{output:?}");
    assert!(text(&output.stdout).starts_with("violated"), "{output:?}");
}
