//! Blocks of one position that asks nothing of targets but itself: what is possible, inevitable, or always so.
//!
//! One step may be enough to change the bit of such a position (something is possible), or all steps must agree (it is
//! inevitable). What is settled by one step is *quick* here: in the first case that the bit changes, in the second that it never
//! will. States whose bit will never change are remembered as well as those where it has: they are looked at no more, and
//! neither are those whose bit depends on nothing else. Else states that cannot reach a goal would be looked at in every sweep, with
//! all its steps. Targets of either kind are remembered for a while, since neighbours share successors.
//!
//! Invariant: a state that is said never to change has no step that is enough to change it, and of the steps that all must
//! agree one refuses, or leads to itself or to another such state. So no state of that kind is the first one of them to
//! change, in any order in which states are looked at.

use super::blocks::{Block, Blocks, Kind, Node};
use super::look::{BATCH, FEW, Scratch};
use super::{Part, Sweeps};
use crate::base::error::Result;
use crate::engine::pack::Width;
use crate::engine::search::recent::Recent;
use crate::engine::successors::{EveryStep, Steps};
use crate::engine::visited::prefetch;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a step means for the bit of its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Means {
    Nothing,
    /// The quick outcome.
    Settles,
    /// It depends on the target.
    Target,
}

/// A block of that kind.
pub(super) struct Single {
    position: usize,
    /// What the bit becomes when it changes.
    flipped: bool,
    /// Whether one step is enough to change it.
    one_changes: bool,
    /// For each vector, and for each class of vectors.
    means: Vec<Means>,
    of_class: Vec<Means>,
    /// Sets of vectors: if a state has no step of one of them, the outcome is the quick one. The same as sets of classes.
    wanted: Vec<Vec<bool>>,
    wanted_classes: Vec<Vec<bool>>,
    /// Earlier positions: if one has this truth in the state itself, the outcome is the quick one.
    own: Vec<usize>,
    own_truth: bool,
    /// Whether the outcome is the quick one everywhere.
    everywhere: bool,
}

impl Single {
    /// `None` if the block is of another kind.
    pub(super) fn of(formula: &Blocks, block: &Block) -> Option<Self> {
        let [position] = block.positions[..] else { return None };
        let flipped = block.kind != Kind::Greatest;
        if block.kind == Kind::Plain {
            return None;
        }
        [true, false].into_iter().find_map(|one_changes| {
            // Truth in parts of a junction, or after steps, that settles it.
            let settles = flipped == one_changes;
            let mut single = Single {
                position,
                flipped,
                one_changes,
                means: Vec::new(),
                of_class: Vec::new(),
                wanted: Vec::new(),
                wanted_classes: Vec::new(),
                own: Vec::new(),
                own_truth: settles,
                everywhere: false,
            };
            let mut classes = vec![Means::Nothing; formula.class_count];
            single.read(formula, &formula.trees[position], &mut classes).then(|| {
                let means =
                    |class: &Option<u32>| class.map_or(Means::Nothing, |class| classes[class as usize]);
                single.means = formula.classes.iter().map(means).collect();
                single.of_class = classes;
                single
            })
        })
    }

    /// Whether an outcome is that the bit changes.
    fn changes(&self, outcome: Known) -> bool {
        (outcome == Known::Quick) == self.one_changes
    }

    /// Reads a part of the tree. False if it is of another kind.
    fn read(&mut self, formula: &Blocks, node: &Node, classes: &mut [Means]) -> bool {
        let settles = self.own_truth;
        // Where all parts must agree for a truth, that is the one which does not settle it.
        match node {
            Node::Const(truth) => {
                self.everywhere |= *truth == settles;
                true
            }
            Node::Junction(and, parts) if *and != settles => {
                parts.iter().all(|part| self.read(formula, part, classes))
            }
            Node::At(earlier) if *earlier != self.position => {
                self.own.push(*earlier);
                true
            }
            Node::Every(modality) | Node::Some(modality) if matches!(node, Node::Every(_)) != settles => {
                formula.after[*modality].iter().zip(classes).all(|(after, means)| {
                    match after {
                        Node::Const(truth) if *truth == settles => *means = Means::Settles,
                        Node::Const(_) => {}
                        Node::At(again) if *again == self.position => {
                            if *means == Means::Nothing {
                                *means = Means::Target;
                            }
                        }
                        _ => return false,
                    }
                    true
                })
            }
            // Steps after which nothing is asked: it settles it that there are none.
            Node::Every(modality) | Node::Some(modality) => {
                let mut set = Vec::with_capacity(classes.len());
                for after in &formula.after[*modality] {
                    let Node::Const(truth) = after else { return false };
                    set.push(*truth != settles);
                }
                let member = |class: &Option<u32>| class.is_some_and(|class| set[class as usize]);
                self.wanted.push(formula.classes.iter().map(member).collect());
                self.wanted_classes.push(set);
                true
            }
            _ => false,
        }
    }
}

