//! Splitting the initial process into leaves under a tree of operators.

use crate::data::eval::{Eval, Failure};
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::model::ProcId;
use crate::process::action::{Act, MultiAction, Operator};
use crate::process::program::{NodeId, NodeKind, Program, frame_with};
use crate::process::term::Term;

/// More parallel components than this are refused.
const MAX_LEAVES: usize = 4096;
/// Deeper nesting of calls and operators around leaves than this is refused.
const MAX_DEPTH: u32 = 10_000;

/// Longer names of leaves than this are cut off.
const MAX_NAME: usize = 200;
/// The same for leaves that are named by their text.
const MAX_TEXT: usize = 40;

/// The operators around the leaves.
#[derive(Clone, Debug)]
pub enum Context {
    /// A leaf by its index.
    Leaf(usize),
    /// Parts in parallel.
    Parallel(Vec<Context>),
    /// An operator around a part.
    Operator(Operator, Box<Context>),
}

/// A leaf before its tables are built.
#[derive(Clone, Debug)]
pub struct LeafStart {
    /// Its readable, unique name.
    pub name: String,
    /// Its initial state.
    pub term: Term,
    /// Where it is written.
    pub span: Span,
}

/// The initial process, split.
pub struct Flat {
    /// The operators.
    pub context: Context,
    /// The leaves in the order of the text.
    pub leaves: Vec<LeafStart>,
    /// Where the operators of the context are written, each before those inside it.
    pub operators: Vec<Span>,
}

/// Splits the initial process of a program; `text` is the source, for naming leaves that are not process calls.
pub fn flatten(program: &Program, text: &str) -> Eval<Flat> {
    let mut work = Flattener { program, leaves: Vec::new(), operators: Vec::new() };
    let context = work.go(program.init, Vec::new(), None, 0)?;
    let operators = work.operators;
    let mut leaves: Vec<LeafStart> = work
        .leaves
        .into_iter()
        .map(|(call, term, span)| LeafStart { name: name(program, text, &call, span), term, span })
        .collect();
    let mut count: gridlock_lts::base::hash::Map<String, u32> = Default::default();
    for leaf in &leaves {
        *count.entry(leaf.name.clone()).or_default() += 1;
    }
    let mut seen: gridlock_lts::base::hash::Map<String, u32> = Default::default();
    for leaf in &mut leaves {
        if count[&leaf.name] > 1 {
            let n = seen.entry(leaf.name.clone()).or_default();
            *n += 1;
            leaf.name = format!("{}#{n}", leaf.name);
        }
    }
    Ok(Flat { context, leaves, operators })
}

/// The outermost process call that is nothing but a leaf.
type Call = Option<(ProcId, Vec<Value>)>;

/// Names are made once all leaves are there: an endless recursion may have arguments that grow with every leaf.
fn name(program: &Program, text: &str, call: &Call, span: Span) -> String {
    let model = &program.ev.model;
    let (whole, limit) = match call {
        Some((proc, args)) if args.is_empty() => (model.processes[proc.ix()].name.to_string(), MAX_NAME),
        Some((proc, args)) => {
            let args: Vec<String> = args.iter().map(|v| value_text(model, v)).collect();
            (format!("{}({})", model.processes[proc.ix()].name, args.join(", ")), MAX_NAME)
        }
        None => {
            let written = text.get(span.start as usize..span.end as usize).unwrap_or("process");
            (written.split_whitespace().collect::<Vec<_>>().join(" "), MAX_TEXT)
        }
    };
    match whole.char_indices().nth(limit) {
        None => whole,
        Some(_) => whole.chars().take(limit - 1).chain(['…']).collect(),
    }
}

struct Flattener<'p> {
    program: &'p Program,
    leaves: Vec<(Call, Term, Span)>,
    operators: Vec<Span>,
}

