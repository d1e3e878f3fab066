//! The rest of a block that sweeps are slow with: steps between the states that may still change are kept, and what changes is
//! followed back along them.
//!
//! Invariant: when this is done, no bit of the block can change any more, exactly as after sweeps.

use super::blocks::Block;
use super::look::{Question, Scratch};
use super::{Buffer, Part, Sweeps};
use crate::base::error::Result;
use crate::base::hash::Map;
use crate::base::memory::Stack;
use crate::engine::pack::Width;
use crate::engine::successors::EveryStep;

/// States that are looked at again between looks at limits.
const BETWEEN: usize = 1024;

/// States that may still change, by number.
struct Rest {
    states: Vec<u64>,
    words: usize,
    /// Which can change no more.
    over: Vec<bool>,
    /// Where the numbers of those begin in `before` that a state is the target of.
    begin: Vec<u32>,
    before: Vec<u32>,
}

impl Rest {
    fn state(&self, number: u32) -> &[u64] {
        &self.states[number as usize * self.words..(number as usize + 1) * self.words]
    }
}

impl<S: EveryStep> Sweeps<'_, '_, S> {
    /// Settles what is left of a block. False if that would need too much memory: nothing is lost then.
    pub(super) fn finish(&mut self, block: &Block, question: &Question) -> Result<bool> {
        let words = self.run.system.width().words();
        let live = self.levels.live();
        // The states, twice their numbers by slot, and where those before them begin.
        let bytes = (live * (8 * words + 40 + 1 + 4)) as u64;
        if live >= u32::MAX as usize || self.run.budget.take(bytes).is_err() {
            return Ok(false);
        }
        let done = self.follow(block, question, live);
        self.run.budget.give(bytes);
        done
    }

    fn follow(&mut self, block: &Block, question: &Question, live: usize) -> Result<bool> {
        let words = self.run.system.width().words();
        let mut states = Vec::with_capacity(live * words);
        let mut buffer = Buffer::default();
        for part in self.levels.levels.iter().flatten() {
            states.extend_from_slice(part.live_states(&self.levels, &mut buffer)?);
        }
        let mut numbers: Map<usize, u32> = Map::with_capacity_and_hasher(live, Default::default());
        self.table.slots_of(&states, |number, slot| {
            numbers.insert(slot, number as u32);
        });
        let mut rest = Rest { states, words, over: vec![false; live], begin: Vec::new(), before: Vec::new() };
        let mut scratch = Scratch::new(self.run.system.width());
        let every = question.of_every_target();
        let (mut queue, mut edges) = (Vec::new(), Stack::new(self.run.budget));
        let mut full = false;
        let Rest { states, over, .. } = &mut rest;
        self.look(states, &every, &mut scratch, |number, slot, steps| {
            let targets = steps.iter().filter_map(|(_, target)| numbers.get(target));
            for target in targets {
                full = full || edges.push((*target, number as u32)).is_err();
            }
            let mut any = false;
            let (judged, is_over) = self.judge(block, question, slot, steps, &mut any);
            over[number] = is_over;
            if any {
                queue.push(number as u32);
            }
            judged
        })?;
        self.go_on()?;
        drop(numbers);
        let bytes = (edges.len() * size_of::<u32>()) as u64;
        let fits = !full && edges.len() < u32::MAX as usize && self.run.budget.take(bytes).is_ok();
        if fits {
            (rest.begin, rest.before) = by_target(&edges, live);
            drop(edges);
            self.spread(block, &every, &mut rest, queue, &mut scratch)?;
            self.run.budget.give(bytes);
        }
        let mut levels = std::mem::take(&mut self.levels.levels);
        let mut first = 0;
        let mut set_aside = |part: &mut Part| {
            let last = first + part.live();
            part.live_states(&self.levels, &mut buffer)?;
            let over = &rest.over[std::mem::replace(&mut first, last)..last];
            part.set_aside(over, &self.levels, &mut buffer)
        };
        let done = levels.iter_mut().flatten().try_for_each(&mut set_aside);
        self.levels.levels = levels;
        done.map(|()| fits)
    }

    /// Looks again at what may change because something behind it has.
    fn spread(
        &self,
        block: &Block,
        question: &Question,
        rest: &mut Rest,
        mut queue: Vec<u32>,
        scratch: &mut Scratch<S::Width>,
    ) -> Result<()> {
        let mut looked_at = 0usize;
        while let Some(target) = queue.pop() {
            let before = rest.begin[target as usize] as usize..rest.begin[target as usize + 1] as usize;
            // Its positions may depend on each other.
            let again = (block.positions.len() > 1).then_some(target);
            for place in before.map(Some).chain(again.map(|_| None)) {
                let number = place.map_or(target, |at| rest.before[at]);
                if rest.over[number as usize] {
                    continue;
                }
                let (mut any, mut over) = (false, false);
                self.look(rest.state(number), question, scratch, |_, slot, steps| {
                    let judged = self.judge(block, question, slot, steps, &mut any);
                    over = judged.1;
                    judged.0
                })?;
                rest.over[number as usize] = over;
                if any {
                    queue.push(number);
                }
                looked_at += 1;
                if looked_at.is_multiple_of(BETWEEN) {
                    self.go_on()?;
                }
            }
        }
        Ok(())
    }
}

/// Of pairs of target and source the sources, by target.
fn by_target(edges: &[(u32, u32)], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut begin = vec![0u32; count + 1];
    edges.iter().for_each(|(target, _)| begin[*target as usize + 1] += 1);
    for k in 0..count {
        begin[k + 1] += begin[k];
    }
    let mut next = begin.clone();
    let mut before = vec![0; edges.len()];
    for (target, source) in edges {
        before[next[*target as usize] as usize] = *source;
        next[*target as usize] += 1;
    }
    (begin, before)
}
