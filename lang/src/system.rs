//! The whole road from the text of a specification to a network.

use crate::check::check;
use crate::data::eval::{Failure, STEP_LIMIT};
use crate::diagnostic::{Diagnostic, Span};
use crate::network::build::Builder;
use crate::network::flatten::flatten;
use crate::process::program::Program;
use crate::syntax::parse;
use gridlock_lts::network::{LeafIx, Local, Network, TableSource};
use std::sync::Arc;

/// How tables are filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// Ahead of time if that ends within the limit, else on demand.
    Auto,
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
    /// How tables are filled.
    pub tables: Tables,
}

impl Default for Options {
    fn default() -> Self {
        Options { step_limit: STEP_LIMIT, table_limit: 200_000, tables: Tables::Auto }
    }
}

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
    let program = Program::new(Arc::new(model), options.step_limit);
    let flat = flatten(&program, text).map_err(|f| vec![f.into()])?;
    let (mut builder, mut network) =
        Builder::new(program, flat, places(text, file)).map_err(|f| vec![Diagnostic::from(f)])?;
    let closed = match options.tables {
        Tables::OnDemand => false,
        Tables::Auto => expand_all(&mut builder, &mut network, options, progress),
    };
    Ok(System { network, closed, builder })
}

/// Expands local states until none is left (`true`) or the limit is reached. A single leaf is its own state space:
/// expanding it ahead of time is exact, so the limit is not for it.
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
        for leaf in 0..done.len() {
            // One round takes the states that are there now, so that leaves advance together, breadth first.
            for local in done[leaf]..network.leaves[leaf].states.len() {
                if total >= limit || (total.is_multiple_of(1024) && !progress(total)) {
                    return false;
                }
                builder
                    .expand(network, LeafIx(leaf as u32), Local(local as u32))
                    .expect("the builder turns failures into faults");
                done[leaf] = local + 1;
                total += 1;
                grown = true;
            }
        }
        if !grown {
            return true;
        }
    }
}

/// Turns spans into `file:line:column`.
fn places(text: &str, file: &str) -> Box<dyn Fn(Span) -> String + Send> {
    let file = file.to_owned();
    let text: Arc<str> = text.into();
    Box::new(move |span| {
        let before = text.get(..span.start as usize).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        format!("{file}:{line}:{column}")
    })
}
