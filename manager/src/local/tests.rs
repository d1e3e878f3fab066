//! Obligations on the grid give the same result as on one thread: for any number of workers, answers in any order, with jobs
//! lost, and however often the run is cut off and resumed.

use super::*;
use crate::grid::driver::{Control, Ended};
use crate::grid::journal::Journal;
use crate::grid::work::Grid;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::local::check;
use gridlock_lts::samples::random::{self, Shape};
use std::time::Duration;

const SPEND: Spend = Spend { limit: 5_000, tries: 200, pairs: 20_000, marking: true };

fn sample(seed: u64) -> (Arc<Network>, Arc<[Property]>) {
    // Many leaves that do little with each other, or few with faults.
    let shape = match seed % 2 {
        0 => Shape { leaves: 8, states: 3, labels: 3, moves: 40, vectors: 1, ..Shape::default() },
        _ => Shape { faults: 20, ..Shape::default() },
    };
    let net = shape.network(seed);
    let properties = random::properties(&net, seed).into();
    (Arc::new(net), properties)
}

type Told = (Vec<Account>, Option<(u32, TaskEnd)>);

fn timeless((accounts, end): Told) -> Told {
    let timeless = |account| Account { time: Duration::ZERO, ..account };
    (accounts.into_iter().map(timeless).collect(), end)
}

fn deciding(net: &Arc<Network>, properties: &Arc<[Property]>) -> Arc<Deciding> {
    Arc::new(Deciding::new(net.clone(), properties.clone(), SPEND, 1 << 30).expect("no formulas"))
}

/// Decides all jobs in random order; some are lost, some answered twice, and the run may end after some answers. The
/// next run resumes from the records written so far.
fn scrambled(work: &Deciding, rng: &mut Rng, cuts: bool) -> Told {
    let (life, mut records) = (Life::default(), Vec::<Record>::new());
    loop {
        let mut machine = Obligations::new(work.setting.obligations());
        records.iter().for_each(|record| machine.resume(record.clone()).expect("a record"));
        let (mut out, mut cut) = (Vec::new(), if cuts { rng.below(6) } else { usize::MAX });
        loop {
            match machine.next() {
                Next::Job(job) => {
                    out.push(job);
                    if rng.percent(60) {
                        continue;
                    }
                }
                Next::Done => return machine.end(),
                Next::Wait => assert!(!out.is_empty(), "nobody works, and nothing can be handed out"),
            }
            if cut == 0 {
                break;
            }
            cut -= 1;
            let job: LocalJob = out.swap_remove(rng.below(out.len()));
            if rng.percent(20) {
                assert!(machine.lost(job.number, 0));
                continue;
            }
            let answer = work.answer(job, &life);
            let mut batch = Batch::default();
            machine.record(&answer, &mut batch).expect("recorded");
            if batch.records() > 0 {
                let place = machine.placed.get(answer.number).expect("a job").0.clone();
                records.push(Record { place, answered: answer.answered.clone() });
            }
            assert_eq!(machine.accept(answer.clone(), 0), Accepted::New);
            assert_eq!(machine.accept(answer, 1), Accepted::Duplicate);
        }
    }
}

#[test]
fn any_order_and_any_cut_comes_to_the_same() {
    let networks = if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 2000 } else { 300 };
    // Splits are rare in random networks; the tests of the program have those of two-phase commit.
    let (mut violated, mut held) = (0u64, 0u64);
    for seed in 0..networks {
        let (net, properties) = sample(seed);
        let work = deciding(&net, &properties);
        let options = Options {
            workers: 1,
            limit: SPEND.limit,
            tries: SPEND.tries,
            pairs: SPEND.pairs,
            marking: SPEND.marking,
            max_memory: 1 << 30,
            stop: &|| None,
            progress: &|_, _| {},
        };
        let alone = check(&net, &properties, &options).expect("no fault of ours");
        if alone.accounts.is_empty() {
            // It is violated before the first step, which no job is needed for.
            continue;
        }
        let mut rng = Rng::new(seed);
        let one = timeless(scrambled(&work, &mut rng, false));
        assert_eq!(one.0, timeless((alone.accounts, None)).0, "seed {seed}");
        assert_eq!(one, timeless(scrambled(&work, &mut rng, true)), "seed {seed}");
        violated += u64::from(matches!(one.1, Some((_, TaskEnd::Run(_)))));
        held += u64::from(one.1.is_none());
    }
    assert!(violated > networks / 10 && held > networks / 20, "{violated} violated, {held} hold");
}

#[test]
fn threads_and_a_journal_come_to_the_same() {
    let control = Control { stop: &|| false, progress: &|_: &LocalStatus| {}, page: &|_| Vec::new() };
    for seed in 0..20 {
        let (net, properties) = sample(2 * seed);
        let work = deciding(&net, &properties);
        if work.setting.obligations() == 0 {
            continue;
        }
        let expected = timeless(scrambled(&work, &mut Rng::new(seed), false));
        let dir = tempfile::tempdir().expect("a directory");
        let identity = vec![("seed".to_owned(), seed.to_string())];
        // The second run finds everything in the journal.
        for (threads, resume) in [(3, false), (1, true)] {
            let opened = Journal::open(dir.path(), &identity, resume).expect("a journal");
            let mut machine = Obligations::new(work.setting.obligations());
            let (ended, _) =
                Grid::threads(threads, None).lead(&mut machine, &work, Some(opened), &control).expect("led");
            assert!(matches!(ended, Ended::Done), "{ended:?}");
            assert_eq!(machine.made_and_done().0 == 0, resume, "seed {seed}");
            assert_eq!(timeless(machine.end()), expected, "seed {seed}, {threads} threads");
        }
    }
}
