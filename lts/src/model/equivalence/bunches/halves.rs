//! Finding which states of a block reach a slice by inert transitions, at the cost of the smaller half.
//!
//! Two searches take turns. One goes backwards from the sources of the slice and finds the states that reach it. The other
//! goes backwards from the bottom states without a transition in the slice and finds the states that don't: those all
//! of whose inert transitions lead to such states, and that have no transition in the slice themselves. A search that has
//! found more than half of the block gives up, and the one that ends has found its half.
//!
//! So that no search gets ahead, a step looks at one transition at most. The second search may look at all transitions of a
//! state to find one in the slice. All inert transitions of that state lead to the others, so it has none left after
//! the split, and that happens once to each state.

use super::blocks::Blocks;
use super::slices::Slices;
use super::system::System;

/// One part of a block that was found.
pub(super) struct Half {
    pub(super) states: Vec<u32>,
    /// Whether these are the states that reach the slice.
    pub(super) reaches: bool,
}

/// Memory that the searches share.
pub(super) struct Halves {
    /// The states that the first search found; all false in between.
    reaching: Vec<bool>,
    /// How many inert transitions of a state the second search has not met yet; 0 if it has met none or all, and in
    /// between.
    unmet: Vec<u32>,
    /// The states with an entry in `unmet`.
    met: Vec<u32>,
    /// How many steps both searches have taken.
    pub(super) steps: u64,
}

/// What a search works on.
pub(super) struct Ground<'a> {
    pub(super) system: &'a System,
    pub(super) blocks: &'a Blocks,
    pub(super) by_block: &'a Slices,
    /// How many inert transitions each state has.
    pub(super) inert: &'a [u32],
}

/// States found, and how far their incoming transitions were looked at.
#[derive(Default)]
struct Backwards {
    found: Vec<u32>,
    /// How many seeds were taken.
    seeds: usize,
    next: usize,
    edge: usize,
    /// A state whose outgoing transitions are being looked at, and the next one.
    testing: Option<(u32, u32)>,
}

impl Backwards {
    /// The next inert transition to what was found. `Err(true)` at the end, `Err(false)` if it takes another step.
    fn transition(&mut self, ground: &Ground<'_>) -> Result<u32, bool> {
        let Some(&s) = self.found.get(self.next) else {
            return Err(true);
        };
        let Some(&t) = ground.system.incoming_inert(s).get(self.edge) else {
            self.next += 1;
            self.edge = 0;
            return Err(false);
        };
        self.edge += 1;
        if ground.by_block.contains(t) { Err(false) } else { Ok(t) }
    }
}

impl Halves {
    pub(super) fn new(states: usize) -> Self {
        Halves { reaching: vec![false; states], unmet: vec![0; states], met: Vec::new(), steps: 0 }
    }

    /// A half of the block of `slice`, not empty and not more than half of the states. Some bottom state, and only those
    /// without a transition in the slice, must be unmarked.
    pub(super) fn find(&mut self, ground: &Ground<'_>, block: u32, slice: u32) -> Half {
        let most = ground.blocks.size(block) / 2;
        let (mut reaching, mut others) = (Backwards::default(), Backwards::default());
        let half = loop {
            self.steps += 1;
            if reaching.found.len() <= most && self.reach(ground, slice, &mut reaching) {
                break Half { states: std::mem::take(&mut reaching.found), reaches: true };
            }
            if others.found.len() <= most && self.avoid(ground, block, slice, &mut others) {
                break Half { states: std::mem::take(&mut others.found), reaches: false };
            }
        };
        let reached = if half.reaches { &half.states } else { &reaching.found };
        reached.iter().for_each(|&s| self.reaching[s as usize] = false);
        self.met.drain(..).for_each(|s| self.unmet[s as usize] = 0);
        half
    }

    /// A step of the search for the states that reach the slice; true if there are no more.
    fn reach(&mut self, ground: &Ground<'_>, slice: u32, search: &mut Backwards) -> bool {
        let t = if let Some(&t) = ground.by_block.members(slice).get(search.seeds) {
            search.seeds += 1;
            t
        } else {
            match search.transition(ground) {
                Ok(t) => t,
                Err(end) => return end,
            }
        };
        let s = ground.system.source[t as usize];
        if !std::mem::replace(&mut self.reaching[s as usize], true) {
            search.found.push(s);
        }
        false
    }

    /// A step of the search for the states that do not; true if there are no more.
    fn avoid(&mut self, ground: &Ground<'_>, block: u32, slice: u32, search: &mut Backwards) -> bool {
        if let Some((s, t)) = search.testing {
            search.testing = if t == ground.system.outgoing(s).end {
                search.found.push(s);
                None
            } else if ground.by_block.of(t) == slice {
                None
            } else {
                Some((s, t + 1))
            };
            return false;
        }
        if let Some(&s) = ground.blocks.unmarked_bottoms(block).get(search.seeds) {
            search.seeds += 1;
            search.found.push(s);
            return false;
        }
        let t = match search.transition(ground) {
            Ok(t) => t,
            Err(end) => return end,
        };
        let s = ground.system.source[t as usize];
        if self.reaching[s as usize] {
            return false;
        }
        let unmet = &mut self.unmet[s as usize];
        if *unmet == 0 {
            *unmet = ground.inert[s as usize];
            self.met.push(s);
        }
        *unmet -= 1;
        if *unmet == 0 {
            search.testing = Some((s, ground.system.outgoing(s).start));
        }
        false
    }
}
