//! Interrupted and resumed searches against those that were not: everything is the same, and what is not whole is refused.

use super::*;
use crate::base::error::Limit;
use crate::base::rng::Rng;
use crate::engine::lazy::Lazy;
use crate::engine::mesh::local::Disorder;
use crate::engine::reduce::Keep;
use crate::engine::search::owned::tests::{on_ranks, same, slow};
use crate::engine::search::{
    Options, Report, Verdict, check, check_on_demand, check_on_demand_on_ranks, check_on_ranks,
};
use crate::model::network::Network;
use crate::property::Property;
use crate::samples::random::{self, Shape};
use crate::samples::synthetic;
use std::fs;

/// A directory in memory if there is such a place: tests have nothing to lose, and disks are slow to promise.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Remembers every checkpoint.
#[derive(Default)]
struct Memory {
    saved: Mutex<Vec<Saved>>,
    lost: Mutex<Vec<Error>>,
    /// After this number of writes every further one fails.
    most: Option<usize>,
}

impl Keeper for Memory {
    fn commit(&self, saved: &Saved) -> Result<()> {
        let mut all = self.saved.lock().unwrap();
        if self.most == Some(all.len()) {
            return Err(Error::disk("no space left"));
        }
        all.push(saved.clone());
        Ok(())
    }

    fn lost(&self, why: &Error) {
        self.lost.lock().unwrap().push(why.clone());
    }

    fn tell(&self, ranks: Vec<RankStats>) {
        let saved = self.last().map_or(0, |saved| saved.states);
        let states: u64 = ranks.iter().map(|rank| rank.states).sum();
        assert!(states >= saved, "{ranks:?} after {saved} states were saved");
    }
}

impl Memory {
    fn last(&self) -> Option<Saved> {
        self.saved.lock().unwrap().last().cloned()
    }
}

/// On what a search runs.
#[derive(Clone, Copy, Debug)]
enum Who {
    Threads(usize),
    Ranks(usize, usize),
}

impl Who {
    fn random(rng: &mut Rng) -> Self {
        match rng.percent(40) {
            true => Who::Threads(rng.between(1, 3)),
            false => Who::Ranks(rng.between(1, 9), rng.between(1, 2)),
        }
    }

    fn workers(self) -> usize {
        match self {
            Who::Threads(n) | Who::Ranks(_, n) => n,
        }
    }
}

/// What is searched.
#[derive(Clone, Copy)]
struct Asked<'a> {
    net: &'a Network,
    properties: &'a [Property],
    on_demand: bool,
}

impl Asked<'_> {
    fn search(&self, options: &Options, who: Who, seed: u64) -> Result<Report> {
        let options = &Options { workers: who.workers(), ..*options };
        let disorder = Disorder { seed, delay: seed as usize % 7, mischief: None };
        let lazily = |search: &mut dyn FnMut(&Lazy) -> Result<Report>| {
            let (net, source) = random::Reveal::new(self.net.clone());
            search(&Lazy::new(net, Box::new(source), self.properties).expect("has initial states"))
        };
        match (who, self.on_demand) {
            (Who::Threads(_), false) => check(self.net, self.properties, options),
            (Who::Threads(_), true) => lazily(&mut |lazy| check_on_demand(lazy, options)),
            (Who::Ranks(n, _), false) => {
                on_ranks(n, disorder, |mesh| check_on_ranks(self.net, self.properties, options, mesh))
            }
            (Who::Ranks(n, _), true) => on_ranks(n, disorder, |mesh| {
                lazily(&mut |lazy| check_on_demand_on_ranks(lazy, options, mesh))
            }),
        }
    }
}

fn checkpoint<'a>(dir: &'a Path, resume: Option<&'a Saved>, keeper: &'a Memory) -> Checkpoint<'a> {
    Checkpoint { dir, print: 77, resume, every: Duration::ZERO, keeper }
}

