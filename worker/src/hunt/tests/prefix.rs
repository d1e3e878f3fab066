//! Searches below prefixes: for any limits, together they leave out no state within the bound.

use super::*;

/// What jobs with a path and a bound have done together.
#[derive(Default)]
struct Done {
    expanded: BTreeSet<Vec<Local>>,
    found: BTreeSet<Key>,
    jobs: usize,
    given_back: usize,
    cut_off: bool,
}

/// Does jobs from the initial state on until nothing is left. What is given back passes through `keep`.
fn all_jobs(
    prepared: &Prepared,
    bound: u32,
    states: u64,
    seed: u64,
    mut keep: impl FnMut(usize) -> bool,
) -> Done {
    let mut done = Done::default();
    with_hunter(prepared, None, |run| {
        let mut known = BTreeMap::new();
        let mut paths: Vec<super::super::survey::Path> = vec![Vec::new()];
        while let Some(path) = paths.pop() {
            let mut job =
                job(Method::Prefix { path: path.clone(), bound, known: None }, seed + done.jobs as u64);
            job.limits.states = states;
            let (feedback, expanded) = run(&job);
            done.jobs += 1;
            // The steps of the path are followed first.
            let unpack = |state: &Vec<u64>| prepared.packing().unpack(state);
            done.expanded.extend(expanded.iter().skip(path.len()).map(unpack));
            assert_eq!(feedback.effort.states as usize, expanded.len() - path.len());
            let key = |f: &HuntFinding| Key::of(prepared.net(), prepared.packing(), &f.finding).unwrap();
            done.found.extend(feedback.findings.iter().map(key));
            let below = feedback.below.expect("an answer about the prefix");
            done.cut_off |= below.cut_off;
            match feedback.end {
                HuntEnd::Everything | HuntEnd::Complete => assert_eq!(below.left, None),
                HuntEnd::OverBudget => {
                    let left = below.left.expect("at least one state was expanded");
                    assert!(!left.pending.is_empty());
                    for Pending { frame, vector, state } in left.pending {
                        let way =
                            [&path[..], &left.spine[..frame as usize], &[(vector, state.clone())]].concat();
                        assert!(way.len() > path.len() && way.len() <= bound as usize);
                        done.given_back += 1;
                        let nearer = known.get(&state).is_none_or(|&depth| way.len() < depth);
                        if nearer && keep(done.given_back) {
                            known.insert(state, way.len());
                            paths.push(way);
                        }
                    }
                }
                end => panic!("{end:?}"),
            }
        }
    });
    done
}

/// What must have been seen within a bound: states at that distance, and findings with that many steps.
fn within(prepared: &Prepared, bound: u32) -> (BTreeSet<Vec<Local>>, BTreeSet<Key>) {
    let states =
        reachable(prepared.network()).into_iter().filter(|(_, distance)| *distance <= bound as usize);
    let keys = shortest(prepared).into_iter().filter(|(_, length)| *length <= u64::from(bound));
    (states.map(|(state, _)| state).collect(), keys.map(|(key, _)| key).collect())
}

#[test]
fn nothing_within_the_bound_is_left_out() {
    let (mut divided, mut everything) = (0, 0);
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    for seed in 0..if slow { 200 } else { 60 } {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        let all = reachable(prepared.network());
        for (k, states) in [1, 2, 7, 40, 100_000].into_iter().enumerate() {
            let bound = 1 + (seed as u32 * 5 + k as u32 * 7) % 23;
            let done = all_jobs(&prepared, bound, states, seed, |_| true);
            let (near, keys) = within(&prepared, bound);
            let at = format!("seed {seed}, bound {bound}, {states} states a job");
            assert_eq!(done.expanded, near, "{at}");
            assert!(keys.is_subset(&done.found), "{at}");
            // Where nothing was cut off there is nothing else.
            if !done.cut_off {
                assert_eq!(done.expanded.len(), all.len(), "{at}");
                everything += 1;
            }
            divided += usize::from(done.jobs > 1);
        }
    }
    assert!(divided > 100 && everything > 20, "{divided} divided, {everything} everything");
}

#[test]
fn a_prefix_that_is_forgotten_is_noticed() {
    let noticed = |seed: u64| {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        all_jobs(&prepared, 9, 5, seed, |number| number != 3).expanded != within(&prepared, 9).0
    };
    assert!((0..40).any(noticed));
}

#[test]
fn a_search_that_keeps_no_depths_is_noticed() {
    // That is what the member dfs does with a bound.
    let noticed = |seed: u64| {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        let mut differs = false;
        with_hunter(&prepared, None, |run| {
            let (feedback, expanded) = run(&job(Method::DepthFirst { depth: 9 }, seed));
            let expanded: BTreeSet<_> = expanded.iter().map(|s| prepared.packing().unpack(s)).collect();
            differs = feedback.end == HuntEnd::Complete && expanded != within(&prepared, 9).0;
        });
        differs
    };
    assert!((0..40).any(noticed));
}

/// A job that ends with as many findings as it may have is not taken for complete.
#[test]
fn findings_that_end_a_job_leave_something() {
    let mut ended = 0;
    for seed in 0..40 {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        with_hunter(&prepared, None, |run| {
            let mut job = job(Method::Prefix { path: Vec::new(), bound: 30, known: None }, seed);
            job.limits.findings = 1;
            let (feedback, _) = run(&job);
            if !feedback.findings.is_empty() {
                ended += 1;
                assert_eq!(feedback.end, HuntEnd::OverBudget, "seed {seed}");
                let left = feedback.below.and_then(|below| below.left);
                assert_eq!(left.is_none(), feedback.effort.states == 1, "seed {seed}: {left:?}");
            }
        });
    }
    assert!(ended > 10, "{ended}");
}

/// A state with few bytes to work in gives back what it has, or nothing at all.
#[test]
fn memory_that_ends_a_job_leaves_something() {
    let prepared = Prepared::new(synthetic::counters(4, 5), []);
    let all = reachable(prepared.network()).len();
    let mut given_back = 0;
    with_hunter(&prepared, None, |run| {
        for memory in (0..20_000).step_by(450) {
            let mut job = job(Method::Prefix { path: Vec::new(), bound: 100, known: None }, 3);
            job.limits.memory = memory;
            let (feedback, expanded) = run(&job);
            if expanded.len() == all {
                break;
            }
            assert_eq!(feedback.end, HuntEnd::OverBudget, "{memory} bytes");
            let left = feedback.below.and_then(|below| below.left);
            given_back += usize::from(left.is_some());
        }
    });
    assert!(given_back > 5, "{given_back}");
}

#[test]
fn paths_that_make_no_sense_are_refused() {
    let (net, properties) = random_case(3);
    let prepared = Prepared::new(net, properties);
    let words = prepared.packing().words();
    with_hunter(&prepared, None, |run| {
        let step = |vector: u32, state: Vec<u64>| (vector, state);
        for (path, bound) in [
            (vec![step(u32::MAX, vec![0; words])], 5),
            (vec![step(0, vec![u64::MAX; words])], 5),
            (vec![step(0, Vec::new())], 5),
            (vec![step(0, vec![0; words]); 3], 2),
            (Vec::new(), u32::MAX),
        ] {
            let (feedback, _) = run(&job(Method::Prefix { path, bound, known: None }, 1));
            assert!(matches!(feedback.end, HuntEnd::Failed(Error::Input(_))), "{feedback:?}");
        }
    });
}
