//! Work that an obligation may take, counted so that it is the same on every machine.
//!
//! What is done to a block, to a path and to pairs of leaves costs very different amounts of time, so states alone are no
//! measure. Everything pays here in *ticks*, and [`UNIT`] of them are about what a state of a block costs with its steps.
//! Invariant: how much is paid depends on the obligation and the options only.

/// The ticks of about one state of a block, with its steps.
const UNIT: u64 = 16;
/// The least number of ticks to begin with, in units: a few rounds of a small block.
const LEAST: u64 = 1000;

/// A state of a block.
pub(super) const STATE: u64 = 8;
/// A step of a block.
pub(super) const STEP: u64 = 3;
/// A label that is tried in a pair of states.
pub(super) const LABEL: u64 = 2;

/// Ticks that may still be spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticks {
    left: u64,
}

impl Ticks {
    /// About as many ticks as this number of states of blocks cost.
    pub(super) fn of(units: u64) -> Self {
        Ticks { left: units.max(LEAST).saturating_mul(UNIT) }
    }

    /// What is left, in ticks.
    pub(super) fn left(self) -> u64 {
        self.left
    }

    pub(super) fn is_empty(self) -> bool {
        self.left == 0
    }

    /// Pays; a payment that exceeds what is left leaves zero.
    pub(super) fn pay(&mut self, ticks: u64) {
        self.left = self.left.saturating_sub(ticks);
    }

    /// Takes out one in `one_in` of them, as a share of its own.
    pub(super) fn share(&mut self, one_in: u64) -> Ticks {
        let left = self.left / one_in;
        self.left -= left;
        Ticks { left }
    }

    /// Takes out no more than this, as a share of its own.
    pub(super) fn at_most(&mut self, ticks: u64) -> Ticks {
        let left = self.left.min(ticks);
        self.left -= left;
        Ticks { left }
    }

    /// Takes back what is left of a share.
    pub(super) fn back(&mut self, share: Ticks) {
        self.left = self.left.saturating_add(share.left);
    }
}
