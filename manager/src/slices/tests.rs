//! Searches by slices against breadth-first search, on random networks.

use super::*;
use crate::grid::journal::Journal;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Packing;
use gridlock_lts::engine::prepared::Visitor;
use gridlock_lts::engine::search;
use gridlock_lts::engine::successors::{EveryStep, Steps, Via};
use gridlock_lts::property::Finding;
use gridlock_lts::property::Property;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_lts::samples::synthetic;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub(super) fn control() -> Control<'static, Progress> {
    Control { stop: &|| false, progress: &|_| {}, page: &|_| Vec::new() }
}

/// Searches with some threads.
pub(super) fn run(
    prepared: &Prepared,
    subsystem: &[LeafIx],
    options: &Options,
    workers: usize,
    kept: Option<Kept>,
) -> Result<SlicesReport> {
    check(prepared, subsystem, options, &Grid::threads(workers, None), kept, &control())
}

/// The checkpoint in a directory, for one process.
pub(super) fn open(dir: &Path, identity: &Identity) -> Kept {
    let opened = Journal::<Record>::open(dir, identity, true).expect("a journal");
    Kept::alone(dir, identity, true, opened).expect("a checkpoint")
}

fn choose(prepared: &Prepared, options: &Options, workers: usize) -> Choice {
    choose_subsystem(prepared, options, &Grid::threads(workers, None), &|| false).expect("a choice")
}

pub(super) fn random_subsystem(leaves: usize, rng: &mut Rng) -> Vec<LeafIx> {
    let count = rng.between(1, leaves.min(3));
    let mut all: Vec<LeafIx> = (0..leaves as u32).map(LeafIx).collect();
    while all.len() > count {
        all.remove(rng.below(all.len()));
    }
    all
}

fn counts(report: &SlicesReport) -> [u64; 7] {
    [
        report.states,
        report.transitions,
        report.deadlocks,
        report.activations,
        report.rounds,
        report.splits,
        report.sent,
    ]
}

/// Counts of the cases that the tests must meet.
#[derive(Default, Debug)]
struct Seen {
    holds: usize,
    found: usize,
    spilled: usize,
    split: usize,
    unknown: usize,
    /// Searches with fewer states because of a reduction.
    fewer: u64,
}

fn compare(
    net: &gridlock_lts::model::network::Network,
    properties: Vec<Property>,
    seed: u64,
    seen: &mut Seen,
) {
    let rng = &mut Rng::new(seed);
    let prepared = Prepared::new(net.clone(), properties);
    let expected = search::check(net, prepared.properties(), &search::Options::default()).expect("a report");
    let subsystem = random_subsystem(net.leaves.len(), rng);
    let reduce = (seed % 5 == 1).then_some(Keep::Verdicts);
    let expected = match reduce {
        None => expected,
        // The same verdict, and the same states as breadth first with the same steps left out.
        Some(_) => {
            let options = search::Options { reduce, ..search::Options::default() };
            let reduced = search::check(net, prepared.properties(), &options).expect("a report");
            let holds = |report: &search::Report| matches!(report.verdict, Verdict::Holds);
            assert_eq!(holds(&expected), holds(&reduced), "seed {seed}");
            seen.fewer += u64::from(reduced.stats.states < expected.stats.states);
            reduced
        }
    };
    let words = prepared.packing().words() as u64;
    let job_memory = words * [1200, 1500, 2500, 5000, 100_000][rng.below(5)];
    // So much that eight workers fit, and sometimes hardly anything besides.
    let room = [25_000, 50_000, 10_000_000][rng.below(3)];
    let reports = [1, 2, 3, 8].map(|workers| {
        let options = Options {
            job_memory,
            max_memory: Some(
                (workers as u64 * job_memory + room) * if reduce.is_some() { 40 } else { 10 } / 9,
            ),
            reduce,
            ..Options::default()
        };
        run(&prepared, &subsystem, &options, workers, None)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
    });
    for report in &reports {
        seen.spilled += usize::from(report.spilled > 0);
        seen.split += usize::from(report.splits > 0);
        match (&report.answer, &expected.verdict) {
            (SlicesAnswer::Unknown(Why::Limit(Limit::Memory(_) | Limit::JobMemory(_))), _) => {
                seen.unknown += 1;
                continue;
            }
            (SlicesAnswer::Unknown(why), _) => panic!("seed {seed}: {why:?}"),
            (SlicesAnswer::Verdict(Verdict::Holds), Verdict::Holds) => {
                let stats = &expected.stats;
                assert_eq!(
                    counts(report)[..3],
                    [stats.states, stats.transitions, stats.deadlocks],
                    "seed {seed}"
                );
                assert_eq!(report.slices.iter().map(|s| s.states).sum::<u64>(), report.states, "seed {seed}");
                seen.holds += 1;
            }
            (SlicesAnswer::Verdict(Verdict::Holds), other) => {
                panic!("seed {seed}: holds instead of {other:?}")
            }
            (SlicesAnswer::Verdict(other), Verdict::Holds) => {
                panic!("seed {seed}: {other:?} instead of holds")
            }
            _ => seen.found += 1,
        }
        if !matches!(reports[0].answer, SlicesAnswer::Unknown(_)) {
            assert_eq!(report.answer, reports[0].answer, "seed {seed}: one answer for all");
            assert_eq!(counts(report), counts(&reports[0]), "seed {seed}: one search for all");
        }
        assert!(report.job_peak <= job_memory, "seed {seed}");
    }
}

