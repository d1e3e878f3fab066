//! Divides a slice that is too large for the job memory in two, by one more bit of the state.
//!
//! The states of the slice decide which bit is chosen: the parts should be of similar size, and few moves should lead from
//! one to the other, since each of those is a state to send. Numbers of local states are given in the order of discovery, so
//! one bit of a leaf separates states found early from states found late; that is usually better than a hash, which separates
//! neighbours. Invariant: both parts have states, and together they have those of the slice. So dividing ends, at slices of
//! one state.

use super::layout::Layout;
use super::message::{Run, SEGMENT_BYTES, Slice};
use super::partition::Bit;
use super::sizes::{Sizes, put_states};
use super::store::{Draft, Kind, Segment, Store};
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};

/// The number of states sampled for the sizes of the parts.
const SAMPLE: usize = 1 << 14;
/// The number of states expanded to see which bits change.
const EXPANDED: usize = 1 << 10;
/// Each part should have one state in this many.
const BALANCE: usize = 5;

/// The two parts of a slice.
#[derive(Debug)]
pub struct Halves {
    /// The bit that tells the parts apart.
    pub by: Bit,
    /// The part without it and the part with it.
    pub parts: [Slice; 2],
}

/// Divides a slice; `None` if it has one state only.
pub fn split<S: Successors>(
    system: &S,
    layout: &Layout,
    store: &Store,
    job_memory: u64,
    slice: &Slice,
) -> Result<Option<Halves>> {
    let sizes = Sizes::new(job_memory, system.width().words());
    let mut splitter =
        Splitter { system, layout, store, slice, sizes, bytes: Vec::new(), draft: Draft::default() };
    let Some(by) = splitter.choose()? else { return Ok(None) };
    Ok(Some(splitter.divide(by)?))
}

struct Splitter<'a, S> {
    system: &'a S,
    layout: &'a Layout,
    store: &'a Store,
    slice: &'a Slice,
    sizes: Sizes,
    bytes: Vec<u8>,
    draft: Draft,
}

impl<S: Successors> Splitter<'_, S> {
    fn segments(&self) -> impl Iterator<Item = &'_ Segment> {
        self.slice.runs.iter().flat_map(|run| &run.segments).chain(&self.slice.inbox)
    }

    /// The bit to divide by.
    fn choose(&mut self) -> Result<Option<Bit>> {
        let (width, words) = (self.system.width(), self.system.width().words());
        let total = (self.slice.visited + self.slice.waiting) as usize;
        let stride = total.div_ceil(SAMPLE).max(1);
        let (mut any, mut all) = (vec![0u64; words], vec![u64::MAX; words]);
        let (mut sample, mut states, mut number) = (Vec::new(), Vec::new(), 0usize);
        let mut bytes = std::mem::take(&mut self.bytes);
        for segment in self.segments() {
            let mut decoder = segment.decoder(width, self.layout, &self.slice.key, &mut bytes)?;
            while decoder.read(256, &mut states)? > 0 {
                for state in states.chunks_exact(words) {
                    for (k, &word) in state.iter().enumerate() {
                        any[k] |= word;
                        all[k] &= word;
                    }
                    if number.is_multiple_of(stride) {
                        sample.extend_from_slice(state);
                    }
                    number += 1;
                }
                states.clear();
            }
        }
        self.bytes = bytes;
        let varies = |bit: &Bit| (any[bit.word as usize] & !all[bit.word as usize]) >> bit.bit & 1 != 0;
        let bits = (0..words as u32).flat_map(|word| (0..u64::BITS).map(move |bit| Bit { word, bit }));
        let bits: Vec<Bit> = bits.filter(varies).collect();
        let changes = self.changes(&bits, &sample)?;
        let states = sample.len() / words;
        let rank = |&(bit, changes): &(Bit, usize)| {
            let ones = sample.chunks_exact(words).filter(|state| bit.is_set(state)).count();
            let smaller = ones.min(states - ones);
            // Balanced ones first, of those the one that changes least; of the others the most balanced.
            let balanced = smaller * BALANCE >= states;
            (!balanced, if balanced { changes } else { 0 }, usize::MAX - smaller, bit)
        };
        Ok(bits.iter().copied().zip(changes).min_by_key(rank).map(|(bit, _)| bit))
    }

    /// How often each bit changes in steps that stay in the slice.
    fn changes(&self, bits: &[Bit], sample: &[u64]) -> Result<Vec<usize>> {
        let words = self.system.width().words();
        let mut changes = vec![0; bits.len()];
        let mut steps = Steps::new(words);
        let stride = (sample.len() / words).div_ceil(EXPANDED).max(1);
        for state in sample.chunks_exact(words).step_by(stride) {
            steps.clear();
            self.system.expand(state, &mut steps)?;
            for (target, _) in steps.iter() {
                if (0..words).all(|k| target[k] & self.slice.mask[k] == self.slice.key[k]) {
                    for (bit, changes) in bits.iter().zip(&mut changes) {
                        *changes += usize::from(bit.is_set(state) != bit.is_set(target));
                    }
                }
            }
        }
        Ok(changes)
    }

    fn divide(&mut self, by: Bit) -> Result<Halves> {
        let part = |set: bool| {
            let (mut mask, mut key) = (self.slice.mask.clone(), self.slice.key.clone());
            mask[by.word as usize] |= 1 << by.bit;
            key[by.word as usize] |= u64::from(set) << by.bit;
            Slice::new(&mask, &key)
        };
        let mut parts = [part(false), part(true)];
        for run in &self.slice.runs {
            let divided = self.divide_segments(Kind::Run, &run.segments, by)?;
            for (part, (segments, states)) in parts.iter_mut().zip(divided) {
                if states > 0 {
                    part.runs.push(Run { activation: run.activation, segments });
                    part.visited += states;
                }
            }
        }
        // The inbox may have the same state twice, but not within a segment.
        for segment in &self.slice.inbox {
            let divided = self.divide_segments(Kind::Inbox, std::slice::from_ref(segment), by)?;
            for (part, (segments, states)) in parts.iter_mut().zip(divided) {
                part.inbox.extend(segments);
                part.waiting += states;
            }
        }
        Ok(Halves { by, parts })
    }

    /// Reads segments and writes them again in two parts.
    fn divide_segments(
        &mut self,
        kind: Kind,
        segments: &[Segment],
        by: Bit,
    ) -> Result<[(Vec<Segment>, u64); 2]> {
        let (width, words) = (self.system.width(), self.system.width().words());
        let mut divided = [(Vec::new(), 0), (Vec::new(), 0)];
        let mut buffers = [Vec::new(), Vec::new()];
        let mut states = Vec::new();
        let most = self.sizes.segment;
        for segment in segments {
            let mut decoder = segment.decoder(width, self.layout, &self.slice.key, &mut self.bytes)?;
            while decoder.read(most.min(256), &mut states)? > 0 {
                for state in states.chunks_exact(words) {
                    let side = usize::from(by.is_set(state));
                    buffers[side].extend_from_slice(state);
                    if buffers[side].len() >= most * words {
                        let put =
                            put(self.store, kind, (width, self.layout), &mut buffers[side], &mut self.draft)?;
                        divided[side].0.extend(put);
                    }
                    divided[side].1 += 1;
                }
                states.clear();
            }
        }
        for (side, buffer) in buffers.iter_mut().enumerate() {
            divided[side].0.extend(put(self.store, kind, (width, self.layout), buffer, &mut self.draft)?);
        }
        Ok(divided)
    }
}

