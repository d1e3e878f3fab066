//! Builds the channels of a network.
//!
//! Everything here runs once and is deterministic: leaves, vectors and classes are visited in the order of their
//! numbers. Invariant: what is stored stays linear in the network, except for the cells of channels, which are bounded
//! by [`ChannelLimits`]; a channel beyond them gets sorted lists instead.

use super::Via;
use super::channels::{
    Acceptance, Channel, Channels, Driver, Give, Hit, Join, Multi, Offer, Part, Row, Single, Want, What,
};
use super::sample::Sample;
use crate::base::error::{Error, Result};
use crate::base::hash::Map;
use crate::engine::pack::Packing;
use crate::model::network::{LeafIx, Local, LocalLabel, Network, VectorIx};
use crate::property::Alarms;
use std::collections::BTreeMap;

/// Bounds on the cells. Tests lower them so that the lists are used too.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelLimits {
    /// Pairs of classes of one channel.
    pub(super) cells: usize,
    /// Entries of all cells of one channel.
    pub(super) hits: usize,
    /// How many times as much all channels together may have.
    pub(super) all: usize,
}

impl ChannelLimits {
    /// At most 8 MiB of cells and 24 MiB of entries for one channel: beyond that they would no longer be found in a
    /// cache, and the lists are as good.
    pub(super) const DEFAULT: ChannelLimits = ChannelLimits { cells: 1 << 20, hits: 1 << 21, all: 8 };
}

/// A vector as a channel sees it: the labels of its two leaves, and what firing means.
#[derive(Clone, Copy)]
struct Shared {
    mine: u32,
    theirs: u32,
    what: What,
}

/// What the local states of one leaf offer to one channel.
struct Side {
    /// For each local state its class, 0 for nothing, and its first difference.
    states: Vec<Acceptance>,
    /// The labels of each class by position; class 0 is empty.
    classes: Vec<Vec<u32>>,
}

/// Refuses networks that cannot be compiled.
pub(super) fn check(net: &Network) -> Result<()> {
    if net.vectors.len() >= Via::LIMIT as usize {
        let vectors = net.vectors.len();
        return Err(Error::Input(format!("the network has {vectors} vectors; at most 2^30 are supported")));
    }
    for leaf in &net.leaves {
        if let Some(local) = leaf.states.iter().position(|s| !s.expanded) {
            let name = &leaf.name;
            return Err(Error::Internal(format!(
                "the table of local state {local} of `{name}` was never filled"
            )));
        }
        if leaf.states.is_empty() {
            return Err(Error::Internal(format!("the leaf `{}` has no local state", leaf.name)));
        }
    }
    Ok(())
}

/// The channels for some vectors of a network.
pub(super) fn channels(
    net: &Network,
    vectors: &[VectorIx],
    packing: &Packing,
    alarms: &Alarms,
    limits: ChannelLimits,
) -> Result<Channels> {
    let mut builder = Builder { net, packing, limits, tables: Channels::default() };
    // A stand-in for empty cells to read.
    builder.tables.hits.push(Hit { mine: 0, theirs: 0, what: What::step(Via::new(VectorIx(0), false)) });
    builder.tables.deltas.push(0);
    // Nothing is left to arrange if all vectors are in blocks, and walks cost time.
    if vectors.is_empty() {
        return Ok(builder.tables);
    }
    let sample = Sample::of(net);
    let offering = builder.offering(&sample);
    let (singles, pairs) = builder.sort_vectors(vectors, alarms, &offering);
    let offers = builder.channels(pairs, &singles, &sample)?;
    builder.rows(&singles, offers);
    builder.check_sizes()?;
    Ok(builder.tables)
}

struct Builder<'a> {
    net: &'a Network,
    packing: &'a Packing,
    limits: ChannelLimits,
    tables: Channels,
}

/// For each leaf and label the steps that need no other leaf.
type Singles = Vec<Map<LocalLabel, Vec<Via>>>;
/// For each pair of leaves the vectors they share.
type Pairs = BTreeMap<(LeafIx, LeafIx), Vec<Shared>>;
/// For each leaf and local state what it offers, in the order of the channels.
type Offers = Vec<Vec<Vec<Offer>>>;