impl Flattener<'_> {
    fn go(&mut self, id: NodeId, values: Vec<Value>, call: Call, depth: u32) -> Eval<Context> {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.go_inner(id, values, call, depth))
    }

    fn go_inner(&mut self, id: NodeId, values: Vec<Value>, call: Call, depth: u32) -> Eval<Context> {
        let program = self.program;
        let node = program.node(id);
        if depth > MAX_DEPTH || self.leaves.len() >= MAX_LEAVES {
            return Err(Failure::new(
                Some(node.span),
                format!("more than {MAX_LEAVES} parallel processes: does this recursion end?"),
                "give the recursion over parallel processes a condition that stops it",
            ));
        }
        match &node.kind {
            NodeKind::Call(proc, args, size) => {
                program.ev.begin();
                let mut frame = frame_with(&values, *size);
                let all: Vec<Value> =
                    args.iter().map(|a| program.ev.eval(a, &mut frame)).collect::<Eval<_>>()?;
                let def = &program.ev.model.processes[proc.ix()];
                let body = program.bodies[proc.ix()];
                let mut values = Vec::new();
                for var in &program.node(body).free {
                    let at = def
                        .params
                        .iter()
                        .position(|p| p == var)
                        .expect("a body's free variables are parameters");
                    values.push(program.ev.canonical(program.ev.model.vars[var.ix()].sort, all[at].clone())?);
                }
                self.go(body, values, call.or(Some((*proc, all))), depth + 1)
            }
            NodeKind::Condition(code, size, yes, no) => {
                let mut frame = frame_with(&values, *size);
                let next = match program.ev.eval(code, &mut frame)? {
                    Value::Bool(true) => Some(yes),
                    Value::Bool(false) => no.as_ref(),
                    other => return Err(program.no_truth_value(&other, node.span)),
                };
                match next {
                    Some(target) => {
                        let values = program.target_values(target, &mut frame)?;
                        self.go(target.node, values, call, depth + 1)
                    }
                    None => Ok(self.leaf(call, Term::Dead, node.span)),
                }
            }
            NodeKind::Parallel(parts) => {
                let mut frame = frame_with(&values, 0);
                let mut inner = Vec::with_capacity(parts.len());
                for target in parts {
                    let values = program.target_values(target, &mut frame)?;
                    inner.push(self.go(target.node, values, None, depth + 1)?);
                }
                Ok(Context::Parallel(inner))
            }
            NodeKind::Operator(operator, target) => {
                self.operators.push(node.span);
                let mut frame = frame_with(&values, 0);
                let values = program.target_values(target, &mut frame)?;
                let inner = self.go(target.node, values, call, depth + 1)?;
                Ok(Context::Operator(operator.clone(), Box::new(inner)))
            }
            _ => {
                program.ev.begin();
                let term = program.normalise(id, values, depth)?;
                Ok(self.leaf(call, term, node.span))
            }
        }
    }

    fn leaf(&mut self, call: Call, term: Term, span: Span) -> Context {
        self.leaves.push((call, term, span));
        Context::Leaf(self.leaves.len() - 1)
    }
}

impl Context {
    /// What the whole system does when these leaves perform these multi-actions at once: the visible actions and the
    /// hidden ones, or `None` if an operator forbids it.
    pub fn compose(&self, parts: &[(usize, &MultiAction)]) -> Option<(MultiAction, MultiAction)> {
        let mut hidden = Vec::new();
        let visible = self.visible(parts, &mut hidden)?;
        hidden.sort();
        Some((visible.unwrap_or_default(), hidden))
    }

    /// `Some(None)`: no leaf below takes part.
    fn visible(&self, parts: &[(usize, &MultiAction)], hidden: &mut Vec<Act>) -> Option<Option<MultiAction>> {
        Some(match self {
            Context::Leaf(i) => parts.iter().find(|p| p.0 == *i).map(|p| p.1.clone()),
            Context::Parallel(inner) => {
                let mut all: Option<MultiAction> = None;
                for part in inner {
                    if let Some(acts) = part.visible(parts, hidden)? {
                        all.get_or_insert_default().extend(acts);
                    }
                }
                if let Some(all) = &mut all {
                    all.sort();
                }
                all
            }
            Context::Operator(operator, inner) => match inner.visible(parts, hidden)? {
                None => None,
                Some(mut acts) => {
                    if !operator.apply(&mut acts, hidden) {
                        return None;
                    }
                    Some(acts)
                }
            },
        })
    }
}
