//! Looks at the states of a level, in turns: what can be said without others is said at once, the owners of other targets
//! are asked together, and the answers say the rest.
//!
//! A turn is two exchanges ([`parcels`]), one of questions, which are states, and one of answers, which are bits, in
//! the order of the questions. A thread looks at one part of the level in a turn, or less if it has many questions, so what is
//! waiting for answers is bounded. Invariant: even if something goes wrong at a rank, it takes part in both exchanges, and all ranks
//! learn of it before the next turn.

use super::{Aim, Goal, Part, Sweeps};
use crate::base::error::{Error, Result};
use crate::engine::mesh::{Mesh, parcels};
use crate::engine::search::owned::agree;
use crate::engine::search::sweep::blocks::{Blocks, Node};
use crate::engine::successors::{EveryStep, Steps};
use std::sync::atomic::Ordering::Relaxed;

/// Steps that are collected before their targets are looked up together.
const BATCH: usize = if cfg!(test) { 8 } else { 512 };
/// Questions of a thread in a turn, and steps that wait for answers. Tests ask little at a time.
const QUESTIONS: usize = if cfg!(test) { 6 } else { 1 << 15 };
const MOVES: usize = if cfg!(test) { 24 } else { 1 << 17 };
/// The least number of steps, and which part of the visited set they may take.
const LEAST: usize = 1 << 10;
const PART: usize = 8;
/// Questions that a thread remembers, so that it does not ask the same twice in a turn.
const RECENT: usize = if cfg!(test) { 4 } else { 1 << 12 };
/// With fewer states of a level than this there is one thread.
const FEW: usize = if cfg!(test) { 1 } else { 1 << 12 };

/// What is known of the target of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// It does not matter.
    Any,
    /// The positions that hold there.
    Word(u32),
    /// This rank owns it.
    Of(u32),
    /// The answer to a question to a rank.
    Answer(u32, u32),
}

/// A state that waits for answers.
struct Waiting {
    /// Its place in the part.
    place: usize,
    slot: usize,
    /// Where its steps end.
    end: usize,
}

#[derive(Clone, Copy, Default)]
struct Asked {
    turn: u64,
    rank: u32,
    number: u32,
}

/// What a thread keeps from turn to turn.
pub(super) struct Hand {
    steps: Steps,
    /// Where the steps of each state end.
    ends: Vec<usize>,
    keys: Vec<u64>,
    slots: Vec<usize>,
    /// The classes and targets of steps that are looked at or wait.
    moves: Vec<(u32, Target)>,
    values: Vec<(u32, Option<u32>)>,
    waiting: Vec<Waiting>,
    /// For each rank.
    questions: Vec<Vec<u64>>,
    answers: Vec<Vec<u64>>,
    recent: Vec<Asked>,
    /// Questions and steps of a turn.
    most: Most,
    turn: u64,
    /// Which states of the part can change no more.
    over: Vec<bool>,
    met: Vec<bool>,
    /// Whether a bit has changed.
    changed: bool,
    /// The least state in which not everything holds.
    pub(super) least: Option<Vec<u64>>,
}

/// How much a thread does in a turn. A small system needs no more memory for that than a part of what its states take, and
/// has few turns anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Most {
    questions: usize,
    moves: usize,
}

impl Most {
    /// For a thread of several, of a rank whose visited set takes this many bytes.
    fn new(bytes: u64, threads: usize) -> Self {
        // A step takes about 64 bytes, with its part of the questions.
        let steps = bytes as usize / PART / threads / 64;
        let moves = steps.clamp(LEAST.min(MOVES), MOVES);
        Most { moves, questions: (moves / 4).min(QUESTIONS) }
    }

    fn bytes(self, words: usize) -> usize {
        self.questions * 8 * (words + 1) * 2 + self.moves * 32 + RECENT * size_of::<Asked>()
    }
}

