//! Networks whose tables are filled while they are searched.
//!
//! [`Lazy`] is the successor function for a network with a [`TableSource`]. A local state is expanded when a search
//! first needs it; until then nothing is known of it. States are packed with 31 bits for each leaf, since nobody knows
//! how many local states there will be, and steps are found through the vectors of the labels, without compiled tables.
//! It is a few times slower than [`Compiled`](crate::engine::successors::Compiled) and finds the same.
//!
//! Invariant: `expand` looks at the tables only once all local states of its state are expanded. By the network's own
//! invariant all enabled vectors are then there, and nothing that the source adds later changes the steps of that state.
//! The numbers of local states depend on the order in which they are expanded. A search on several threads therefore asks
//! for what is [`missing`](Successors::missing) and has it filled in a fixed order before it goes on.
//!
//! Locks: threads read the tables together; who must expand takes the source, then the tables for itself.

use crate::base::error::{Error, Result};
use crate::engine::pack::{Field, Many, Packing};
use crate::engine::successors::{EveryStep, Steps, Successors, Via};
use crate::model::network::{LeafIx, Local, Network, Outcome, TableSource, VectorIx};
use crate::property::{DeadEnd, Finding, Monitor, Property, deadlock_freedom};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// The network behind a successor function.
pub trait Plain {
    /// Lets `look` see it as far as it is known.
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R;
}

impl Plain for Network {
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R {
        look(self)
    }
}

impl Plain for Lazy<'_> {
    fn with<R>(&self, look: impl FnOnce(&Network) -> R) -> R {
        self.with_network(look)
    }
}

/// Bits for a local state.
const BITS: u32 = 31;

/// What the properties say of a vector.
#[derive(Debug)]
struct Judged {
    fault: Option<u32>,
    /// The least property that forbids it.
    never: Option<usize>,
    /// Its class for each monitor.
    classes: Vec<u32>,
    marked: bool,
}

#[derive(Debug)]
struct Tables {
    net: Network,
    /// For each vector.
    judged: Vec<Judged>,
}

impl Tables {
    /// Whether a local state is expanded.
    fn has(&self, leaf: usize, local: Local) -> bool {
        self.net.leaves[leaf].states[local.0 as usize].expanded
    }
}

/// Properties, borrowed or shared: threads that nobody waits for borrow nothing.
enum Held<'p> {
    Borrowed(&'p [Property]),
    Shared(Arc<[Property]>),
}

impl Held<'_> {
    fn list(&self) -> &[Property] {
        match self {
            Held::Borrowed(properties) => properties,
            Held::Shared(properties) => properties,
        }
    }
}

/// A source that has nothing to tell any more.
struct Gone;

impl TableSource for Gone {
    fn expand(&mut self, _: &mut Network, _: LeafIx, _: Local) -> Result<()> {
        Err(Error::internal("the source of the tables is gone"))
    }

    fn describe(&self, _: LeafIx, _: Local) -> String {
        String::new()
    }
}

/// A network with the source of its tables, and its properties.
pub struct Lazy<'p> {
    tables: RwLock<Tables>,
    source: Mutex<Box<dyn TableSource>>,
    properties: Held<'p>,
    /// The index of each monitor among the properties, and its field.
    monitors: Vec<(usize, Field)>,
    leaves: usize,
    packing: Packing,
}

impl<'p> Lazy<'p> {
    /// A network that has all its leaves, each with its initial state, and a source for everything else.
    pub fn new(net: Network, source: Box<dyn TableSource>, properties: &'p [Property]) -> Result<Self> {
        Self::holding(net, source, Held::Borrowed(properties))
    }

    fn holding(net: Network, source: Box<dyn TableSource>, properties: Held<'p>) -> Result<Self> {
        if let Some(leaf) = net.leaves.iter().find(|leaf| leaf.states.is_empty()) {
            return Err(Error::Internal(format!("the leaf `{}` has no local state", leaf.name)));
        }
        let all = properties.list().iter().enumerate();
        let monitors: Vec<(usize, &Monitor)> = all
            .filter_map(|(k, property)| match property {
                Property::Monitor(monitor) => Some((k, monitor)),
                Property::DeadlockFree { .. } | Property::Never(_) | Property::Formula(_) => None,
            })
            .collect();
        let bits = |monitor: &Monitor| usize::BITS - (monitor.states() - 1).leading_zeros();
        let leaves = net.leaves.len();
        let packing = Packing::for_bits(
            std::iter::repeat_n(BITS, leaves).chain(monitors.iter().map(|(_, monitor)| bits(monitor))),
        );
        let field = |n: usize| packing.field(LeafIx((leaves + n) as u32));
        let monitors = monitors.into_iter().enumerate().map(|(n, (k, _))| (k, field(n))).collect();
        let tables = RwLock::new(Tables { net, judged: Vec::new() });
        let lazy = Lazy { tables, source: Mutex::new(source), properties, monitors, leaves, packing };
        lazy.judge(&mut lazy.tables.write().unwrap_or_else(PoisonError::into_inner))?;
        Ok(lazy)
    }