#[test]
fn same_as_breadth_first_with_any_number_of_workers() {
    let mut seen = Seen::default();
    for seed in 0..2000 {
        let shape = Shape { faults: 20, acyclic: seed % 4 == 0, ..Shape::default() };
        let net = shape.network(seed);
        let properties = if seed % 3 == 0 { Vec::new() } else { random::properties(&net, seed) };
        compare(&net, properties, seed, &mut seen);
    }
    let Seen { holds, found, spilled, split, unknown, fewer } = seen;
    assert!(fewer > 200, "{seen:?}");
    assert!(holds > 3000 && found > 1000 && spilled > 100 && split > 200, "{seen:?}");
    assert!(unknown < 600, "{seen:?}");
}

#[test]
fn larger_networks() {
    let mut seen = Seen::default();
    for seed in 0..40 {
        let shape = Shape { leaves: 8, states: 9, faults: 5, ..Shape::default() };
        let net = shape.network(seed);
        compare(&net, Vec::new(), seed, &mut seen);
    }
    assert!(seen.split > 20, "{seen:?}");
}

#[test]
fn known_numbers() {
    for (net, states) in [
        (synthetic::philosophers(7), synthetic::philosophers_states(7)),
        (synthetic::counters(4, 9), 10_000),
        (synthetic::counters(2, 300), 90_601),
    ] {
        let prepared = Prepared::new(net.clone(), []);
        for workers in [1, 3] {
            let options = Options { job_memory: 40_000, ..Options::default() };
            let report = run(&prepared, &[LeafIx(0)], &options, workers, None).expect("a report");
            assert_eq!((report.answer, report.states), (SlicesAnswer::Verdict(Verdict::Holds), states));
        }
        let prepared = Prepared::new(net.clone(), [Property::DeadlockFree { allow_termination: false }]);
        let report = run(&prepared, &[LeafIx(1)], &Options::default(), 1, None).expect("a report");
        let violated = matches!(report.answer, SlicesAnswer::Verdict(Verdict::Violated { property: 0, .. }));
        assert_eq!(violated, net.leaves[0].name.starts_with("Phil"));
    }
}

#[test]
fn slices_of_an_acyclic_subsystem_are_forgotten() {
    let (mut found, mut forgotten) = (0, 0);
    for seed in 0..300 {
        let net = Shape { acyclic: true, ..Shape::default() }.network(seed);
        let properties = random::properties(&net, seed);
        let prepared = Prepared::new(net.clone(), properties);
        let expected =
            search::check(&net, prepared.properties(), &search::Options::default()).expect("a report");
        let report = run(&prepared, &[LeafIx(0)], &Options::default(), 1, None).expect("a report");
        let SlicesAnswer::Verdict(verdict) = report.answer else { panic!("seed {seed}: unknown") };
        assert_eq!(verdict == Verdict::Holds, expected.verdict == Verdict::Holds, "seed {seed}");
        found += usize::from(verdict != Verdict::Holds && report.forgotten > 0);
        forgotten += usize::from(report.forgotten > 0);
    }
    assert!(found > 20 && forgotten > 100, "{found} found of {forgotten}");
}

