use super::*;
use crate::base::rng::Rng;
use crate::guide::Subsystem;
use crate::model::network::LeafIx;
use crate::samples::random::Shape;
use num_bigint::BigUint;
use std::collections::BTreeMap;

/// What each leaf does on a path: the same for all orders, and different for different classes.
fn words(orders: &Orders, leaves: usize, path: &[EdgeIx]) -> Vec<Vec<ActionIx>> {
    let mut words = vec![Vec::new(); leaves];
    for action in path.iter().map(|&e| orders.action(e)) {
        orders.parts(action).iter().for_each(|&leaf| words[leaf].push(action));
    }
    words
}

#[test]
fn one_trace_stands_for_each_class() {
    let (mut compared, mut fewer, mut joint) = (0, 0, 0);
    for seed in 0..600 {
        let net = Shape { acyclic: true, leaves: 5, ..Shape::default() }.network(seed);
        let rng = &mut Rng::new(seed);
        let leaves: Vec<LeafIx> =
            (0..rng.between(2, 4)).map(|_| LeafIx(rng.below(net.leaves.len()) as u32)).collect();
        let Ok(guide) = Subsystem::new(&net, &leaves, 5_000).and_then(|s| s.guide(&net)) else { continue };
        let Some(count) = u32::try_from(guide.traces()).ok().filter(|&n| n <= 2_000) else { continue };
        let orders = Orders::of(&guide, 100_000).unwrap();
        let width = guide.leaves().len();
        // By brute force: the classes, and the traces in each.
        let mut classes: BTreeMap<Vec<Vec<ActionIx>>, Vec<Vec<EdgeIx>>> = BTreeMap::new();
        for id in 0..count {
            let path = guide.trace(&id.into()).unwrap();
            classes.entry(words(&orders, width, &path)).or_default().push(path);
        }
        assert_eq!(*orders.classes().traces(), BigUint::from(classes.len()), "seed {seed}");
        let mut stand: Vec<Vec<EdgeIx>> = Vec::new();
        for (class, paths) in &classes {
            let representative = orders.representative(&paths[0]).expect("it is a trace up to its end");
            let original: Vec<EdgeIx> = representative.iter().map(|&e| orders.original(e)).collect();
            assert_eq!(words(&orders, width, &original), *class, "seed {seed}");
            for path in paths {
                assert_eq!(orders.representative(path).as_ref(), Some(&representative), "seed {seed}");
            }
            // Original edges follow each other.
            let ends = original.iter().scan(StateIx(0), |state, &e| {
                let follows = guide.leads_on(*state, e);
                *state = guide.edge(e).target;
                Some(follows)
            });
            assert!(ends.into_iter().all(|follows| follows), "seed {seed}");
            stand.push(representative);
        }
        stand.sort();
        let listed: Vec<Vec<EdgeIx>> =
            (0..stand.len()).map(|id| orders.classes().trace(&id.into()).unwrap()).collect();
        assert_eq!(stand, listed, "numbers follow the order of edges");
        let first = guide.trace(&BigUint::ZERO).unwrap();
        if let Some((_, beginning)) = first.split_last() {
            assert_eq!(orders.representative(beginning), None, "a beginning is no trace");
        }
        compared += 1;
        fewer += usize::from(classes.len() < count as usize);
        joint += usize::from(orders.parts.iter().any(|parts| parts.len() > 1));
    }
    assert!(compared > 100 && fewer > 30 && joint > 30, "{compared} {fewer} {joint}");
}

#[test]
fn cut_cycles_and_small_limits_are_refused() {
    let mut seen = (0, 0);
    for seed in 0..200 {
        let net = Shape::default().network(seed);
        let last = LeafIx(net.leaves.len() as u32 - 1);
        let subsystem = Subsystem::new(&net, &[LeafIx(0), last], 5_000).unwrap();
        let Ok(guide) = subsystem.unrolled(1, 5_000) else { continue };
        match Orders::of(&guide, 1) {
            Err(NoOrders::Bounded) => seen.0 += 1,
            Err(NoOrders::TooLarge { limit: 1 }) => seen.1 += 1,
            other => assert_eq!(guide.states(), 1, "{other:?}"),
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
}
