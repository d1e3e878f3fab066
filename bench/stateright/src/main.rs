//! Two-phase commit on stateright: `two-phase-commit RESOURCE_MANAGERS [THREADS]` prints unique and generated states and
//! the time, separated by tabs.
//!
//! The system is that of `models/twophase/twophase.mcrl2`, step for step: 288 states for 3 resource managers, 8,832 for
//! 5, 10,340,352 for 9. A state is packed into small integers, so that the comparison is with stateright's search and not
//! with a costly way to write the state down.

use stateright::{Checker, Model, Property};
use std::time::Instant;

/// The system: how many resource managers there are.
struct TwoPhase(u8);

/// Where a resource manager is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Resource {
    Working,
    Prepared,
    Committed,
    Aborted,
}

/// What the transaction manager has decided; once it has, the message is in the network for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Decision {
    None,
    Commit,
    Abort,
}

/// A state. Sets of resource managers are bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    resources: Vec<Resource>,
    decision: Decision,
    votes: u16,
    sent: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Action {
    Prepare(u8),
    GiveUp(u8),
    Vote(u8),
    DecideCommit,
    DecideAbort,
    Commits(u8),
    Aborts(u8),
}

impl Model for TwoPhase {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            resources: vec![Resource::Working; self.0.into()],
            decision: Decision::None,
            votes: 0,
            sent: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.decision == Decision::None {
            if state.votes == (1 << self.0) - 1 {
                actions.push(Action::DecideCommit);
            }
            actions.push(Action::DecideAbort);
        }
        for r in 0..self.0 {
            if state.resources[usize::from(r)] == Resource::Working {
                actions.push(Action::Prepare(r));
                actions.push(Action::GiveUp(r));
            }
            match state.decision {
                Decision::None if state.sent & 1 << r != 0 => actions.push(Action::Vote(r)),
                Decision::None => {}
                Decision::Commit => actions.push(Action::Commits(r)),
                Decision::Abort => actions.push(Action::Aborts(r)),
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Prepare(r) => {
                next.resources[usize::from(r)] = Resource::Prepared;
                next.sent |= 1 << r;
            }
            Action::GiveUp(r) | Action::Aborts(r) => next.resources[usize::from(r)] = Resource::Aborted,
            Action::Vote(r) => next.votes |= 1 << r,
            Action::DecideCommit => next.decision = Decision::Commit,
            Action::DecideAbort => next.decision = Decision::Abort,
            Action::Commits(r) => next.resources[usize::from(r)] = Resource::Committed,
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("consistent", |_, state: &State| {
            !(state.resources.contains(&Resource::Committed) && state.resources.contains(&Resource::Aborted))
        })]
    }
}

fn main() -> Result<(), String> {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse::<u8>());
    let usage = "usage: two-phase-commit RESOURCE_MANAGERS (1 to 15) [THREADS]";
    let Some(Ok(resources @ 1..=15)) = numbers.next() else { return Err(usage.into()) };
    let threads = match numbers.next() {
        None => 1,
        Some(Ok(threads @ 1..)) => threads.into(),
        Some(_) => return Err(usage.into()),
    };
    let start = Instant::now();
    let checker = TwoPhase(resources).checker().threads(threads).spawn_bfs().join();
    let seconds = start.elapsed().as_secs_f64();
    checker.assert_properties();
    println!("unique\tgenerated\tseconds");
    println!("{}\t{}\t{seconds:.3}", checker.unique_state_count(), checker.state_count());
    Ok(())
}
