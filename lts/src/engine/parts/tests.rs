//! Parts against naive exploration, and deliberate mistakes that must be noticed.

use super::mutants::{self, Mutant};
use super::naive::{expected, naive, told};
use super::*;
use crate::base::rng::Rng;
use crate::samples::random::{self, Shape};
use crate::samples::synthetic;

fn options<'a>(groups: &'a [Vec<LeafIx>], reduction: Reduction) -> Options<'a> {
    Options {
        workers: 1,
        limit: DEFAULT_LIMIT,
        groups,
        reduction,
        stages: Stages::All,
        members: DEFAULT_MEMBERS,
        trials: Trials::default(),
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _, _| {},
    }
}

fn random_groups(net: &Network, rng: &mut Rng) -> Vec<Vec<LeafIx>> {
    let mut groups = vec![Vec::new(); rng.below(3)];
    for leaf in 0..net.leaves.len() as u32 {
        let group = rng.below(groups.len() + 1);
        if let Some(group) = groups.get_mut(group) {
            group.push(LeafIx(leaf));
        }
    }
    groups
}

const REDUCTIONS: [Reduction; 3] = [Reduction::WeakTraces, Reduction::Branching, Reduction::Divergence];

/// How pairs are chosen: mostly as if nothing was said.
fn trials(seed: u64) -> Trials {
    [Trials::Many, Trials::Many, Trials::Few, Trials::None][(seed / 4) as usize % 4]
}

fn sample(seed: u64) -> (Network, Vec<Property>, Vec<Vec<LeafIx>>, Reduction) {
    let rng = &mut Rng::new(seed ^ 0x5041_5254);
    let shape = match seed % 4 {
        0 => Shape { faults: 60, ..Shape::default() },
        1 => Shape { moves: 30, vectors: 1, ..Shape::default() },
        2 => Shape { leaves: 4, states: 4, moves: 120, ..Shape::default() },
        _ => Shape::default(),
    };
    let net = shape.network(seed);
    let properties = random::properties(&net, seed);
    let groups = random_groups(&net, rng);
    (net, properties, groups, REDUCTIONS[rng.below(3)])
}

/// Ordinarily a few thousand; `GRIDLOCK_SLOW` has more tried, `GRIDLOCK_PARTS_NETWORKS` as many as it says.
fn networks() -> u64 {
    let wanted = std::env::var("GRIDLOCK_PARTS_NETWORKS").ok().and_then(|n| n.parse().ok());
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some();
    wanted.unwrap_or(if slow { 20_000 } else { 2000 })
}

