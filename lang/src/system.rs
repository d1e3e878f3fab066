//! From the text of a specification to a network, in two stages: [`Checked::read`] says what is wrong with the text,
//! [`Checked::fill`] fills the tables.
//!
//! Invariant: how tables are filled depends on the specification, the properties and the options, and never on time, so
//! that all ranks have the same tables. Every limit on filling them ahead leads to filling them on demand.

use crate::check::check;
use crate::data::disagreement::Disagreements;
use crate::data::eval::{Failure, STEP_LIMIT};
use crate::diagnostic::Diagnostic;
use crate::network::build::{Builder, MAX_VECTORS};
use crate::network::flatten::flatten;
use crate::places::Places;
use crate::process::program::Program;
use crate::syntax::parse;
use gridlock_lts::base::error::Error;
use gridlock_lts::base::halt::Halt;
use gridlock_lts::engine::explore::{self, WarmUp};
use gridlock_lts::model::network::{LeafIx, Local, Network, TableSource};
use gridlock_lts::property::Property;
use std::sync::Arc;

/// How tables are filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// A short search first; if it does not see everything, ahead of time; if that does not end, on demand.
    Auto,
    /// Ahead of time if that ends within the limits, else on demand.
    AheadOfTime,
    /// On demand only.
    OnDemand,
}

/// What the user may set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rewrite steps that one evaluation may take.
    pub step_limit: u64,
    /// Local states, over all leaves, that may be expanded ahead of time. The work for it is bounded in proportion.
    pub table_limit: usize,
    /// Global states that the short search of [`Tables::Auto`] may visit. Its work is bounded in proportion, too.
    pub warm_up: usize,
    /// How tables are filled.
    pub tables: Tables,
    /// Where equations that disagree are collected, if they are looked for.
    pub disagreements: Option<Arc<Disagreements>>,
    /// Ends evaluations from outside.
    pub halt: Arc<Halt>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            step_limit: STEP_LIMIT,
            table_limit: 200_000,
            warm_up: 50_000,
            tables: Tables::Auto,
            disagreements: None,
            halt: Arc::default(),
        }
    }
}

/// Rewrite steps of one evaluation ahead of time. Tables over-approximate, so equations may be asked about values
/// that never occur and on which they do not terminate; that is no fault, but a reason to build on demand.
const AHEAD_STEPS: u64 = 100_000;

/// Units of work ([`Builder::work`]) that the short search may do for each global state it may visit.
const WORK_PER_STATE: u64 = 200;

/// What the short search may look at for each global state: labels, vectors and steps. A process that has a thousand steps in
/// each of its states makes states expensive that are few.
const LOOKS_PER_STATE: u64 = 2_000;

/// The same ahead of time, for each local state that may be expanded.
const WORK_PER_LOCAL: u64 = 500;

/// Work between two reports: a tenth of a second at most.
const BETWEEN_REPORTS: u64 = 1 << 20;

/// How many times less is done ahead of time if a formula is asked for, or a violation is near.
const LESS: usize = 10;

/// What complete tables are worth to a search although a violation is near.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worth {
    Nothing,
    Little,
}

/// A specification without fault, whose tables are still empty: what properties are translated for.
pub struct Checked {
    network: Network,
    builder: Builder,
    options: Options,
}

/// Why local states are left to be expanded on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOpen {
    /// That was asked for.
    Asked,
    /// The building was stopped.
    Stopped,
    /// The short search saw a violation, which a search finds soon.
    Violated,
    /// There are more local states than this ([`Options::table_limit`]).
    States(usize),
    /// There are not more local states than this, but computing them takes more work than is allowed for that number.
    Work(usize),
    /// Processes can act together in more than this number of combinations of actions with values.
    Vectors(usize),
    /// Equations do not end within this number of steps on values that processes might have.
    Steps(u64),
}

impl std::fmt::Display for LeftOpen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LeftOpen::Asked => write!(f, "it was asked for"),
            LeftOpen::Stopped => write!(f, "the building of tables was stopped"),
            LeftOpen::Violated => write!(f, "a short search saw a violation"),
            LeftOpen::States(n) => write!(f, "the processes have more than {n} local states"),
            LeftOpen::Work(n) => {
                write!(f, "the local states of the processes take more work than is allowed for {n}")
            }
            LeftOpen::Vectors(n) => {
                write!(
                    f,
                    "the processes can act together in more than {n} combinations of actions with values"
                )
            }
            LeftOpen::Steps(n) => {
                write!(f, "an equation does not end within {n} steps on values that the processes might have")
            }
        }
    }
}

/// Why a state is not found by the names of its local states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undescribed {
    /// Not all local states can be listed.
    Open(LeftOpen),
    /// The leaf of this number has no such state.
    Unknown(usize),
    /// It has several.
    Several(usize),
}

/// A specification as a network, with what is needed to grow and to describe it.
pub struct System {
    /// The network.
    pub network: Network,
    /// Whether every local state is expanded, so that the network is complete and needs no source.
    pub closed: bool,
    /// Why not, if it is not so.
    pub left_open: Option<LeftOpen>,
    /// Grows and describes the network.
    pub builder: Builder,
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Diagnostic { span: failure.span.unwrap_or_default(), message: failure.message, help: failure.help }
    }
}

