//! Where a search by slices begins: at the initial state, or, for a sample, at the ends of many random walks, so that the
//! sample also has states far from the initial one.

use super::layout::Layout;
use super::message::SEGMENT_BYTES;
use super::partition::Target;
use super::store::{Draft, Kind, Segment, Store};
use gridlock_lts::base::error::Error;
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};

/// Random walks with which a sample begins, and their greatest length.
const WALKS: usize = 512;
const WALK: usize = 1024;

/// Delivers the states with which a search begins to their slices.
pub fn initial_states<S: Successors>(
    system: &S,
    layout: &Layout,
    store: &Store,
    sample: bool,
    deliver: &mut dyn FnMut(Target, Segment) -> Result<(), Error>,
) -> Result<(), Error> {
    let (width, words) = (system.width(), system.width().words());
    let mut states = system.initial();
    if sample {
        walk(system, &mut states)?;
        layout.sort_unique(width, &mut states);
    }
    let mut rest = &states[..];
    while let Some(first) = rest.get(..words) {
        let same = rest.chunks_exact(words).take_while(|state| layout.same_key(first, state)).count();
        let (group, others) = rest.split_at(same * words);
        let mut draft = Draft::default();
        draft.add(width, layout, group);
        store.take(SEGMENT_BYTES)?;
        for segment in store.put(Kind::Inbox, &mut draft)? {
            deliver(Target::Key(layout.key(first)), segment)?;
        }
        rest = others;
    }
    Ok(())
}

/// Appends states of random walks, which are the same for the same network.
fn walk<S: Successors>(system: &S, states: &mut Vec<u64>) -> Result<(), Error> {
    let mut rng = Rng::new(1);
    let mut steps = Steps::new(system.width().words());
    for _ in 0..WALKS {
        let mut state = system.initial();
        for _ in 0..rng.below(WALK) {
            steps.clear();
            system.expand(&state, &mut steps)?;
            // Marked steps may be faults, which lead nowhere.
            let innocent: Vec<usize> = (0..steps.len()).filter(|&k| !steps.vias()[k].is_marked()).collect();
            let Some(&step) = innocent.get(rng.below(innocent.len())) else { break };
            state.copy_from_slice(steps.target(step));
        }
        states.extend_from_slice(&state);
    }
    Ok(())
}