    /// The network as far as it is known, and the source.
    pub fn into_parts(self) -> (Network, Box<dyn TableSource>) {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tables.net, self.source.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same of one that others may still hold; they can fill nothing any more.
    pub fn take_parts(lazy: Arc<Self>) -> Result<(Network, Box<dyn TableSource>)> {
        let lazy = match Arc::try_unwrap(lazy) {
            Ok(lazy) => return Ok(lazy.into_parts()),
            Err(lazy) => lazy,
        };
        let mut source = match lazy.source.try_lock() {
            Ok(source) => source,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::internal("a thread that was given up still fills tables"));
            }
        };
        let source = std::mem::replace(&mut *source, Box::new(Gone));
        Ok((lazy.with_network(Network::clone), source))
    }

    /// Lets `look` see the network as far as it is known.
    pub fn with_network<R>(&self, look: impl FnOnce(&Network) -> R) -> R {
        look(&self.read().net)
    }

    pub(crate) fn properties(&self) -> &[Property] {
        self.properties.list()
    }

    /// The monitors, with the index of their property and their field.
    fn monitors(&self) -> impl Iterator<Item = (usize, &Monitor, Field)> {
        self.monitors.iter().filter_map(|&(k, field)| match &self.properties()[k] {
            Property::Monitor(monitor) => Some((k, monitor, field)),
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Formula(_) => None,
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the properties about vectors that they have not seen yet.
    fn judge(&self, tables: &mut Tables) -> Result<()> {
        if tables.net.vectors.len() >= Via::LIMIT as usize {
            return Err(Error::input("the network has more than 2^30 vectors"));
        }
        for v in tables.judged.len()..tables.net.vectors.len() {
            let (net, vector) = (&tables.net, VectorIx(v as u32));
            let fault = match net.vectors[v].outcome {
                Outcome::Fault(fault) => Some(fault),
                Outcome::Step(_) => None,
            };
            let forbids = |p: &Property| matches!(p, Property::Never(forbidden) if forbidden(net, vector));
            let never = self.properties().iter().position(forbids);
            let classes: Vec<u32> =
                self.monitors().map(|(_, monitor, _)| monitor.class(net, vector)).collect();
            let may_be_bad = self.monitors().zip(&classes).any(|((_, m, _), &class)| m.can_turn_bad(class));
            let marked = fault.is_some() || never.is_some() || may_be_bad;
            tables.judged.push(Judged { fault, never, classes, marked });
        }
        Ok(())
    }

    fn local(&self, state: &[u64], leaf: usize) -> Local {
        self.packing.field(LeafIx(leaf as u32)).get(state)
    }

    /// The tables, in which all local states of `state` are expanded.
    fn expanded(&self, state: &[u64]) -> Result<RwLockReadGuard<'_, Tables>> {
        loop {
            let tables = self.read();
            let missing = (0..self.leaves).find(|&leaf| !tables.has(leaf, self.local(state, leaf)));
            let Some(leaf) = missing else { return Ok(tables) };
            drop(tables);
            self.fill(LeafIx(leaf as u32), self.local(state, leaf))?;
        }
    }

    /// Appends the steps of one vector.
    fn steps_of(&self, tables: &Tables, vector: VectorIx, state: &[u64], out: &mut Steps) {
        let judged = &tables.judged[vector.0 as usize];
        let first = out.len();
        out.push(state, Via::new(vector, judged.marked));
        for &(leaf, label) in &tables.net.vectors[vector.0 as usize].parts {
            let field = self.packing.field(leaf);
            let moves = tables.net.moves_with(leaf, field.get(state), label);
            let Some(((_, one), more)) = moves.split_first() else {
                out.truncate(first);
                return;
            };
            let end = out.len();
            for (_, to) in more {
                let copy = out.len();
                out.repeat(first..end);
                set_all(out.targets_from(copy), self.packing.words(), field, *to);
                if out.is_overfull() {
                    return;
                }
            }
            set_all(
                &mut out.targets_from(first)[..(end - first) * self.packing.words()],
                self.packing.words(),
                field,
                *one,
            );
        }
        if judged.fault.is_none() {
            for ((_, monitor, field), &class) in self.monitors().zip(&judged.classes) {
                let next = monitor.next(field.get(state), class);
                set_all(out.targets_from(first), self.packing.words(), field, next);
            }
        }
    }
}

impl Lazy<'static> {
    /// The same as [`Lazy::new`], for threads that nobody waits for.
    pub fn shared(
        net: Network,
        source: Box<dyn TableSource>,
        properties: Arc<[Property]>,
    ) -> Result<Lazy<'static>> {
        Self::holding(net, source, Held::Shared(properties))
    }
}

