//! What a hunt by prefixes proves about the models.

use crate::harness::{directory, ends, model};
use crate::hunting::{expected, hunt};

/// "No violation within k steps" against the lengths of the shortest counterexamples, which breadth-first search knows.
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
    assert!(out.contains("\n  proved"), "{out}");
    // A small system is seen as a whole.
    let small = model("abp/abp.mcrl2");
    let out = ends(&["hunt", &small, "--portfolio", "prefix", "--seed", "1", "--quiet"], 3);
    assert!(out.contains("every reachable state was seen"), "{out}");
}
