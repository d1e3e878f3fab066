//! Networks whose tables are filled while they are searched.
//!
//! [`Lazy`] is the successor function for a network with a [`TableSource`]. A local state is expanded when a search first
//! needs it; until then nothing is known of it. States are packed with 31 bits for each leaf, since the number of local
//! states is not known beforehand, and steps are found through the vectors of the labels, without compiled tables. It is a
//! few times slower than [`Compiled`](crate::engine::successors::Compiled) and finds the same.
//!
//! Invariant: `expand` looks at the tables only once all local states of its state are expanded. By the network's own
//! invariant all enabled vectors are then there, and nothing that the source adds later changes the steps of that state.
//! The numbers of local states depend on the order in which they are expanded. A search on several threads therefore asks
//! for what is [`missing`](Successors::missing) and has it filled in a fixed order before it goes on.
//!
//! Searches whose threads or processes expand states in different orders and tell each other about them cannot have that.
//! [`Lazy::in_order`] is for them: the steps of a state come in an order that depends on what they are and not on numbers
//! ([`TableSource::content`]), so "the third step of this state" means the same everywhere.
//!
//! Locks: threads share the tables for reading; a thread that must expand locks the source, then the tables exclusively.

use crate::base::error::{Error, Result};
use crate::base::hash::{ContentHasher, content_of};
use crate::engine::pack::{Field, Many, Packing};
use crate::engine::successors::{EveryStep, Steps, Successors, Via};
use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome, TableSource, Vector, VectorIx};
use crate::property::{DeadEnd, Finding, Monitor, Property, deadlock_freedom};
use std::collections::BTreeSet;
use std::hash::Hasher;
use std::ops::Deref;
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
    /// The hash of its content, if steps are put in order.
    content: u128,
}

#[derive(Debug)]
struct Tables {
    net: Network,
    /// For each vector.
    judged: Vec<Judged>,
    /// For each leaf the content hashes of its local states, if steps are put in order.
    contents: Option<Vec<Vec<u128>>>,
}

impl Tables {
    /// Whether a local state is expanded.
    fn has(&self, leaf: usize, local: Local) -> bool {
        self.net.leaves[leaf].states[local.0 as usize].expanded
    }
}

/// Properties, borrowed or shared.
enum Asked<'p> {
    Borrowed(&'p [Property]),
    Shared(Arc<[Property]>),
}

impl Deref for Asked<'_> {
    type Target = [Property];

    fn deref(&self) -> &[Property] {
        match self {
            Asked::Borrowed(properties) => properties,
            Asked::Shared(properties) => properties,
        }
    }
}

/// A source that has nothing left to expand.
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
    properties: Asked<'p>,
    /// The monitors by the index of their property, and their field.
    monitors: Vec<(usize, Field)>,
    leaves: usize,
    packing: Packing,
}

impl<'p> Lazy<'p> {
    /// A network that has all its leaves, each with its initial state, and a source for everything else.
    pub fn new(net: Network, source: Box<dyn TableSource>, properties: &'p [Property]) -> Result<Self> {
        Lazy::with(net, source, Asked::Borrowed(properties), None)
    }