/// Interrupts a search at random levels, by limits and by kills, and goes on with other numbers of ranks and threads.
fn interrupted(asked: Asked, options: &Options, rng: &mut Rng, what: &str) -> u32 {
    let one = asked.search(options, Who::Threads(1), 0).expect("a report");
    let dir = directory();
    let (mut resume, mut bound, mut times): (Option<Saved>, u64, u32) = (None, 0, 0);
    loop {
        bound += rng.between(1, 2) as u64;
        let last = times > 6;
        let (who, keeper) = (Who::random(rng), Memory::default());
        let mut place = checkpoint(dir.path(), resume.as_ref(), &keeper);
        if rng.percent(50) {
            place.every = Duration::MAX;
        }
        let options = match rng.below(3) {
            _ if last => *options,
            0 => Options { max_states: Some(3 * bound * bound), ..*options },
            _ => Options { max_depth: Some(bound), ..*options },
        };
        let options = Options { checkpoint: Some(&place), ..options };
        let report = asked.search(&options, who, rng.bits()).expect("a report");
        assert!(keeper.lost.lock().unwrap().is_empty(), "{what}: {:?}", keeper.lost);
        if !matches!(report.verdict, Verdict::Unknown(_)) {
            if options.max_states.is_none_or(|most| one.stats.states <= most) {
                same(&one, &report, &format!("{what}, {who:?} after {times} interruptions"));
                return times;
            }
            // What is found in the level that reaches the limit counts, though not all states of that level are there.
            assert_ne!(report.verdict, Verdict::Holds, "{what}");
        }
        times += 1;
        let saved = keeper.saved.into_inner().unwrap();
        if let Some(last) = saved.last() {
            // A kill: the files may have more in them than what counts.
            let kept = if rng.percent(30) { saved.get(rng.below(saved.len())) } else { Some(last) };
            resume = kept.cloned();
        }
        if let Some(saved) = &resume {
            assert_eq!(saved.files.iter().map(|file| file.states).sum::<u64>(), saved.states, "{what}");
        }
    }
}

#[test]
fn interrupted_searches_come_to_the_same() {
    let shape = Shape { faults: 60, ..Shape::default() };
    let mut times = 0;
    for seed in 0..if slow() { 2000 } else { 150 } {
        let rng = &mut Rng::new(seed);
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let reduce = [Some(Keep::Verdicts), Some(Keep::Lengths), None, None][seed as usize % 4];
        let options = Options { reduce, ..Options::default() };
        let asked = Asked { net: &net, properties: &properties, on_demand: false };
        times += interrupted(asked, &options, rng, &format!("seed {seed}"));
    }
    assert!(times > 100, "searches must be interrupted: {times}");
}

/// Numbers of local states depend on the order in which tables are filled, and states on those numbers.
#[test]
fn tables_on_demand_are_filled_as_the_first_time() {
    let shape = Shape { faults: 20, ..Shape::default() };
    let mut times = 0;
    for seed in 0..if slow() { 600 } else { 80 } {
        let rng = &mut Rng::new(seed);
        let net = shape.network(seed);
        let properties = random::properties(&net, seed);
        let asked = Asked { net: &net, properties: &properties, on_demand: true };
        times += interrupted(asked, &Options::default(), rng, &format!("seed {seed}"));
    }
    assert!(times > 50, "searches must be interrupted: {times}");
}

/// Levels of one state, depths that are not exact, and a trace that is found by searching forwards.
#[test]
fn long_thin_systems_and_traces() {
    let deadlock = [Property::DeadlockFree { allow_termination: false }];
    for (net, seed) in [(synthetic::counters(1, 90), 1), (synthetic::philosophers(6), 2)] {
        let asked = Asked { net: &net, properties: &deadlock, on_demand: false };
        interrupted(asked, &Options::default(), &mut Rng::new(seed), "synthetic");
    }
}

