//! The successor function for complete tables, by additions of precomputed differences.
//!
//! A step changes the fields of the leaves that take part, and a field is changed by adding `to - from`, shifted to its
//! place. So a local state's moves are stored as ready-made differences. Vectors among small leaves are found in
//! [`blocks`](super::blocks); for all others:
//!
//! - *Vectors of one leaf* stand in a list for each local state: one addition makes a successor.
//! - *Vectors of two leaves* belong to the channel between the two. One of them, the driver, lists for each local state
//!   the channels it offers something to; the other answers. What a local state offers to a channel is the sequence of
//!   its labels there, its *class*; few local states differ in it. A cell for each pair of classes lists the vectors
//!   that fire with the positions of both differences, so nothing is tried in vain but the channel itself. The driver
//!   is the leaf that offers something in fewer of its local states.
//! - Where there would be too many cells, the offered labels are looked up in the partner's sorted ones instead.
//! - *Vectors of more leaves* are found through the channel of their two rarest parts; the other parts are then looked
//!   up one by one.
//!
//! Invariant: tables are immutable, positions and ranges stay within them (checked when built), and the order of steps
//! depends on the state only.

use super::blocks::{self, Blocks};
use super::build;
use super::{Finding, Steps, Successors, Via};
use crate::network::{LeafIx, Local, Network};
use crate::pack::{Field, Packing, Width};
use crate::property::Alarms;

/// Where a leaf's local state stands, ready for use.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    pub(super) word: u32,
    pub(super) shift: u32,
    pub(super) mask: u64,
}

impl Place {
    #[inline(always)]
    fn local(&self, state: &[u64]) -> usize {
        ((state[self.word as usize] >> self.shift) & self.mask) as usize
    }
}

impl From<Field> for Place {
    fn from(field: Field) -> Self {
        Place { word: field.word, shift: field.shift, mask: field.mask() }
    }
}

/// A leaf that has steps of its own or drives a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver {
    pub(super) place: Place,
    /// Its first row in [`Tables::rows`].
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
    /// The first difference in [`Tables::deltas`].
    pub(super) deltas: u32,
}

/// What a local state of the other leaf answers on one channel.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Answer {
    /// 0 if nothing.
    pub(super) class: u32,
    /// The first difference in [`Tables::deltas`].
    pub(super) deltas: u32,
}

/// Two leaves that share vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) partner: Place,
    /// The partner's first answer in [`Tables::answers`].
    pub(super) answers: u32,
    /// The ranges of the channel's classes in [`Tables::wants`] and [`Tables::gives`], if it has no cells.
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
    pub(super) place: Place,
    pub(super) label: u32,
    /// The leaf's first row in [`Tables::part_rows`].
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

/// All the tables.
#[derive(Default, Debug)]
pub(super) struct Tables {
    pub(super) drivers: Vec<Driver>,
    pub(super) rows: Vec<Row>,
    pub(super) singles: Vec<Single>,
    pub(super) offers: Vec<Offer>,
    pub(super) channels: Vec<Channel>,
    pub(super) answers: Vec<Answer>,
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

/// The successor function of a network whose tables are complete.
#[derive(Debug)]
pub struct Compiled<W> {
    width: W,
    packing: Packing,
    initial: Vec<u64>,
    blocks: Blocks,
    tables: Tables,
    alarms: Alarms,
}

impl<W: Width> Compiled<W> {
    /// Compiles a network. `packing` must have a field for every local state and as many words as `width`; `alarms`
    /// says which vectors carry a mark. Fails if a table is too large for its indices or was never expanded.
    pub fn new(net: &Network, packing: Packing, width: W, alarms: Alarms) -> Result<Self, String> {
        Self::with_limits(net, packing, width, alarms, build::Limits::DEFAULT, blocks::Limits::DEFAULT)
    }

