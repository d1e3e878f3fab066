//! Searches by slices on ranks of one process, whose messages are delayed and reordered, against threads and naive search.

use super::tests::{Facts, control, facts, open, random_subsystem, run};
use super::*;
use crate::grid::journal::Journal;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::mesh::local::{self, Disorder, Mischief};
use gridlock_lts::engine::search;
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;
use std::sync::atomic::AtomicU64;

/// A search on ranks.
#[derive(Clone)]
struct OnRanks<'a> {
    prepared: &'a Prepared,
    subsystem: &'a [LeafIx],
    options: Options,
    ranks: usize,
    threads: usize,
    disorder: Disorder,
    /// Where the checkpoint is.
    dir: Option<&'a Path>,
    /// Whether and why a rank is to stop.
    told: Told<'a>,
}

type Told<'a> = &'a (dyn Fn(usize) -> Option<Limit> + Sync);

fn identity() -> Identity {
    vec![("run".to_owned(), "a test".to_owned())]
}

impl OnRanks<'_> {
    /// The report of each rank.
    fn reports(&self) -> Vec<Result<SlicesReport>> {
        let search = |mut mesh: local::LocalMesh| {
            let settled = (mesh.rank() == 0).then(|| Settled {
                leaves: self.subsystem.iter().map(|leaf| leaf.0).collect(),
                job_memory: self.options.job_memory,
                identity: identity(),
            });
            let opened =
                || Journal::<Record>::open(self.dir.expect("a place"), &identity(), true).expect("a journal");
            let place = self.dir.map(|dir| RankCheckpoint {
                dir,
                resume: true,
                opened: settled.is_some().then(opened),
            });
            let rank = mesh.rank();
            let told = || (self.told)(rank);
            let stop = || told().is_some();
            let (grid, control) = (Grid::threads(self.threads, None), Control { stop: &stop, ..control() });
            let link = RankLink { mesh: &mut mesh, told: &told };
            check_on_ranks(link, self.prepared, settled, &self.options, &grid, place, &control)
        };
        std::thread::scope(|scope| {
            let meshes = local::ranks(self.ranks, self.disorder);
            let handles: Vec<_> = meshes.into_iter().map(|mesh| scope.spawn(|| search(mesh))).collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        })
    }

    /// The common report of all ranks; only figures that a single rank knows may differ.
    fn report(&self) -> SlicesReport {
        let mut reports = self.reports().into_iter().map(|report| report.expect("a report"));
        let first = reports.next().expect("there is a rank");
        for other in reports {
            assert_eq!((facts_of(&other), other.resumed), (facts_of(&first), first.resumed));
            assert_eq!(other.ranks, first.ranks);
        }
        first
    }
}

/// The facts of a report. Without an answer, ranks may have stopped at different places of the same turn.
fn facts_of(report: &SlicesReport) -> (SlicesAnswer, Option<Facts>) {
    let known = matches!(report.answer, SlicesAnswer::Verdict(_)).then(|| facts(report));
    (report.answer.clone(), known)
}

/// A random search, and enough memory for that.
fn random_search(seed: u64) -> (Network, Vec<Property>, Options) {
    let rng = &mut Rng::new(seed);
    let net = match seed % 12 {
        0 => synthetic::counters(3, 7 + seed as u32 % 5),
        6 => synthetic::philosophers(6),
        _ => Shape { faults: 20, acyclic: seed % 4 == 1, ..Shape::default() }.network(seed),
    };
    let properties = if seed.is_multiple_of(3) { Vec::new() } else { random::properties(&net, seed) };
    let words = Prepared::new(net.clone(), []).packing().words() as u64;
    let job_memory = words * [1500, 2500, 5000, 100_000][rng.below(4)];
    let room = [300_000, 10_000_000][rng.below(2)];
    // What steps can be left out takes memory, too.
    let reduce = (seed % 5 == 1).then_some(Keep::Verdicts);
    let max_memory = Some((3 * job_memory + room) * if reduce.is_some() { 40 } else { 10 } / 9);
    (net, properties, Options { job_memory, max_memory, reduce, ..Options::default() })
}