/// A checkpoint of some levels by three ranks, resumed once by two.
fn example(dir: &Path, net: &Network) -> Saved {
    let first = Memory::default();
    let asked = Asked { net, properties: &[], on_demand: false };
    let search = |place: &Checkpoint, depth, who| {
        let options = Options { max_depth: Some(depth), checkpoint: Some(place), ..Options::default() };
        let report = asked.search(&options, who, 3).expect("a report");
        assert_eq!(report.verdict, Verdict::Unknown(Limit::Depth(depth)));
    };
    search(&checkpoint(dir, None, &first), 5, Who::Ranks(3, 1));
    let (saved, second) = (first.last().expect("a checkpoint"), Memory::default());
    search(&checkpoint(dir, Some(&saved), &second), 9, Who::Ranks(2, 1));
    let saved = second.last().expect("a checkpoint");
    assert!(saved.files.len() > 3 && saved.generation == 2, "{saved:?}");
    saved
}

/// Resumes without limits.
fn resume(dir: &Path, saved: &Saved, print: u64, net: &Network, who: Who) -> Result<Report> {
    let keeper = Memory::default();
    let place = Checkpoint { print, ..checkpoint(dir, Some(saved), &keeper) };
    let options = Options { checkpoint: Some(&place), ..Options::default() };
    Asked { net, properties: &[], on_demand: false }.search(&options, who, 5)
}

#[test]
fn damaged_missing_and_foreign_files_are_named() {
    let net = synthetic::counters(3, 6);
    let one = check(&net, &[], &Options::default()).expect("a report");
    let dir = directory();
    let saved = example(dir.path(), &net);
    let rng = &mut Rng::new(9);
    let whole = resume(dir.path(), &saved, 77, &net, Who::Ranks(3, 1)).expect("a report");
    same(&one, &whole, "nothing is damaged");
    let mut noticed = 0;
    for _ in 0..if slow() { 2000 } else { 150 } {
        let file = &saved.files[rng.below(saved.files.len())];
        let (path, who) = (dir.path().join(&file.name), Who::random(rng));
        let content = fs::read(&path).expect("a file");
        let counts = file.bytes as usize;
        let kind = rng.below(4);
        match kind {
            0 => fs::remove_file(&path).expect("removed"),
            1 => fs::write(&path, &content[..rng.below(counts)]).expect("written"),
            2 => {
                let mut flipped = content.clone();
                flipped[rng.below(counts)] ^= 1 << rng.below(8);
                fs::write(&path, &flipped).expect("written");
            }
            _ => {
                let other = &saved.files[rng.below(saved.files.len())];
                fs::copy(dir.path().join(&other.name), &path).expect("copied");
            }
        }
        let result = resume(dir.path(), &saved, 77, &net, who);
        fs::write(&path, &content).expect("written");
        match result {
            Err(Error::Input(why)) => {
                assert!(why.contains(&file.name), "{why}");
                let word = ["missing", "damaged", "damaged", "checkpoint"][kind];
                assert!(why.contains(word) && why.contains("directory"), "{why}");
                noticed += 1;
            }
            // A file that was copied to itself.
            Ok(report) if kind == 3 => same(&one, &report, "copied"),
            other => panic!("{kind} {other:?}"),
        }
    }
    assert!(noticed > 110, "{noticed}");
    let why = resume(dir.path(), &saved, 78, &net, Who::Threads(2)).expect_err("another run");
    assert!(why.to_string().contains("is a file of another checkpoint"), "{why}");
}

