//! Local checking against naive exploration, and deliberate mistakes that must be noticed.

use super::mutants::{self, Mutant};
use super::*;
use crate::engine::parts::naive::{expected, naive, told};
use crate::samples::random::{self, Shape};
use crate::samples::synthetic;

/// Some look for runs and pairs in vain, so that blocks must grow.
fn options<'a>(seed: u64) -> Options<'a> {
    let (tries, pairs) = match seed % 4 {
        0 => (1, 0),
        1 => (1, DEFAULT_PAIRS),
        2 => (20, 1000),
        _ => (DEFAULT_TRIES, DEFAULT_PAIRS),
    };
    Options {
        workers: 1,
        limit: DEFAULT_LIMIT,
        tries,
        pairs,
        marking: !seed.is_multiple_of(3),
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _| {},
    }
}

fn sample(seed: u64) -> (Network, Vec<Property>) {
    let shape = match seed % 5 {
        0 => Shape { faults: 60, ..Shape::default() },
        1 => Shape { moves: 30, vectors: 1, ..Shape::default() },
        2 => Shape { leaves: 4, states: 4, moves: 120, ..Shape::default() },
        // Many leaves that do little with each other.
        3 => Shape { leaves: 8, states: 3, labels: 3, moves: 40, vectors: 1, ..Shape::default() },
        _ => Shape::default(),
    };
    let net = shape.network(seed);
    let properties = random::properties(&net, seed);
    (net, properties)
}

/// Ordinarily a few thousand; `GRIDLOCK_SLOW` has more tried, `GRIDLOCK_LOCAL_NETWORKS` as many as it says.
fn networks() -> u64 {
    let wanted = std::env::var("GRIDLOCK_LOCAL_NETWORKS").ok().and_then(|n| n.parse().ok());
    let slow = std::env::var_os("GRIDLOCK_SLOW").is_some();
    wanted.unwrap_or(if slow { 10_000 } else { 3000 })
}

#[test]
fn random_networks_get_the_naive_verdict() {
    let (mut violated, mut held, mut partly, mut split, mut runs, mut equations) = (0, 0, 0, 0, 0, 0);
    for seed in 0..networks() {
        let (net, properties) = sample(seed);
        let report = check(&net, &properties, &options(seed)).expect("no fault of ours");
        let verdict = report.verdict.unwrap_or_else(|| panic!("seed {seed}: nothing is too large"));
        let told = told(&net, &properties, &verdict);
        assert_eq!(told, expected(&net, &properties), "seed {seed}");
        violated += u64::from(told.is_some());
        held += u64::from(told.is_none() && !properties.is_empty());
        for account in &report.accounts {
            let proper = account.result == Fate::Holds && account.block.len() < net.leaves.len();
            partly += u64::from(proper && !account.block.is_empty());
            split += u64::from(matches!(account.result, Fate::Split(_)));
            equations += u64::from(account.marking.is_some());
            runs += u64::from(account.result == Fate::Violated && account.block.len() < net.leaves.len());
        }
    }
    let few = networks() / 50;
    assert!(violated > 10 * few && held > 2 * few, "{violated} violated, {held} held");
    assert!(
        partly > few / 2 && split > few / 10 && runs > few && equations > few / 2,
        "{partly} by a part, {split} split, {runs} runs, {equations} by equations"
    );
}

#[test]
fn any_number_of_workers_comes_to_the_same() {
    for seed in 0..200 {
        let (net, properties) = sample(seed);
        let run = |workers| {
            let report =
                check(&net, &properties, &Options { workers, ..options(seed) }).expect("no fault of ours");
            let timeless = |account| Account { time: Duration::ZERO, ..account };
            (report.verdict, report.accounts.into_iter().map(timeless).collect::<Vec<_>>())
        };
        let one = run(1);
        assert_eq!(one, run(3), "seed {seed}");
    }
}

#[test]
fn a_limit_leaves_an_obligation_and_never_a_wrong_verdict() {
    let mut left = 0;
    for seed in 0..600 {
        let (net, properties) = sample(seed);
        let limit = 1 + seed % 8;
        let report = check(&net, &properties, &Options { limit, ..options(seed) }).expect("no fault of ours");
        match report.verdict {
            Some(verdict) => {
                assert_eq!(told(&net, &properties, &verdict), expected(&net, &properties), "seed {seed}");
            }
            None => {
                let last = report.accounts.last().expect("an obligation was looked at");
                assert_eq!(last.result, Fate::Left(Why::Limit(limit)), "seed {seed}");
                left += 1;
            }
        }
    }
    assert!(left > 40, "{left}");
}

