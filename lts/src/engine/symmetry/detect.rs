//! Finds the permutations of a network.
//!
//! Leaves that may take each other's place are recognised by *colours*: leaves, local states, labels and vectors begin with
//! what is known of each by itself, and get new ones from the colours around them until no more differ. Then places are
//! guessed: two neighbours of a class exchanged, alone or together with those at the same places of all classes of that
//! size (a process with its channel), and all such classes turned by one. For each guess the colours are worked out again
//! with the leaves told apart, once as they are and once in their new places; states and labels of equal colour belong
//! together.
//!
//! Invariant: colours only guess. What is returned was compared entry by entry.

use super::{Mistake, Permutation, Permutations};
use crate::base::hash::Map;
use crate::model::network::{LeafIx, Local, Network, VectorIx};
use crate::property::{Alarms, Mark};

/// Work that is spent on colours at most: moves looked at.
const WORK: usize = 100_000_000;
/// Local states in all permutations together at most.
const LARGEST: usize = 1 << 24;

/// A colour made of two.
fn mix(a: u64, b: u64) -> u64 {
    let product = (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 29)
}

/// One leaf as far as it can move.
struct Leaf {
    /// For each state its moves by labels that occur in vectors, sorted.
    moves: Vec<Vec<(u32, u32)>>,
    /// The labels that occur in vectors.
    labels: Vec<u32>,
    /// For each state whether it is bad, or the regular end.
    marks: Vec<u64>,
    /// The property that this is a monitor of.
    monitor: Option<usize>,
    vectors_of: Vec<Vec<u32>>,
}

struct Detection<'a> {
    leaves: Vec<Leaf>,
    vectors: Vec<(Vec<(u32, u32)>, Mark)>,
    /// By their parts: what the vectors are.
    known: Map<Vec<(u32, u32)>, Vec<Mark>>,
    moves: usize,
    suits: &'a dyn Fn(&Permutation) -> bool,
    mistake: Mistake,
    /// Moves that may still be looked at.
    left: usize,
}

#[derive(Clone)]
struct Colours {
    leaves: Vec<u64>,
    states: Vec<Vec<u64>>,
    labels: Vec<Vec<u64>>,
    rounds: usize,
}

/// Guesses permutations of a network and returns those that were checked.
pub(super) fn permutations(
    net: &Network,
    alarms: &Alarms,
    suits: &dyn Fn(&Permutation) -> bool,
    mistake: Mistake,
) -> Permutations {
    let mut search = Detection::new(net, alarms, suits, mistake);
    let (mut all, mut classes) = (Vec::new(), Vec::new());
    if let Some(colours) = search.refine(&vec![0; net.leaves.len()], None) {
        let individual: Vec<u64> = (1..=net.leaves.len() as u64).collect();
        if let Some(apart) = search.refine(&individual, None) {
            let candidates = search.candidates(&colours);
            search.guess(&candidates, &apart, &mut all, &mut classes);
        }
    }
    classes.sort();
    Permutations { all, classes }
}