fn put<W: Width>(
    store: &Store,
    kind: Kind,
    (width, layout): (W, &Layout),
    states: &mut Vec<u64>,
    draft: &mut Draft,
) -> Result<Vec<Segment>> {
    if states.is_empty() {
        return Ok(Vec::new());
    }
    let most = states.len();
    let segments = put_states(store, kind, (width, layout), most, states, draft)?;
    states.clear();
    Ok(segments)
}

/// Bytes kept in memory about the segments of a slice.
pub fn segment_bytes(slice: &Slice) -> u64 {
    let runs: usize = slice.runs.iter().map(|run| run.segments.len()).sum();
    (runs + slice.inbox.len()) as u64 * SEGMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::memory::Budget;
    use gridlock_lts::base::rng::Rng;
    use gridlock_lts::engine::prepared::{Prepared, Visitor};
    use gridlock_lts::model::network::{LeafIx, Local};
    use gridlock_lts::samples::synthetic;
    use std::sync::Arc;

    /// Puts random states into runs and an inbox, divides, and reads everything again.
    struct Divide(u64);

    impl Visitor for Divide {
        type Out = ();

        fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) {
            let system = &*system;
            let mut rng = Rng::new(self.0);
            let (width, store) =
                (system.width(), Store::new(Arc::new(Budget::new(5000)), std::env::temp_dir()));
            let layout = Layout::of_leaves(system.packing(), &[LeafIx(0)]);
            // The first of three counters is at 3; the others are anywhere.
            let state = |one: u32, other: u32| {
                let mut state = vec![0];
                system.packing().pack(&[Local(3), Local(one), Local(other)], &mut state);
                state[0]
            };
            let mut states: Vec<u64> = (0..100).map(|k| state(k % 10, k / 10)).collect();
            let key = layout.key(&states[..1]);
            states.retain(|_| rng.percent(60));
            let mut slice = Slice::new(layout.mask(), &key);
            let mut draft = Draft::default();
            for (activation, part) in states.chunks(30).enumerate() {
                let mut part = part.to_vec();
                let segments =
                    put_states(&store, Kind::Run, (width, &layout), 7, &mut part, &mut draft).expect("room");
                slice.visited += part.len() as u64;
                slice.runs.push(Run { activation: activation as u64, segments });
            }
            let halves = split(system, &layout, &store, 5000, &slice).expect("room").expect("several states");
            let read = |slice: &Slice| {
                let mut all: Vec<(u64, u64)> = Vec::new();
                for run in &slice.runs {
                    for segment in &run.segments {
                        let (mut bytes, mut out) = (Vec::new(), Vec::new());
                        let mut decoder =
                            segment.decoder(width, &layout, &slice.key, &mut bytes).expect("whole");
                        decoder.read(usize::MAX, &mut out).expect("whole");
                        assert!(out.iter().all(|state| state & slice.mask[0] == slice.key[0]));
                        all.extend(out.into_iter().map(|state| (state, run.activation)));
                    }
                }
                assert_eq!(all.len() as u64, slice.visited);
                all
            };
            let [without, with] = &halves.parts;
            assert!(without.visited > 5 && with.visited > 5, "balanced");
            let mut expected = read(&slice);
            let mut divided = [read(without), read(with)].concat();
            expected.sort();
            divided.sort();
            assert_eq!(divided, expected);
        }
    }

    #[test]
    fn the_parts_are_the_slice() {
        let net = synthetic::counters(3, 9);
        let prepared = Prepared::new(net.clone(), []);
        for seed in 0..20 {
            prepared.visit(Divide(seed)).expect("compiles");
        }
    }
}