#[test]
fn no_memory_is_no_verdict() {
    let mut left = 0;
    for seed in 0..200 {
        let (net, properties) = sample(seed);
        let options = Options { max_memory: 200 * (seed % 50), ..options(seed) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        match report.verdict {
            Some(verdict) => {
                assert_eq!(told(&net, &properties, &verdict), expected(&net, &properties), "seed {seed}");
            }
            None => left += 1,
        }
        assert!(report.peak_memory <= options.max_memory);
    }
    assert!(left > 25, "{left}");
}

#[test]
fn a_run_that_is_to_stop_stops() {
    let (net, properties) =
        (synthetic::philosophers(4), [Property::DeadlockFree { allow_termination: false }]);
    for workers in [1, 2] {
        let options = Options { workers, stop: &|| Some(Limit::Interrupted), ..options(3) };
        let report = check(&net, &properties, &options).expect("no fault of ours");
        assert_eq!(report.verdict, Some(Verdict::Unknown(Limit::Interrupted)));
    }
}

/// A mistake gives a wrong verdict, or a run that does not replay, on some network.
fn is_noticed(mutant: Mutant, seeds: std::ops::Range<u64>) -> bool {
    mutants::with(mutant, || {
        seeds.into_iter().any(|seed| {
            let (net, properties) = sample(seed);
            match check(&net, &properties, &options(seed)) {
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
fn forgotten_faults_are_noticed() {
    assert!(is_noticed(Mutant::DropFaults, 0..500));
}

#[test]
fn a_forgotten_environment_is_noticed() {
    assert!(is_noticed(Mutant::ForgetEnvironment, 0..500));
}

#[test]
fn a_path_that_only_one_leaf_can_follow_is_noticed() {
    assert!(is_noticed(Mutant::FollowAlone, 0..500));
}

#[test]
fn a_split_that_forgets_members_is_noticed() {
    assert!(is_noticed(Mutant::SplitToFirst, 0..3000));
}

#[test]
fn leaves_that_must_always_be_calm_are_noticed() {
    assert!(is_noticed(Mutant::ArmedAlways, 0..1000));
}

#[test]
fn places_that_are_no_trap_are_noticed() {
    assert!(is_noticed(Mutant::AnyTrap, 0..3000));
}

#[test]
fn equations_show_that_philosophers_do_not_get_stuck() {
    let properties = [Property::DeadlockFree { allow_termination: false }];
    for n in [3, 8] {
        let net = synthetic::polite_philosophers(n);
        let report = check(&net, &properties, &options(4)).expect("no fault of ours");
        assert_eq!(report.verdict, Some(Verdict::Holds), "{n}");
        assert!(report.accounts.iter().any(|account| account.marking.is_some()), "{:?}", report.accounts);
        assert!(report.accounts.iter().all(|account| account.rounds.is_empty()), "{:?}", report.accounts);
    }
}

#[test]
fn philosophers_get_stuck_locally() {
    let properties = [Property::DeadlockFree { allow_termination: false }];
    for n in [2, 5, 20] {
        let net = synthetic::philosophers(n);
        let report = check(&net, &properties, &options(3)).expect("no fault of ours");
        let verdict = report.verdict.expect("small");
        assert_eq!(told(&net, &properties, &verdict), Some(Obligation::Property(0)));
    }
}

/// What the fixpoint takes for safe is safe, and every local state of a run is in it.
#[test]
fn the_fixpoint_is_never_wrong() {
    let (mut safe, mut suspicious) = (0, 0);
    for seed in 0..600 {
        let (net, properties) = sample(seed);
        let survey = survey(&net, &properties, 1 << 30).expect("enough memory");
        if properties
            .iter()
            .any(|p| matches!(p, Property::Monitor(m) if m.is_bad(crate::model::network::Local(0))))
        {
            continue;
        }
        let faulty = expected(&net, &[]).is_some();
        for (obligation, doubt) in survey.obligations {
            match (obligation, doubt) {
                (_, true) => suspicious += 1,
                (Obligation::Faults, false) => assert!(!faulty, "seed {seed}"),
                (Obligation::Property(index), false) => {
                    assert!(faulty || !naive(&net, Some(&properties[index])), "seed {seed}");
                    safe += 1;
                }
            }
        }
        for (leaf, size) in net.leaves.iter().zip(&survey.leaves) {
            assert!(size.states >= 1 && size.states <= leaf.states.len() as u64, "seed {seed}");
        }
    }
    assert!(safe > 20 && suspicious > 100, "{safe} safe, {suspicious} suspicious");
}