impl<'a> Detection<'a> {
    fn new(
        net: &Network,
        alarms: &Alarms,
        suits: &'a dyn Fn(&Permutation) -> bool,
        mistake: Mistake,
    ) -> Self {
        let leaf = |(i, leaf): (usize, &crate::model::network::Leaf)| {
            let index = LeafIx(i as u32);
            let used: Vec<bool> = leaf.vectors_of.iter().map(|vectors| !vectors.is_empty()).collect();
            let moves = leaf.states.iter().map(|state| {
                let moves = state.moves.iter().filter(|m| used[m.0.0 as usize]);
                let mut moves: Vec<(u32, u32)> = moves.map(|m| (m.0.0, m.1.0)).collect();
                moves.sort_unstable();
                moves
            });
            let mark = |state: usize| {
                let local = Local(state as u32);
                let bad = alarms.is_bad(index, local) && mistake != Mistake::Marks;
                u64::from(bad) + 2 * u64::from(leaf.terminated == Some(local)) + 4 * u64::from(state == 0)
            };
            Leaf {
                moves: moves.collect(),
                labels: (0..used.len() as u32).filter(|&label| used[label as usize]).collect(),
                marks: (0..leaf.states.len()).map(mark).collect(),
                monitor: alarms.monitor(index),
                vectors_of: leaf.vectors_of.iter().map(|of| of.iter().map(|v| v.0).collect()).collect(),
            }
        };
        let leaves: Vec<Leaf> = net.leaves.iter().enumerate().map(leaf).collect();
        let vectors: Vec<(Vec<(u32, u32)>, Mark)> = (net.vectors.iter().enumerate())
            .map(|(v, vector)| {
                let mut parts: Vec<(u32, u32)> = vector.parts.iter().map(|&(l, a)| (l.0, a.0)).collect();
                parts.sort_unstable();
                let mark = match mistake {
                    Mistake::Marks => Mark::default(),
                    _ => alarms.mark(VectorIx(v as u32)),
                };
                (parts, mark)
            })
            .collect();
        let mut known: Map<Vec<(u32, u32)>, Vec<Mark>> = Map::default();
        for (parts, mark) in &vectors {
            known.entry(parts.clone()).or_default().push(mark.clone());
        }
        known.values_mut().for_each(|marks| marks.sort());
        let moves = leaves.iter().flat_map(|leaf| leaf.moves.iter().map(|moves| moves.len() + 1)).sum();
        Detection { leaves, vectors, known, moves, suits, mistake, left: WORK }
    }

    /// Colours that know what is around, as far as colours can tell; those of the leaves begin as given. After `rounds`,
    /// or, if none are given, until no more differ. `None` if that is too much work.
    fn refine(&mut self, leaves: &[u64], rounds: Option<usize>) -> Option<Colours> {
        let of_leaf = |(leaf, &colour): (&Leaf, &u64)| {
            mix(mix(colour, leaf.monitor.map_or(0, |property| property as u64 + 1)), leaf.moves.len() as u64)
        };
        let mut colours = Colours {
            leaves: self.leaves.iter().zip(leaves).map(of_leaf).collect(),
            states: self.leaves.iter().map(|leaf| leaf.marks.clone()).collect(),
            labels: self.leaves.iter().map(|leaf| vec![0; leaf.vectors_of.len()]).collect(),
            rounds: 0,
        };
        let marks: Vec<u64> =
            self.vectors.iter().map(|(parts, mark)| mix(mark.print(), parts.len() as u64)).collect();
        let mut different = 0;
        while rounds.is_none_or(|rounds| colours.rounds < rounds) {
            self.left = self.left.checked_sub(self.moves + self.vectors.len())?;
            colours = self.round(&colours, &marks);
            if rounds.is_none() {
                let mut all: Vec<u64> = colours.states.concat();
                all.extend(colours.labels.iter().flatten().chain(&colours.leaves));
                all.sort_unstable();
                all.dedup();
                if all.len() == different {
                    break;
                }
                different = all.len();
            }
        }
        Some(colours)
    }

    fn round(&self, old: &Colours, marks: &[u64]) -> Colours {
        let vectors: Vec<u64> = (self.vectors.iter().zip(marks))
            .map(|((parts, _), &mark)| {
                let part = |&(l, a): &(u32, u32)| mix(7, old.labels[l as usize][a as usize]);
                parts.iter().map(part).fold(mark, u64::wrapping_add)
            })
            .collect();
        let (mut states, mut labels) = (Vec::new(), Vec::new());
        for (l, leaf) in self.leaves.iter().enumerate() {
            let (own, of_states) = (old.leaves[l], &old.states[l]);
            let mut new_states: Vec<u64> = of_states.iter().map(|&colour| mix(own, colour)).collect();
            let mut new_labels: Vec<u64> = old.labels[l].iter().map(|&colour| mix(own, colour)).collect();
            for &label in leaf.labels.iter().filter(|_| self.mistake != Mistake::Vectors) {
                let of = leaf.vectors_of[label as usize].iter().map(|&v| mix(3, vectors[v as usize]));
                let sum = of.fold(0, u64::wrapping_add);
                new_labels[label as usize] = mix(new_labels[label as usize], sum);
            }
            let looked_at = if self.mistake == Mistake::Moves { &[][..] } else { &leaf.moves[..] };
            for (state, moves) in looked_at.iter().enumerate() {
                for &(label, to) in moves {
                    let (a, from, to_colour) =
                        (old.labels[l][label as usize], of_states[state], of_states[to as usize]);
                    let out = mix(mix(1, a), to_colour);
                    new_states[state] = new_states[state].wrapping_add(mix(5, out));
                    let into = mix(mix(2, a), from);
                    new_states[to as usize] = new_states[to as usize].wrapping_add(mix(5, into));
                    let by = mix(mix(4, from), to_colour);
                    new_labels[label as usize] = new_labels[label as usize].wrapping_add(mix(6, by));
                }
            }
            states.push(new_states);
            labels.push(new_labels);
        }
        let of_leaf = |(l, &colour): (usize, &u64)| {
            let of_states = states[l].iter().map(|&c| mix(8, c)).fold(0, u64::wrapping_add);
            let used = self.leaves[l].labels.iter().map(|&a| mix(9, labels[l][a as usize]));
            mix(mix(colour, of_states), used.fold(0, u64::wrapping_add))
        };
        let leaves = old.leaves.iter().enumerate().map(of_leaf).collect();
        Colours { leaves, states, labels, rounds: old.rounds + 1 }
    }

