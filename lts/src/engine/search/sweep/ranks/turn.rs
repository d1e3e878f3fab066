//! Looks at the states of a level, in turns: what can be said without others is said at once, the owners of other targets
//! are asked together, and the answers say the rest.
//!
//! A turn is two exchanges ([`parcels`]), one of questions, which are states, and one of answers, which are bits, in
//! the order of the questions. A thread looks at one part of the level in a turn, or less if it has many questions, so what is
//! waiting for answers is bounded. Invariant: even if something goes wrong at a rank, it takes part in both exchanges, and all ranks
//! learn of it before the next turn.

use super::hand::{Hand, Most, Target, Waiting};
use super::{Aim, Goal, Part, Sweeps};
use crate::base::error::{Error, Result};
use crate::engine::mesh::{Mesh, parcels};
use crate::engine::search::owned::agree;
use crate::engine::search::sweep::blocks::{Blocks, Node};
use crate::engine::search::sweep::look::FEW as FEW_TARGETS;
use crate::engine::search::sweep::single::{Comes, NEVER, Single};
use crate::engine::successors::EveryStep;
use std::sync::atomic::Ordering::Relaxed;

/// Steps that are collected before their targets are looked up together.
const BATCH: usize = if cfg!(test) { 8 } else { 512 };
/// With fewer states of a level than this there is one thread.
const FEW: usize = if cfg!(test) { 1 } else { 1 << 12 };

/// The result of a look at a state.
#[derive(PartialEq, Eq)]
enum Judged {
    /// It can change no more.
    Over,
    Stays,
    /// It depends on what is not known.
    Open,
}

/// A thread and its parts of a level.
struct Thread<'t, 'p, 'a> {
    hand: &'t mut Hand,
    parts: std::vec::IntoIter<&'p mut Part<'a>>,
    now: Option<&'p mut Part<'a>>,
    /// The states before this one were looked at in earlier turns.
    at: usize,
}

impl Part<'_> {
    /// How many states are looked at.
    fn states(&self, goal: &Goal, words: usize) -> usize {
        match goal.aim {
            Aim::Settle(..) => self.live,
            Aim::All(_) => self.chunk.states.len() / words,
        }
    }
}

impl<S: EveryStep> Sweeps<'_, '_, S> {
    /// What the threads need.
    pub(super) fn hands(&self, mesh: &dyn Mesh) -> Result<Vec<Hand>> {
        let threads = self.run.options.workers.max(1);
        let words = self.words();
        let most = Most::new(self.table.bytes(), threads);
        self.run.budget.take((threads * most.bytes(words)) as u64)?;
        let hand = |_| Hand::new(words, mesh.size(), self.formula.class_count, most);
        Ok((0..threads).map(hand).collect())
    }

    /// Looks at all states of a level, with all other ranks: whether any bit of any rank has changed.
    pub(super) fn look_at_level(
        &mut self,
        goal: &Goal,
        depth: usize,
        mesh: &mut dyn Mesh,
        hands: &mut [Hand],
    ) -> Result<bool> {
        let mut level = std::mem::take(&mut self.levels[depth]);
        let looked = self.look_at(goal, &mut level, mesh, hands);
        self.levels[depth] = level;
        looked
    }

