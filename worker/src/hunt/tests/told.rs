//! Searches below prefixes that report expanded states to each other: together they leave out no state within the bound.

use super::super::told::{Known, Summaries, Told};
use super::*;
use std::collections::VecDeque;
use std::sync::Arc;

/// The joint result of jobs that report states to each other.
#[derive(Default)]
struct Done {
    expanded: BTreeSet<Vec<Local>>,
    /// Different states that were reported.
    told: u64,
    skipped: u64,
    states: u64,
    /// Jobs for which the state of a frame stands for what is behind it.
    cut: u64,
}

/// Does jobs until nothing is left, `lag` of them at a time; a job knows the states reported by jobs whose answers were
/// processed before it began. `spoil` may change the states that a job reports.
fn telling_jobs(
    prepared: &Prepared,
    (bound, states, lag): (u32, u64, usize),
    seed: u64,
    mut spoil: impl FnMut(&mut Told, &[Vec<u64>]),
) -> Done {
    let (words, mut done) = (prepared.packing().words(), Done::default());
    // Every other time there is no room for all.
    let room = if seed.is_multiple_of(2) { 1 << 20 } else { 400 };
    let summaries = Arc::new(Summaries::new(words, room));
    with_hunter(prepared, None, |run| {
        let mut known = BTreeMap::new();
        let mut paths: Vec<super::super::survey::Path> = vec![Vec::new()];
        let (mut answers, mut jobs) = (VecDeque::new(), 0);
        loop {
            if answers.len() < lag
                && let Some(path) = paths.pop()
            {
                let handed = |(_, state): &(u32, Vec<u64>)| !summaries.covers(state, path.len() as u32);
                if !path.last().is_none_or(handed) {
                    continue;
                }
                let known = Some(Known::new(1, 1, summaries.clone()));
                let mut job = job(Method::Prefix { path: path.clone(), bound, known }, seed + jobs);
                job.limits.states = states;
                jobs += 1;
                let (feedback, expanded) = run(&job);
                let expanded = expanded[path.len()..].to_vec();
                done.states += feedback.effort.states;
                done.expanded.extend(expanded.iter().map(|state| prepared.packing().unpack(state)));
                let below = feedback.below.expect("an answer about the prefix");
                assert_eq!(below.left.is_some(), feedback.end == HuntEnd::OverBudget);
                answers.push_back((path, below, expanded));
                continue;
            }
            let Some((path, mut below, expanded)) = answers.pop_front() else { break };
            let left = below.left.take().unwrap_or_default();
            for Pending { frame, vector, state } in left.pending {
                let way = [&path[..], &left.spine[..frame as usize], &[(vector, state.clone())]].concat();
                let nearer = known.get(&state).is_none_or(|&depth| way.len() < depth);
                if nearer && !summaries.covers(&state, way.len() as u32) {
                    known.insert(state, way.len());
                    paths.push(way);
                }
            }
            let mut told = below.told.expect("it was to tell");
            let different: BTreeSet<_> = expanded.iter().collect();
            done.cut += u64::from(told.depths.len() < different.len());
            spoil(&mut told, &expanded);
            summaries.add(&told);
            done.skipped += below.skipped;
        }
    });
    done.told = if summaries.different().1 { summaries.different().0 } else { 0 };
    done
}

fn near(prepared: &Prepared, bound: u32) -> BTreeMap<Vec<Local>, usize> {
    reachable(prepared.network()).into_iter().filter(|(_, distance)| *distance <= bound as usize).collect()
}

fn sizes(seed: u64, k: usize) -> (u32, u64, usize) {
    let bound = 1 + (seed as u32 * 5 + k as u32 * 7) % 23;
    (bound, [1, 3, 9, 40][k], [1, 2, 5, 17][(seed as usize + k) % 4])
}

#[test]
fn nothing_is_left_out_by_those_who_listen() {
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let (mut skipped, mut cut, mut exact) = (0, 0, 0);
    for seed in 0..if slow { 500 } else { 60 } {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        for k in 0..4 {
            let sizes = sizes(seed, k);
            let done = telling_jobs(&prepared, sizes, seed, |_, _| {});
            let near = near(&prepared, sizes.0);
            assert!(done.expanded.iter().eq(near.keys()), "seed {seed}, {sizes:?}");
            // When nothing is left, all within the bound was told.
            assert!(
                done.told == 0 || done.told == near.len() as u64,
                "seed {seed}, {sizes:?}: {}",
                done.told
            );
            exact += u64::from(done.told > 1);
            (skipped, cut) = (skipped + done.skipped, cut + done.cut);
        }
    }
    assert!(skipped > 1_000 && cut > 100 && exact > 50, "{skipped} skipped, {cut} cut, {exact} exact");
}

/// The number of cases in which changed reports are noticed.
fn noticed(spoil: impl Fn(&Prepared, &BTreeMap<Vec<Local>, usize>, &mut Told, &[Vec<u64>])) -> usize {
    let notices = |(seed, k): (u64, usize)| {
        let (net, properties) = random_case(seed);
        let prepared = Prepared::new(net, properties);
        let (sizes, all) = (sizes(seed, k), near(&prepared, u32::MAX));
        let done = telling_jobs(&prepared, sizes, seed, |told, expanded| {
            spoil(&prepared, &all, told, expanded);
        });
        !done.expanded.iter().eq(near(&prepared, sizes.0).keys())
    };
    (0..60).flat_map(|seed| (0..4).map(move |k| (seed, k))).filter(|case| notices(*case)).count()
}

#[test]
fn depths_that_are_ignored_are_noticed() {
    assert!(noticed(|_, _, told, _| told.depths.fill(0)) > 5);
}

/// States of frames that another state stands for were expanded, but no job searches the states behind them.
#[test]
fn telling_what_was_only_begun_is_noticed() {
    let all = noticed(|prepared, distances, told, expanded| {
        let words = prepared.packing().words();
        for state in expanded {
            if !told.states.chunks_exact(words).any(|told| told == &state[..]) {
                told.states.extend_from_slice(state);
                told.depths.push(distances[&prepared.packing().unpack(state)] as u32);
            }
        }
    });
    assert!(all > 5, "{all}");
}
