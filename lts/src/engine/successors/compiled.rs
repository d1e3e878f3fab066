//! The successor function for complete tables, by additions of precomputed differences.
//!
//! A step changes the fields of the leaves that take part, and a field is changed by adding `to - from`, shifted to its
//! place. Vectors among small leaves are found in [`blocks`](super::blocks), all others through
//! [`channels`](super::channels).

use super::blocks::{self, Blocks};
use super::build;
use super::channels::Channels;
use super::{EveryStep, Steps, Successors, Via};
use crate::base::error::Result;
use crate::engine::pack::{Packing, Width};
use crate::model::network::{LeafIx, Local, Network};
use crate::property::{Alarms, DeadEnd, Finding};

/// The successor function of a network whose tables are complete.
#[derive(Debug)]
pub struct Compiled<W> {
    width: W,
    packing: Packing,
    initial: Vec<u64>,
    blocks: Blocks,
    channels: Channels,
    alarms: Alarms,
}

impl<W: Width> Compiled<W> {
    /// Compiles a network. `packing` must have a field for every local state and as many words as `width`; `alarms`
    /// says which vectors carry a mark. Fails if a table is too large for its indices or was never expanded.
    pub fn new(net: &Network, packing: Packing, width: W, alarms: Alarms) -> Result<Self> {
        Self::with_limits(
            net,
            packing,
            width,
            alarms,
            build::ChannelLimits::DEFAULT,
            blocks::BlockLimits::DEFAULT,
        )
    }

    pub(super) fn with_limits(
        net: &Network,
        packing: Packing,
        width: W,
        alarms: Alarms,
        limits: build::ChannelLimits,
        block_limits: blocks::BlockLimits,
    ) -> Result<Self> {
        assert_eq!(packing.words(), width.words(), "the width is the packing's");
        build::check(net)?;
        let (blocks, left) = blocks::build(net, &packing, &alarms, block_limits);
        let channels = build::channels(net, &left, &packing, &alarms, limits)?;
        let mut initial = vec![0; packing.words()];
        packing.pack(&net.initial(), &mut initial);
        Ok(Compiled { width, packing, initial, blocks, channels, alarms })
    }

    /// The local state of a leaf in a packed state.
    pub fn local(&self, state: &[u64], leaf: LeafIx) -> Local {
        self.packing.field(leaf).get(state)
    }
}

impl<W: Width> EveryStep for Compiled<W> {}

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
    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        let state = &state[..self.width.words()];
        self.blocks.expand(self.width, state, out);
        self.channels.expand(self.width, state, out);
        out.check()
    }

    fn dead_end(&self, state: &[u64]) -> DeadEnd {
        self.alarms.dead_end(|leaf| self.local(state, leaf))
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.alarms.finding(via.vector(), |leaf| self.local(target, leaf))
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        let (before, after) = (|leaf| self.local(source, leaf), |leaf| self.local(target, leaf));
        self.alarms.findings(via.vector(), before, after, found);
    }

    fn table_bytes(&self) -> u64 {
        self.blocks.bytes() as u64 + self.channels.bytes()
    }
}
