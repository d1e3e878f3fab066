//! The whole road from the text of a specification to a network.

use crate::check::check;
use crate::data::eval::{Failure, STEP_LIMIT};
use crate::diagnostic::Diagnostic;
use crate::network::build::Builder;
use crate::network::flatten::flatten;
use crate::places::Places;
use crate::process::program::Program;
use crate::syntax::parse;
use gridlock_lts::model::explore::{self, warm_up};
use gridlock_lts::model::network::{LeafIx, Local, Network, TableSource};
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
    /// Local states, over all leaves, that may be expanded ahead of time.
    pub table_limit: usize,
    /// Global states that the short search of [`Tables::Auto`] may visit.
    pub warm_up: usize,
    /// How tables are filled.
    pub tables: Tables,
}

impl Default for Options {
    fn default() -> Self {
        Options { step_limit: STEP_LIMIT, table_limit: 200_000, warm_up: 50_000, tables: Tables::Auto }
    }
}

/// Rewrite steps of one evaluation ahead of time. Tables over-approximate, so equations may be asked about values
/// that never occur and on which they do not terminate; that is no fault, but a reason to build on demand.
const AHEAD_STEPS: u64 = 100_000;

/// A specification as a network, with what is needed to grow and to describe it.
pub struct System {
    /// The network.
    pub network: Network,
    /// Whether every local state is expanded, so that the network is complete and needs no source.
    pub closed: bool,
    /// Grows and describes the network.
    pub builder: Builder,
}

impl From<Failure> for Diagnostic {
    fn from(failure: Failure) -> Self {
        Diagnostic { span: failure.span.unwrap_or_default(), message: failure.message, help: failure.help }
    }
}

/// Turns the text of a specification into a network. `file` is how the specification is called in messages.
///
/// `progress` is called now and then with the number of local states expanded so far; it stops the building by
/// returning `false`, in which case tables are left to be filled on demand.
pub fn load(
    text: &str,
    file: &str,
    options: &Options,
    progress: &mut dyn FnMut(usize) -> bool,
) -> Result<System, Vec<Diagnostic>> {
    let tree = parse(text)?;
    let model = check(&tree)?;
    let model = Arc::new(model);
    let start = || -> Result<(Builder, Network), Vec<Diagnostic>> {
        let program = Program::new(model.clone(), options.step_limit);
        let flat = flatten(&program, text).map_err(|f| vec![f.into()])?;
        Builder::new(program, flat, Places::new(text, file)).map_err(|f| vec![Diagnostic::from(f)])
    };
    let (mut builder, mut network) = start()?;
    let mut closed = false;
    if options.tables == Tables::Auto && network.leaves.len() > 1 {
        let mut told = |p: explore::Progress| progress(p.states);
        let options = explore::Options { max_states: options.warm_up, progress: &mut told };
        closed = warm_up(&mut network, &mut builder, options).unwrap_or(false);
        if closed {
            builder.forget_unexpanded(&mut network);
        }
    }
    if !closed && options.tables != Tables::OnDemand {
        // A single leaf is explored exactly; nothing is asked there that does not happen.
        let ahead =
            if network.leaves.len() == 1 { options.step_limit } else { AHEAD_STEPS.min(options.step_limit) };
        builder.limit_steps(ahead);
        closed = expand_all(&mut builder, &mut network, options, progress);
        if builder.hit_step_limit() {
            // What was built is not what the specification says: begin again, on demand.
            (builder, network) = start()?;
            closed = false;
        }
        builder.limit_steps(options.step_limit);
    }
    if let Some(failure) = builder.too_much() {
        return Err(vec![failure.into()]);
    }
    Ok(System { network, closed, builder })
}

/// Expands local states until none is left (`true`) or a limit is reached. A single leaf is its own state space:
/// expanding it ahead of time is exact, so the limit on local states is not for it.
fn expand_all(
    builder: &mut Builder,
    network: &mut Network,
    options: &Options,
    progress: &mut dyn FnMut(usize) -> bool,
) -> bool {
    let limit = if network.leaves.len() == 1 { usize::MAX } else { options.table_limit };
    let mut done = vec![0usize; network.leaves.len()];
    let mut total = 0;
    loop {
        let mut grown = false;
        for (leaf, done) in done.iter_mut().enumerate() {
            // One round takes the states that are there now, so that leaves advance together, breadth first.
            for local in *done..network.leaves[leaf].states.len() {
                if total >= limit
                    || builder.hit_step_limit()
                    || (total.is_multiple_of(1024) && !progress(total))
                {
                    return false;
                }
                if builder.expand(network, LeafIx(leaf as u32), Local(local as u32)).is_err() {
                    return false;
                }
                *done = local + 1;
                total += 1;
                grown = true;
            }
        }
        if !grown {
            return true;
        }
    }
}