/// Among the positions that hold in a target: that the bit will never change there.
pub(super) const NEVER: u32 = 1 << 31;

/// The result for a state whose steps are known, some of them with the positions that hold in their targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comes {
    /// Its bit changes.
    Change,
    /// It never will.
    Never,
    /// Neither is known yet.
    Nothing,
    /// More must be known of targets.
    Unknown,
}

impl Single {
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// What the bit becomes when it changes.
    pub(super) fn flipped(&self) -> bool {
        self.flipped
    }

    /// The positions, as bits, of a target that is the state itself: it does not change before it does.
    pub(super) fn itself(&self) -> u32 {
        NEVER | if self.flipped { 0 } else { 1 << self.position }
    }

    /// What comes of a state in which positions hold (`own`), from the classes of its steps and what holds after them.
    pub(super) fn comes(&self, own: u32, steps: &[(u32, Option<u32>)]) -> Comes {
        let says = |earlier: &usize| (own >> earlier & 1 == 1) == self.own_truth;
        let has_none = |set: &Vec<bool>| !steps.iter().any(|(class, _)| set[*class as usize]);
        let mut quick =
            self.everywhere || self.own.iter().any(says) || self.wanted_classes.iter().any(has_none);
        let (mut open, mut unknown) = (false, false);
        for (class, target) in steps {
            match (self.of_class[*class as usize], target) {
                (Means::Nothing, _) => {}
                (Means::Settles, _) => quick = true,
                (Means::Target, None) => unknown = true,
                (Means::Target, Some(word)) if (word >> self.position & 1 == 1) == self.flipped => {
                    quick |= self.one_changes;
                }
                (Means::Target, Some(word)) if word & NEVER != 0 => quick |= !self.one_changes,
                (Means::Target, Some(_)) => open = true,
            }
        }
        match (quick, open, unknown) {
            (true, _, _) if self.one_changes => Comes::Change,
            (true, _, _) => Comes::Never,
            (_, _, true) => Comes::Unknown,
            (_, true, _) => Comes::Nothing,
            _ if self.one_changes => Comes::Never,
            _ => Comes::Change,
        }
    }
}

/// What is known of a state, or of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    Open,
    /// It has the quick outcome.
    Quick,
    /// It has the other one.
    Slow,
}

/// What a thread keeps from part to part.
pub(super) struct Targets<W> {
    /// Targets of which something is known, and what.
    recent: Recent<W>,
    recently: Vec<Known>,
    /// Steps whose targets are to be looked up, those of a state one after the other, and the result.
    steps: Vec<(u32, Known)>,
    /// States that are not settled, and where their steps begin and end in `steps`.
    open: Vec<(u32, u32, u32)>,
    asked: Vec<u32>,
    /// Indices of states that were looked up, and their slots.
    found: Vec<(usize, usize)>,
    /// States whose steps are collected, their places in the part, and their results.
    states: Vec<u64>,
    places: Vec<usize>,
    outcome: Vec<Known>,
}

impl<W: Width> Targets<W> {
    pub(super) fn new(width: W) -> Self {
        Targets {
            recent: Recent::new(width),
            recently: vec![Known::Open; Recent::<W>::PLACES],
            steps: Vec::new(),
            open: Vec::new(),
            asked: Vec::new(),
            found: Vec::new(),
            states: Vec::new(),
            places: Vec::new(),
            outcome: Vec::new(),
        }
    }
}