impl Checked {
    /// Reads and checks the text of a specification and splits its initial process. `file` is the name of the specification
    /// in messages.
    pub fn read(text: &str, file: &str, options: Options) -> Result<Self, Vec<Diagnostic>> {
        let model = Arc::new(check(&parse(text)?)?);
        let program = Program::new(model, options.step_limit);
        program.ev.meter.heed(options.halt.clone());
        options.disagreements.iter().for_each(|to| program.ev.tell_disagreements(to.clone()));
        let flat = flatten(&program, text).map_err(|f| vec![f.into()])?;
        let (builder, network) =
            Builder::new(program, flat, Places::new(text, file)).map_err(|f| vec![Diagnostic::from(f)])?;
        Ok(Checked { network, builder, options })
    }

    /// Moves the initial state to one that `find` finds, on tables that it fills as far as it needs them. Everything that is
    /// filled afterwards is what the processes do from there.
    pub fn begin_at<E>(
        &mut self,
        find: impl FnOnce(&mut Network, &mut Builder) -> Result<Vec<Local>, E>,
    ) -> Result<(), E> {
        let state = find(&mut self.network, &mut self.builder)?;
        self.builder.begin_at(&mut self.network, &state);
        Ok(())
    }

    /// Moves the initial state to the one in which each leaf is in the local state of the given name, as
    /// [`TableSource::describe`] prints it. It is looked for in the tables of all that the processes might do; `progress`
    /// is as for [`Checked::fill`].
    pub fn begin_where(
        &mut self,
        called: &[&str],
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Undescribed> {
        if let Some(left_open) = self.fill_ahead(1, 1, progress) {
            self.builder.reset(&mut self.network);
            return Err(Undescribed::Open(left_open));
        }
        let find = |net: &mut Network, builder: &mut Builder| {
            let of_leaf = |(leaf, text): (usize, &&str)| {
                let locals = (0..net.leaves[leaf].states.len() as u32).map(Local);
                let mut fitting =
                    locals.filter(|local| builder.describe(LeafIx(leaf as u32), *local) == **text);
                let found = fitting.next().ok_or(Undescribed::Unknown(leaf))?;
                fitting.next().map_or(Ok(found), |_| Err(Undescribed::Several(leaf)))
            };
            called.iter().enumerate().map(of_leaf).collect()
        };
        self.begin_at(find)
    }

    /// The names of the leaves.
    pub fn leaves(&self) -> impl Iterator<Item = &str> {
        self.network.leaves.iter().map(|leaf| leaf.name.as_str())
    }

    /// The builder, for translating properties. What it says of labels holds for the filled tables, too.
    pub fn builder(&self) -> &Builder {
        &self.builder
    }

    /// Fills the tables. If the short search sees a violation of a property and not everything else, the rest is left
    /// to be filled on demand: a search will find it before it needs much of it.
    ///
    /// `progress` is called now and then with the number of states so far; it stops the building by returning
    /// `false`, in which case the rest is left to be filled on demand.
    pub fn fill(self, properties: &[Property], progress: &mut dyn FnMut(usize) -> bool) -> System {
        self.fill_for(properties, Worth::Nothing, progress)
    }

    /// The same for a search that can do without complete tables, but is better with them: if the short search sees a violation,
    /// they are completed if that takes little.
    pub fn fill_if_cheap(self, properties: &[Property], progress: &mut dyn FnMut(usize) -> bool) -> System {
        self.fill_for(properties, Worth::Little, progress)
    }

    fn fill_for(
        mut self,
        properties: &[Property],
        worth: Worth,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> System {
        let left_open = self.try_all(properties, worth, progress);
        if self.builder.has_too_many_vectors() {
            self.builder.reset(&mut self.network);
        }
        System { network: self.network, closed: left_open.is_none(), left_open, builder: self.builder }
    }

    fn try_all(
        &mut self,
        properties: &[Property],
        worth: Worth,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Option<LeftOpen> {
        if self.options.tables == Tables::OnDemand {
            return Some(LeftOpen::Asked);
        }
        let mut near = false;
        if self.options.tables == Tables::Auto {
            // Where tables may yet be completed, they have the same numbers for all properties.
            let warm = self.warm_up(properties, worth == Worth::Nothing, progress);
            if warm.complete {
                self.builder.forget_unexpanded(&mut self.network);
                return None;
            }
            if warm.violated && worth == Worth::Nothing {
                return Some(LeftOpen::Violated);
            }
            near = warm.violated;
        }
        // A formula may be decided by a few states of an endless system.
        let formulas = properties.iter().any(|property| matches!(property, Property::Formula(_)));
        let less_work = if near || (formulas && worth == Worth::Nothing) { LESS } else { 1 };
        let less_states = if near { LESS } else { 1 };
        let left_open = self.fill_ahead(less_work, less_states, progress)?;
        if self.network.leaves.len() > 1 || left_open == self.cut_off() {
            // Much of what was built never happens, or is not what the specification says: begin again with what does.
            self.builder.reset(&mut self.network);
            if left_open != LeftOpen::Stopped {
                self.warm_up(&[], true, progress);
            }
        }
        Some(if near && left_open != LeftOpen::Stopped { LeftOpen::Violated } else { left_open })
    }

    /// `early`: ends soon after it has seen a violation.
    fn warm_up(
        &mut self,
        properties: &[Property],
        early: bool,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> WarmUp {
        let Options { warm_up, table_limit, .. } = self.options;
        // The states of a single leaf are local states.
        let max_states = if self.network.leaves.len() == 1 { warm_up.min(table_limit) } else { warm_up };
        let mut source = Bounded::new(&mut self.builder, max_states, WORK_PER_STATE);
        let mut told = |p: explore::Progress| progress(p.states);
        let options = explore::Options { max_states, progress: &mut told };
        let looks = (max_states as u64).saturating_mul(LOOKS_PER_STATE);
        explore::warm_up(&mut self.network, &mut source, properties, early, options, looks)
    }

    /// Expands all local states, or says which limit was reached.
    fn fill_ahead(
        &mut self,
        less_work: usize,
        less_states: usize,
        progress: &mut dyn FnMut(usize) -> bool,
    ) -> Option<LeftOpen> {
        let LeftOpen::Steps(steps) = self.cut_off() else { unreachable!("a number of steps") };
        let Checked { network, builder, options } = self;
        builder.limit_steps(steps);
        builder.fill_ahead(true);
        let left_open = expand_all(
            builder,
            network,
            options.table_limit / less_states,
            less_work / less_states,
            progress,
        );
        let left_open = if builder.hit_step_limit() { Some(LeftOpen::Steps(steps)) } else { left_open };
        builder.limit_steps(options.step_limit);
        builder.fill_ahead(false);
        left_open
    }

    /// The reason that is given when an evaluation was cut off ahead of time. A single leaf is explored exactly; nothing is
    /// asked there that does not happen.
    fn cut_off(&self) -> LeftOpen {
        let limit = self.options.step_limit;
        LeftOpen::Steps(if self.network.leaves.len() == 1 { limit } else { AHEAD_STEPS.min(limit) })
    }
}

/// Turns the text of a specification into a network: [`Checked::read`] and [`Checked::fill`] at once.
pub fn load(
    text: &str,
    file: &str,
    options: &Options,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<System, Vec<Diagnostic>> {
    Ok(Checked::read(text, file, options.clone())?.fill(&[], progress))
}

/// Tables that are filled until a certain amount of work is done.
struct Bounded<'b> {
    builder: &'b mut Builder,
    until: u64,
}

impl<'b> Bounded<'b> {
    fn new(builder: &'b mut Builder, count: usize, each: u64) -> Self {
        let until = builder.work().saturating_add((count as u64).saturating_mul(each));
        Bounded { builder, until }
    }

    fn is_over(&self) -> bool {
        self.builder.work() > self.until
    }
}

impl TableSource for Bounded<'_> {
    fn expand(&mut self, net: &mut Network, leaf: LeafIx, local: Local) -> Result<(), Error> {
        if self.is_over() {
            return Err(Error::input("the work for it is too much"));
        }
        self.builder.expand(net, leaf, local)
    }

    fn describe(&self, leaf: LeafIx, local: Local) -> String {
        self.builder.describe(leaf, local)
    }

    fn content(&self, leaf: LeafIx, local: Local) -> u128 {
        self.builder.content(leaf, local)
    }
}

/// Expands local states until none is left or a limit is reached: which.
fn expand_all(
    builder: &mut Builder,
    network: &mut Network,
    limit: usize,
    less_work: usize,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Option<LeftOpen> {
    let mut source = Bounded::new(builder, limit / less_work, WORK_PER_LOCAL);
    let mut done = vec![0usize; network.leaves.len()];
    let (mut total, mut told) = (0usize, source.builder.work());
    loop {
        let mut grown = false;
        for (leaf, done) in done.iter_mut().enumerate() {
            // One round takes the states that are there now, so that leaves advance together, breadth first.
            for local in *done..network.leaves[leaf].states.len() {
                let work = source.builder.work();
                if (total.is_multiple_of(1024) || work - told > BETWEEN_REPORTS) && !progress(total) {
                    return Some(LeftOpen::Stopped);
                }
                told = if work - told > BETWEEN_REPORTS { work } else { told };
                if total >= limit {
                    return Some(LeftOpen::States(limit));
                }
                if source.builder.hit_step_limit() {
                    return Some(LeftOpen::Steps(source.builder.step_limit()));
                }
                if source.expand(network, LeafIx(leaf as u32), Local(local as u32)).is_err() {
                    return Some(match () {
                        () if source.is_over() => LeftOpen::Work(limit / less_work),
                        () if source.builder.has_too_many_vectors() => LeftOpen::Vectors(MAX_VECTORS),
                        () => LeftOpen::Stopped,
                    });
                }
                *done = local + 1;
                total += 1;
                grown = true;
            }
        }
        if !grown {
            return None;
        }
    }
}
