//! Counts what many ranks send each other in a breadth-first search, without many machines.
//!
//! `cargo run --release -p gridlock-manager --example owners -- MODEL RANKS...`
//!
//! MODEL is a specification (`.mcrl2`) whose tables are complete, or `philosophers:N`, or `counters:N:K`. Ranks are threads
//! of this process, and most of them sleep, so a thousand of them need few cores. For each number of ranks the search must
//! count the same states as on one machine, or the program ends with 1. It prints lines of words, for `scripts/scale`:
//!
//!     run RANKS STATES TRANSITIONS DEPTH WORDS SENT MESSAGES BYTES MOST_MESSAGES MOST_BYTES MOST_STATES SECONDS
//!     level RANKS NUMBER SENT MESSAGES MOST_SENT MOST_MESSAGES
//!
//! WORDS is the size of a state; SENT counts states; a figure named MOST is that of the rank with most. Bytes include the
//! heads of messages.

use gridlock_lts::engine::mesh::Mesh;
use gridlock_lts::engine::mesh::local::{Disorder, LocalMesh, ranks};
use gridlock_lts::engine::search::{Options, Report, check, check_on_ranks};
use gridlock_lts::model::network::Network;
use gridlock_lts::samples::synthetic;
use std::error::Error;
use std::time::Instant;

/// Words before the states of a message.
const HEAD: u64 = 2;
/// The memory limit of each rank, which it compares with the memory of the whole process.
const MEMORY: u64 = 32 << 30;

/// Messages of one rank, and their words.
#[derive(Clone, Copy, Default)]
struct Traffic {
    messages: u64,
    words: u64,
}

/// A rank that counts what it posts, level by level: each level ends with a sum.
struct Counting {
    mesh: LocalMesh,
    now: Traffic,
    levels: Vec<Traffic>,
}

impl Mesh for Counting {
    fn rank(&self) -> usize {
        self.mesh.rank()
    }

    fn size(&self) -> usize {
        self.mesh.size()
    }

    fn has_room(&mut self, to: usize) -> bool {
        self.mesh.has_room(to)
    }

    fn post(&mut self, to: usize, message: Vec<u64>) {
        self.now.messages += 1;
        self.now.words += message.len() as u64;
        self.mesh.post(to, message);
    }

    fn take(&mut self) -> Option<(usize, Vec<u64>)> {
        self.mesh.take()
    }

    fn all_taken(&mut self) -> bool {
        self.mesh.all_taken()
    }

    fn halt(&mut self) {
        self.mesh.halt();
    }

    fn halted(&mut self) -> bool {
        self.mesh.halted()
    }

    fn scatter_sums(
        &mut self,
        mine: &[u64],
        attend: &mut dyn FnMut(Option<(usize, Vec<u64>)>) -> bool,
    ) -> Vec<u64> {
        self.levels.push(std::mem::take(&mut self.now));
        self.mesh.scatter_sums(mine, attend)
    }

    fn share(&mut self, mine: &[u64], attend: &mut dyn FnMut() -> bool) -> Vec<u64> {
        self.mesh.share(mine, attend)
    }
}

fn network(model: &str) -> Result<Network, String> {
    if model.ends_with(".mcrl2") {
        let text = std::fs::read_to_string(model).map_err(|error| format!("{model}: {error}"))?;
        let options = gridlock_lang::system::Options::default();
        let system = gridlock_lang::system::load(&text, model, &options, &mut |_| true)
            .map_err(|problems| format!("{model}: {problems:?}"))?;
        return if system.closed { Ok(system.network) } else { Err("the tables are not complete".into()) };
    }
    let numbers: Vec<u32> = model.split(':').skip(1).filter_map(|part| part.parse().ok()).collect();
    match (model.split(':').next(), &numbers[..]) {
        (Some("philosophers"), &[n]) => Ok(synthetic::philosophers(n)),
        (Some("counters"), &[n, k]) => Ok(synthetic::counters(n, k)),
        _ => Err(format!("no such model: {model}")),
    }
}

/// The search on `size` ranks: the report of one of them, and what each sent in each level.
fn simulate(net: &Network, size: usize) -> Result<(Report, Vec<Vec<Traffic>>), String> {
    let options = Options { max_memory: Some(MEMORY), ..Options::default() };
    let results: Vec<_> = std::thread::scope(|scope| {
        let options = &options;
        let start = |mesh| {
            scope.spawn(move || {
                let mut mesh = Counting { mesh, now: Traffic::default(), levels: Vec::new() };
                check_on_ranks(net, &[], options, &mut mesh).map(|report| (report, mesh.levels))
            })
        };
        let threads: Vec<_> = ranks(size, Disorder::default()).into_iter().map(start).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a rank has panicked".to_owned()))
            .collect()
    });
    let mut levels = Vec::new();
    let mut report = None;
    for result in results {
        let (theirs, sent) = result?.map_err(|error| error.to_string())?;
        levels.push(sent);
        report = Some(theirs);
    }
    Ok((report.ok_or("there are no ranks")?, levels))
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, sizes @ ..] = &args[..] else { return Err("MODEL RANKS...".into()) };
    let net = network(model)?;
    let one = check(&net, &[], &Options::default()).map_err(|error| error.to_string())?;
    for size in sizes {
        let size: usize = size.parse().map_err(|_| format!("RANKS is a number, not {size}"))?;
        let begun = Instant::now();
        let (report, sent) = simulate(&net, size)?;
        let counts = |r: &Report| [r.stats.states, r.stats.transitions, r.stats.depth, r.stats.deadlocks];
        if (&report.verdict, counts(&report)) != (&one.verdict, counts(&one)) {
            return Err(format!("{size} ranks count {:?}, one {:?}", report.stats, one.stats).into());
        }
        let states_sent: u64 = report.ranks.iter().map(|rank| rank.states_sent).sum();
        let bytes_sent: u64 = report.ranks.iter().map(|rank| rank.bytes_sent).sum();
        let words = (bytes_sent / 8).checked_div(states_sent).unwrap_or(1);
        let states = |level: &Traffic| (level.words - HEAD * level.messages) / words;
        let depth = sent.iter().map(Vec::len).max().unwrap_or(0);
        for level in 0..depth {
            let of_ranks = || sent.iter().filter_map(|levels| levels.get(level));
            println!(
                "level {size} {level} {} {} {} {}",
                of_ranks().map(states).sum::<u64>(),
                of_ranks().map(|level| level.messages).sum::<u64>(),
                of_ranks().map(states).max().unwrap_or(0),
                of_ranks().map(|level| level.messages).max().unwrap_or(0),
            );
        }
        let total =
            |of: fn(&Traffic) -> u64| sent.iter().map(move |levels| levels.iter().map(of).sum::<u64>());
        let [states, transitions, depth, _] = counts(&report);
        println!(
            "run {size} {states} {transitions} {depth} {words} {states_sent} {} {} {} {} {} {:.2}",
            total(|level| level.messages).sum::<u64>(),
            total(|level| 8 * level.words).sum::<u64>(),
            total(|level| level.messages).max().unwrap_or(0),
            total(|level| 8 * level.words).max().unwrap_or(0),
            report.ranks.iter().map(|rank| rank.states).max().unwrap_or(0),
            begun.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}