/// Bits by slot.
pub(super) type Bits = [AtomicU64];

fn has(bits: &Bits, slot: usize) -> bool {
    bits[slot / 64].load(Relaxed) >> (slot % 64) & 1 == 1
}

/// The result of a sweep, or of a part of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Count {
    /// States whose bit changed.
    pub(super) changed: u64,
    /// States whose bit was found never to change.
    pub(super) never: u64,
}

impl Count {
    fn add(&mut self, single: &Single, outcome: Known) {
        *(if single.changes(outcome) { &mut self.changed } else { &mut self.never }) += 1;
    }
}

impl<S: EveryStep> Sweeps<'_, '_, S> {
    /// Looks at the states of a part that may still change. `never`: in which states it will not.
    pub(super) fn sweep_single(
        &self,
        single: &Single,
        never: &Bits,
        part: &mut Part,
        scratch: &mut Scratch<S::Width>,
    ) -> Result<Count> {
        let words = self.run.system.width().words();
        let mut over = std::mem::take(&mut scratch.over);
        over.clear();
        over.resize(part.live(), false);
        let mut buffer = std::mem::take(&mut scratch.buffer);
        let live = part.live_states(&self.levels, &mut buffer)?;
        let mut count = self.settle_by_themselves(single, never, live, &mut over);
        for k in 0..part.live() {
            if !over[k] {
                let state = &live[k * words..(k + 1) * words];
                self.run.system.expand(state, &mut scratch.steps)?;
                scratch.ends.push(scratch.steps.len());
                scratch.targets.states.extend_from_slice(state);
                scratch.targets.places.push(k);
            }
            if scratch.steps.len() < BATCH && k + 1 < part.live() {
                continue;
            }
            self.run.check_limits(0);
            self.note(scratch);
            self.settle_batch(single, never, scratch);
            let Targets { states, places, outcome, .. } = &mut scratch.targets;
            for (place, outcome) in places.iter().zip(outcome).filter(|(_, outcome)| **outcome != Known::Open)
            {
                over[*place] = true;
                count.add(single, *outcome);
            }
            states.clear();
            places.clear();
            scratch.steps.clear();
            scratch.ends.clear();
        }
        part.set_aside(&over, &self.levels, &mut buffer)?;
        (scratch.over, scratch.buffer) = (over, buffer);
        Ok(count)
    }

    /// What earlier positions settle in the states themselves: these need not be expanded.
    fn settle_by_themselves(
        &self,
        single: &Single,
        never: &Bits,
        states: &[u64],
        over: &mut [bool],
    ) -> Count {
        let mut count = Count::default();
        if !single.own.is_empty() {
            let says = |earlier: &usize, slot| self.bit(*earlier, slot) == single.own_truth;
            self.table.slots_of(states, |k, slot| {
                if single.own.iter().any(|earlier| says(earlier, slot)) {
                    over[k] = true;
                    self.change(single, never, Known::Quick, slot);
                    count.add(single, Known::Quick);
                }
            });
        }
        count
    }

    /// Remembers the result for the state of a slot.
    fn change(&self, single: &Single, never: &Bits, outcome: Known, slot: usize) {
        if single.changes(outcome) {
            self.flip(single.position, slot, single.flipped);
        } else {
            never[slot / 64].fetch_or(1 << (slot % 64), Relaxed);
        }
    }

    /// Finds out what comes of states whose steps are collected, and changes bits.
    fn settle_batch(&self, single: &Single, never: &Bits, scratch: &mut Scratch<S::Width>) {
        let words = self.run.system.width().words();
        let Scratch { steps, ends, keys, targets, .. } = scratch;
        settle_alone(single, steps, ends, targets, words);
        // Most are settled by few of their targets.
        for most in [FEW, usize::MAX] {
            if targets.open.is_empty() {
                break;
            }
            let Targets { steps: looks, open, asked, .. } = &mut *targets;
            keys.clear();
            asked.clear();
            for &(_, begin, end) in open.iter() {
                let unknown = (begin..end).filter(|at| looks[*at as usize].1 == Known::Open);
                asked.extend(unknown.take(most));
            }
            asked.iter().for_each(|at| keys.extend_from_slice(steps.target(looks[*at as usize].0 as usize)));
            self.look_up(single, never, keys, targets);
            targets.conclude();
        }
        keys.clear();
        targets.asked.clear();
        let settled = targets.outcome.iter().enumerate().filter(|(_, outcome)| **outcome != Known::Open);
        for (state, _) in settled {
            targets.asked.push(state as u32);
            keys.extend_from_slice(&targets.states[state * words..(state + 1) * words]);
        }
        let Targets { asked, outcome, found, .. } = &mut *targets;
        self.fetch(single, never, keys, found);
        for &(k, slot) in &*found {
            self.change(single, never, outcome[asked[k] as usize], slot);
        }
    }