    fn look_at(
        &mut self,
        goal: &Goal,
        level: &mut [Part<'_>],
        mesh: &mut dyn Mesh,
        hands: &mut [Hand],
    ) -> Result<bool> {
        let states: usize = level.iter().map(|part| part.states(goal, self.words())).sum();
        let count = if states < FEW { 1 } else { hands.len().min(level.len()).max(1) };
        let mut shares: Vec<Vec<&mut Part>> = (0..count).map(|_| Vec::new()).collect();
        level.iter_mut().enumerate().for_each(|(k, part)| shares[k % count].push(part));
        let mut threads: Vec<Thread> = hands
            .iter_mut()
            .zip(shares)
            .map(|(hand, parts)| {
                let mut parts = parts.into_iter();
                let now = parts.next();
                Thread { hand, parts, now, at: 0 }
            })
            .collect();
        let mut changed = false;
        loop {
            let sweeps = &*self;
            let done = on_all(&mut threads, |thread| sweeps.ask(goal, thread));
            let done = done.and(self.exchange(goal, &mut threads, mesh));
            let sweeps = &*self;
            let done = done.and_then(|()| on_all(&mut threads, |thread| sweeps.judge_waiting(goal, thread)));
            let done = done.and_then(|()| self.go_on());
            let here = threads.iter_mut().fold(false, |any, t| any | std::mem::take(&mut t.hand.changed));
            let more = threads.iter().any(|thread| thread.now.is_some());
            let said = self.share(mesh, &[u64::from(done.is_err()), u64::from(here), u64::from(more)]);
            let any = |k: usize| said.iter().skip(k).step_by(3).any(|&flag| flag == 1);
            if any(0) {
                agree(mesh, done)?;
            }
            changed |= any(1);
            if !any(2) {
                return Ok(changed);
            }
        }
    }

    /// Sends the questions of all threads, answers those of others, and gets the answers. Both exchanges take place even
    /// after an error.
    fn exchange(&mut self, goal: &Goal, threads: &mut [Thread], mesh: &mut dyn Mesh) -> Result<()> {
        let words = self.words();
        let (number, per) = (self.exchange, 64 / goal.each().max(1));
        self.exchange += 2;
        // For each rank the threads that ask it, in this order.
        let mut asked: Vec<Vec<(usize, usize)>> = vec![Vec::new(); mesh.size()];
        let mut outgoing = Vec::new();
        for (thread, Thread { hand, .. }) in threads.iter_mut().enumerate() {
            for (rank, states) in
                hand.questions.iter_mut().enumerate().filter(|(_, states)| !states.is_empty())
            {
                asked[rank].push((thread, states.len() / words));
                self.asked += (states.len() / words) as u64;
                outgoing.push((rank, std::mem::take(states)));
            }
        }
        let mut outgoing = outgoing.into_iter();
        let mut replies = Vec::new();
        let sweeps = &*self;
        let sent = parcels::exchange(mesh, number, &mut || Ok(outgoing.next()), &mut |from, states| {
            replies.push((from, sweeps.reply(goal, states, per, from)?));
            Ok(())
        });
        // A rank that has finished an exchange may send for the next while others still receive: all must have finished.
        self.share(mesh, &[0]);
        let mut replies = replies.into_iter();
        let mut turns = vec![0; asked.len()];
        let answered =
            parcels::exchange(mesh, number + 1, &mut || Ok(replies.next()), &mut |from, answers| {
                let (thread, count) = *asked[from].get(turns[from]).ok_or_else(|| unasked(from))?;
                turns[from] += 1;
                if answers.len() != count.div_ceil(per) {
                    return Err(unasked(from));
                }
                threads[thread].hand.answers[from] = answers.to_vec();
                Ok(())
            });
        sent?;
        answered?;
        match asked.iter().zip(turns).position(|(asked, turns)| asked.len() != turns) {
            None => Ok(()),
            Some(rank) => Err(Error::Internal(format!("rank {rank} did not answer every question"))),
        }
    }

    /// Answers the questions of a rank.
    fn reply(&self, goal: &Goal, states: &[u64], per: usize, from: usize) -> Result<Vec<u64>> {
        let words = self.words();
        if !states.len().is_multiple_of(words) {
            return Err(unasked(from));
        }
        let mut reply = vec![0; (states.len() / words).div_ceil(per)];
        let (mut k, mut strange) = (0, false);
        self.table.find_slots(states, |slot| {
            match slot {
                Some(slot) => {
                    let word = self.squeezed(goal, slot);
                    reply[k / per] |= word << (k % per * goal.each());
                }
                None => strange = true,
            }
            k += 1;
        });
        if strange { Err(unasked(from)) } else { Ok(reply) }
    }

    /// The positions that are asked for, one bit after the other, and last whether a bit never changes.
    fn squeezed(&self, goal: &Goal, slot: usize) -> u64 {
        let never = u64::from(goal.single.is_some() && self.never_changes(slot)) << goal.asked.len();
        (0..).zip(&goal.asked).fold(never, |word, (k, &at)| word | u64::from(self.bit(at, slot)) << k)
    }

    /// The same where they stand in a word.
    fn spread(goal: &Goal, bits: u64) -> u32 {
        let never = if goal.single.is_some() && bits >> goal.asked.len() & 1 == 1 { NEVER } else { 0 };
        let set = |(k, &at): (usize, &usize)| ((bits >> k & 1) as u32) << at;
        goal.asked.iter().enumerate().map(set).fold(never, |word, bit| word | bit)
    }

    fn never_changes(&self, slot: usize) -> bool {
        self.never[slot / 64].load(Relaxed) >> (slot % 64) & 1 == 1
    }

    /// Looks at the states of a thread's part, and asks about the targets of others where it matters.
    fn ask(&self, goal: &Goal, thread: &mut Thread) -> Result<()> {
        let words = self.words();
        let Thread { hand, now, at, .. } = thread;
        hand.turn += 1;
        hand.waiting.clear();
        hand.moves.clear();
        let Some(part) = now else { return Ok(()) };
        let live = part.states(goal, words);
        if *at == 0 {
            hand.over.clear();
            hand.over.resize(live, false);
            hand.again.clear();
        }
        let states = &part.chunk.states[..live * words];
        let mut asked = 0;
        while asked < hand.most.questions && hand.moves.len() < hand.most.moves {
            // What a few answers did not decide comes first.
            let all = !hand.again.is_empty();
            hand.steps.clear();
            hand.ends.clear();
            hand.places.clear();
            while hand.steps.len() < BATCH {
                let place = match hand.again.pop() {
                    Some(place) => place,
                    None if all || *at == live => break,
                    None => {
                        *at += 1;
                        *at - 1
                    }
                };
                self.run.system.expand(&states[place * words..(place + 1) * words], &mut hand.steps)?;
                hand.ends.push(hand.steps.len());
                hand.places.push(place);
            }
            if hand.places.is_empty() {
                break;
            }
            self.run.check_limits(0);
            asked += self.look_up(goal, hand, states, all)?;
        }
        Ok(())
    }

    /// Looks up the states whose steps were collected, and of targets that this rank owns a few of each state, then all of those
    /// that this does not decide. How many questions to others are left: of a state whose own targets were too few to tell
    /// much a few, or `all`.
    fn look_up(&self, goal: &Goal, hand: &mut Hand, states: &[u64], all: bool) -> Result<usize> {
        let words = self.words();
        let begin = hand.moves.len();
        let itself = goal.single.as_ref().map(Single::itself);
        for (k, place) in hand.places.iter().enumerate() {
            let state = &states[place * words..(place + 1) * words];
            for at in hand.begin_of(k)..hand.ends[k] {
                let (target, via) = (hand.steps.target(at), hand.steps.vias()[at]);
                let class = self.formula.classes[via.vector().0 as usize]
                    .ok_or_else(|| Error::internal("no state has a fault, and yet one has"))?;
                hand.met[class as usize] = true;
                let to = match itself {
                    _ if !goal.needed[class as usize] => Target::Any,
                    Some(word) if target == state => Target::Word(word),
                    _ => Target::Of(self.run.owner.of(target) as u32),
                };
                hand.moves.push((class, to));
            }
        }
        hand.keys.clear();
        for place in &hand.places {
            hand.keys.extend_from_slice(&states[place * words..(place + 1) * words]);
        }
        let count = hand.places.len();
        hand.slots.clear();
        hand.slots.resize(count, 0);
        let slots = &mut hand.slots;
        self.table.slots_of(&hand.keys, |k, slot| slots[k] = slot);
        let mut open = std::mem::take(&mut hand.open);
        open.clear();
        open.extend(0..count);
        for most in [FEW_TARGETS, usize::MAX] {
            self.look_up_own(goal, hand, begin, &open, if all { usize::MAX } else { most });
            open.retain(|&k| {
                hand.values.clear();
                let steps = begin + hand.begin_of(k)..begin + hand.ends[k];
                hand.values.extend(hand.moves[steps].iter().map(|&(class, target)| (class, target.word())));
                let (place, slot) = (hand.places[k], hand.slots[k]);
                let judged = self.judge(goal, &states[place * words..(place + 1) * words], slot, hand);
                hand.over[place] = judged == Judged::Over;
                judged == Judged::Open
            });
        }
        let (mut kept, mut asked) = (begin, 0);
        for &k in &open {
            let steps = hand.begin_of(k)..hand.ends[k];
            let is_known = |at: &usize| matches!(hand.moves[begin + at].1, Target::Word(_));
            let tells = all || steps.clone().filter(is_known).count() >= FEW_TARGETS;
            let mut left = if tells { usize::MAX } else { FEW_TARGETS };
            for at in steps {
                let (class, mut target) = hand.moves[begin + at];
                if let Target::Of(rank) = target
                    && left > 0
                {
                    left -= 1;
                    let (number, new) = hand.question(rank, at, words);
                    asked += usize::from(new);
                    target = Target::Answer(rank, number);
                }
                hand.moves[kept] = (class, target);
                kept += 1;
            }
            hand.waiting.push(Waiting { place: hand.places[k], slot: hand.slots[k], end: kept });
        }
        hand.moves.truncate(kept);
        hand.open = open;
        Ok(asked)
    }

    /// Looks up at most `most` targets of each of some states, of those targets that this rank owns.
    fn look_up_own(&self, goal: &Goal, hand: &mut Hand, begin: usize, open: &[usize], most: usize) {
        let mine = Target::Of(self.me as u32);
        hand.wanted.clear();
        hand.keys.clear();
        for &k in open {
            let steps = hand.begin_of(k)..hand.ends[k];
            hand.wanted.extend(steps.filter(|at| hand.moves[begin + at].1 == mine).take(most));
        }
        for &at in &hand.wanted {
            hand.keys.extend_from_slice(hand.steps.target(at));
        }
        let Hand { wanted, moves, keys, .. } = hand;
        self.table.slots_of(keys, |k, slot| {
            moves[begin + wanted[k]].1 = Target::Word(self.word_asked(goal, slot));
        });
    }

    fn word_asked(&self, goal: &Goal, slot: usize) -> u32 {
        let never = if goal.single.is_some() && self.never_changes(slot) { NEVER } else { 0 };
        goal.asked.iter().fold(never, |word, &at| word | u32::from(self.bit(at, slot)) << at)
    }

    /// Judges the states that wait, with the answers. A part that was looked at to its end is followed by the next.
    fn judge_waiting(&self, goal: &Goal, thread: &mut Thread) -> Result<()> {
        let words = self.words();
        let Thread { hand, parts, now, at } = thread;
        let Some(part) = now else { return Ok(()) };
        let (each, per) = (goal.each(), 64 / goal.each().max(1));
        let waiting = std::mem::take(&mut hand.waiting);
        let mut begin = 0;
        for &Waiting { place, slot, end } in &waiting {
            hand.values.clear();
            let mut unasked = false;
            for &(class, target) in &hand.moves[begin..end] {
                let value = match target {
                    Target::Answer(rank, number) => {
                        let number = number as usize;
                        let bits = hand.answers[rank as usize][number / per] >> (number % per * each);
                        Some(Self::spread(goal, bits))
                    }
                    known => known.word(),
                };
                unasked |= matches!(target, Target::Of(_));
                hand.values.push((class, value));
            }
            begin = end;
            let state = &part.chunk.states[place * words..(place + 1) * words];
            match self.judge(goal, state, slot, hand) {
                Judged::Open if unasked => hand.again.push(place),
                Judged::Open => return Err(Error::internal("a state waits after all answers have come")),
                judged => hand.over[place] = judged == Judged::Over,
            }
        }
        hand.waiting = waiting;
        if *at < part.states(goal, words) || !hand.again.is_empty() {
            return Ok(());
        }
        if let Aim::Settle(..) = goal.aim {
            part.live = to_the_front(&mut part.chunk.states, &hand.over, words);
        }
        self.met.iter().zip(&hand.met).filter(|(_, met)| **met).for_each(|(all, _)| all.store(true, Relaxed));
        (*now, *at) = (parts.next(), 0);
        Ok(())
    }

    /// Says what can be said of a state from the values of its steps. What is not known counts as what does not help; if it
    /// did not matter, that is the answer.
    fn judge(&self, goal: &Goal, state: &[u64], slot: usize, hand: &mut Hand) -> Judged {
        let (formula, mut own) = (self.formula, self.word(slot));
        if let Some(single) = &goal.single {
            return self.judge_single(single, own, slot, hand);
        }
        match &goal.aim {
            Aim::Settle(positions, flipped) => {
                let (mut all, mut open) = (true, false);
                for &position in *positions {
                    if (own >> position & 1 == 1) == *flipped {
                        continue;
                    }
                    let tree = &formula.trees[position];
                    if holds(formula, tree, own, &hand.values, !flipped) == *flipped {
                        self.flip(position, slot, *flipped);
                        own ^= 1 << position;
                        hand.changed = true;
                    } else {
                        all = false;
                        open |= holds(formula, tree, own, &hand.values, *flipped) == *flipped;
                    }
                }
                match (open, all) {
                    (true, _) => Judged::Open,
                    (false, true) => Judged::Over,
                    (false, false) => Judged::Stays,
                }
            }
            Aim::All(parts) => {
                let hold =
                    |unknown| parts.iter().all(|part| holds(formula, part, own, &hand.values, unknown));
                if !hold(true) {
                    if hand.least.as_deref().is_none_or(|least| state < least) {
                        hand.least = Some(state.to_vec());
                    }
                    Judged::Stays
                } else if hold(false) {
                    Judged::Stays
                } else {
                    Judged::Open
                }
            }
        }
    }

    /// The same for a block of one position that asks for nothing else.
    fn judge_single(&self, single: &Single, own: u32, slot: usize, hand: &mut Hand) -> Judged {
        match single.comes(own, &hand.values) {
            Comes::Change => {
                self.flip(single.position(), slot, single.flipped());
                hand.changed = true;
                Judged::Over
            }
            Comes::Never => {
                self.never[slot / 64].fetch_or(1 << (slot % 64), Relaxed);
                hand.never += 1;
                Judged::Over
            }
            Comes::Nothing => Judged::Stays,
            Comes::Unknown => Judged::Open,
        }
    }

    fn flip(&self, position: usize, slot: usize, to: bool) {
        let (word, bit) = (&self.bits[position][slot / 64], 1 << (slot % 64));
        if to {
            word.fetch_or(bit, Relaxed)
        } else {
            word.fetch_and(!bit, Relaxed)
        };
    }
}

fn unasked(rank: usize) -> Error {
    Error::Internal(format!("rank {rank} asks or answers what makes no sense"))
}

/// Does something on all threads, this one among them; of several errors the first.
fn on_all(
    threads: &mut [Thread<'_, '_, '_>],
    work: impl Fn(&mut Thread<'_, '_, '_>) -> Result<()> + Sync,
) -> Result<()> {
    let work = &work;
    let (first, rest) = threads.split_first_mut().expect("there is at least one thread");
    std::thread::scope(|scope| {
        let others: Vec<_> = rest.iter_mut().map(|thread| scope.spawn(move || work(thread))).collect();
        let mine = work(first);
        others.into_iter().fold(mine, |all, other| {
            all.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}

/// Puts states that can still change to the front; how many there are.
fn to_the_front(states: &mut [u64], over: &[bool], words: usize) -> usize {
    let mut live = 0;
    for (k, _) in over.iter().enumerate().filter(|(_, over)| !**over) {
        for word in 0..words {
            states.swap(live * words + word, k * words + word);
        }
        live += 1;
    }
    live
}

/// The truth of a tree in a state, from what holds there and in the targets of its steps, if `unknown` is that of what
/// is asked of targets that are not known.
fn holds(formula: &Blocks, node: &Node, own: u32, steps: &[(u32, Option<u32>)], unknown: bool) -> bool {
    let of_step = |modality: &usize, (class, target): &(u32, Option<u32>)| {
        after(&formula.after[*modality][*class as usize], *target, unknown)
    };
    match node {
        Node::Const(b) => *b,
        Node::Junction(true, parts) => parts.iter().all(|part| holds(formula, part, own, steps, unknown)),
        Node::Junction(false, parts) => parts.iter().any(|part| holds(formula, part, own, steps, unknown)),
        Node::At(position) => own >> position & 1 == 1,
        Node::Every(modality) => steps.iter().all(|step| of_step(modality, step)),
        Node::Some(modality) => steps.iter().any(|step| of_step(modality, step)),
    }
}

/// The truth of a tree in the target of a step, if what holds there is known.
fn after(node: &Node, target: Option<u32>, unknown: bool) -> bool {
    match node {
        Node::Const(b) => *b,
        Node::Junction(true, parts) => parts.iter().all(|part| after(part, target, unknown)),
        Node::Junction(false, parts) => parts.iter().any(|part| after(part, target, unknown)),
        Node::At(position) => target.map_or(unknown, |word| word >> position & 1 == 1),
        // Trees of what must hold after a step have no modalities.
        Node::Every(_) => true,
        Node::Some(_) => false,
    }
}