fn set_all(targets: &mut [u64], words: usize, field: Field, local: Local) {
    targets.chunks_exact_mut(words).for_each(|target| field.set(target, local));
}

impl EveryStep for Lazy<'_> {}

impl Successors for Lazy<'_> {
    type Width = Many;

    fn width(&self) -> Many {
        Many(self.packing.words())
    }

    fn packing(&self) -> &Packing {
        &self.packing
    }

    fn initial(&self) -> Vec<u64> {
        vec![0; self.packing.words()]
    }

    fn expand(&self, state: &[u64], out: &mut Steps) -> Result<()> {
        let tables = self.expanded(state)?;
        let net = &tables.net;
        for (i, leaf) in net.leaves.iter().enumerate() {
            let local = self.packing.field(LeafIx(i as u32)).get(state);
            let mut last = None;
            for &(label, _) in &leaf.states[local.0 as usize].moves {
                if last.replace(label) == Some(label) {
                    continue;
                }
                for &vector in &leaf.vectors_of[label.0 as usize] {
                    if net.vectors[vector.0 as usize].parts[0].0.0 as usize == i {
                        self.steps_of(&tables, vector, state, out);
                        out.check()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn fills_tables(&self) -> bool {
        true
    }

    fn missing(&self, states: &[u64], missing: &mut BTreeSet<(LeafIx, Local)>) {
        let tables = self.read();
        for state in states.chunks_exact(self.packing.words()) {
            let locals = (0..self.leaves).map(|leaf| (leaf, self.local(state, leaf)));
            let unknown = locals.filter(|&(leaf, local)| !tables.has(leaf, local));
            missing.extend(unknown.map(|(leaf, local)| (LeafIx(leaf as u32), local)));
        }
    }

    fn fill(&self, leaf: LeafIx, local: Local) -> Result<()> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let ix = leaf.0 as usize;
        // Another thread may have been faster.
        if tables.has(ix, local) {
            return Ok(());
        }
        let expanded = source.expand(&mut tables.net, leaf, local);
        // What the source did before it failed stays, and other threads go on until they notice.
        self.judge(&mut tables)?;
        expanded?;
        if !tables.has(ix, local) || tables.net.leaves.len() != self.leaves {
            let name = &tables.net.leaves[ix].name;
            return Err(Error::Internal(format!("the source did not expand a local state of `{name}`")));
        }
        match tables.net.leaves.iter().find(|leaf| leaf.states.len() > 1 << BITS) {
            Some(leaf) => Err(Error::Input(format!("`{}` has more than 2^{BITS} local states", leaf.name))),
            None => Ok(()),
        }
    }

    fn dead_end(&self, state: &[u64]) -> DeadEnd {
        let ended = || {
            let leaves = &self.read().net.leaves;
            (0..self.leaves).all(|leaf| leaves[leaf].terminated == Some(self.local(state, leaf)))
        };
        match deadlock_freedom(self.properties()) {
            Some((_, true)) if ended() => DeadEnd::Regular,
            deadlock => DeadEnd::Deadlock(deadlock.map(|(property, _)| property)),
        }
    }

    fn finding(&self, target: &[u64], via: Via) -> Option<Finding> {
        let tables = self.read();
        let judged = &tables.judged[via.vector().0 as usize];
        if let Some(fault) = judged.fault {
            return Some(Finding::Fault(fault));
        }
        let bad = self.monitors().filter(|(_, m, field)| m.is_bad(field.get(target))).map(|(k, _, _)| k);
        judged.never.into_iter().chain(bad).min().map(Finding::Property)
    }

    fn findings(&self, source: &[u64], target: &[u64], via: Via, found: &mut Vec<Finding>) {
        let tables = self.read();
        let judged = &tables.judged[via.vector().0 as usize];
        if let Some(fault) = judged.fault {
            found.push(Finding::Fault(fault));
            return;
        }
        let turned = |(_, monitor, field): &(usize, &Monitor, Field)| {
            monitor.is_bad(field.get(target)) && !monitor.is_bad(field.get(source))
        };
        let turned = self.monitors().filter(turned).map(|(k, _, _)| k);
        found.extend(judged.never.into_iter().chain(turned).map(Finding::Property));
    }

    /// The tables are not complete yet; searches watch the memory of the process as well.
    fn table_bytes(&self) -> u64 {
        0
    }
}
