//! Channels: steps of single leaves and of leaves that meet, for tables of any size.
//!
//! A local state's moves are stored as ready-made differences, and:
//!
//! - *Vectors of one leaf* stand in a list for each local state: one addition makes a successor.
//! - *Vectors of two leaves* belong to the channel between the two. One of them, the driver, lists for each local state
//!   the channels it offers something to; the other answers. What a local state offers to a channel is the sequence of
//!   its labels there, its *class*; few local states differ in it. A cell for each pair of classes lists the vectors
//!   that fire with the positions of both differences, so nothing is tried in vain but the channel itself. The driver
//!   is the leaf that is likelier to have nothing to offer.
//! - Where there would be too many cells, the offered labels are looked up in the partner's sorted ones instead.
//! - *Vectors of more leaves* are found through the channel of their two rarest parts; the other parts are then looked
//!   up one by one.
//!
//! Invariant: tables are immutable, positions and ranges stay within them, and the order of steps depends on the state
//! only. A step takes 12 to 30 ns, most of it for the branches that no processor can predict; small leaves are better
//! off in [`blocks`](super::blocks).

use super::{Steps, Via};
use crate::engine::pack::{Field, Width};

/// Where a leaf's local state stands, ready for use.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct MaskedField {
    pub(super) word: u32,
    pub(super) shift: u32,
    pub(super) mask: u64,
}

impl MaskedField {
    #[inline(always)]
    fn local(&self, state: &[u64]) -> usize {
        ((state[self.word as usize] >> self.shift) & self.mask) as usize
    }
}

impl From<Field> for MaskedField {
    fn from(field: Field) -> Self {
        MaskedField { word: field.word, shift: field.shift, mask: field.mask() }
    }
}

/// A leaf that has steps of its own or drives a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    pub(super) place: MaskedField,
    /// Its first row in [`Channels::rows`].
    pub(super) rows: u32,
}

/// The first entries of a local state; they end where the next row's begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) singles: u32,
    pub(super) offers: u32,
}

/// A step of one leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    pub(super) delta: u64,
    pub(super) via: Via,
}

/// What a local state of a driver offers to one channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) channel: u32,
    /// The row of cells of the driver's class, or the class itself where the channel has no cells.
    pub(super) row: u32,
    /// The first difference in [`Channels::deltas`].
    pub(super) deltas: u32,
}

/// What a local state of the other leaf answers on one channel.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Acceptance {
    /// 0 if nothing.
    pub(super) class: u32,
    /// The first difference in [`Channels::deltas`].
    pub(super) deltas: u32,
}

/// Two leaves that share vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) partner: MaskedField,
    /// The partner's first answer in [`Channels::answers`].
    pub(super) answers: u32,
    /// The ranges of the channel's classes in [`Channels::wants`] and [`Channels::gives`], if it has no cells.
    pub(super) join: Option<Join>,
}

/// Where the classes of a channel without cells begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) want_rows: u32,
    pub(super) give_rows: u32,
}

/// A vector that fires in a pair of classes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) mine: u32,
    pub(super) theirs: u32,
    pub(super) what: What,
}

/// A [`Via`], or the index of a [`Multi`].
#[derive(Clone, Copy, Debug)]
pub(super) struct What(u32);

impl What {
    const MULTI: u32 = Via::LIMIT;

    pub(super) fn step(via: Via) -> Self {
        What(via.0)
    }

    pub(super) fn multi(index: usize) -> Self {
        What(Self::MULTI | index as u32)
    }

    #[inline(always)]
    fn is_multi(self) -> bool {
        self.0 & Self::MULTI != 0
    }

    fn multi_index(self) -> usize {
        (self.0 & (Self::MULTI - 1)) as usize
    }
}

/// A vector of more than two leaves, by its remaining parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multi {
    pub(super) via: Via,
    pub(super) parts: (u32, u32),
}

/// A remaining part of a vector of more than two leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) place: MaskedField,
    pub(super) label: u32,
    /// The leaf's first row in [`Channels::part_rows`].
    pub(super) rows: u32,
}

/// An offered label where a channel has no cells: the partner's label it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub(super) label: u32,
    pub(super) mine: u32,
    pub(super) what: What,
}

