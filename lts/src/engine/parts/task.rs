//! The computations of a search, as values: threads or other processes may do them, or an earlier run may have done them.
//!
//! A [`Task`] brings along all that it needs, so its worker need not know the network, nor what was put together
//! before. Most components are small by the time they are looked at in pairs; sending them costs less than finding out
//! again elsewhere how they were made. Invariant: what comes of a task depends on nothing else, as long as the memory
//! suffices.

use super::interface::{Found, Interfaces, Tree};
use super::product::{Effort, Table, compose};
use super::reduce::reduce;
use super::system::{Component, Held, Origin, Sync, System, bytes_of};
use super::{Keep, Seen, Stop, Trouble};
use crate::base::error::{Error, Limit};
use crate::base::memory::Budget;
use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A self-contained computation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    pub(super) what: What,
    pub(super) keep: Keep,
    /// The most states of the product, or tuples of interfaces.
    pub(super) limit: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum What {
    /// Puts components together, or hides the own steps of one, and reduces the result.
    Product { first: Part, second: Option<Part>, table: Table },
    /// Explores components by their interfaces.
    Interfaces { parts: Vec<Option<Part>>, syncs: Vec<Sync>, tree: Vec<Tree>, members: usize },
}

/// What of a component matters to others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) body: Body,
    pub(super) observes: bool,
}

impl From<&Component> for Part {
    fn from(component: &Component) -> Self {
        Part { body: Body(component.lts.clone()), observes: component.observes }
    }
}

/// An LTS whose labels are numbers and whose initial state is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Body(pub(super) Arc<Lts>);

/// How it is sent: labels, for each state the number of its moves, and all moves.
type Sent = (u32, Vec<u32>, Vec<(u32, u32)>);

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lts = &self.0;
        let counts = lts.states().map(|state| lts.outgoing(state).len() as u32).collect();
        let moves = lts.transitions().map(|(_, label, to)| (label.0, to.0)).collect();
        let sent: Sent = (lts.labels().len() as u32, counts, moves);
        sent.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (labels, counts, moves) = Sent::deserialize(deserializer)?;
        let states = counts.len() as u32;
        let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
        if states == 0 || sum != moves.len() as u64 {
            return Err(de::Error::custom("moves of a component are missing"));
        }
        // Every label has a name, so there must not be many more than moves.
        if moves.iter().any(|&(label, to)| label >= labels || to >= states) || labels > 1 << 24 {
            return Err(de::Error::custom("a component has moves that lead nowhere"));
        }
        let mut builder = Builder::with_capacity(moves.len());
        builder.require_states(states);
        let mut moves = moves.into_iter();
        for (from, &count) in (0..).map(State).zip(&counts) {
            for (label, to) in moves.by_ref().take(count as usize) {
                builder.add(from, Label(label), State(to));
            }
        }
        Ok(Body(Arc::new(builder.finish_numbered(labels, State(0)))))
    }
}

/// The result of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Answered {
    pub(super) end: End,
    /// States of the product, or tuples.
    pub states: u64,
    /// The time it took.
    pub time: Duration,
}

/// How a task ended. Sizes are states and transitions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum End {
    /// A component, and its size before it was reduced.
    Made {
        body: Body,
        product: (u64, u64),
    },
    /// The sizes of one that was made by an earlier run.
    Known {
        product: (u64, u64),
        reduced: (u64, u64),
    },
    Explored(Found, Seen),
    /// There is more than the limit allows, and what was seen of interfaces.
    TooLarge(Option<Seen>),
    Memory(Option<Seen>),
    Stopped,
    Failed(String),
}

impl Answered {
    /// Whether the task was asked to stop before it was done.
    pub fn is_stopped(&self) -> bool {
        self.end == End::Stopped
    }

    /// How it ended, in a word or two for logs.
    pub fn end(&self) -> &'static str {
        match self.end {
            End::Made { .. } => "made",
            End::Known { .. } => "known",
            End::Explored(..) => "explored",
            End::TooLarge(_) => "too large",
            End::Memory(_) => "out of memory",
            End::Stopped => "interrupted",
            End::Failed(_) => "failed",
        }
    }

    /// What a run that is resumed has to know: of a component its size. What depends on the memory of a machine is tried
    /// again.
    pub fn remembered(&self) -> Option<Answered> {
        let end = match &self.end {
            End::Made { body, product } => End::Known { product: *product, reduced: size(&body.0) },
            End::Known { .. } | End::Explored(..) | End::TooLarge(_) => self.end.clone(),
            End::Memory(_) | End::Stopped | End::Failed(_) => return None,
        };
        Some(Answered { end, ..*self })
    }
}

pub(super) fn size(lts: &Lts) -> (u64, u64) {
    (lts.num_states() as u64, lts.num_transitions() as u64)
}