    pub(super) fn with_limits(
        net: &Network,
        packing: Packing,
        width: W,
        alarms: Alarms,
        limits: build::Limits,
        block_limits: blocks::Limits,
    ) -> Result<Self, String> {
        assert_eq!(packing.words(), width.words(), "the width is the packing's");
        build::check(net)?;
        let (blocks, left) = blocks::build(net, &packing, &alarms, block_limits);
        let tables = build::tables(net, &left, &packing, &alarms, limits)?;
        let mut initial = vec![0; packing.words()];
        packing.pack(&net.initial(), &mut initial);
        Ok(Compiled { width, packing, initial, blocks, tables, alarms })
    }

    /// The local state of a leaf in a packed state.
    pub fn local(&self, state: &[u64], leaf: LeafIx) -> Local {
        self.packing.field(leaf).get(state)
    }

    #[inline]
    fn offer(&self, driver: &Driver, offer: &Offer, state: &[u64], out: &mut Steps) {
        let t = &self.tables;
        let channel = &t.channels[offer.channel as usize];
        let answer = t.answers[channel.answers as usize + channel.partner.local(state)];
        if let Some(join) = channel.join {
            return self.join(driver, offer, channel, answer, join, state, out);
        }
        // Whether something fires is hard to predict, but it is rarely more than one vector. So the first is written in
        // any case, and then counted or not; an empty cell has the stand-in that comes first in the table.
        let (start, count) = t.cells[(offer.row + answer.class) as usize];
        let hit = &t.hits[start as usize];
        let (targets, vias) = out.spare(1);
        self.write(
            hit,
            offer,
            answer,
            (driver.place.word, channel.partner.word),
            state,
            &mut targets[..state.len()],
        );
        vias[0] = Via(hit.what.0);
        out.commit((count != 0) as usize);
        if count > 1 || hit.what.0 & What::MULTI != 0 {
            self.offer_rest(driver, offer, channel, answer, (start, count), state, out);
        }
    }

    /// The hits of a cell after the first, and the rest of the first if its vector has more parts.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // the state of one loop iteration, passed on whole
    fn offer_rest(
        &self,
        driver: &Driver,
        offer: &Offer,
        channel: &Channel,
        answer: Answer,
        (start, count): (u32, u32),
        state: &[u64],
        out: &mut Steps,
    ) {
        let hits = &self.tables.hits[start as usize..(start + count) as usize];
        for (k, hit) in hits.iter().enumerate() {
            if k > 0 {
                let (targets, vias) = out.spare(1);
                let words = (driver.place.word, channel.partner.word);
                self.write(hit, offer, answer, words, state, &mut targets[..state.len()]);
                vias[0] = Via(hit.what.0);
                out.commit(1);
            }
            if hit.what.0 & What::MULTI != 0 {
                self.fire_multi((hit.what.0 & !What::MULTI) as usize, state, out);
            }
        }
    }

    #[inline(always)]
    fn write(
        &self,
        hit: &Hit,
        offer: &Offer,
        answer: Answer,
        words: (u32, u32),
        state: &[u64],
        target: &mut [u64],
    ) {
        let mine = self.tables.deltas[(offer.deltas + hit.mine) as usize];
        let theirs = self.tables.deltas[(answer.deltas + hit.theirs) as usize];
        target.copy_from_slice(state);
        target[words.0 as usize] = target[words.0 as usize].wrapping_add(mine);
        target[words.1 as usize] = target[words.1 as usize].wrapping_add(theirs);
    }