/// An answered label where a channel has no cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Give {
    pub(super) label: u32,
    pub(super) theirs: u32,
}

/// The channels of a network, and the steps of single leaves.
#[derive(Default, Debug)]
pub(super) struct Channels {
    pub(super) drivers: Vec<Driver>,
    pub(super) rows: Vec<Row>,
    pub(super) singles: Vec<Single>,
    pub(super) offers: Vec<Offer>,
    pub(super) channels: Vec<Channel>,
    pub(super) answers: Vec<Acceptance>,
    /// The first hit and the number of hits.
    pub(super) cells: Vec<(u32, u32)>,
    /// The first is a stand-in for empty cells.
    pub(super) hits: Vec<Hit>,
    pub(super) deltas: Vec<u64>,
    pub(super) want_rows: Vec<u32>,
    pub(super) wants: Vec<Want>,
    pub(super) give_rows: Vec<u32>,
    pub(super) gives: Vec<Give>,
    pub(super) multis: Vec<Multi>,
    pub(super) parts: Vec<Part>,
    pub(super) part_rows: Vec<u32>,
    pub(super) part_moves: Vec<(u32, u64)>,
}

/// A driver's offer and its partner's answer in a state.
struct Meeting<'a> {
    state: &'a [u64],
    /// The words of the driver and of the partner.
    words: (u32, u32),
    /// The first differences of the two.
    deltas: (u32, u32),
}

impl Channels {
    /// Appends the steps of single leaves and of all channels.
    #[inline(always)]
    pub(super) fn expand<W: Width>(&self, width: W, state: &[u64], out: &mut Steps) {
        for driver in &self.drivers {
            let row = driver.rows as usize + driver.place.local(state);
            let (row, next) = (self.rows[row], self.rows[row + 1]);
            for single in &self.singles[row.singles as usize..next.singles as usize] {
                let (targets, vias) = out.spare(1);
                targets[..state.len()].copy_from_slice(state);
                let word = &mut targets[driver.place.word as usize];
                *word = word.wrapping_add(single.delta);
                vias[0] = single.via;
                out.commit(1);
            }
            for offer in &self.offers[row.offers as usize..next.offers as usize] {
                self.meet(width, driver, offer, state, out);
            }
        }
    }

    #[inline(always)]
    fn meet<W: Width>(&self, width: W, driver: &Driver, offer: &Offer, state: &[u64], out: &mut Steps) {
        let channel = &self.channels[offer.channel as usize];
        let answer = self.answers[channel.answers as usize + channel.partner.local(state)];
        let words = (driver.place.word, channel.partner.word);
        let meeting = Meeting { state, words, deltas: (offer.deltas, answer.deltas) };
        if let Some(join) = channel.join {
            return self.join(width, &meeting, join, offer.row, answer.class, out);
        }
        // Whether something fires is hard to predict, but it is rarely more than one vector. So the first is written in
        // any case, and then counted or not; an empty cell has the stand-in that comes first in the table.
        let (start, count) = self.cells[(offer.row + answer.class) as usize];
        let hit = &self.hits[start as usize];
        self.write(&meeting, hit, out);
        out.commit(usize::from(count != 0));
        if count > 1 || hit.what.is_multi() {
            self.meet_on(width, &meeting, &self.hits[start as usize..(start + count) as usize], out);
        }
    }

    /// The hits of a cell after the first, and the rest of the first if its vector has more parts.
    #[inline(never)]
    fn meet_on<W: Width>(&self, width: W, meeting: &Meeting, hits: &[Hit], out: &mut Steps) {
        for (k, hit) in hits.iter().enumerate() {
            if k > 0 {
                self.write(meeting, hit, out);
                out.commit(1);
            }
            if hit.what.is_multi() {
                self.complete(width, hit.what, meeting.state, out);
            }
            if out.is_overfull() {
                return;
            }
        }
    }