/// A checkpoint that is not what it says it is: every number counts.
#[test]
fn what_does_not_add_up_is_refused() {
    let net = synthetic::counters(3, 6);
    let dir = directory();
    let saved = example(dir.path(), &net);
    let wrong: [&dyn Fn(&mut Saved); 10] = [
        &|s| s.states += 1,
        &|s| s.states -= 1,
        &|s| s.frontier += 1,
        &|s| s.depth -= 1,
        &|s| s.depth += 1,
        &|s| s.words += 1,
        &|s| drop(s.files.pop()),
        &|s| s.files[0].blocks -= 1,
        &|s| s.files[1].heads ^= 1,
        &|s| s.files[0].first += 1,
    ];
    for (k, change) in wrong.iter().enumerate() {
        let mut changed = saved.clone();
        change(&mut changed);
        for who in [Who::Threads(2), Who::Ranks(3, 1)] {
            let result = resume(dir.path(), &changed, 77, &net, who);
            assert!(matches!(&result, Err(Error::Input(_))), "{k}: {result:?}");
        }
    }
    // Ranks that see different checkpoints get an error that says so.
    let keeper = Memory::default();
    let mut other = saved.clone();
    other.transitions += 1;
    let result = on_ranks(3, Disorder::default(), |mesh| {
        let resume = if mesh.rank() == 2 { &other } else { &saved };
        let place = checkpoint(dir.path(), Some(resume), &keeper);
        check_on_ranks(&net, &[], &Options { checkpoint: Some(&place), ..Options::default() }, mesh)
    });
    let why = result.expect_err("they differ").to_string();
    assert!(why.contains("rank 2 sees another checkpoint"), "{why}");
}

/// A disk that fails costs the checkpoint, not the verdict, and what was written before can be resumed.
#[test]
fn a_disk_that_fails_costs_no_verdict() {
    let net = synthetic::counters(3, 6);
    let one = check(&net, &[], &Options::default()).expect("a report");
    for who in [Who::Threads(2), Who::Ranks(3, 1)] {
        // There is no such directory.
        let (dir, keeper) = (directory(), Memory::default());
        let asked = Asked { net: &net, properties: &[], on_demand: false };
        let none = dir.path().join("none");
        let place = checkpoint(&none, None, &keeper);
        let options = Options { checkpoint: Some(&place), ..Options::default() };
        same(&one, &asked.search(&options, who, 1).expect("a report"), "no directory");
        let lost = keeper.lost.into_inner().unwrap();
        assert!(matches!(&lost[0], Error::Disk(why) if why.contains("levels-001-0000")), "{lost:?}");
        // It is full after four checkpoints.
        let keeper = Memory { most: Some(4), ..Memory::default() };
        let place = checkpoint(dir.path(), None, &keeper);
        let options = Options { checkpoint: Some(&place), ..Options::default() };
        same(&one, &asked.search(&options, who, 1).expect("a report"), "a full disk");
        assert!(!keeper.lost.lock().unwrap().is_empty());
        let saved = keeper.last().expect("a checkpoint");
        same(&one, &resume(dir.path(), &saved, 77, &net, Who::Threads(1)).expect("a report"), "resumed");
    }
}

/// Memory that is not enough: what is in the checkpoint is resumed where there is more, by more ranks.
#[test]
fn a_search_without_memory_is_resumed_where_there_is_more() {
    let net = synthetic::counters(4, 9);
    let one = check(&net, &[], &Options::default()).expect("a report");
    for who in [Who::Threads(2), Who::Ranks(2, 1)] {
        let (dir, keeper) = (directory(), Memory::default());
        let place = Checkpoint { every: Duration::MAX, ..checkpoint(dir.path(), None, &keeper) };
        let options = Options { max_memory: Some(90_000), checkpoint: Some(&place), ..Options::default() };
        let asked = Asked { net: &net, properties: &[], on_demand: false };
        let report = asked.search(&options, who, 1).expect("a report");
        assert_eq!(report.verdict, Verdict::Unknown(Limit::Memory(90_000)));
        let saved = keeper.last().expect("a checkpoint");
        assert!(saved.states > 50, "{saved:?}");
        let again = resume(dir.path(), &saved, 77, &net, Who::Ranks(5, 1)).expect("a report");
        same(&one, &again, "with more memory");
    }
}