    /// The same for detached threads, which borrow nothing.
    pub fn shared(
        net: Network,
        source: Box<dyn TableSource>,
        properties: Arc<[Property]>,
    ) -> Result<Lazy<'static>> {
        Lazy::with(net, source, Asked::Shared(properties), None)
    }

    /// The same with steps in an order that does not depend on what was expanded before; see the module head.
    pub fn in_order(
        net: Network,
        source: Box<dyn TableSource>,
        properties: Arc<[Property]>,
    ) -> Result<Lazy<'static>> {
        let contents = vec![Vec::new(); net.leaves.len()];
        Lazy::with(net, source, Asked::Shared(properties), Some(contents))
    }

    fn with(
        net: Network,
        source: Box<dyn TableSource>,
        properties: Asked<'p>,
        contents: Option<Vec<Vec<u128>>>,
    ) -> Result<Self> {
        if let Some(leaf) = net.leaves.iter().find(|leaf| leaf.states.is_empty()) {
            return Err(Error::Internal(format!("the leaf `{}` has no local state", leaf.name)));
        }
        let watching = |(k, property): (usize, &Property)| match property {
            Property::Monitor(monitor) => Some((k, usize::BITS - (monitor.states() - 1).leading_zeros())),
            Property::DeadlockFree { .. } | Property::Never(_) | Property::Formula(_) => None,
        };
        let monitors: Vec<(usize, u32)> = properties.iter().enumerate().filter_map(watching).collect();
        let leaves = net.leaves.len();
        let packing = Packing::for_bits(
            std::iter::repeat_n(BITS, leaves).chain(monitors.iter().map(|(_, bits)| *bits)),
        );
        let field = |n: usize| packing.field(LeafIx((leaves + n) as u32));
        let monitors = monitors.into_iter().enumerate().map(|(n, (k, _))| (k, field(n))).collect();
        let tables = RwLock::new(Tables { net, judged: Vec::new(), contents });
        let lazy = Lazy { tables, source: Mutex::new(source), properties, monitors, leaves, packing };
        {
            let source = lazy.source.lock().unwrap_or_else(PoisonError::into_inner);
            lazy.judge(&mut lazy.tables.write().unwrap_or_else(PoisonError::into_inner), &**source)?;
        }
        Ok(lazy)
    }

    /// The monitors with the index of their property and their field.
    fn monitors(&self) -> impl Iterator<Item = (usize, &Monitor, Field)> {
        self.monitors.iter().filter_map(|&(k, field)| match &self.properties[k] {
            Property::Monitor(monitor) => Some((k, monitor, field)),
            _ => None,
        })
    }

    /// The network as far as it is known, and the source.
    pub fn into_parts(self) -> (Network, Box<dyn TableSource>) {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        (tables.net, self.source.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same for a value that others may still share; they can fill no more tables.
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

    /// Lets `look` see the network and its source, while all that need them wait.
    pub fn with_parts<R>(&self, look: impl FnOnce(&mut Network, &mut Box<dyn TableSource>) -> R) -> R {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        look(&mut tables.net, &mut source)
    }

    /// The properties of the search.
    pub fn properties(&self) -> &[Property] {
        &self.properties
    }

    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the properties about vectors that they have not seen yet, and the source about local states if steps are put in
    /// order.
    fn judge(&self, tables: &mut Tables, source: &dyn TableSource) -> Result<()> {
        if tables.net.vectors.len() >= Via::LIMIT as usize {
            return Err(Error::input("the network has more than 2^30 vectors"));
        }
        if let Some(contents) = &mut tables.contents {
            for (k, (leaf, known)) in tables.net.leaves.iter().zip(contents).enumerate() {
                let new = (known.len()..leaf.states.len()).map(|local| Local(local as u32));
                known.extend(new.map(|local| source.content(LeafIx(k as u32), local)));
            }
        }
        for v in tables.judged.len()..tables.net.vectors.len() {
            let (net, vector) = (&tables.net, VectorIx(v as u32));
            let fault = match net.vectors[v].outcome {
                Outcome::Fault(fault) => Some(fault),
                Outcome::Step(_) => None,
            };
            let forbids = |p: &Property| matches!(p, Property::Never(forbidden) if forbidden(net, vector));
            let never = self.properties.iter().position(forbids);
            let classes: Vec<u32> =
                self.monitors().map(|(_, monitor, _)| monitor.class(net, vector)).collect();
            let may_be_bad = self.monitors().zip(&classes).any(|((_, m, _), &class)| m.can_turn_bad(class));
            let marked = fault.is_some() || never.is_some() || may_be_bad;
            let content = tables.contents.as_ref().map_or(0, |_| vector_content(net, vector));
            tables.judged.push(Judged { fault, never, classes, marked, content });
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

    /// What a state is.
    fn content_in(&self, contents: &[Vec<u128>], state: &[u64]) -> u128 {
        let mut hasher = ContentHasher::default();
        for (leaf, contents) in contents.iter().enumerate() {
            hasher.write_u128(contents[self.local(state, leaf).0 as usize]);
        }
        self.monitors.iter().for_each(|(_, field)| hasher.write_u32(field.get(state).0));
        hasher.content()
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

/// The content hash of a vector: which leaf contributes what, and what others see of it.
fn vector_content(net: &Network, vector: VectorIx) -> u128 {
    let Vector { parts, outcome, unhidden } = &net.vectors[vector.0 as usize];
    let part = |&(leaf, label): &(LeafIx, LocalLabel)| {
        (leaf.0, net.leaves[leaf.0 as usize].labels[label.0 as usize].as_str())
    };
    let shown = match *outcome {
        Outcome::Step(label) => (true, &net.labels[label.0 as usize]),
        Outcome::Fault(fault) => (false, &net.faults[fault as usize]),
    };
    let parts: Vec<(u32, &str)> = parts.iter().map(part).collect();
    content_of(&(parts, shown, &net.labels[unhidden.0 as usize]))
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
        let (net, first) = (&tables.net, out.len());
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
        if let Some(contents) = &tables.contents {
            out.sort_from(first, |target, via| {
                (tables.judged[via.vector().0 as usize].content, self.content_in(contents, target))
            });
        }
        Ok(())
    }

    fn fills_tables(&self) -> bool {
        true
    }

    fn content(&self, state: &[u64]) -> Option<u64> {
        let tables = self.read();
        tables.contents.as_ref().map(|contents| self.content_in(contents, state) as u64)
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
        self.judge(&mut tables, &**source)?;
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
        match deadlock_freedom(&self.properties) {
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