    /// Writes a step behind the last one, without counting it.
    #[inline(always)]
    fn write(&self, meeting: &Meeting, hit: &Hit, out: &mut Steps) {
        let mine = self.deltas[(meeting.deltas.0 + hit.mine) as usize];
        let theirs = self.deltas[(meeting.deltas.1 + hit.theirs) as usize];
        let (targets, vias) = out.spare(1);
        let target = &mut targets[..meeting.state.len()];
        target.copy_from_slice(meeting.state);
        let (a, b) = (meeting.words.0 as usize, meeting.words.1 as usize);
        target[a] = target[a].wrapping_add(mine);
        target[b] = target[b].wrapping_add(theirs);
        vias[0] = Via(hit.what.0);
    }

    /// The way of channels without cells: the shorter of the two lists is looked up in the longer.
    #[inline(never)]
    fn join<W: Width>(
        &self,
        width: W,
        meeting: &Meeting,
        join: Join,
        mine: u32,
        theirs: u32,
        out: &mut Steps,
    ) {
        let class_of = |rows: &[u32], row: u32| rows[row as usize] as usize..rows[row as usize + 1] as usize;
        let wants = &self.wants[class_of(&self.want_rows, join.want_rows + mine)];
        let gives = &self.gives[class_of(&self.give_rows, join.give_rows + theirs)];
        let mut both = |want: &Want, give: &Give| {
            let hit = Hit { mine: want.mine, theirs: give.theirs, what: want.what };
            self.write(meeting, &hit, out);
            out.commit(1);
            if hit.what.is_multi() {
                self.complete(width, hit.what, meeting.state, out);
            }
            if out.is_overfull() { None } else { Some(()) }
        };
        if wants.len() <= gives.len() {
            let _ = wants.iter().try_for_each(|want| {
                let first = gives.partition_point(|give| give.label < want.label);
                gives[first..]
                    .iter()
                    .take_while(|give| give.label == want.label)
                    .try_for_each(|give| both(want, give))
            });
        } else {
            let _ = gives.iter().try_for_each(|give| {
                let first = wants.partition_point(|want| want.label < give.label);
                wants[first..]
                    .iter()
                    .take_while(|want| want.label == give.label)
                    .try_for_each(|want| both(want, give))
            });
        }
    }

    /// Completes the one step at the end of `out` by the remaining parts of its vector, or removes it again. A part
    /// with several moves multiplies the steps.
    #[inline(never)]
    fn complete<W: Width>(&self, width: W, what: What, state: &[u64], out: &mut Steps) {
        let words = width.words();
        let multi = self.multis[what.multi_index()];
        let first = out.len() - 1;
        for part in &self.parts[multi.parts.0 as usize..multi.parts.1 as usize] {
            let row = part.rows as usize + part.place.local(state);
            let moves = &self.part_moves[self.part_rows[row] as usize..self.part_rows[row + 1] as usize];
            let moves = &moves[moves.partition_point(|m| m.0 < part.label)..];
            let moves = &moves[..moves.partition_point(|m| m.0 == part.label)];
            let Some((one, more)) = moves.split_first() else {
                out.truncate(first);
                return;
            };
            let end = out.len();
            for &(_, delta) in more {
                let copy = out.len();
                out.repeat(first..end);
                add(out.targets_from(copy), words, part.place.word, delta);
                if out.is_overfull() {
                    return;
                }
            }
            add(&mut out.targets_from(first)[..(end - first) * words], words, part.place.word, one.1);
        }
        out.set_vias_from(first, multi.via);
    }

    pub(super) fn bytes(&self) -> u64 {
        fn bytes<T>(table: &Vec<T>) -> u64 {
            (table.capacity() * size_of::<T>()) as u64
        }
        let rows = bytes(&self.rows) + bytes(&self.singles) + bytes(&self.offers) + bytes(&self.deltas);
        let channels = bytes(&self.channels) + bytes(&self.answers) + bytes(&self.cells) + bytes(&self.hits);
        let joins = bytes(&self.want_rows) + bytes(&self.wants) + bytes(&self.give_rows) + bytes(&self.gives);
        let multis =
            bytes(&self.multis) + bytes(&self.parts) + bytes(&self.part_rows) + bytes(&self.part_moves);
        rows + channels + joins + multis
    }
}

fn add(targets: &mut [u64], words: usize, word: u32, delta: u64) {
    for target in targets.chunks_exact_mut(words) {
        target[word as usize] = target[word as usize].wrapping_add(delta);
    }
}
