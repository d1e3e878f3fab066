//! A search by parts on the grid comes to what the library comes to alone: for any number of workers, whoever answers first,
//! with jobs lost, and however often the run is cut off and resumed.

use super::*;
use crate::grid::driver::{Control, Ended};
use crate::grid::journal::Journal;
use crate::grid::work::Grid;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::parts::{self, Account, DEFAULT_MEMBERS, Options};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::samples::random::{self, Shape};
use std::time::Duration;

/// A network, what is asked of it, and how: now and then with a limit that leaves something to interfaces, or undecided.
fn sample(seed: u64) -> Asked {
    let shape = match seed % 3 {
        0 => Shape { leaves: 6, states: 3, labels: 3, moves: 60, vectors: 1, ..Shape::default() },
        1 => Shape { faults: 20, ..Shape::default() },
        _ => Shape::default(),
    };
    let net = shape.network(seed);
    let properties = random::properties(&net, seed).into();
    let limit = if seed % 4 == 3 { 1 + seed % 5 } else { 100_000 };
    let stages = [Stages::All, Stages::All, Stages::Interfaces][seed as usize % 3];
    let members = if seed.is_multiple_of(7) { 2 } else { DEFAULT_MEMBERS };
    let groups = match net.leaves.len() {
        n if n > 2 && seed % 5 == 4 => vec![vec![LeafIx(0), LeafIx(n as u32 - 1)]],
        _ => Vec::new(),
    };
    let budget = Arc::new(Budget::new(1 << 30));
    Asked { net: Arc::new(net), properties, limit, groups, stages, members, budget }
}

type Told = (Option<Verdict>, Vec<Account>);

fn timeless(report: Report) -> Told {
    let timeless = |account| Account { time: Duration::ZERO, ..account };
    (report.verdict, report.accounts.into_iter().map(timeless).collect())
}

/// What the library comes to on one thread.
fn alone(asked: &Asked) -> Told {
    let options = Options {
        workers: 1,
        limit: asked.limit,
        groups: &asked.groups,
        reduction: Reduction::default(),
        stages: asked.stages,
        members: asked.members,
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _, _| {},
    };
    timeless(parts::check(&asked.net, &asked.properties, &options).expect("no fault of ours"))
}

fn again(asked: &Asked) -> Asked {
    Asked {
        net: asked.net.clone(),
        properties: asked.properties.clone(),
        groups: asked.groups.clone(),
        budget: Arc::new(Budget::new(1 << 30)),
        ..*asked
    }
}

/// How often something happened that the tests are about.
#[derive(Default, Debug)]
struct Seen {
    cuts: u64,
    remembered: u64,
    violated: u64,
    held: u64,
    left: u64,
}

/// Does all jobs in random order, over the wire; some are lost, some answered twice, and the run may end after some answers.
/// What the journal has by then goes on in the next one.
fn scrambled(asked: &Asked, rng: &mut Rng, cuts: bool, seen: &mut Seen) -> Told {
    let (life, mut records) = (Life::default(), Vec::<Record>::new());
    let work = Trying::new(Arc::new(Budget::new(1 << 30)), true);
    loop {
        let mut machine = Aggregations::new(again(asked)).expect("no formulas");
        records.iter().for_each(|record| machine.resume(record.clone()).expect("a record"));
        seen.remembered += records.len() as u64;
        let (mut out, mut cut) = (Vec::new(), if cuts { 3 + rng.below(20) } else { usize::MAX });
        loop {
            match machine.next() {
                Next::Job(job) => {
                    let bytes = wire::encode(&job).expect("a message");
                    let sent: PartsJob = wire::decode(&bytes).expect("the same message");
                    assert_eq!(sent, job);
                    out.push(sent);
                    if rng.percent(60) {
                        continue;
                    }
                }
                Next::Done => return timeless(machine.report(&|| None).expect("no fault of ours")),
                Next::Wait => assert!(!out.is_empty(), "nobody works, and nothing can be handed out"),
            }
            if cut == 0 {
                seen.cuts += 1;
                break;
            }
            cut -= 1;
            let job: PartsJob = out.swap_remove(rng.below(out.len()));
            if rng.percent(20) {
                assert!(machine.lost(job.number, 0));
                continue;
            }
            let answer = work.answer(&job, &life);
            if let Some(record) = machine.kept(&answer) {
                let bytes = wire::encode(&record).expect("a record");
                records.push(wire::decode(&bytes).expect("the same record"));
            }
            assert_eq!(machine.accept(answer.clone(), 0), Accepted::New);
            assert_eq!(machine.accept(answer, 1), Accepted::Duplicate);
        }
    }
}