#[test]
fn bounds_end_a_search_as_unknown() {
    let net = synthetic::counters(4, 9);
    let prepared = Prepared::new(net.clone(), []);
    let stopped = |options: &Options, stop: bool| {
        let control = Control { stop: &|| stop, ..control() };
        let report = check(&prepared, &[LeafIx(1)], options, &Grid::threads(2, None), None, &control);
        match report.expect("a report").answer {
            SlicesAnswer::Unknown(why) => why,
            answer => panic!("{answer:?}"),
        }
    };
    let unknown = |options: &Options| stopped(options, false);
    let options = Options::default();
    assert_eq!(
        unknown(&Options { max_states: Some(2000), ..options.clone() }),
        Why::Limit(Limit::States(2000))
    );
    assert_eq!(stopped(&options, true), Why::Limit(Limit::Interrupted));
    let few = Options { max_states: Some(10), ..options.clone() };
    assert!(run(&prepared, &[LeafIx(1)], &few, 1, None).expect("a report").states > 10);
    assert_eq!(unknown(&Options { job_memory: 10, ..options.clone() }), Why::Limit(Limit::JobMemory(10)));
    let tight = Options { job_memory: 5000, max_memory: Some(12_000), ..options.clone() };
    assert!(matches!(unknown(&tight), Why::Limit(Limit::Memory(_))));
    let spill = Some("/does/not/exist".into());
    let nowhere = Options { job_memory: 5000, max_memory: Some(60_000), spill, ..options.clone() };
    assert!(matches!(unknown(&nowhere), Why::Disk(message) if message.contains("/does/not/exist")));
    // A bound that is not reached changes nothing.
    let options = Options { max_states: Some(10_000), ..options };
    let report = run(&prepared, &[LeafIx(1)], &options, 2, None).expect("a report");
    assert_eq!(report.answer, SlicesAnswer::Verdict(Verdict::Holds));
}

#[test]
fn a_subsystem_that_divides_well_is_chosen() {
    for net in [synthetic::philosophers(6), synthetic::counters(3, 40), synthetic::queues(3, 3, 2)] {
        let prepared = Prepared::new(net.clone(), []);
        let choices = [1, 2, 5].map(|workers| {
            let options = Options { job_memory: 1 << 20, ..Options::default() };
            choose(&prepared, &options, workers)
        });
        let best = &choices[0].candidates[0];
        assert!(choices.iter().all(|choice| *choice == choices[0]), "one choice for any number of workers");
        assert!(best.slices > 3 && best.largest < 0.5, "{}", choices[0]);
        assert!(choices[0].candidates.is_sorted_by(|a, b| a.cost <= b.cost));
        assert!(choices[0].to_string().starts_with(&format!("slices by {}", best.names.join(" and "))));
        let report = run(&prepared, choices[0].leaves(), &Options::default(), 1, None).expect("a report");
        let expected = search::check(&net, &[], &search::Options::default()).expect("a report");
        assert_eq!(report.states, expected.stats.states);
    }
    // A search that may visit few states is not worth large samples.
    let prepared = Prepared::new(synthetic::counters(3, 40), []);
    let limited = Options { max_states: Some(50), ..Options::default() };
    let [large, small] = [&Options::default(), &limited].map(|options| choose(&prepared, options, 1));
    let most = |choice: &Choice| choice.candidates.iter().map(|candidate| candidate.states).max();
    assert!(most(&small) < most(&large), "{small}; {large}");
    // Findings end a sample early, and that is all.
    let net = synthetic::philosophers(6);
    let choice = choose(
        &Prepared::new(net.clone(), [Property::DeadlockFree { allow_termination: false }]),
        &Options::default(),
        1,
    );
    assert!(!choice.leaves().is_empty());
    for seed in 0..30 {
        let net = Shape { faults: 50, ..Shape::default() }.network(seed);
        let properties = random::properties(&net, seed);
        choose(&Prepared::new(net.clone(), properties), &Options::default(), 1);
    }
    let nothing = Shape { leaves: 1, states: 1, labels: 1, ..Shape::default() }.network(1);
    let prepared = Prepared::new(nothing, []);
    let choice = choose(&prepared, &Options::default(), 1);
    assert_eq!(choice.leaves(), [LeafIx(0)]);
}

/// The figures of a search, without the path to a finding.
pub(super) type Facts = (SlicesAnswer, [u64; 7], u64, u64, Vec<SliceSize>);

/// That of a report.
pub(super) fn facts(report: &SlicesReport) -> Facts {
    (report.answer.clone(), counts(report), report.loaded, report.forgotten, report.slices.clone())
}

