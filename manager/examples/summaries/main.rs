//! Measures the gain when searches report expanded states to each other, without many machines.
//!
//! `cargo run --release -p gridlock-manager --example summaries -- MODEL EXPANSIONS DELAY TOLD POLICY WORKERS...`
//!
//! Workers are virtual: in a turn each expands one state, until each had EXPANSIONS turns. POLICY is
//!
//! - `fixed`: no worker reports states; steps are taken in their own order;
//! - `random`: the same in random order;
//! - `shared`: random order, and a worker reports each state that it expands: the others know it DELAY turns later;
//! - `stealing`: the same, and a worker without states takes the older half of the states of another: of two others, the one
//!   with more;
//! - `member`: the member `prefix` of a hunt as it is. A turn is a state, an answer arrives when its job is through, the
//!   first jobs have DELAY states, and the window is that of WORKERS workers.
//!
//! One state in TOLD is reported (1: all of them). MODEL is a specification; if its tables cannot be completed they are
//! filled as needed. The program prints lines of words, for `scripts/tables`:
//!
//!     run POLICY WORKERS TURNS UNIQUE EXPANDED IDLE KEYS
//!
//! UNIQUE are different states that were expanded (of `member`, give or take 1.6 %), EXPANDED all of them, IDLE the turns in
//! which a worker had nothing to do, KEYS the states that were reported. Of `member`, answers that have not arrived after the
//! last turn do not count.

mod member;
mod turns;

use gridlock_lts::engine::lazy::Lazy;
use gridlock_lts::engine::prepared::{Prepared, Visitor};
use gridlock_lts::engine::successors::Successors;
use gridlock_manager::hunt::run::Searched;
use std::error::Error;
use std::sync::Arc;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
struct Scene {
    workers: usize,
    /// Turns of each worker.
    turns: u64,
    /// Turns until the other workers know a reported state.
    delay: u64,
    /// One state in this many is reported.
    told: u64,
}

/// The figures of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Score {
    turns: u64,
    unique: u64,
    expanded: u64,
    idle: u64,
    keys: u64,
}

/// A specification, with its tables complete if they can be.
fn read(model: &str) -> Result<Searched, String> {
    let text = std::fs::read_to_string(model).map_err(|error| format!("{model}: {error}"))?;
    let options = gridlock_lang::system::Options::default();
    let system = gridlock_lang::system::load(&text, model, &options, &mut |_| true)
        .map_err(|problems| format!("{model}: {problems:?}"))?;
    if system.closed {
        return Ok(Searched::Complete(Arc::new(Prepared::new(system.network, []))));
    }
    let lazy = Lazy::in_order(system.network, Box::new(system.builder), Arc::new([]));
    Ok(Searched::Open(Arc::new(lazy.map_err(|error| error.to_string())?)))
}

struct Played<'a>(&'a str, Scene);

impl Visitor for Played<'_> {
    type Out = Result<Score, String>;

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        turns::play(&*system, self.0, self.1)
    }
}

fn score(searched: &Searched, policy: &str, scene: Scene) -> Result<Score, String> {
    if policy == "member" {
        return member::play(searched, scene);
    }
    match searched {
        Searched::Complete(prepared) => {
            prepared.visit(Played(policy, scene)).map_err(|error| error.to_string())?
        }
        Searched::Open(lazy) => turns::play(&**lazy, policy, scene),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, turns, delay, told, policy, workers @ ..] = &args[..] else {
        return Err("MODEL EXPANSIONS DELAY TOLD POLICY WORKERS...".into());
    };
    let number =
        |text: &String| text.parse::<u64>().ok().filter(|n| *n > 0).ok_or(format!("no number: {text}"));
    let searched = read(model)?;
    for count in workers {
        let scene = Scene {
            workers: number(count)? as usize,
            turns: number(turns)?,
            delay: number(delay)?,
            told: number(told)?,
        };
        let Score { turns, unique, expanded, idle, keys } = score(&searched, policy, scene)?;
        println!("run {policy} {count} {turns} {unique} {expanded} {idle} {keys}");
    }
    Ok(())
}