    /// Classes of leaves that look alike, each in order. A monitor is like no other.
    fn candidates(&self, colours: &Colours) -> Vec<Vec<u32>> {
        let mut by_colour: Vec<(u64, u32)> = (0..self.leaves.len() as u32)
            .filter(|&l| self.leaves[l as usize].monitor.is_none() && self.leaves[l as usize].moves.len() > 1)
            .map(|l| (colours.leaves[l as usize], l))
            .collect();
        by_colour.sort_unstable();
        let classes = by_colour.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() > 1);
        let mut classes: Vec<Vec<u32>> = classes.map(|class| class.iter().map(|c| c.1).collect()).collect();
        classes.sort();
        classes
    }

    /// Guesses places and keeps what is right.
    fn guess(
        &mut self,
        candidates: &[Vec<u32>],
        apart: &Colours,
        all: &mut Vec<Permutation>,
        classes: &mut Vec<Vec<LeafIx>>,
    ) {
        let mut sizes: Vec<usize> = candidates.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            let same: Vec<&Vec<u32>> = candidates.iter().filter(|class| class.len() == size).collect();
            let mut rest: Vec<&Vec<u32>> = Vec::new();
            for class in &same {
                let exchange = |k: usize| vec![(class[k], class[k + 1])];
                if !self.exchanges(size, &exchange, apart, all) {
                    rest.push(class);
                    continue;
                }
                classes.push(class.iter().map(|&l| LeafIx(l)).collect());
            }
            if rest.is_empty() {
                continue;
            }
            let exchange = |k: usize| rest.iter().map(|class| (class[k], class[k + 1])).collect();
            let together = self.exchanges(size, &exchange, apart, all) || self.turns(&rest, apart, all);
            if together {
                classes.extend(rest.iter().map(|class| class.iter().map(|&l| LeafIx(l)).collect()));
            }
        }
    }

    /// Exchanges of neighbours, and from them those of any two; false if not all neighbours can be exchanged.
    fn exchanges(
        &mut self,
        size: usize,
        exchange: &dyn Fn(usize) -> Vec<(u32, u32)>,
        apart: &Colours,
        all: &mut Vec<Permutation>,
    ) -> bool {
        let mut neighbours: Vec<Permutation> = Vec::new();
        for k in 0..size - 1 {
            let mut places: Vec<u32> = (0..self.leaves.len() as u32).collect();
            for (a, b) in exchange(k) {
                places.swap(a as usize, b as usize);
            }
            let Some(right) = self.check(&places, apart) else { return false };
            neighbours.push(right);
        }
        all.extend(neighbours.iter().cloned());
        for (first, neighbour) in neighbours.iter().enumerate() {
            let mut between = neighbour.clone();
            for next in &neighbours[first + 1..] {
                between = next.after(&between.after(next));
                if (all.len() + 1) * self.moves > LARGEST {
                    break;
                }
                all.push(between.clone());
            }
        }
        true
    }

    /// Turns of all classes together.
    fn turns(&mut self, classes: &[&Vec<u32>], apart: &Colours, all: &mut Vec<Permutation>) -> bool {
        let size = classes[0].len();
        let mut places: Vec<u32> = (0..self.leaves.len() as u32).collect();
        for class in classes {
            for (k, &leaf) in class.iter().enumerate() {
                places[leaf as usize] = class[(k + 1) % size];
            }
        }
        let Some(turn) = self.check(&places, apart) else { return false };
        let mut power = turn.clone();
        for _ in 1..size {
            all.push(power.clone());
            power = turn.after(&power);
            if (all.len() + 1) * self.moves > LARGEST {
                break;
            }
        }
        true
    }

    /// What a guess comes to, if it is right.
    fn check(&mut self, places: &[u32], apart: &Colours) -> Option<Permutation> {
        let mut colours = vec![0; places.len()];
        for (leaf, &place) in places.iter().enumerate() {
            colours[place as usize] = leaf as u64 + 1;
        }
        let there = self.refine(&colours, Some(apart.rounds))?;
        let pair = |here: &[u64], there: &[u64], of: &[u32], to: &[u32]| -> Option<Vec<(u32, u32)>> {
            let sorted = |colours: &[u64], which: &[u32]| {
                let mut sorted: Vec<(u64, u32)> = which.iter().map(|&k| (colours[k as usize], k)).collect();
                sorted.sort_unstable();
                sorted
            };
            let (here, there) = (sorted(here, of), sorted(there, to));
            let fits = here.len() == there.len() && here.iter().zip(&there).all(|(a, b)| a.0 == b.0);
            fits.then(|| here.iter().zip(&there).map(|(a, b)| (a.1, b.1)).collect())
        };
        let (mut states, mut labels) = (Vec::new(), Vec::new());
        for (l, &place) in places.iter().enumerate() {
            let (of, to) = (&self.leaves[l], &self.leaves[place as usize]);
            let (p, every) = (place as usize, |leaf: &Leaf| (0..leaf.moves.len() as u32).collect::<Vec<_>>());
            let mut image = vec![0; of.moves.len()];
            if self.mistake == Mistake::Others && l == p {
                (0..image.len()).for_each(|state| image[state] = state as u32);
            } else {
                for (a, b) in pair(&apart.states[l], &there.states[p], &every(of), &every(to))? {
                    image[a as usize] = b;
                }
            }
            states.push(image);
            let mut image = vec![0; of.vectors_of.len()];
            for (a, b) in pair(&apart.labels[l], &there.labels[p], &of.labels, &to.labels)? {
                image[a as usize] = b;
            }
            labels.push(image);
        }
        let permutation = Permutation::new(places.to_vec(), states);
        (self.is_right(&permutation, &labels) && (self.suits)(&permutation)).then_some(permutation)
    }

    /// Whether a permutation of leaves, states and labels maps the network to itself.
    fn is_right(&self, permutation: &Permutation, labels: &[Vec<u32>]) -> bool {
        let blind = self.mistake == Mistake::Moves || self.mistake == Mistake::Others;
        let leaf_is_right = |l: usize| {
            let place = permutation.leaves[l] as usize;
            let (of, to, states) = (&self.leaves[l], &self.leaves[place], &permutation.states[l]);
            let same_size = of.moves.len() == to.moves.len() && of.labels.len() == to.labels.len();
            let same_kind = of.monitor == to.monitor && (of.monitor.is_none() || place == l);
            same_size
                && same_kind
                && (0..of.moves.len()).all(|state| {
                    let image = states[state] as usize;
                    let moves = of.moves[state].iter();
                    let mut moves: Vec<(u32, u32)> =
                        moves.map(|m| (labels[l][m.0 as usize], states[m.1 as usize])).collect();
                    moves.sort_unstable();
                    of.marks[state] == to.marks[image] && (blind || moves == to.moves[image])
                })
        };
        let vector_is_right = |(parts, marks): (&Vec<(u32, u32)>, &Vec<Mark>)| {
            let part =
                |&(l, a): &(u32, u32)| (permutation.leaves[l as usize], labels[l as usize][a as usize]);
            let mut image: Vec<(u32, u32)> = parts.iter().map(part).collect();
            image.sort_unstable();
            self.known.get(&image) == Some(marks)
        };
        (0..self.leaves.len()).all(leaf_is_right)
            && (self.mistake == Mistake::Vectors || self.known.iter().all(vector_is_right))
    }
}