#[test]
fn a_search_is_resumed_wherever_it_was_cut_off() {
    let (mut found, mut split, mut resumed) = (0, 0, 0);
    for seed in 0..60 {
        let rng = &mut Rng::new(seed);
        // Some are larger, so that slices are divided.
        let net = match seed % 6 {
            0 => synthetic::counters(3, 9 + seed as u32 % 5),
            _ => Shape { acyclic: seed % 4 == 1, leaves: 5, states: 6, ..Shape::default() }.network(seed),
        };
        let properties = if seed % 3 == 0 { Vec::new() } else { random::properties(&net, seed) };
        let prepared = Prepared::new(net.clone(), properties);
        let subsystem = random_subsystem(net.leaves.len(), rng);
        let words = prepared.packing().words() as u64;
        let options = |workers: usize| {
            let job_memory = words * [1500, 2500, 100_000][seed as usize % 3];
            // With little room, what is resumed is spilled, too.
            let room = if seed % 6 == 0 { 400_000 } else { 60_000 };
            let max_memory = Some((workers as u64 * job_memory + room) * 10 / 9);
            Options { job_memory, max_memory, ..Options::default() }
        };
        let expected = run(&prepared, &subsystem, &options(2), 2, None).expect("a report");
        if matches!(expected.answer, SlicesAnswer::Unknown(_)) {
            continue;
        }
        found += usize::from(expected.answer != SlicesAnswer::Verdict(Verdict::Holds));
        split += usize::from(expected.splits > 0);
        let dir = tempfile::tempdir().expect("a directory");
        let identity = vec![("seed".to_owned(), seed.to_string())];
        let open = || open(dir.path(), &identity);
        let whole = run(&prepared, &subsystem, &options(1), 1, Some(open())).expect("a report");
        assert_eq!((facts(&whole), whole.resumed), (facts(&expected), 0), "seed {seed}");
        let path = dir.path().join("journal");
        let bytes = std::fs::read(&path).expect("a journal");
        for _ in 0..8 {
            std::fs::write(&path, &bytes[..rng.below(bytes.len() + 1)]).expect("written");
            let workers = rng.between(1, 3);
            let again = run(&prepared, &subsystem, &options(workers), workers, Some(open()));
            let again = again.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(facts(&again), facts(&expected), "seed {seed}");
            assert!(again.resumed <= again.activations);
            resumed += again.resumed;
        }
        // What was made good is whole again, and nothing is left to do.
        let done = run(&prepared, &subsystem, &options(3), 3, Some(open())).expect("a report");
        assert_eq!((facts(&done), done.resumed), (facts(&expected), expected.activations), "seed {seed}");
    }
    assert!(found > 5 && split > 2 && resumed > 1000, "{found} {split} {resumed}");
}

#[test]
fn a_journal_of_another_search_is_no_crash() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || open(dir.path(), &Vec::new());
    let net = synthetic::counters(3, 9);
    let prepared = Prepared::new(net.clone(), []);
    let options = Options::default();
    run(&prepared, &[LeafIx(0)], &options, 1, Some(open())).expect("a report");
    let other = synthetic::counters(3, 7);
    let other = Prepared::new(other, []);
    let refused = run(&other, &[LeafIx(0)], &options, 1, Some(open()));
    assert!(matches!(refused, Err(Error::Input(why)) if why.contains("checkpoint")));
}

#[test]
fn a_stopped_search_keeps_what_it_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || open(dir.path(), &Vec::new());
    let net = synthetic::counters(3, 30);
    let prepared = Prepared::new(net.clone(), []);
    let options = Options { job_memory: 40_000, ..Options::default() };
    let expected = run(&prepared, &[LeafIx(1)], &options, 1, None).expect("a report");
    let (mut stops, mut most) = (0, 5_000);
    loop {
        let options = Options { max_states: Some(most), ..options.clone() };
        let control = Control { page: &|_| b"page".to_vec(), ..control() };
        let grid = Grid::threads(1, None);
        let report =
            check(&prepared, &[LeafIx(1)], &options, &grid, Some(open()), &control).expect("a report");
        assert_eq!(std::fs::read(dir.path().join("status.json")).expect("a page"), b"page");
        if report.answer == expected.answer {
            assert_eq!(facts(&report), facts(&expected));
            assert!(report.resumed > 0);
            break;
        }
        assert_eq!(report.answer, SlicesAnswer::Unknown(Why::Limit(Limit::States(most))));
        (stops, most) = (stops + 1, most + 5_000);
    }
    assert!(stops > 3);
}

/// How long a [`Balky`] system takes to answer a question, by the number of the question.
type Silence = fn(u32) -> Duration;

const FOR_EVER: Duration = Duration::MAX;

/// A system that answers some of its questions late or never.
struct Balky<S> {
    inner: Arc<S>,
    asked: AtomicU32,
    silence: Silence,
}

impl<S: EveryStep + Send> EveryStep for Balky<S> {}

