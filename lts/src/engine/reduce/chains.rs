//! States on a chain are passed through, not stored.
//!
//! Where a reduction leaves one step, the state is a link between others, and a search need not remember it. [`Chained`]
//! goes on from the target of each step as a [`Pass`] says, and yields where that ends. [`Links`] are those of stubborn
//! sets. Which states a search stores then depends on where chains end, and that on the state alone:
//!
//! - a state with no step or with several, so that deadlocks are stored, each once;
//! - a state whose only step is a finding: the search sees it there as it sees any other;
//! - an *anchor*, one state in [`ANCHORS`] by a hash of it: chains that have met go on together only from there;
//! - the state after [`LONGEST`] steps, so that cycles of single steps end.
//!
//! Invariant: every state that the reduction visits is either stored or passed on the way from one that is. So the findings
//! and the deadlocks are those of the reduction; what is lost is the length of the way.

use super::Reduced;
use super::pool::Pool;
use crate::base::error::{Error, Result};
use crate::engine::pack::{Packing, Width};
use crate::engine::successors::{Steps, Successors, Via};
use crate::model::network::VectorIx;
use crate::property::{DeadEnd, Finding};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One state in this number is stored for the sake of other chains.
const ANCHORS: u64 = if cfg!(test) { 8 } else { 64 };
/// Steps of a chain at most.
pub(super) const LONGEST: usize = if cfg!(test) { 24 } else { 4096 };

/// Known ways to get it wrong, for tests that must notice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Mistake {
    #[default]
    None,
    /// Findings on a chain are passed over.
    Blind,
    /// Of several steps the first is followed.
    FirstOfSeveral,
}

/// Which states are only passed.
pub(crate) trait Pass: Send + Sync + 'static {
    /// What the first step of a way is taken in.
    type System: Successors + Send + 'static;

    /// See there.
    fn system(&self) -> &Self::System;

    /// Goes on from a state until a state is to be stored; reports each step.
    fn follow(&self, state: &mut [u64], each: &mut dyn FnMut(VectorIx, &[u64])) -> Result<()>;

    /// States that were passed and are stored all the same.
    fn saved(&self) -> Option<u64> {
        None
    }

    /// Bytes that it holds by itself.
    fn bytes(&self) -> u64 {
        0
    }
}

/// Whether a step is one that a search ends with.
pub(super) fn is_finding<S: Successors>(system: &S, target: &[u64], via: Via) -> bool {
    via.is_marked() && system.finding(target, via).is_some()
}

/// The single steps of a reduction.
#[derive(Debug)]
pub(crate) struct Links<W> {
    inner: Reduced<W>,
    pool: Pool<Steps>,
    pub(super) mistake: Mistake,
}

impl<W: Width> Links<W> {
    pub(crate) fn new(inner: Reduced<W>) -> Self {
        Links { inner, pool: Pool::default(), mistake: Mistake::None }
    }
}

impl<W: Width> Pass for Links<W> {
    type System = Reduced<W>;

    fn system(&self) -> &Reduced<W> {
        &self.inner
    }

    fn follow(&self, state: &mut [u64], each: &mut dyn FnMut(VectorIx, &[u64])) -> Result<()> {
        let words = self.inner.width().words();
        let mut steps = self.pool.take(|| Steps::new(words));
        for _ in 0..LONGEST {
            if is_anchor(state) {
                break;
            }
            steps.clear();
            self.inner.expand(state, &mut steps)?;
            let via = match *steps.vias() {
                [via] => via,
                [via, ..] if self.mistake == Mistake::FirstOfSeveral => via,
                _ => break,
            };
            let target = steps.target(0);
            let found = is_finding(&self.inner, target, via) && self.mistake != Mistake::Blind;
            if target == state || found {
                break;
            }
            each(via.vector(), target);
            state.copy_from_slice(target);
        }
        Ok(())
    }
}

fn is_anchor(state: &[u64]) -> bool {
    let mixed = state.iter().fold(0u64, |sum, &word| {
        let product = (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    });
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & (ANCHORS - 1) == 0
}

/// A successor function whose steps are ways past states that are not stored.
#[derive(Debug)]
pub(crate) struct Chained<P> {
    pub(super) pass: P,
    passed: AtomicU64,
}

impl<P: Pass> Chained<P> {
    pub(crate) fn new(pass: P) -> Self {
        Chained { pass, passed: AtomicU64::new(0) }
    }
}

impl<P: Pass> Successors for Chained<P> {
    type Width = <P::System as Successors>::Width;

    fn width(&self) -> Self::Width {
        self.pass.system().width()
    }

    fn packing(&self) -> &Packing {
        self.pass.system().packing()
    }

    fn initial(&self) -> Vec<u64> {
        self.pass.system().initial()
    }

    fn dead_end(&self, state: &[u64]) -> DeadEnd {
        self.pass.system().dead_end(state)
    }

    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        let system = self.pass.system();
        let first = out.len();
        system.expand(state, out)?;
        let mut passed = 0;
        for k in first..out.len() {
            let via = out.vias()[k];
            if is_finding(system, out.target(k), via) {
                continue;
            }
            let before = passed;
            self.pass.follow(out.target_mut(k), &mut |_, _| passed += 1)?;
            // Where a chain leads has nothing to do with the mark of its first step.
            if passed > before {
                out.set_via(k, Via::new(via.vector(), false));
            }
        }
        self.passed.fetch_add(passed, Relaxed);
        Ok(())
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        self.pass.system().finding(target, via)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        self.pass.system().findings(source, target, via, found);
    }

    fn table_bytes(&self) -> u64 {
        self.pass.system().table_bytes()
    }

    fn growing_bytes(&self) -> u64 {
        self.pass.system().growing_bytes() + self.pass.bytes()
    }

    fn has_chains(&self) -> bool {
        true
    }

    fn passed(&self) -> u64 {
        self.passed.load(Relaxed)
    }

    fn saved(&self) -> Option<u64> {
        self.pass.saved()
    }

    fn unfold(&self, from: &[u64], to: &[u64]) -> Result<Vec<(VectorIx, Vec<u64>)>> {
        let system = self.pass.system();
        let mut steps = Steps::new(system.width().words());
        system.expand(from, &mut steps)?;
        let mut least: Option<Vec<(VectorIx, Vec<u64>)>> = None;
        for (target, via) in steps.iter() {
            let mut way = vec![(via.vector(), target.to_vec())];
            let mut end = target.to_vec();
            if !is_finding(system, target, via) {
                self.pass.follow(&mut end, &mut |vector, state| way.push((vector, state.to_vec())))?;
            }
            let better = least.as_ref().is_none_or(|least| (way.len(), &way) < (least.len(), least));
            if end == to && better {
                least = Some(way);
            }
        }
        least.ok_or_else(|| Error::internal("a chain of a trace is missing"))
    }
}