    /// The slow way for channels without cells: the shorter of the two lists is looked up in the longer.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // the state of one loop iteration, passed on whole
    fn join(
        &self,
        driver: &Driver,
        offer: &Offer,
        channel: &Channel,
        answer: Answer,
        join: Join,
        state: &[u64],
        out: &mut Steps,
    ) {
        let t = &self.tables;
        let class_of = |rows: &[u32], first: u32, class: u32| {
            let row = (first + class) as usize;
            rows[row] as usize..rows[row + 1] as usize
        };
        let wants = &t.wants[class_of(&t.want_rows, join.want_rows, offer.row)];
        let gives = &t.gives[class_of(&t.give_rows, join.give_rows, answer.class)];
        let mut both = |want: &Want, give: &Give| {
            let hit = Hit { mine: want.mine, theirs: give.theirs, what: want.what };
            let (targets, vias) = out.spare(1);
            let words = (driver.place.word, channel.partner.word);
            self.write(&hit, offer, answer, words, state, &mut targets[..state.len()]);
            vias[0] = Via(hit.what.0);
            out.commit(1);
            if hit.what.0 & What::MULTI != 0 {
                self.fire_multi((hit.what.0 & !What::MULTI) as usize, state, out);
            }
        };
        if wants.len() <= gives.len() {
            for want in wants {
                let first = gives.partition_point(|g| g.label < want.label);
                gives[first..].iter().take_while(|g| g.label == want.label).for_each(|give| both(want, give));
            }
        } else {
            for give in gives {
                let first = wants.partition_point(|w| w.label < give.label);
                wants[first..].iter().take_while(|w| w.label == give.label).for_each(|want| both(want, give));
            }
        }
    }

    /// Completes the one step at the end of `out` by the remaining parts of a vector, or removes it again. A part
    /// with several moves multiplies the steps.
    #[inline(never)]
    fn fire_multi(&self, multi: usize, state: &[u64], out: &mut Steps) {
        let t = &self.tables;
        let words = self.width.words();
        let multi = t.multis[multi];
        let first = out.len() - 1;
        for part in &t.parts[multi.parts.0 as usize..multi.parts.1 as usize] {
            let row = part.rows as usize + part.place.local(state);
            let moves = &t.part_moves[t.part_rows[row] as usize..t.part_rows[row + 1] as usize];
            let start = moves.partition_point(|m| m.0 < part.label);
            let moves = &moves[start..];
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
            }
            add(&mut out.targets_from(first)[..(end - first) * words], words, part.place.word, one.1);
        }
        out.set_vias_from(first, multi.via);
    }
}

fn add(targets: &mut [u64], words: usize, word: u32, delta: u64) {
    for target in targets.chunks_exact_mut(words) {
        target[word as usize] = target[word as usize].wrapping_add(delta);
    }
}

impl<W: Width> Successors for Compiled<W> {
    type Width = W;

    fn width(&self) -> W {
        self.width
    }

    fn packing(&self) -> &Packing {
        &self.packing
    }

    fn initial(&self) -> Vec<u64> {
        self.initial.clone()
    }

    #[inline]
    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<(), String> {
        let state = &state[..self.width.words()];
        let t = &self.tables;
        self.blocks.expand(self.width, state, out);
        for driver in &t.drivers {
            let row = driver.rows as usize + driver.place.local(state);
            let (row, next) = (t.rows[row], t.rows[row + 1]);
            for single in &t.singles[row.singles as usize..next.singles as usize] {
                let (targets, vias) = out.spare(1);
                targets[..state.len()].copy_from_slice(state);
                let word = &mut targets[driver.place.word as usize];
                *word = word.wrapping_add(single.delta);
                vias[0] = single.via;
                out.commit(1);
            }
            for offer in &t.offers[row.offers as usize..next.offers as usize] {
                self.offer(driver, offer, state, out);
            }
        }
        Ok(())
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.alarms.finding(via.vector(), |leaf| self.local(target, leaf))
    }

    fn table_bytes(&self) -> u64 {
        fn bytes<T>(table: &Vec<T>) -> u64 {
            (table.capacity() * size_of::<T>()) as u64
        }
        let t = &self.tables;
        let channels = bytes(&t.channels) + bytes(&t.answers) + bytes(&t.cells) + bytes(&t.hits);
        let joins = bytes(&t.want_rows) + bytes(&t.wants) + bytes(&t.give_rows) + bytes(&t.gives);
        let multis = bytes(&t.multis) + bytes(&t.parts) + bytes(&t.part_rows) + bytes(&t.part_moves);
        let rows = bytes(&t.rows) + bytes(&t.singles) + bytes(&t.offers) + bytes(&t.deltas);
        self.blocks.bytes() as u64 + rows + channels + joins + multis
    }
}