impl<S: Successors + Send> Successors for Balky<S> {
    type Width = S::Width;

    fn width(&self) -> S::Width {
        self.inner.width()
    }

    fn packing(&self) -> &Packing {
        self.inner.packing()
    }

    fn initial(&self) -> Vec<u64> {
        self.inner.initial()
    }

    fn expand(&self, state: &[u64], out: &mut Steps) -> gridlock_lts::base::error::Result<()> {
        let silence = (self.silence)(self.asked.fetch_add(1, Relaxed));
        let begun = Instant::now();
        while begun.elapsed() < silence {
            std::thread::park_timeout(silence.min(Duration::from_millis(10)));
        }
        self.inner.expand(state, out)
    }

    fn dead_end(&self, state: &[u64]) -> gridlock_lts::property::DeadEnd {
        self.inner.dead_end(state)
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.inner.finding(target, via)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        self.inner.findings(source, target, via, found);
    }

    fn table_bytes(&self) -> u64 {
        self.inner.table_bytes()
    }
}

struct WithBalky<'a>(Slicing<'a>, Silence);

impl Visitor for WithBalky<'_> {
    type Out = Result<SlicesReport>;

    fn visit<S: EveryStep + Send + Sync + 'static>(self, inner: Arc<S>) -> Self::Out {
        let WithBalky(slicing, silence) = self;
        slicing.visit(Arc::new(Balky { inner, asked: AtomicU32::new(0), silence }))
    }
}

#[test]
fn a_slice_whose_thread_is_stuck_goes_to_another() {
    let net = synthetic::counters(3, 12);
    let prepared = Prepared::new(net.clone(), []);
    let options = Options::default();
    let expected = run(&prepared, &[LeafIx(0)], &options, 2, None).expect("a report");
    assert!(expected.states > 1_000);
    // Long enough that a thread which is alive gets its turn on a machine that has much to do.
    let grid = Grid::threads(2, Some(Duration::from_millis(600)));
    let (subsystem, control) = ([LeafIx(0)], control());
    let run = |silence: Silence| {
        let mut alone = Alone::default();
        let slicing = Slicing {
            prepared: &prepared,
            subsystem: &subsystem,
            options: &options,
            grid: &grid,
            ranks: &Ranks::new(&mut alone, &|| None),
            sample: None,
            kept: None,
            control: &control,
        };
        prepared.visit(WithBalky(slicing, silence)).expect("a system")
    };
    let at = |asked| if [300, 700, 701].contains(&asked) { FOR_EVER } else { Duration::ZERO };
    let report = run(at).expect("a report");
    assert_eq!(facts(&report), facts(&expected));
    // What nobody can do is an error, after some tries.
    let Err(Error::Internal(why)) = run(|_| FOR_EVER) else { panic!("it cannot be done") };
    assert!(why.contains("lost 3 times") && why.contains("no sign of life"), "{why}");
}

#[test]
fn a_thread_that_was_given_up_and_goes_on_changes_nothing() {
    let net = synthetic::counters(3, 40);
    let prepared = Prepared::new(net.clone(), []);
    let told = AtomicU64::new(0);
    let progress = |progress: &Progress| told.store(progress.states, Relaxed);
    let options = Options { job_memory: 1 << 18, ..Options::default() };
    let expected = run(&prepared, &[LeafIx(0)], &options, 2, None).expect("a report");
    assert!(expected.states > 50_000);
    // What such a thread expands is expanded by another one, too, and counts once.
    let options = Options { max_states: Some(expected.states), ..options };
    let grid = Grid::threads(2, Some(Duration::from_millis(300)));
    let control = Control { progress: &progress, ..control() };
    // They come back while others work: questions are slow, so that the search takes longer than the silence.
    let silence: Silence = |asked| match asked {
        1_500 | 3_000 | 20_000 | 40_000 => Duration::from_millis(750),
        asked if asked % 500 == 0 => Duration::from_millis(15),
        _ => Duration::ZERO,
    };
    let mut alone = Alone::default();
    let slicing = Slicing {
        prepared: &prepared,
        subsystem: &[LeafIx(0)],
        options: &options,
        grid: &grid,
        ranks: &Ranks::new(&mut alone, &|| None),
        sample: None,
        kept: None,
        control: &control,
    };
    let report = prepared.visit(WithBalky(slicing, silence)).expect("a system").expect("a report");
    assert_eq!(facts(&report), facts(&expected));
    assert!(told.load(Relaxed) <= expected.states, "{told:?} of {}", expected.states);
}