    /// Finds the slots of states, by their indices, and asks for their bits, which are in no cache either.
    fn fetch(&self, single: &Single, never: &Bits, keys: &[u64], found: &mut Vec<(usize, usize)>) {
        let changed = &self.bits[single.position][..];
        found.clear();
        self.table.slots_of(keys, |k, slot| {
            prefetch(&raw const changed[slot / 64]);
            prefetch(&raw const never[slot / 64]);
            found.push((k, slot));
        });
    }

    /// Looks up what was asked.
    fn look_up(&self, single: &Single, never: &Bits, keys: &[u64], targets: &mut Targets<S::Width>) {
        let words = self.run.system.width().words();
        let Targets { recent, recently, steps, asked, found, .. } = targets;
        let changed = &self.bits[single.position][..];
        self.fetch(single, never, keys, found);
        for &(k, slot) in &*found {
            let key = &keys[k * words..(k + 1) * words];
            let known = if has(changed, slot) == single.flipped {
                if single.one_changes { Known::Quick } else { Known::Slow }
            } else if has(never, slot) {
                if single.one_changes { Known::Slow } else { Known::Quick }
            } else {
                continue;
            };
            recently[recent.keep(key)] = known;
            steps[asked[k] as usize].1 = known;
        }
    }
}

/// What is known of states without looking anything up.
fn settle_alone<W: Width>(
    single: &Single,
    steps: &Steps,
    ends: &[usize],
    targets: &mut Targets<W>,
    words: usize,
) {
    targets.outcome.clear();
    targets.open.clear();
    targets.steps.clear();
    let mut begin = 0;
    for (state, &end) in ends.iter().enumerate() {
        let vias = &steps.vias()[begin..end];
        let has_none = |set: &Vec<bool>| !vias.iter().any(|via| set[via.vector().0 as usize]);
        let mut quick = single.everywhere || single.wanted.iter().any(has_none);
        let first = targets.steps.len();
        for (at, via) in (begin..end).zip(vias) {
            if quick {
                break;
            }
            match single.means[via.vector().0 as usize] {
                Means::Nothing => {}
                Means::Settles => quick = true,
                Means::Target => {
                    let target = steps.target(at);
                    match targets.recent.place(target).map(|place| targets.recently[place]) {
                        Some(Known::Quick) => quick = true,
                        Some(Known::Slow) => {}
                        _ if *target == targets.states[state * words..(state + 1) * words] => {
                            quick = !single.one_changes;
                        }
                        _ => targets.steps.push((at as u32, Known::Open)),
                    }
                }
            }
        }
        let outcome = if quick {
            targets.steps.truncate(first);
            Known::Quick
        } else if targets.steps.len() == first {
            Known::Slow
        } else {
            targets.open.push((state as u32, first as u32, targets.steps.len() as u32));
            Known::Open
        };
        targets.outcome.push(outcome);
        begin = end;
    }
}

impl<W> Targets<W> {
    /// Gives the results for states whose targets were looked up.
    fn conclude(&mut self) {
        let Targets { steps, open, outcome, .. } = self;
        open.retain(|&(state, begin, end)| {
            let looks = &steps[begin as usize..end as usize];
            let known = if looks.iter().any(|look| look.1 == Known::Quick) {
                Known::Quick
            } else if looks.iter().all(|look| look.1 == Known::Slow) {
                Known::Slow
            } else {
                return true;
            };
            outcome[state as usize] = known;
            false
        });
    }
}
