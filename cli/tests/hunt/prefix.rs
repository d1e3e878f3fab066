//! The proofs of a hunt by prefixes about the models.

use crate::harness::{directory, ends, model};
use crate::hunting::{expected, hunt};

/// "No violation within k steps" against the lengths of the shortest counterexamples, from breadth-first search.
#[test]
fn no_violation_is_nearer_than_it_says() {
    let (_dir, path) = directory();
    let (mut proved, mut violated) = (0, 0);
    for case in expected().iter().filter(|e| e.states.is_some_and(|n| n < 200_000)) {
        let options =
            ["--portfolio", "prefix", "--seed", "3", "--max-states", "40000", "--out", &path("out")];
        let report = hunt(&[&case.words()[..], &options].concat());
        let within = report["coverage"]["no_violation_within"].as_u64();
        let at = &case.arguments;
        match case.shortest.filter(|_| case.violated) {
            Some(shortest) => {
                assert!(within < Some(shortest), "{at:?}: none within {within:?}, one with {shortest} steps");
                violated += usize::from(within.is_some());
            }
            None if !case.violated => assert_ne!(report["verdict"], "violated", "{at:?}"),
            None => {}
        }
        proved += usize::from(within.is_some());
    }
    assert!(proved > 15 && violated > 2, "{proved} proved, {violated} of them violated further away");
}

#[test]
fn what_is_proved_is_told() {
    let spec = model("ieee1394/ieee1394-3.mcrl2");
    let words = ["hunt", &spec, "--portfolio", "prefix", "--seed", "1", "--max-states", "400000", "--quiet"];
    let out = ends(&words, 3);
    assert!(out.starts_with("unknown: "), "{out}");
    assert!(out.contains("no violation within ") && out.contains("beyond, nothing is proved"), "{out}");
    assert!(out.contains("\n  proved") && out.contains("\n  shared"), "{out}");
    // A small system is seen as a whole.
    let small = model("abp/abp.mcrl2");
    let out = ends(&["hunt", &small, "--portfolio", "prefix", "--seed", "1", "--quiet"], 3);
    assert!(out.contains("every reachable state was seen"), "{out}");
}

/// All states within an exhausted bound are counted, and searches that share states expand fewer.
#[test]
fn what_is_told_is_counted() {
    let (_dir, path) = directory();
    let (spec, out) = (model("chord/chord.mcrl2"), path("out"));
    let both = ["on", "off"].map(|share| {
        let options =
            ["--portfolio", "prefix", "--seed", "1", "--share", share, "--window", "4", "--out", &out];
        hunt(&[&[&spec[..]], &options[..]].concat())
    });
    let [on, off] = &both;
    for report in &both {
        assert_eq!(report["coverage"]["everything"], true, "{report}");
    }
    let (shared, within) = (&on["shared"], &on["shared"]["within"]);
    assert_eq!((&within["states"], &within["exact"]), (&1_513.into(), &true.into()), "{shared}");
    assert_eq!(within["steps"], on["coverage"]["no_violation_within"], "{shared}");
    assert!(shared["skipped"].as_u64() > Some(0) && shared["repeated"].as_f64() < Some(1.0), "{shared}");
    assert!(off["shared"].is_null(), "{off}");
    assert!(on["states"].as_u64() < off["states"].as_u64(), "{} and {}", on["states"], off["states"]);
}

/// A finding of a search that left out states reported by others is found again from the file beside it, without the others.
#[test]
fn findings_of_searches_that_were_told_are_found_again() {
    let (_dir, path) = directory();
    let (spec, property, out) =
        (model("chord/chord-failing.mcrl2"), model("chord/one_ring.mcf"), path("out"));
    let asked = [&spec[..], "--property", &property];
    let options = ["--portfolio", "prefix", "--seed", "5", "--window", "2", "--findings", "3", "--out", &out];
    let report = hunt(&[&asked[..], &options].concat());
    let found = report["findings"].as_array().expect("findings");
    assert!(!found.is_empty() && report["shared"]["skipped"].as_u64() > Some(0), "{report}");
    for finding in found {
        let file = finding["job_file"].as_str().expect("it was saved");
        let again = hunt(&[&asked[..], &["--repeat", file, "--findings", "3"]].concat());
        let again = again["findings"].as_array().expect("findings");
        let same = |other: &&serde_json::Value| other["steps"].as_u64() <= finding["steps"].as_u64();
        assert!(again.iter().any(|other| same(&other)), "{finding}: {again:?}");
    }
}
