//! Which slice a state belongs to.
//!
//! At first a slice is all states with the same key. A slice that has become too large is divided by one more bit of the
//! state, as often as needed, so below a key there is a binary tree. Invariant: the slices at the leaves of the trees are
//! disjoint, and a state is in the slice whose mask and key it matches. The partition does not change during a round.

use super::layout::Layout;
use gridlock_lts::base::hash::Map;
use serde::{Deserialize, Serialize};

/// The number of a slice, from 0 on in the order in which they were found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SliceIx(pub u32);

/// A bit of a packed state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Bit {
    /// The index of the word that has the bit.
    pub word: u32,
    /// The bit in that word.
    pub bit: u32,
}

impl Bit {
    /// Whether the bit is set in a state.
    #[inline]
    pub fn is_set(self, state: &[u64]) -> bool {
        state[self.word as usize] >> self.bit & 1 != 0
    }
}

/// Mixes the bits of a word; different words stay different.
#[inline]
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ (word >> 32)
}

#[derive(Clone, Copy, Debug)]
enum Node {
    Slice(SliceIx),
    Divided { by: Bit, children: [u32; 2] },
}

/// Where states are sent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Target {
    /// To a slice.
    Slice(SliceIx),
    /// To the slice of a key that no state had before.
    Key(Box<[u64]>),
}

/// Slices by their keys.
#[derive(Clone, Debug)]
pub struct Partition {
    layout: Layout,
    /// By the mixed keys: the bits of a key often are the high ones of a word, and the hash of the map takes its place from
    /// the low ones, so without mixing all keys would be in one place.
    roots: Map<Box<[u64]>, u32>,
    nodes: Vec<Node>,
}

impl Partition {
    /// A partition without slices.
    pub fn new(layout: Layout) -> Self {
        Partition { layout, roots: Map::default(), nodes: Vec::new() }
    }

    /// Which bits are the key.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes a slice for a key that has none.
    pub fn add(&mut self, key: &[u64], slice: SliceIx) {
        let node = self.nodes.len() as u32;
        self.nodes.push(Node::Slice(slice));
        let mixed = key.iter().map(|&word| mix(word)).collect();
        let before = self.roots.insert(mixed, node);
        assert!(before.is_none(), "a key has one slice");
    }

    /// Divides a slice by a bit. The part without the bit keeps the number, the other gets a new one. `member` is any
    /// state of the slice.
    pub fn divide(&mut self, member: &[u64], by: Bit, other: SliceIx) {
        let Some(node) = self.node(member) else { return };
        let Node::Slice(slice) = self.nodes[node as usize] else { return };
        let first = self.nodes.len() as u32;
        self.nodes.push(Node::Slice(slice));
        self.nodes.push(Node::Slice(other));
        self.nodes[node as usize] = Node::Divided { by, children: [first, first + 1] };
    }

    /// The root of the tree of a state's key.
    fn root(&self, state: &[u64]) -> Option<u32> {
        let mixed = state.iter().zip(self.layout.mask()).map(|(word, mask)| mix(word & mask));
        // Most states have few words, and this is asked for every group of states that is sent.
        let mut few = [0; 4];
        if state.len() > few.len() {
            return self.roots.get(&mixed.collect::<Box<[u64]>>()).copied();
        }
        few.iter_mut().zip(mixed).for_each(|(few, word)| *few = word);
        self.roots.get(&few[..state.len()]).copied()
    }

    fn node(&self, state: &[u64]) -> Option<u32> {
        let mut node = self.root(state)?;
        while let Node::Divided { by, children } = self.nodes[node as usize] {
            node = children[usize::from(by.is_set(state))];
        }
        Some(node)
    }

    /// The slice of a state, if there is one.
    pub fn slice_of(&self, state: &[u64]) -> Option<SliceIx> {
        match self.nodes[self.node(state)? as usize] {
            Node::Slice(slice) => Some(slice),
            Node::Divided { .. } => None,
        }
    }

    /// Divides states with the same key, sorted, among the slices of that key, in a fixed order. Each part is sorted.
    pub fn route(&self, states: &[u64], words: usize, mut send: impl FnMut(Target, &[u64])) {
        let Some(member) = states.get(..words) else { return };
        match self.root(member) {
            None => send(Target::Key(self.layout.key(member)), states),
            Some(root) => {
                let mut part = Vec::new();
                self.route_below(root, &mut Vec::new(), states, words, &mut part, &mut send);
            }
        }
    }

    /// Goes down to all slices below a node, with the bits on the way there, and sends each of them its part. There is one
    /// buffer for all parts. A tree is at most as deep as a state has bits.
    fn route_below(
        &self,
        node: u32,
        way: &mut Vec<(Bit, bool)>,
        states: &[u64],
        words: usize,
        part: &mut Vec<u64>,
        send: &mut impl FnMut(Target, &[u64]),
    ) {
        match self.nodes[node as usize] {
            Node::Slice(slice) if way.is_empty() => send(Target::Slice(slice), states),
            Node::Slice(slice) => {
                part.clear();
                let mine = |state: &&[u64]| way.iter().all(|&(bit, set)| bit.is_set(state) == set);
                states.chunks_exact(words).filter(mine).for_each(|state| part.extend_from_slice(state));
                if !part.is_empty() {
                    send(Target::Slice(slice), part);
                }
            }
            Node::Divided { by, children } => {
                for (child, set) in children.into_iter().zip([false, true]) {
                    way.push((by, set));
                    self.route_below(child, way, states, words, part, send);
                    way.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_goes_to_its_slice() {
        let mut partition = Partition::new(Layout::new(&[3]));
        for key in 0..3 {
            partition.add(&[key], SliceIx(key as u32));
        }
        partition.divide(&[2], Bit { word: 0, bit: 4 }, SliceIx(3));
        partition.divide(&[18], Bit { word: 0, bit: 2 }, SliceIx(4));
        let expected = |state: u64| match state {
            s if s & 3 == 3 => None,
            s if s & 3 == 2 && s & 16 != 0 => Some(SliceIx(if s & 4 != 0 { 4 } else { 3 })),
            s => Some(SliceIx((s & 3) as u32)),
        };
        for key in 0..4u64 {
            let states: Vec<u64> = (0..32).filter(|s| s & 3 == key).collect();
            let mut routed = 0;
            partition.route(&states, 1, |target, part| {
                assert!(part.is_sorted());
                routed += part.len();
                for &state in part {
                    assert_eq!(partition.slice_of(&[state]), expected(state));
                    match &target {
                        Target::Slice(slice) => assert_eq!(expected(state), Some(*slice)),
                        Target::Key(key) => assert_eq!((expected(state), key[0]), (None, state & 3)),
                    }
                }
            });
            assert_eq!(routed, states.len());
        }
    }
}
