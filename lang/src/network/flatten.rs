//! Splitting the initial process into leaves under a tree of operators.

use crate::data::eval::{Eval, Failure};
use crate::data::print::value_text;
use crate::data::value::Value;
use crate::diagnostic::Span;
use crate::process::action::{Act, MultiAction, Operator};
use crate::process::program::{NodeId, NodeKind, Program, frame_with};
use crate::process::term::Term;

/// More parallel components than this are refused.
const MAX_LEAVES: usize = 4096;
/// Deeper nesting of calls and operators around leaves than this is refused.
const MAX_DEPTH: u32 = 10_000;

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
}

/// Splits the initial process of a program; `text` is the source, for naming leaves that are not process calls.
pub fn flatten(program: &Program, text: &str) -> Eval<Flat> {
    let mut work = Flattener { program, text, leaves: Vec::new() };
    let context = work.go(program.init, Vec::new(), None, 0)?;
    let mut leaves = work.leaves;
    let mut count: gridlock_lts::hash::Map<String, u32> = Default::default();
    for leaf in &leaves {
        *count.entry(leaf.name.clone()).or_default() += 1;
    }
    let mut seen: gridlock_lts::hash::Map<String, u32> = Default::default();
    for leaf in &mut leaves {
        if count[&leaf.name] > 1 {
            let n = seen.entry(leaf.name.clone()).or_default();
            *n += 1;
            leaf.name = format!("{}#{n}", leaf.name);
        }
    }
    Ok(Flat { context, leaves })
}

struct Flattener<'p> {
    program: &'p Program,
    text: &'p str,
    leaves: Vec<LeafStart>,
}

impl Flattener<'_> {
    fn go(&mut self, id: NodeId, values: Vec<Value>, name: Option<String>, depth: u32) -> Eval<Context> {
        stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.go_inner(id, values, name, depth))
    }

    fn go_inner(
        &mut self,
        id: NodeId,
        values: Vec<Value>,
        name: Option<String>,
        depth: u32,
    ) -> Eval<Context> {
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
                let name = name.unwrap_or_else(|| {
                    let args: Vec<String> = all.iter().map(|v| value_text(&program.ev.model, v)).collect();
                    if args.is_empty() {
                        def.name.to_string()
                    } else {
                        format!("{}({})", def.name, args.join(", "))
                    }
                });
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
                self.go(body, values, Some(name), depth + 1)
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
                        let values = target
                            .slots
                            .iter()
                            .map(|s| program.ev.force(&mut frame, *s))
                            .collect::<Eval<_>>()?;
                        self.go(target.node, values, name, depth + 1)
                    }
                    None => Ok(self.leaf(name, Term::Dead, node.span)),
                }
            }
            NodeKind::Parallel(parts) => {
                let mut frame = frame_with(&values, 0);
                let mut inner = Vec::with_capacity(parts.len());
                for target in parts {
                    let values =
                        target.slots.iter().map(|s| program.ev.force(&mut frame, *s)).collect::<Eval<_>>()?;
                    inner.push(self.go(target.node, values, None, depth + 1)?);
                }
                Ok(Context::Parallel(inner))
            }
            NodeKind::Operator(operator, target) => {
                let mut frame = frame_with(&values, 0);
                let values =
                    target.slots.iter().map(|s| program.ev.force(&mut frame, *s)).collect::<Eval<_>>()?;
                let inner = self.go(target.node, values, name, depth + 1)?;
                Ok(Context::Operator(operator.clone(), Box::new(inner)))
            }
            _ => {
                program.ev.begin();
                let term = program.normalise(id, values, depth)?;
                Ok(self.leaf(name, term, node.span))
            }
        }
    }

    fn leaf(&mut self, name: Option<String>, term: Term, span: Span) -> Context {
        let name = name.unwrap_or_else(|| {
            let written = self.text.get(span.start as usize..span.end as usize).unwrap_or("process");
            let mut short: String = written.split_whitespace().collect::<Vec<_>>().join(" ");
            if short.chars().count() > 40 {
                short = short.chars().take(39).chain(['…']).collect();
            }
            short
        });
        self.leaves.push(LeafStart { name, term, span });
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