#[test]
fn random_networks_get_the_naive_verdict() {
    let (mut violated, mut held) = (0, 0);
    for seed in 0..networks() {
        let (net, properties, groups, reduction) = sample(seed);
        let options = Options { trials: trials(seed), ..options(&groups, reduction) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        let verdict = report.verdict.unwrap_or_else(|| panic!("seed {seed}: nothing is too large"));
        let told = told(&net, &properties, &verdict);
        assert_eq!(told, expected(&net, &properties), "seed {seed}");
        violated += u64::from(told.is_some());
        held += u64::from(told.is_none() && !properties.is_empty());
    }
    assert!(violated > networks() / 4 && held > networks() / 20, "{violated} violated, {held} held");
}

/// Networks of more components, several of which are put together in a round.
fn wide_sample(seed: u64) -> (Network, Vec<Property>) {
    let leaves = 5 + seed as usize % 3;
    let shape = match seed % 2 {
        0 => Shape { leaves, states: 3, labels: 3, moves: 60, vectors: 1, ..Shape::default() },
        _ => Shape { leaves, states: 2, moves: 100, ..Shape::default() },
    };
    let net = shape.network(seed);
    let properties = random::properties(&net, seed);
    (net, properties)
}

#[test]
fn several_pairs_a_round_get_the_naive_verdict() {
    let (mut violated, mut held) = (0, 0);
    let all = networks() / 2;
    for seed in 0..all {
        let (net, properties) = wide_sample(seed);
        let options = options(&[], REDUCTIONS[seed as usize % 3]);
        let report = check(&net, &properties, &options).expect("no fault of ours");
        let verdict = report.verdict.unwrap_or_else(|| panic!("seed {seed}: nothing is too large"));
        let told = told(&net, &properties, &verdict);
        assert_eq!(told, expected(&net, &properties), "seed {seed}");
        violated += u64::from(told.is_some());
        held += u64::from(told.is_none() && !properties.is_empty());
    }
    assert!(violated > all / 4 && held > all / 20, "{violated} violated, {held} held");
}

/// Which two are put together is a matter of cost alone: any tree of products gives the same verdict, and runs are lifted down
/// any of them.
#[test]
fn random_trees_get_the_naive_verdict() {
    let (mut violated, mut held, mut deep) = (0, 0, 0);
    let all = networks() / 2;
    for seed in 0..all {
        let (net, properties) = match seed % 2 {
            0 => wide_sample(seed / 2),
            _ => {
                let (net, properties, _, _) = sample(seed / 2);
                (net, properties)
            }
        };
        let trials = Trials::Random(seed);
        let options = Options { trials, ..options(&[], REDUCTIONS[seed as usize / 2 % 3]) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        let verdict = report.verdict.unwrap_or_else(|| panic!("seed {seed}: nothing is too large"));
        let told = told(&net, &properties, &verdict);
        assert_eq!(told, expected(&net, &properties), "seed {seed}");
        violated += u64::from(told.is_some());
        held += u64::from(told.is_none() && !properties.is_empty());
        let products = report.accounts.last().map_or(0, |account| account.products().count());
        deep += u64::from(told.is_some() && products > 2);
    }
    assert!(
        violated > all / 4 && held > all / 20 && deep > all / 10,
        "{violated} violated, {deep} of them by more than two products, {held} held"
    );
}

#[test]
fn pairs_that_do_not_know_of_each_other_are_noticed() {
    let is_wrong = |seed| {
        let (net, properties) = wide_sample(seed);
        let checked = || check(&net, &properties, &options(&[], Reduction::default()));
        // Steps with a component that is gone may lead nowhere.
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(checked)) {
            Err(_) | Ok(Err(_)) => true,
            Ok(Ok(report)) => report
                .verdict
                .is_none_or(|verdict| told(&net, &properties, &verdict) != expected(&net, &properties)),
        }
    };
    assert!(mutants::with(Mutant::OldSyncs, || (0..3000).any(is_wrong)));
}

/// The most members that a macro-state may have, few now and then.
fn members(seed: u64) -> usize {
    if seed.is_multiple_of(5) { 3 } else { DEFAULT_MEMBERS }
}

#[test]
fn interfaces_alone_get_the_naive_verdict() {
    let (mut decided, mut stuck, mut grouped) = (0, 0, 0);
    for seed in 0..networks() {
        let (net, properties, groups, reduction) = sample(seed);
        let stages = Stages::Interfaces;
        let options = Options { stages, members: members(seed), ..options(&groups, reduction) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        for account in &report.accounts {
            assert_eq!(account.products().count(), 0, "seed {seed}");
        }
        let Some(verdict) = report.verdict else {
            assert!(options.members == 3, "seed {seed}: nothing is too large");
            continue;
        };
        assert_eq!(told(&net, &properties, &verdict), expected(&net, &properties), "seed {seed}");
        let last = report.accounts.last();
        let by_interfaces = last.is_some_and(|account| account.stage == Stage::Interfaces);
        decided += u64::from(by_interfaces);
        grouped += u64::from(by_interfaces && groups.iter().any(|group| group.len() > 1));
        if let Verdict::Violated { property, .. } = verdict {
            let deadlock = matches!(properties[property], Property::DeadlockFree { .. });
            stuck += u64::from(by_interfaces && deadlock);
        }
    }
    let all = networks();
    assert!(
        decided > all / 4 && stuck > all / 40 && grouped > all / 8,
        "{decided} decided, {stuck} stuck, {grouped} in groups"
    );
}

#[test]
fn tables_that_are_filled_by_interfaces_get_the_naive_verdict() {
    let mut left = 0;
    // In the last two a violation is found by some processes while others are in states that were not looked at yet.
    for seed in (0..networks() / 2).chain([14_392, 18_292]) {
        let (full, properties, groups, reduction) = sample(seed);
        let (mut net, mut source) = random::Reveal::new(full.clone());
        let options = Options { members: members(seed), ..options(&groups, reduction) };
        let report = check_open(&mut net, &mut source, &properties, &options).expect("no fault of ours");
        let Some(verdict) = report.verdict else {
            left += 1;
            assert!(options.members == 3, "seed {seed}: nothing is too large");
            continue;
        };
        assert_eq!(told(&net, &properties, &verdict), expected(&full, &properties), "seed {seed}");
        let expanded = |net: &Network| -> usize {
            net.leaves.iter().flat_map(|leaf| &leaf.states).filter(|table| table.expanded).count()
        };
        assert!(expanded(&net) <= expanded(&full), "seed {seed}");
    }
    assert!(left < networks() / 10, "{left}");
}

#[test]
fn any_number_of_workers_comes_to_the_same() {
    for seed in 0..100 {
        let (net, properties, groups, reduction) = sample(seed);
        let run = |workers| {
            let options = Options { workers, trials: trials(seed), ..options(&groups, reduction) };
            let report = check(&net, &properties, &options).expect("no fault of ours");
            let accounts: Vec<Account> = report
                .accounts
                .into_iter()
                .map(|account| Account { time: Duration::ZERO, ..account })
                .collect();
            (report.verdict, accounts)
        };
        let one = run(1);
        assert_eq!(one, run(3), "seed {seed}");
    }
}

#[test]
fn a_limit_leaves_an_obligation_and_never_a_wrong_verdict() {
    let mut left = 0;
    for seed in 0..600 {
        let (net, properties, groups, reduction) = sample(seed);
        let limit = seed % 6;
        let stages = if seed % 2 == 0 { Stages::All } else { Stages::Aggregation };
        let (trials, members) = (trials(seed), limit as usize);
        let options = Options { limit, stages, members, trials, ..options(&groups, reduction) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        match report.verdict {
            Some(verdict) => {
                assert_eq!(told(&net, &properties, &verdict), expected(&net, &properties), "seed {seed}");
            }
            None => {
                let last = report.accounts.last().expect("an obligation was looked at");
                assert_eq!(last.result, Fate::Left(Why::Limit(limit)), "seed {seed}");
                assert!(last.left.len() > 1, "seed {seed}: there is more than one component left");
                left += 1;
            }
        }
    }
    assert!(left > 100, "{left}");
}

#[test]
fn no_memory_is_no_verdict() {
    let mut left = 0;
    for seed in 0..200 {
        let (net, properties, groups, reduction) = sample(seed);
        let options = Options { max_memory: 200 * (seed % 50), ..options(&groups, reduction) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        match report.verdict {
            Some(verdict) => {
                assert_eq!(told(&net, &properties, &verdict), expected(&net, &properties), "seed {seed}");
            }
            None => left += 1,
        }
        assert!(report.peak_memory <= options.max_memory);
    }
    assert!(left > 50, "{left}");
}

#[test]
fn a_run_that_is_to_stop_stops() {
    let (net, properties) =
        (synthetic::philosophers(4), [Property::DeadlockFree { allow_termination: false }]);
    let options = Options { stop: &|| Some(Limit::Interrupted), ..options(&[], Reduction::default()) };
    let report = check(&net, &properties, &options).expect("no fault of ours");
    assert_eq!(report.verdict, Some(Verdict::Unknown(Limit::Interrupted)));
}

/// A mistake gives a wrong verdict, or a run that does not replay, on some network.
fn is_noticed(mutant: Mutant, seeds: std::ops::Range<u64>) -> bool {
    is_noticed_by(Stages::All, mutant, seeds)
}

fn is_noticed_by(stages: Stages, mutant: Mutant, seeds: std::ops::Range<u64>) -> bool {
    mutants::with(mutant, || {
        seeds.into_iter().any(|seed| {
            let (net, properties, groups, reduction) = sample(seed);
            match check(&net, &properties, &Options { stages, ..options(&groups, reduction) }) {
                Err(_) => true,
                Ok(report) => match report.verdict {
                    Some(verdict) => told(&net, &properties, &verdict) != expected(&net, &properties),
                    None => true,
                },
            }
        })
    })
}

#[test]
fn hiding_what_the_observer_hears_is_noticed() {
    assert!(is_noticed(Mutant::HideHeard, 0..500));
}

#[test]
fn weak_traces_for_deadlocks_are_noticed() {
    assert!(is_noticed(Mutant::TracesForDeadlocks, 0..500));
}

#[test]
fn ignored_divergence_is_noticed() {
    assert!(is_noticed(Mutant::IgnoreDivergence, 0..2000));
}

#[test]
fn forgotten_faults_are_noticed() {
    assert!(is_noticed(Mutant::DropFaults, 0..500));
}

#[test]
fn a_connected_component_that_is_dropped_is_noticed() {
    assert!(is_noticed(Mutant::DropConnected, 0..2000));
}

#[test]
fn ready_sets_that_are_not_minimal_are_noticed() {
    assert!(is_noticed_by(Stages::Interfaces, Mutant::MaximalReadySets, 0..2000));
}

#[test]
fn philosophers_stay_small() {
    let properties = [Property::DeadlockFree { allow_termination: false }];
    for n in [2, 5, 20, 60] {
        let net = synthetic::philosophers(n);
        let report = check(&net, &properties, &options(&[], Reduction::default())).expect("no fault of ours");
        let verdict = report.verdict.expect("small");
        assert_eq!(told(&net, &properties, &verdict), Some(Obligation::Property(0)));
        let Verdict::Violated { trace, .. } = verdict else { panic!("it can get stuck") };
        assert!(trace.len() >= n as usize);
        assert!(report.accounts[0].largest() <= 100, "{}", report.accounts[0].largest());
    }
}

#[test]
fn the_whole_by_parts_is_the_whole() {
    use crate::engine::explore;
    use crate::model::equivalence::{Equivalence, compare, minimise};
    let mut faults = 0;
    for seed in 0..400 {
        let (mut net, _, _, _) = sample(seed);
        let equivalence = Equivalence::ALL[seed as usize % 5];
        let (workers, trials) = (1 + seed as usize % 2, trials(seed));
        let options = Options { workers, trials, ..options(&[], Reduction::default()) };
        if naive(&net, None) {
            assert!(matches!(whole(&net, equivalence, &options), Err(Error::Input(_))), "seed {seed}");
            faults += 1;
            continue;
        }
        let mut progress = |_| true;
        let exploring = explore::Options { max_states: usize::MAX, progress: &mut progress };
        let direct = explore::explore(&mut net, None, exploring).expect("it is small");
        let parts = whole(&net, equivalence, &options).expect("it is small").lts;
        assert!(
            compare(&direct, &parts, equivalence).expect("small").is_equal(),
            "seed {seed}: {equivalence}"
        );
        let small = |lts| minimise(lts, equivalence).expect("small");
        let (direct, parts) = (small(&direct), small(&parts));
        let size = |lts: &crate::model::explicit::Lts| (lts.num_states(), lts.num_transitions());
        assert_eq!(size(&direct), size(&parts), "seed {seed}: {equivalence}");
        assert_eq!(direct.labels(), parts.labels(), "seed {seed}: {equivalence}");
    }
    assert!(faults > 0, "some of these networks have a reachable fault");
}

#[test]
fn a_whole_that_is_too_large_says_so() {
    let net = synthetic::counters(4, 4);
    let options = Options { limit: 10, ..options(&[], Reduction::default()) };
    let result = whole(&net, crate::model::equivalence::Equivalence::Strong, &options);
    assert_eq!(result.map(|whole| whole.lts.num_states()), Err(Error::Limit(Limit::States(10))));
}