impl Task {
    /// Runs the task. `received`: it came from another process, and its components count as memory of this one.
    pub fn run(
        &self,
        budget: &Arc<Budget>,
        stop: &(dyn Fn() -> Option<Limit> + std::marker::Sync),
        received: bool,
    ) -> Answered {
        let (begun, stop) = (Instant::now(), Stop(stop));
        let effort = Effort { states: self.limit, budget, stop: &stop };
        let end = self.end(effort, if received { self.bytes() } else { 0 });
        let states = match &end {
            End::Made { product, .. } | End::Known { product, .. } => product.0,
            End::Explored(_, seen) | End::TooLarge(Some(seen)) | End::Memory(Some(seen)) => seen.tuples,
            End::TooLarge(None) => self.limit,
            End::Memory(None) | End::Stopped | End::Failed(_) => 0,
        };
        Answered { end, states, time: begun.elapsed() }
    }

    fn end(&self, effort: Effort, bytes: u64) -> End {
        let ended = |trouble: Trouble, seen: Option<Seen>| match trouble {
            Trouble::TooLarge => End::TooLarge(seen),
            Trouble::Memory => End::Memory(seen),
            Trouble::Stopped(_) => End::Stopped,
            Trouble::Internal(error) => End::Failed(error.to_string()),
        };
        let Ok(_held) = Held::new(effort.budget, bytes) else { return End::Memory(None) };
        match &self.what {
            What::Product { first, second, table } => {
                let made = product(first, second.as_ref(), table, self.keep, effort);
                made.unwrap_or_else(|trouble| ended(trouble, None))
            }
            What::Interfaces { parts, syncs, tree, members } => {
                let explored = System::of_parts(parts, syncs, effort.budget)
                    .map_err(Trouble::from)
                    .and_then(|system| Interfaces::new(&system, tree, *members, effort));
                let mut interfaces = match explored {
                    Ok(interfaces) => interfaces,
                    Err(trouble) => return ended(trouble, None),
                };
                let found = interfaces.explore(self.keep == Keep::Deadlocks);
                let seen = interfaces.account();
                match found {
                    Ok(found) => End::Explored(found, seen),
                    Err(trouble) => ended(trouble, Some(seen)),
                }
            }
        }
    }

    /// Bytes of its components.
    fn bytes(&self) -> u64 {
        let of = |part: &Part| bytes_of(&part.body.0);
        match &self.what {
            What::Product { first, second, .. } => of(first) + second.as_ref().map_or(0, of),
            What::Interfaces { parts, .. } => parts.iter().flatten().map(of).sum(),
        }
    }
}

fn product(
    first: &Part,
    second: Option<&Part>,
    table: &Table,
    keep: Keep,
    effort: Effort,
) -> Result<End, Trouble> {
    let made = compose(&first.body.0, second.map(|part| &*part.body.0), table, effort)?;
    let observes = first.observes || second.is_some_and(|part| part.observes);
    // Where states went is found out again if a counterexample needs it.
    let reduced = reduce(&made.lts, keep, observes, effort)?;
    Ok(End::Made { body: Body(Arc::new(reduced.lts)), product: size(&made.lts) })
}

impl System {
    /// Its components as others see them.
    pub(super) fn parts(&self) -> Vec<Option<Part>> {
        self.components.iter().map(|component| component.as_deref().map(Part::from)).collect()
    }

    /// Components whose origin does not matter.
    fn of_parts(
        parts: &[Option<Part>],
        syncs: &[Sync],
        budget: &Arc<Budget>,
    ) -> Result<Self, crate::base::memory::Exhausted> {
        let mut system = System::empty();
        for part in parts {
            let Some(Part { body: Body(lts), observes }) = part else {
                system.components.push(None);
                continue;
            };
            let component = Component {
                lts: lts.clone(),
                origin: Origin::Observer,
                label_of: Vec::new(),
                state_of: Vec::new(),
                observes: *observes,
                node: 0,
                version: system.version(),
                _held: Arc::new(Held::new(budget, 0)?),
            };
            system.components.push(Some(Arc::new(component)));
        }
        system.syncs = syncs.to_vec();
        Ok(system)
    }
}

/// A component that was made, and the memory that it takes.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) lts: Arc<Lts>,
    pub(super) held: Arc<Held>,
}

impl Kept {
    pub(super) fn new(body: Body, budget: &Arc<Budget>) -> Result<Self, Trouble> {
        let held = Arc::new(Held::new(budget, bytes_of(&body.0))?);
        Ok(Kept { lts: body.0, held })
    }
}

/// The trouble that an answer is, if it is one.
pub(super) fn trouble(end: End) -> Trouble {
    match end {
        End::TooLarge(_) => Trouble::TooLarge,
        End::Memory(_) => Trouble::Memory,
        End::Stopped => Trouble::Stopped(Limit::Interrupted),
        End::Failed(why) => Trouble::Internal(Error::Internal(why)),
        End::Made { .. } | End::Known { .. } | End::Explored(..) => {
            Trouble::Internal(Error::internal("an answer to another question"))
        }
    }
}