#[test]
fn any_order_and_any_cut_comes_to_the_same() {
    let networks = if std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1") { 2000 } else { 300 };
    let mut seen = Seen::default();
    for seed in 0..networks {
        let asked = sample(seed);
        let expected = alone(&asked);
        let mut rng = Rng::new(seed);
        assert_eq!(scrambled(&asked, &mut rng, false, &mut seen), expected, "seed {seed}");
        assert_eq!(scrambled(&asked, &mut rng, true, &mut seen), expected, "seed {seed}, with cuts");
        match expected.0 {
            Some(Verdict::Holds) => seen.held += 1,
            Some(_) => seen.violated += 1,
            None => seen.left += 1,
        }
    }
    assert!(
        seen.cuts > networks / 4
            && seen.remembered > networks
            && seen.violated > networks / 10
            && seen.held > networks / 20
            && seen.left > networks / 50,
        "{seen:?} of {networks}"
    );
}

#[test]
fn threads_and_a_journal_come_to_the_same() {
    let control = Control { stop: &|| false, progress: &|_: &Status| {}, page: &|_| Vec::new() };
    let mut resumed = 0;
    for seed in 0..30 {
        let asked = sample(seed);
        let expected = alone(&asked);
        let dir = tempfile::tempdir().expect("a directory");
        let identity = vec![("seed".to_owned(), seed.to_string())];
        // The second run finds all trials in the journal.
        for (threads, resume) in [(3, false), (1, true)] {
            let opened: (_, crate::grid::journal::Records<Record>) =
                Journal::open(dir.path(), &identity, resume).expect("a journal");
            let records = opened.1.len();
            resumed += records;
            let asked = again(&asked);
            let work = Arc::new(Trying::new(asked.budget.clone(), false));
            let mut machine = Aggregations::new(asked).expect("no formulas");
            let grid = Grid::threads(threads, None);
            let (ended, _) = grid.lead(&mut machine, &work, Some(opened), &control).expect("led");
            assert!(matches!(ended, Ended::Done), "{ended:?}");
            let out = machine.made_and_done().0;
            assert!(!resume || records == 0 || machine.known.is_empty(), "seed {seed}: {out} jobs");
            let told = timeless(machine.report(&|| None).expect("no fault of ours"));
            assert_eq!(told, expected, "seed {seed}, {threads} threads");
        }
    }
    assert!(resumed > 30, "{resumed}");
}

#[test]
fn answers_to_other_tasks_do_not_count() {
    let (life, mut compared) = (Life::default(), 0);
    for seed in 0..60 {
        let asked = sample(seed);
        let expected = alone(&asked);
        let work = Trying::new(Arc::new(Budget::new(1 << 30)), true);
        // As if an earlier run had come to other tasks at the same places.
        let mut other = Aggregations::new(again(&asked)).expect("no formulas");
        let mut machine = Aggregations::new(again(&asked)).expect("no formulas");
        while let Next::Job(job) = other.next() {
            let answer = work.answer(&job, &life);
            if let Some(record) = other.kept(&answer) {
                machine.resume(Record { print: !record.print, ..record }).expect("a record");
                compared += 1;
            }
            other.accept(answer, 0);
        }
        let known = machine.known.len();
        while let Next::Job(job) = machine.next() {
            let answer = work.answer(&job, &life);
            machine.accept(answer, 0);
        }
        assert_eq!(machine.known.len(), known, "seed {seed}");
        assert_eq!(timeless(machine.report(&|| None).expect("no fault of ours")), expected, "seed {seed}");
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn a_damaged_component_is_an_error() {
    let asked = sample(0);
    let mut machine = Aggregations::new(asked).expect("no formulas");
    let Next::Job(job) = machine.next() else { panic!("there are leaves") };
    let bytes = wire::encode(&job).expect("a message");
    for end in 0..bytes.len() {
        assert!(wire::decode::<PartsJob>(&bytes[..end]).is_err());
    }
    let rng = &mut Rng::new(1);
    for _ in 0..5_000 {
        let mut broken = bytes.clone();
        let at = rng.below(broken.len());
        broken[at] = rng.bits() as u8;
        // Whatever comes out, it comes out.
        let _ = wire::decode::<PartsJob>(&broken);
    }
}