/// What came of looking at a state.
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
        let hand = |_| Hand {
            steps: Steps::new(words),
            ends: Vec::new(),
            keys: Vec::new(),
            slots: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            waiting: Vec::new(),
            questions: vec![Vec::new(); mesh.size()],
            answers: vec![Vec::new(); mesh.size()],
            recent: vec![Asked::default(); RECENT],
            most,
            turn: 0,
            over: Vec::new(),
            met: vec![false; self.formula.class_count],
            changed: false,
            least: None,
        };
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

    /// Sends the questions of all threads, answers those of others, and gets the answers. Both exchanges take place
    /// whatever happens.
    fn exchange(&mut self, goal: &Goal, threads: &mut [Thread], mesh: &mut dyn Mesh) -> Result<()> {
        let words = self.words();
        let (number, per) = (self.exchange, 64 / goal.asked.len().max(1));
        self.exchange += 2;
        // Who is asked by which thread, in this order.
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
        // Who is through with an exchange may send for the next while others still take what comes: all must be through.
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
                    reply[k / per] |= word << (k % per * goal.asked.len());
                }
                None => strange = true,
            }
            k += 1;
        });
        if strange { Err(unasked(from)) } else { Ok(reply) }
    }

    /// The positions that are asked for, one bit after the other.
    fn squeezed(&self, goal: &Goal, slot: usize) -> u64 {
        (0..).zip(&goal.asked).fold(0, |word, (k, &at)| word | u64::from(self.bit(at, slot)) << k)
    }

    /// Looks at the states of a thread's part, and asks about the targets of others where it matters.
    fn ask(&self, goal: &Goal, thread: &mut Thread) -> Result<()> {
        let words = self.words();
        let Thread { hand, now, at, .. } = thread;
        hand.turn += 1;
        hand.waiting.clear();
        hand.moves.clear();
        let Some(part) = now else { return Ok(()) };
        if *at == 0 {
            hand.over.clear();
        }
        let live = part.states(goal, words);
        let states = &part.chunk.states[..live * words];
        let mut asked = 0;
        while *at < live && asked < hand.most.questions && hand.moves.len() < hand.most.moves {
            let first = *at;
            hand.steps.clear();
            hand.ends.clear();
            while *at < live && hand.steps.len() < BATCH {
                self.run.system.expand(&states[*at * words..(*at + 1) * words], &mut hand.steps)?;
                hand.ends.push(hand.steps.len());
                *at += 1;
            }
            self.run.check_limits(0);
            asked += self.look_up(goal, hand, &states[first * words..*at * words], first)?;
        }
        Ok(())
    }

    /// Looks up states whose steps were collected, and their targets that this rank owns; how many questions there are.
    fn look_up(&self, goal: &Goal, hand: &mut Hand, states: &[u64], first: usize) -> Result<usize> {
        let words = self.words();
        // Classes and targets of all steps; those of states that do not wait go again.
        let begin = hand.moves.len();
        hand.keys.clear();
        hand.keys.extend_from_slice(states);
        for (target, via) in hand.steps.iter() {
            let class = self.formula.classes[via.vector().0 as usize]
                .ok_or_else(|| Error::internal("no state has a fault, and yet one has"))?;
            hand.met[class as usize] = true;
            let to = if goal.needed[class as usize] {
                let owner = self.run.owner.of(target) as u32;
                if owner as usize == self.me {
                    hand.keys.extend_from_slice(target);
                }
                Target::Of(owner)
            } else {
                Target::Any
            };
            hand.moves.push((class, to));
        }
        hand.slots.clear();
        hand.slots.resize(hand.keys.len() / words, 0);
        let slots = &mut hand.slots;
        self.table.slots_of(&hand.keys, |k, slot| slots[k] = slot);
        let count = states.len() / words;
        let (mut next_slot, mut step, mut kept, mut asked) = (count, 0, begin, 0);
        for k in 0..count {
            let steps = step..hand.ends[k];
            hand.values.clear();
            for at in steps.clone() {
                let (class, target) = &mut hand.moves[begin + at];
                if *target == Target::Of(self.me as u32) {
                    *target = Target::Word(self.word_asked(goal, hand.slots[next_slot]));
                    next_slot += 1;
                }
                hand.values.push((*class, if let Target::Word(word) = target { Some(*word) } else { None }));
            }
            let slot = hand.slots[k];
            let state = &states[k * words..(k + 1) * words];
            let judged = self.judge(goal, state, slot, hand);
            if judged == Judged::Open {
                for at in steps.clone() {
                    let (class, mut target) = hand.moves[begin + at];
                    if let Target::Of(rank) = target {
                        let (number, new) = hand.question(rank, at, words);
                        asked += usize::from(new);
                        target = Target::Answer(rank, number);
                    }
                    hand.moves[kept] = (class, target);
                    kept += 1;
                }
                hand.waiting.push(Waiting { place: first + k, slot, end: kept });
            }
            hand.over.push(judged == Judged::Over);
            step = steps.end;
        }
        hand.moves.truncate(kept);
        Ok(asked)
    }

    fn word_asked(&self, goal: &Goal, slot: usize) -> u32 {
        goal.asked.iter().fold(0, |word, &at| word | u32::from(self.bit(at, slot)) << at)
    }

    /// Judges the states that wait, with the answers. A part that was looked at to its end is followed by the next.
    fn judge_waiting(&self, goal: &Goal, thread: &mut Thread) -> Result<()> {
        let words = self.words();
        let Thread { hand, parts, now, at } = thread;
        let Some(part) = now else { return Ok(()) };
        let (each, per) = (goal.asked.len(), 64 / goal.asked.len().max(1));
        let waiting = std::mem::take(&mut hand.waiting);
        let mut begin = 0;
        for &Waiting { place, slot, end } in &waiting {
            hand.values.clear();
            for &(class, target) in &hand.moves[begin..end] {
                let value = match target {
                    Target::Any => None,
                    Target::Word(word) => Some(word),
                    Target::Answer(rank, number) => {
                        let number = number as usize;
                        let bits = hand.answers[rank as usize][number / per] >> (number % per * each);
                        let set = |(k, &at): (usize, &usize)| ((bits >> k & 1) as u32) << at;
                        Some(goal.asked.iter().enumerate().map(set).sum())
                    }
                    Target::Of(_) => return Err(Error::internal("a state waits for what nobody was asked")),
                };
                hand.values.push((class, value));
            }
            begin = end;
            let state = &part.chunk.states[place * words..(place + 1) * words];
            match self.judge(goal, state, slot, hand) {
                Judged::Open => return Err(Error::internal("a state waits after all answers have come")),
                judged => hand.over[place] = judged == Judged::Over,
            }
        }
        hand.waiting = waiting;
        if *at < part.states(goal, words) {
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

    fn flip(&self, position: usize, slot: usize, to: bool) {
        let (word, bit) = (&self.bits[position][slot / 64], 1 << (slot % 64));
        if to {
            word.fetch_or(bit, Relaxed)
        } else {
            word.fetch_and(!bit, Relaxed)
        };
    }
}

impl Hand {
    /// Asks a rank about the target of a step: the number of the question, and whether it is a new one.
    fn question(&mut self, rank: u32, step: usize, words: usize) -> (u32, bool) {
        let target = self.steps.target(step);
        let questions = &mut self.questions[rank as usize];
        let hash = target.iter().fold(0u64, |h, &word| (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let recent = &mut self.recent[(hash >> 40) as usize % RECENT];
        let at = recent.number as usize * words;
        if recent.turn == self.turn && recent.rank == rank && questions[at..at + words] == *target {
            return (recent.number, false);
        }
        let number = (questions.len() / words) as u32;
        questions.extend_from_slice(target);
        *recent = Asked { turn: self.turn, rank, number };
        (number, true)
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