#[test]
fn same_as_threads_on_any_number_of_ranks() {
    let most = std::env::var("GRIDLOCK_SLICES_NETWORKS").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    let (mut holds, mut found, mut split, mut moved) = (0, 0, 0, 0);
    for seed in 0..most {
        let rng = &mut Rng::new(seed);
        let (net, properties, options) = random_search(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let subsystem = &random_subsystem(net.leaves.len(), rng)[..];
        let expected = run(&prepared, subsystem, &options, 1, None).expect("a report");
        let naive =
            search::check(&net, prepared.properties(), &search::Options::default()).expect("a report");
        if matches!(expected.answer, SlicesAnswer::Unknown(_)) {
            continue;
        }
        let (ranks, threads) = (rng.between(2, 6), rng.between(1, 2));
        let disorder = Disorder { seed, delay: rng.below(6), mischief: None };
        let (options, told) = (options.clone(), &|_| None);
        let on_ranks =
            OnRanks { prepared: &prepared, subsystem, options, ranks, threads, disorder, dir: None, told };
        let report = on_ranks.report();
        assert_eq!(facts(&report), facts(&expected), "seed {seed}");
        let is_holds = report.answer == SlicesAnswer::Verdict(Verdict::Holds);
        assert_eq!(is_holds, naive.verdict == Verdict::Holds, "seed {seed}");
        if is_holds && report.reduction.is_none() {
            assert_eq!((report.states, report.transitions), (naive.stats.states, naive.stats.transitions));
        }
        // Rank 0 has nothing but numbers.
        let RankSize { slices, states, bytes_sent, spilled, .. } =
            report.ranks.first().copied().unwrap_or_default();
        assert_eq!((slices, states, bytes_sent, spilled), (0, 0, 0, 0), "seed {seed}");
        assert_eq!(report.ranks.iter().map(|rank| rank.slices).sum::<u64>(), report.slices.len() as u64);
        *(if is_holds { &mut holds } else { &mut found }) += 1;
        split += u64::from(report.splits > 0);
        moved += u64::from(report.ranks.iter().any(|rank| rank.bytes_sent > 0));
    }
    assert!(holds * 4 > most && found * 8 > most && split * 25 > most, "{holds} {found} {split}");
    assert!(moved * 4 > most, "{moved}");
}

#[test]
fn a_slice_that_is_divided_is_spread_over_the_ranks() {
    // One leaf with three states: without dividing, more than three ranks would have no use.
    let prepared = Prepared::new(synthetic::philosophers(9), []);
    let options = Options { job_memory: 20_000, ..Options::default() };
    let expected = run(&prepared, &[LeafIx(0)], &options, 1, None).expect("a report");
    let (disorder, told) = (Disorder { seed: 5, delay: 4, mischief: None }, &|_| None);
    for ranks in [2, 3, 5, 9] {
        let (options, prepared, subsystem) = (options.clone(), &prepared, &[LeafIx(0)][..]);
        let report =
            OnRanks { prepared, subsystem, options, ranks, threads: 1, disorder, dir: None, told }.report();
        assert_eq!(facts(&report), facts(&expected));
        assert!(report.splits > 10, "{}", report.splits);
        let largest = report.ranks.iter().map(|rank| rank.states).max().unwrap_or(0);
        assert!(largest * (ranks as u64 - 1) < report.states * 3 / 2, "{:?}", report.ranks);
    }
}

#[test]
fn what_a_network_must_not_do_never_becomes_an_answer() {
    let (mut noticed, mut harmless) = (0, 0);
    for seed in 0..120 {
        let (net, properties, options) = random_search(seed);
        let prepared = Prepared::new(net.clone(), properties);
        let subsystem = &random_subsystem(net.leaves.len(), &mut Rng::new(seed))[..];
        let expected = run(&prepared, subsystem, &options, 1, None).expect("a report");
        if matches!(expected.answer, SlicesAnswer::Unknown(_)) {
            continue;
        }
        let number = seed / 4 % 6;
        let mischief = Some(match seed % 4 {
            0 => Mischief::Lose(number),
            1 => Mischief::Double(number),
            2 => Mischief::Damage(number),
            _ => Mischief::Late(number),
        });
        let disorder = Disorder { seed, delay: 2, mischief };
        let (prepared, told) = (&prepared, &|_| None);
        let reports =
            OnRanks { prepared, subsystem, options, ranks: 3, threads: 1, disorder, dir: None, told }
                .reports();
        let wrong = reports.iter().filter(|report| report.is_err()).count();
        assert!(wrong == 0 || wrong == reports.len(), "seed {seed}: all or none");
        for report in reports {
            match report {
                Ok(report) => {
                    assert_eq!(facts(&report), facts(&expected), "seed {seed}");
                    harmless += 1;
                }
                Err(Error::Internal(_)) => noticed += 1,
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
    }
    // Where few messages are sent, the one that is to go wrong is never sent.
    assert!(noticed > 60, "{noticed} {harmless}");
}

#[test]
fn a_search_is_resumed_by_any_number_of_ranks_or_threads() {
    let (mut found, mut resumed, mut parts) = (0, 0, 0);
    for seed in 0..40 {
        let rng = &mut Rng::new(seed);
        let (net, properties, options) = random_search(seed);
        let prepared = &Prepared::new(net.clone(), properties);
        let subsystem = &random_subsystem(net.leaves.len(), rng)[..];
        let expected = run(prepared, subsystem, &options, 1, None).expect("a report");
        if matches!(expected.answer, SlicesAnswer::Unknown(_)) {
            continue;
        }
        found += usize::from(expected.answer != SlicesAnswer::Verdict(Verdict::Holds));
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        for _ in 0..6 {
            let ranks = rng.between(1, 4);
            let report = if ranks == 1 {
                run(prepared, subsystem, &options, 1, Some(open(dir, &identity()))).expect("a report")
            } else {
                let disorder = Disorder { seed, delay: 2, mischief: None };
                let options = options.clone();
                OnRanks {
                    prepared,
                    subsystem,
                    options,
                    ranks,
                    threads: 1,
                    disorder,
                    dir: Some(dir),
                    told: &|_| None,
                }
                .report()
            };
            assert_eq!(facts(&report), facts(&expected), "seed {seed}");
            resumed += report.resumed;
            // A kill leaves files that are cut off, those of the last run at other places than they could be.
            let run = std::fs::read(dir.join("parts.json")).map_or(Vec::new(), |list| list);
            let list: Vec<serde_json::Value> = serde_json::from_slice(&run).unwrap_or_default();
            let last = list.iter().filter_map(|part| part["run"].as_u64()).max();
            for part in list.iter().filter(|part| part["run"].as_u64() == last && ranks > 1) {
                let path = dir.join(format!("results-{}-{}", part["run"], part["rank"]));
                let bytes = std::fs::read(&path).expect("a part");
                std::fs::write(&path, &bytes[..rng.below(bytes.len() + 1)]).expect("written");
                parts += 1;
            }
        }
    }
    assert!(found > 3 && resumed > 500 && parts > 50, "{found} {resumed} {parts}");
}

/// Stops after a number of questions.
fn stops_after(questions: u64) -> impl Fn(usize) -> Option<Limit> + Sync {
    let asked = AtomicU64::new(0);
    move |_| (asked.fetch_add(1, Relaxed) >= questions).then_some(Limit::Interrupted)
}

#[test]
fn limits_and_signals_end_all_ranks_and_leave_something_to_resume() {
    let prepared = &Prepared::new(synthetic::philosophers(9), []);
    let options = Options { job_memory: 20_000, ..Options::default() };
    let subsystem = &[LeafIx(1)][..];
    let expected = run(prepared, subsystem, &options, 1, None).expect("a report");
    let dir = tempfile::tempdir().expect("a directory");
    let dir = Some(dir.path());
    let disorder = Disorder { seed: 1, delay: 1, mischief: None };
    let search = |options: Options, ranks, told: Told| {
        OnRanks { prepared, subsystem, options, ranks, threads: 1, disorder, dir, told }.report()
    };
    let few = Options { max_states: Some(3_000), ..options.clone() };
    assert_eq!(search(few, 3, &|_| None).answer, SlicesAnswer::Unknown(Why::Limit(Limit::States(3_000))));
    // The memory for what must stay there is full on some rank, however much is spilled, and not at once.
    let within = |bytes: u64, spill: Option<PathBuf>| {
        search(Options { max_memory: Some(bytes), spill, ..options.clone() }, 4, &|_| None)
    };
    let is_full = |report: &SlicesReport| {
        report.activations > 0 && matches!(report.answer, SlicesAnswer::Unknown(Why::Limit(Limit::Memory(_))))
    };
    assert!((4..40).map(|n| within(n * 10_000, None)).any(|report| is_full(&report)));
    let no_disk = |report: &SlicesReport| matches!(report.answer, SlicesAnswer::Unknown(Why::Disk(_)));
    let nowhere = || Some("/does/not/exist".into());
    assert!((4..60).map(|n| within(n * 10_000, nowhere())).any(|report| no_disk(&report)));
    let stopped = search(options.clone(), 4, &stops_after(60));
    assert_eq!(stopped.answer, SlicesAnswer::Unknown(Why::Limit(Limit::Interrupted)));
    // A rank that is told of its memory is heard by all.
    let (asked, limit) = (AtomicU64::new(0), Limit::Memory(7));
    let told = |rank| (rank == 2 && asked.fetch_add(1, Relaxed) > 20).then_some(limit);
    let stopped = search(options.clone(), 4, &told);
    assert!(
        matches!(stopped.answer, SlicesAnswer::Unknown(Why::Limit(Limit::Memory(_)))),
        "{:?}",
        stopped.answer
    );
    let report = search(options.clone(), 3, &|_| None);
    assert_eq!(facts(&report), facts(&expected));
    assert!(report.resumed > 0, "{}", report.resumed);
}

#[test]
fn a_file_that_is_missing_or_damaged_is_named() {
    let prepared = &Prepared::new(synthetic::counters(3, 9), []);
    let (options, subsystem) = (Options { job_memory: 40_000, ..Options::default() }, &[LeafIx(1)][..]);
    let dir = tempfile::tempdir().expect("a directory");
    let (dir, disorder) = (Some(dir.path()), Disorder::default());
    let search = |ranks| {
        let options = options.clone();
        OnRanks { prepared, subsystem, options, ranks, threads: 1, disorder, dir, told: &|_| None }.reports()
    };
    assert!(search(3).into_iter().all(|report| report.is_ok()));
    let part = dir.expect("a place").join("results-1-2");
    let whole = std::fs::read(&part).expect("a part");
    let mut damaged = whole.clone();
    let middle = whole.len() / 2;
    damaged[middle] ^= 0x55;
    for (bytes, says) in [(None, "No such file"), (Some(damaged), "damaged at byte")] {
        match bytes {
            None => std::fs::remove_file(&part).expect("removed"),
            Some(bytes) => std::fs::write(&part, bytes).expect("written"),
        }
        for ranks in [2, 3] {
            for report in search(ranks) {
                let why = report.expect_err("it is not whole").to_string();
                assert!(why.contains(says) && why.contains("results-1-2"), "{why}");
            }
        }
        let opened = Journal::<Record>::open(dir.expect("a place"), &identity(), true).expect("a journal");
        let alone = Kept::alone(dir.expect("a place"), &identity(), true, opened)
            .and_then(|kept| run(prepared, subsystem, &options, 1, Some(kept)));
        let why = alone.expect_err("it is not whole").to_string();
        assert!(why.contains(says) && why.contains("results-1-2"), "{why}");
    }
    std::fs::write(&part, &whole).expect("written");
    let report = search(2).into_iter().next().expect("a rank").expect("a report");
    assert_eq!(report.resumed, report.activations);
}
