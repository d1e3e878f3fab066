//! Formulas on ranks that own their states.
//!
//! Rank 0 makes the games, as on one machine, and they are small as long as sweeps can decide: these are made by all ranks
//! together ([`sweep::ranks`]). What sweeps cannot decide (fixed points that alternate, more positions than they take, tables
//! that are filled on demand, a state with a fault) rank 0 decides alone, in its own memory. Either way answer and evidence are
//! those of one machine.
//!
//! Invariant: a rank that waits for rank 0 gets an instruction, even if rank 0 fails; and rank 0 sends signs of life while
//! it is at work. A rank other than 0 that returns an error could not begin: its caller must end the run.

use super::{Decided, on_demand, play};
use crate::base::error::{Error, Result};
use crate::engine::lazy::Lazy;
use crate::engine::mesh::Mesh;
use crate::engine::pack::Packing;
use crate::engine::prepared::{self, Visitor};
use crate::engine::search::Options;
use crate::engine::search::sweep::{self, Audience};
use crate::engine::successors::EveryStep;
use crate::model::network::Network;
use crate::property::formula::Equations;
use crate::property::{self, Instrumented};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The instruction of rank 0 to the others: to sweep, or to end since the formula is decided.
const SWEEP: u64 = 1;
const DONE: u64 = 2;

/// Decides a formula on a network whose tables are complete, together with all other ranks, which must all do so with the same
/// network and formula. The answer is rank 0's; the others get nothing.
pub fn decide_together(
    net: &Network,
    equations: &dyn Equations,
    options: &Options,
    mesh: &mut dyn Mesh,
) -> Result<Option<Decided>> {
    let lead = Lead::new(mesh);
    let decided = equations.prepare(net, true).and_then(|()| {
        let Instrumented { network, alarms } = property::instrument(net, &[]);
        let packing = Packing::for_network(&network);
        prepared::visit(&network, packing, alarms, Deciding { net, equations, options, lead: &lead })?
    });
    lead.end(decided)
}

/// The same on tables that are filled as needed: rank 0 does it alone, and the others wait.
pub fn decide_on_demand_together(
    lazy: &Lazy,
    equations: &dyn Equations,
    options: &Options,
    mesh: &mut dyn Mesh,
) -> Result<Option<Decided>> {
    let lead = Lead::new(mesh);
    let decided = match lead.is_first() {
        true => {
            let attend = || lead.attend();
            on_demand(lazy, equations, options, Some(&attend)).map(Some)
        }
        false => lead.follow(|_| Ok(())).map(|()| None),
    };
    lead.end(decided)
}

struct Deciding<'a, 'm> {
    net: &'a Network,
    equations: &'a dyn Equations,
    options: &'a Options<'a>,
    lead: &'a Lead<'m>,
}

impl Visitor for Deciding<'_, '_> {
    type Out = Result<Option<Decided>>;

    fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let Deciding { net, equations, options, lead } = self;
        let sweep = |mesh: &mut dyn Mesh, audience: Option<&mut dyn Audience>| {
            sweep::ranks::decide(&*system, net, equations, options, mesh, audience)
        };
        if !lead.is_first() {
            // What rank 0 does next follows from what came out, which it knows as well.
            return lead.follow(|mesh| sweep(mesh, None).map(drop)).map(|()| None);
        }
        let attend = || lead.attend();
        let with_all = |audience: &mut dyn Audience| {
            let mut mesh = lead.mesh.borrow_mut();
            mesh.share(&[SWEEP], &mut || false);
            sweep(&mut **mesh, Some(audience))
        };
        play(&*system, net, equations, options, Some(&with_all), Some(&attend)).map(Some)
    }
}

/// The mesh while a formula is decided.
struct Lead<'m> {
    mesh: RefCell<&'m mut dyn Mesh>,
    /// Whether an unexpected message has come.
    strange: Cell<bool>,
}

impl<'m> Lead<'m> {
    fn new(mesh: &'m mut dyn Mesh) -> Self {
        Lead { mesh: RefCell::new(mesh), strange: Cell::new(false) }
    }

    fn is_first(&self) -> bool {
        self.mesh.borrow().rank() == 0
    }

    /// Gives a sign of life. Nobody sends anything while rank 0 is at work alone.
    fn attend(&self) {
        // Sweeps have the mesh, and give signs of life themselves.
        if let Ok(mut mesh) = self.mesh.try_borrow_mut()
            && mesh.take().is_some()
        {
            self.strange.set(true);
        }
    }

    /// On ranks that are not the first: does what it says until it says that it is over.
    fn follow(&self, mut sweep: impl FnMut(&mut dyn Mesh) -> Result<()>) -> Result<()> {
        let mut mesh = self.mesh.borrow_mut();
        loop {
            let said = mesh.share(&[0], &mut || false);
            match said[0] {
                // An error is one that all ranks have, and rank 0 reports it.
                SWEEP => drop(sweep(&mut **mesh)),
                DONE => return Ok(()),
                _ => return Err(Error::internal("rank 0 says nothing that makes sense")),
            }
        }
    }

    /// Ends it on all ranks, also if it failed here.
    fn end(self, decided: Result<Option<Decided>>) -> Result<Option<Decided>> {
        let (first, strange) = (self.is_first(), self.strange.get());
        if first {
            self.mesh.borrow_mut().share(&[DONE], &mut || false);
        }
        match strange {
            true => Err(Error::internal("a message came that nobody waits for")),
            false => decided,
        }
    }
}