impl Builder<'_> {
    /// For each leaf and label how common local states are that offer it; 0 if there is none.
    fn offering(&self, sample: &Sample) -> Vec<Vec<f64>> {
        let mut offering: Vec<Vec<f64>> = self.net.leaves.iter().map(|l| vec![0.0; l.labels.len()]).collect();
        for (i, (leaf, shares)) in self.net.leaves.iter().zip(&mut offering).enumerate() {
            for (k, state) in leaf.states.iter().enumerate() {
                let share = sample.share_of(i, k);
                for (m, &(label, _)) in state.moves.iter().enumerate() {
                    if m == 0 || state.moves[m - 1].0 != label {
                        shares[label.0 as usize] += share;
                    }
                }
            }
        }
        offering
    }

    /// Divides the vectors by how they are found. Those with a part that no local state offers are left out.
    fn sort_vectors(
        &mut self,
        vectors: &[VectorIx],
        alarms: &Alarms,
        offering: &[Vec<f64>],
    ) -> (Singles, Pairs) {
        let mut singles: Singles = vec![Map::default(); self.net.leaves.len()];
        let mut pairs = Pairs::new();
        let mut part_rows: Vec<Option<u32>> = vec![None; self.net.leaves.len()];
        for &v in vectors {
            let vector = &self.net.vectors[v.0 as usize];
            let via = Via::new(v, alarms.is_marked(v));
            let share = |&(leaf, label): &(LeafIx, LocalLabel)| offering[leaf.0 as usize][label.0 as usize];
            if vector.parts.iter().any(|part| share(part) == 0.0) {
                continue;
            }
            let mut parts = vector.parts.clone();
            parts.sort_by(|a, b| share(a).total_cmp(&share(b)).then(a.0.cmp(&b.0)));
            if let [(leaf, label)] = parts[..] {
                singles[leaf.0 as usize].entry(label).or_default().push(via);
                continue;
            }
            let what =
                if parts.len() == 2 { What::step(via) } else { self.multi(via, &parts[2..], &mut part_rows) };
            let (a, b) = if parts[0].0 < parts[1].0 { (parts[0], parts[1]) } else { (parts[1], parts[0]) };
            pairs.entry((a.0, b.0)).or_default().push(Shared { mine: a.1.0, theirs: b.1.0, what });
        }
        (singles, pairs)
    }

    /// Stores the remaining parts of a vector of more than two leaves.
    fn multi(&mut self, via: Via, rest: &[(LeafIx, LocalLabel)], part_rows: &mut [Option<u32>]) -> What {
        let first = self.tables.parts.len() as u32;
        for &(leaf, label) in rest {
            let rows = *part_rows[leaf.0 as usize].get_or_insert_with(|| self.moves_by_label(leaf));
            let place = self.packing.field(leaf).into();
            self.tables.parts.push(Part { place, label: label.0, rows });
        }
        self.tables.multis.push(Multi { via, parts: (first, self.tables.parts.len() as u32) });
        What::multi(self.tables.multis.len() - 1)
    }

    /// Stores all moves of a leaf for lookups by label.
    fn moves_by_label(&mut self, leaf: LeafIx) -> u32 {
        let rows = self.tables.part_rows.len() as u32;
        let field = self.packing.field(leaf);
        for (from, state) in self.net.leaves[leaf.0 as usize].states.iter().enumerate() {
            self.tables.part_rows.push(self.tables.part_moves.len() as u32);
            let from = Local(from as u32);
            self.tables.part_moves.extend(state.moves.iter().map(|&(l, to)| (l.0, field.delta(from, to))));
        }
        self.tables.part_rows.push(self.tables.part_moves.len() as u32);
        rows
    }

    fn channels(&mut self, pairs: Pairs, singles: &Singles, sample: &Sample) -> Result<Offers> {
        let mut offers: Offers = self.net.leaves.iter().map(|l| vec![Vec::new(); l.states.len()]).collect();
        let mut drives: Vec<bool> = singles.iter().map(|s| !s.is_empty()).collect();
        for ((a, b), mut shared) in pairs {
            let mine = self.side(a, shared.iter().map(|s| s.mine));
            let theirs = self.side(b, shared.iter().map(|s| s.theirs));
            // A driver is asked in every state, which costs about as much as two in five offers; its partner is looked
            // at for every offer. Answers are stored for all local states, so that in doubt the larger leaf drives.
            let cost = |leaf: LeafIx, side: &Side| {
                let share = sample.share(leaf.0 as usize, |k| side.states[k].class != 0);
                share + if drives[leaf.0 as usize] { 0.0 } else { 0.4 }
            };
            let swap = match cost(a, &mine).total_cmp(&cost(b, &theirs)) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Greater => true,
                std::cmp::Ordering::Equal => mine.states.len() < theirs.states.len(),
            };
            let (driver, partner, mine, theirs) =
                if swap { (b, a, theirs, mine) } else { (a, b, mine, theirs) };
            if swap {
                shared.iter_mut().for_each(|s| std::mem::swap(&mut s.mine, &mut s.theirs));
            }
            drives[driver.0 as usize] = true;
            self.channel(&mut offers[driver.0 as usize], partner, &shared, mine, theirs);
            self.check_sizes()?;
        }
        Ok(offers)
    }

    /// Classifies the local states of a leaf by what they offer among `labels`, and stores the differences.
    fn side(&mut self, leaf: LeafIx, labels: impl Iterator<Item = u32>) -> Side {
        let field = self.packing.field(leaf);
        let leaf = &self.net.leaves[leaf.0 as usize];
        let mut relevant = vec![false; leaf.labels.len()];
        labels.for_each(|label| relevant[label as usize] = true);
        let mut ids: Map<Vec<u32>, u32> = Map::default();
        let mut classes = vec![Vec::new()];
        let mut states = Vec::with_capacity(leaf.states.len());
        for (from, state) in leaf.states.iter().enumerate() {
            let moves = state.moves.iter().filter(|m| relevant[m.0.0 as usize]);
            let class: Vec<u32> = moves.clone().map(|m| m.0.0).collect();
            if class.is_empty() {
                states.push(Acceptance::default());
                continue;
            }
            let deltas = self.tables.deltas.len() as u32;
            self.tables.deltas.extend(moves.map(|m| field.delta(Local(from as u32), m.1)));
            let next = classes.len() as u32;
            let class = *ids.entry(class).or_insert_with_key(|labels| {
                classes.push(labels.clone());
                next
            });
            states.push(Acceptance { class, deltas });
        }
        Side { states, classes }
    }

    fn channel(
        &mut self,
        offers: &mut [Vec<Offer>],
        partner: LeafIx,
        shared: &[Shared],
        mine: Side,
        theirs: Side,
    ) {
        let mut wanted: Map<u32, Vec<Shared>> = Map::default();
        for &s in shared {
            wanted.entry(s.mine).or_default().push(s);
        }
        let wants: Vec<Vec<Want>> = mine.classes.iter().map(|class| wants_of(class, &wanted)).collect();
        let cells = self.cells(&wants, &theirs.classes);
        let join = if cells.is_some() { None } else { Some(self.lists(&wants, &theirs.classes)) };
        let channel = self.tables.channels.len() as u32;
        for (state, offered) in mine.states.iter().zip(offers) {
            if state.class == 0 {
                continue;
            }
            let row = cells.map_or(state.class, |first| first + state.class * theirs.classes.len() as u32);
            offered.push(Offer { channel, row, deltas: state.deltas });
        }
        let answers = self.tables.answers.len() as u32;
        self.tables.answers.extend(&theirs.states);
        self.tables.channels.push(Channel { partner: self.packing.field(partner).into(), answers, join });
    }

    /// The cells of a channel; `None` if there would be too many.
    fn cells(&mut self, wants: &[Vec<Want>], gives: &[Vec<u32>]) -> Option<u32> {
        let ChannelLimits { cells, hits, all } = self.limits;
        let cells = cells.min((cells * all).saturating_sub(self.tables.cells.len()));
        let hits = hits.min((hits * all).saturating_sub(self.tables.hits.len()));
        if wants.len().saturating_mul(gives.len()) > cells {
            return None;
        }
        let mut who_gives: Map<u32, Vec<(usize, u32)>> = Map::default();
        for (class, labels) in gives.iter().enumerate() {
            for (position, &label) in labels.iter().enumerate() {
                who_gives.entry(label).or_default().push((class, position as u32));
            }
        }
        let (first_cell, first_hit) = (self.tables.cells.len(), self.tables.hits.len());
        for class in wants {
            let mut row: Vec<Vec<Hit>> = vec![Vec::new(); gives.len()];
            for want in class {
                for &(partner, theirs) in who_gives.get(&want.label).map_or(&[][..], Vec::as_slice) {
                    row[partner].push(Hit { mine: want.mine, theirs, what: want.what });
                }
            }
            for cell in row {
                let start = if cell.is_empty() { 0 } else { self.tables.hits.len() as u32 };
                self.tables.cells.push((start, cell.len() as u32));
                self.tables.hits.extend(cell);
            }
            if self.tables.hits.len() - first_hit > hits {
                self.tables.cells.truncate(first_cell);
                self.tables.hits.truncate(first_hit);
                return None;
            }
        }
        Some(first_cell as u32)
    }

    /// The sorted lists of a channel without cells.
    fn lists(&mut self, wants: &[Vec<Want>], gives: &[Vec<u32>]) -> Join {
        let t = &mut self.tables;
        let join = Join { want_rows: t.want_rows.len() as u32, give_rows: t.give_rows.len() as u32 };
        for class in wants {
            t.want_rows.push(t.wants.len() as u32);
            t.wants.extend(class);
        }
        t.want_rows.push(t.wants.len() as u32);
        for class in gives {
            t.give_rows.push(t.gives.len() as u32);
            t.gives.extend(class.iter().enumerate().map(|(k, &label)| Give { label, theirs: k as u32 }));
        }
        t.give_rows.push(t.gives.len() as u32);
        join
    }

    /// The rows of all leaves that have steps of their own or drive a channel.
    fn rows(&mut self, singles: &Singles, offers: Offers) {
        for (i, (leaf, offers)) in self.net.leaves.iter().zip(offers).enumerate() {
            let t = &mut self.tables;
            let field = self.packing.field(LeafIx(i as u32));
            let (rows, some) = (t.rows.len(), t.singles.len() + t.offers.len());
            for (from, (state, offered)) in leaf.states.iter().zip(offers).enumerate() {
                t.rows.push(Row { singles: t.singles.len() as u32, offers: t.offers.len() as u32 });
                for &(label, to) in &state.moves {
                    let delta = field.delta(Local(from as u32), to);
                    let vias = singles[i].get(&label).map_or(&[][..], Vec::as_slice);
                    t.singles.extend(vias.iter().map(|&via| Single { delta, via }));
                }
                t.offers.extend(offered);
            }
            if t.singles.len() + t.offers.len() == some {
                t.rows.truncate(rows);
                continue;
            }
            t.rows.push(Row { singles: t.singles.len() as u32, offers: t.offers.len() as u32 });
            t.drivers.push(Driver { place: field.into(), rows: rows as u32 });
        }
    }

    /// Indices are 32 bits wide.
    fn check_sizes(&self) -> Result<()> {
        let t = &self.tables;
        let small = [t.rows.len(), t.singles.len(), t.offers.len(), t.answers.len(), t.cells.len()];
        let large =
            [t.hits.len(), t.deltas.len(), t.wants.len(), t.gives.len(), t.parts.len(), t.part_moves.len()];
        if small.iter().chain(&large).any(|&n| u32::try_from(n).is_err())
            || t.multis.len() >= Via::LIMIT as usize
        {
            return Err(Error::input("the network's tables have more than 2^32 entries"));
        }
        Ok(())
    }
}

/// What a class of the driver needs from its partner, sorted by the partner's label.
fn wants_of(class: &[u32], wanted: &Map<u32, Vec<Shared>>) -> Vec<Want> {
    let mut wants: Vec<Want> = Vec::new();
    for (mine, label) in class.iter().enumerate() {
        for s in wanted.get(label).map_or(&[][..], Vec::as_slice) {
            wants.push(Want { label: s.theirs, mine: mine as u32, what: s.what });
        }
    }
    wants.sort_by_key(|want| want.label);
    wants
}
