//! A search by parts on the grid gives the same result as the library alone: for any number of workers, answers in any order,
//! with jobs lost, and however often the run is cut off and resumed.

use gridlock_lts::base::memory::Budget;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::parts::{
    self, Account, DEFAULT_MEMBERS, Options, PartsReport, PartsStatus, Reduction, Stages, Trials,
};
use gridlock_lts::engine::search::Verdict;
use gridlock_lts::model::network::LeafIx;
use gridlock_lts::samples::random::{self, Shape};
use gridlock_manager::grid::driver::{Control, Ended};
use gridlock_manager::grid::journal::{Batch, Journal, Records};
use gridlock_manager::grid::machine::{Accepted, Machine, Next, Numbered};
use gridlock_manager::grid::wire;
use gridlock_manager::grid::work::{Grid, Work};
use gridlock_manager::parts::{Aggregations, PartsJob, PartsQuestion, Record, Trying};
use gridlock_worker::life::Life;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A network, what is asked of it, and how: now and then with a limit that leaves something to interfaces, or undecided.
fn sample(seed: u64) -> PartsQuestion {
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
    let trials = [Trials::Many, Trials::Many, Trials::Few, Trials::None][(seed / 3) as usize % 4];
    PartsQuestion { net: Arc::new(net), properties, limit, groups, stages, members, trials, budget }
}

/// The same once more, with another limit.
fn again(asked: &PartsQuestion, limit: u64) -> PartsQuestion {
    PartsQuestion {
        net: asked.net.clone(),
        properties: asked.properties.clone(),
        limit,
        groups: asked.groups.clone(),
        stages: asked.stages,
        members: asked.members,
        trials: asked.trials,
        budget: Arc::new(Budget::new(1 << 30)),
    }
}

fn machine(asked: &PartsQuestion) -> Aggregations {
    Aggregations::new(again(asked, asked.limit)).expect("no formulas")
}

type Told = (Option<Verdict>, Vec<Account>);

fn timeless(report: PartsReport) -> Told {
    let timeless = |account| Account { time: Duration::ZERO, ..account };
    (report.verdict, report.accounts.into_iter().map(timeless).collect())
}

fn told(machine: Aggregations) -> Told {
    timeless(machine.report(&|| None).expect("no fault of ours"))
}

/// The result of the library on one thread.
fn alone(asked: &PartsQuestion) -> Told {
    let options = Options {
        workers: 1,
        limit: asked.limit,
        groups: &asked.groups,
        reduction: Reduction::default(),
        stages: asked.stages,
        members: asked.members,
        trials: asked.trials,
        max_memory: 1 << 30,
        stop: &|| None,
        progress: &|_, _, _| {},
    };
    timeless(parts::check(&asked.net, &asked.properties, &options).expect("no fault of ours"))
}

fn journal(dir: &Path) -> (Journal<Record>, Records<Record>) {
    Journal::open(dir, &Vec::new(), true).expect("a journal")
}

/// Counts of the cases that the tests are about.
#[derive(Default, Debug)]
struct Seen {
    cuts: u64,
    remembered: u64,
    violated: u64,
    held: u64,
    left: u64,
}

/// Does all jobs in random order, over the wire; some are lost, some answered twice, and the run may end after some answers.
/// The next run resumes from the journal.
fn scrambled(asked: &PartsQuestion, rng: &mut Rng, cuts: bool, seen: &mut Seen) -> Told {
    let (life, dir) = (Life::default(), tempfile::tempdir().expect("a directory"));
    let work = Trying::new(Arc::new(Budget::new(1 << 30)), true);
    let mut worker = work.worker();
    loop {
        let (mut machine, (mut journal, mut records)) = (machine(asked), journal(dir.path()));
        while let Some(record) = records.next().expect("a record") {
            machine.resume(record).expect("a record");
            seen.remembered += 1;
        }
        let (mut out, mut cut) = (Vec::new(), if cuts { 3 + rng.below(20) } else { usize::MAX });
        loop {
            match machine.next() {
                Next::Job(job) => {
                    let sent: PartsJob =
                        wire::decode(&wire::encode(&job).expect("a message")).expect("the same message");
                    assert_eq!(sent, job);
                    out.push(sent);
                    if rng.percent(60) {
                        continue;
                    }
                }
                Next::Done => return told(machine),
                Next::Wait => assert!(!out.is_empty(), "nobody works, and nothing can be handed out"),
            }
            if cut == 0 {
                seen.cuts += 1;
                break;
            }
            cut -= 1;
            let job: PartsJob = out.swap_remove(rng.below(out.len()));
            if rng.percent(20) {
                assert!(machine.lost(job.number(), 0));
                continue;
            }
            let answer = worker(job, &life);
            let mut batch = Batch::default();
            machine.record(&answer, &mut batch).expect("recorded");
            journal.write(batch).expect("written");
            assert_eq!(machine.accept(answer.clone(), 0), Accepted::New);
            assert_eq!(machine.accept(answer, 1), Accepted::Duplicate);
        }
    }
}

fn slow() -> bool {
    std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1")
}

#[test]
fn any_order_and_any_cut_comes_to_the_same() {
    let networks = if slow() { 1000 } else { 200 };
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

/// Has a search done on threads, with the journal in a directory; also how many records were in it.
fn led(asked: &PartsQuestion, threads: usize, dir: &Path) -> (Told, usize) {
    let control = Control { stop: &|| false, progress: &|_: &PartsStatus| {}, page: &|_| Vec::new() };
    let (opened, mut machine) = (journal(dir), machine(asked));
    let records = opened.1.len();
    let work = Arc::new(Trying::new(asked.budget.clone(), false));
    let (ended, _) =
        Grid::threads(threads, None).lead(&mut machine, &work, Some(opened), &control).expect("led");
    assert!(matches!(ended, Ended::Done), "{ended:?}");
    (told(machine), records)
}

#[test]
fn threads_and_a_journal_come_to_the_same() {
    let mut resumed = 0;
    for seed in 0..30 {
        let (asked, dir) = (sample(seed), tempfile::tempdir().expect("a directory"));
        let expected = alone(&asked);
        assert_eq!(led(&asked, 3, dir.path()), (expected.clone(), 0), "seed {seed}");
        // The second run finds all trials in the journal, and adds nothing.
        let (told, records) = led(&asked, 1, dir.path());
        assert_eq!(told, expected, "seed {seed}, resumed");
        assert_eq!(led(&asked, 2, dir.path()), (expected, records), "seed {seed}, resumed again");
        resumed += records;
    }
    assert!(resumed > 30, "{resumed}");
}

/// With another limit there are other tasks at the same places, as there may be after one failed for lack of memory.
#[test]
fn answers_to_other_tasks_do_not_count() {
    let mut differ = 0;
    for seed in 0..100 {
        let (first, dir) = (sample(seed), tempfile::tempdir().expect("a directory"));
        for limit in [2, 5, 9, 100_000] {
            let asked = again(&first, limit);
            let expected = alone(&asked);
            let (told, records) = led(&asked, 1, dir.path());
            assert_eq!(told, expected, "seed {seed}, limit {limit}");
            differ += records;
        }
    }
    assert!(differ > 100, "{differ}");
}

#[test]
fn a_damaged_component_is_an_error() {
    let Next::Job(job) = machine(&sample(0)).next() else { panic!("there are leaves") };
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
