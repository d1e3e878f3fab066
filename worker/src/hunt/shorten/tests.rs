//! Verdicts that are shortened.

use super::{Effort, shortened};
use crate::life::Life;
use gridlock_lts::engine::search::{Options, Order, Verdict, check};
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;

/// A shortened verdict is about the same property and not longer; with plenty of states it is as short as that of a
/// breadth-first search where the deadlock is the only one.
#[test]
fn verdicts_of_depth_first_searches_are_shortened() {
    let effort = Effort { states: 50_000, memory: 1 << 26 };
    let (mut shorter, options) = (0, Options { order: Order::DepthFirst, ..Default::default() });
    for seed in 0..200 {
        let net = Shape { faults: 20, ..Shape::default() }.network(seed);
        let properties = random::properties(&net, seed);
        let found = check(&net, &properties, &options).unwrap().verdict;
        let verdict = shortened(&net, &properties, found.clone(), effort, &Life::default()).unwrap();
        match (&found, &verdict) {
            (Verdict::Violated { property, trace }, Verdict::Violated { property: same, trace: short }) => {
                assert_eq!(property, same, "seed {seed}");
                assert!(short.len() <= trace.len(), "seed {seed}");
                shorter += usize::from(short.len() < trace.len());
            }
            (Verdict::Faulty { message, trace }, Verdict::Faulty { message: same, trace: short }) => {
                assert_eq!(message, same, "seed {seed}");
                assert!(short.len() <= trace.len(), "seed {seed}");
                shorter += usize::from(short.len() < trace.len());
            }
            _ => assert_eq!(found, verdict, "seed {seed}"),
        }
    }
    assert!(shorter > 10, "{shorter} became shorter");
    let (net, properties) =
        (synthetic::philosophers(7), [Property::DeadlockFree { allow_termination: false }]);
    let found = check(&net, &properties, &options).unwrap().verdict;
    match shortened(&net, &properties, found, effort, &Life::default()).unwrap() {
        Verdict::Violated { trace, .. } => assert_eq!(trace.len(), 7),
        other => panic!("{other:?}"),
    }
}
