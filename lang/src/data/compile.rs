//! From checked expressions to code: variables get slots, mappings their ordered equations and strictness.
//!
//! Equations are tried in the order of mCRL2's default rewriter, see [`crate::data::strategy`].

use crate::data::code::{
    BuiltinCode, ClauseCode, Code, FunctionCode, Goal, LambdaCode, PatternCode, QuantifierCode, Slot,
    visit_slots,
};
use crate::data::print::expr_text;
use crate::data::strategy;
use crate::data::value::{Number, Value};
use crate::model::{
    Builtin, Clause, Expr, ExprKind, FuncId, Function, Model, Op, Pattern, SortDef, SortId, Symbol, VarId,
};
use gridlock_lts::base::hash::Map;
use std::sync::Arc;

/// The number of a formula's first lambda expression. Processes number theirs from where the mappings of the specification end;
/// those of a formula must differ from all of them.
const FORMULA_LAMBDAS: u32 = 1 << 31;

/// Which slot each variable in scope has, and how large the frame is.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    slots: Map<VarId, Slot>,
    size: u32,
}

impl Scope {
    /// The slot of a variable, a new one if it has none.
    pub fn bind(&mut self, var: VarId) -> Slot {
        let next = self.size;
        let slot = *self.slots.entry(var).or_insert(next);
        self.size = self.size.max(slot + 1);
        slot
    }

    /// The slot of a variable that is bound.
    pub fn slot(&self, var: VarId) -> Slot {
        *self.slots.get(&var).expect("the checker resolved every variable to one in scope")
    }

    /// Size of the frame so far.
    pub fn size(&self) -> u32 {
        self.size
    }
}

/// Compiles the expressions of one model.
#[derive(Debug)]
pub struct Compiler<'m> {
    model: &'m Model,
    lambdas: u32,
    /// The built-in operators that have equations.
    extended: Vec<(FuncId, &'m Builtin)>,
}

impl<'m> Compiler<'m> {
    /// A compiler for a model.
    pub fn new(model: &'m Model) -> Self {
        Self::numbering_from(model, 0)
    }

    /// A compiler that goes on numbering lambda expressions where another one stopped.
    pub fn numbering_from(model: &'m Model, lambdas: u32) -> Self {
        let functions = (0..).zip(&model.functions);
        let extended = functions.filter_map(|(at, f)| Some((FuncId(at), f.builtin.as_ref()?))).collect();
        Compiler { model, lambdas, extended }
    }

    /// How many lambda expressions were compiled so far.
    pub fn lambdas(&self) -> u32 {
        self.lambdas
    }

    /// All mappings.
    pub fn functions(&mut self) -> Vec<FunctionCode> {
        let model = self.model;
        let given = model.formula_from.unwrap_or(model.functions.len());
        let (given, own) = model.functions.split_at(given);
        let mut codes: Vec<FunctionCode> = given.iter().map(|f| self.function(f)).collect();
        if model.formula_from.is_some() {
            self.lambdas = FORMULA_LAMBDAS;
        }
        codes.extend(own.iter().map(|f| self.function(f)));
        strictness(model, &mut codes);
        codes
    }

    fn function(&mut self, f: &Function) -> FunctionCode {
        let mut by_groups: Vec<Vec<ClauseCode>> = Vec::new();
        for clause in strategy::ordered(&f.clauses) {
            let k = clause.groups.len();
            while by_groups.len() <= k {
                by_groups.push(Vec::new());
            }
            let code = self.clause(clause);
            by_groups[k].push(code);
        }
        let builtin = f.builtin.as_ref().map(|builtin| BuiltinCode {
            code: self.builtin(builtin, f),
            equations_first: builtin.equations_first,
        });
        FunctionCode { by_groups, strict: Vec::new(), builtin }
    }

    /// A built-in operator over variables, without its equations.
    fn builtin(&self, builtin: &Builtin, f: &Function) -> Code {
        let slots: Vec<Code> = (0..builtin.domain.len() as Slot).map(Code::Slot).collect();
        match builtin.symbol {
            Symbol::Recognise(r) => Code::Recognise(r, Box::new(Code::Slot(0))),
            Symbol::Op(op) => Code::Op(op, deciding_sort(op, &builtin.domain), slots.into(), f.span),
            _ => unreachable!("the checker admits no others"),
        }
    }

    /// The mapping for a built-in operator on arguments of these sorts, if it has equations.
    fn extension(&self, symbol: Symbol, args: &[Expr]) -> Option<FuncId> {
        let fits = |domain: &[SortId]| domain.iter().copied().eq(args.iter().map(|arg| arg.sort));
        self.extended.iter().find(|(_, b)| b.symbol == symbol && fits(&b.domain)).map(|(f, _)| *f)
    }

    /// An application of a built-in operator that has equations, or follows from one that has: in mCRL2 `x != y` is
    /// `!(x == y)`, `x > y` is `y < x` and `x >= y` is `y <= x`.
    fn extended_call(&self, symbol: Symbol, args: &[Expr], codes: &[Code]) -> Option<Code> {
        if self.extended.is_empty() {
            return None;
        }
        if let Some(f) = self.extension(symbol, args) {
            return Some(Code::Call(f, codes.to_vec().into()));
        }
        let swapped = || codes.iter().rev().cloned().collect::<Vec<_>>().into();
        Some(match symbol {
            Symbol::Op(Op::NotEqual) => {
                let f = self.extension(Symbol::Op(Op::Equal), args)?;
                Code::Not(Box::new(Code::Call(f, codes.to_vec().into())))
            }
            Symbol::Op(Op::Greater) => Code::Call(self.extension(Symbol::Op(Op::Less), args)?, swapped()),
            Symbol::Op(Op::GreaterEqual) => {
                Code::Call(self.extension(Symbol::Op(Op::LessEqual), args)?, swapped())
            }
            _ => return None,
        })
    }

    fn clause(&mut self, clause: &Clause) -> ClauseCode {
        let mut scope = Scope::default();
        let groups =
            clause.groups.iter().map(|g| g.iter().map(|p| self.pattern(p, &mut scope)).collect()).collect();
        let condition = clause.condition.as_ref().map(|c| self.expr(c, &mut scope));
        let right = self.expr(&clause.right, &mut scope);
        ClauseCode { groups, condition, right, frame: scope.size(), span: clause.span }
    }

    fn pattern(&mut self, pattern: &Pattern, scope: &mut Scope) -> PatternCode {
        match pattern {
            Pattern::Var(v) => {
                let seen = scope.slots.contains_key(v);
                PatternCode::Slot(scope.bind(*v), seen)
            }
            Pattern::Number(n) => PatternCode::Const(Value::Number(Number::from_big(n.clone()))),
            Pattern::Bool(b) => PatternCode::Const(Value::Bool(*b)),
            Pattern::Ctor(c, ps) => {
                PatternCode::Ctor(*c, ps.iter().map(|p| self.pattern(p, scope)).collect())
            }
            Pattern::EmptyList => PatternCode::EmptyList,
            Pattern::Cons(h, t) => {
                PatternCode::Cons(Box::new(self.pattern(h, scope)), Box::new(self.pattern(t, scope)))
            }
            Pattern::Snoc(i, l) => {
                PatternCode::Snoc(Box::new(self.pattern(i, scope)), Box::new(self.pattern(l, scope)))
            }
            Pattern::EmptySet => PatternCode::Closed(Code::Set(Box::new([]))),
            Pattern::EmptyBag => PatternCode::Closed(Code::Bag(Box::new([]))),
            Pattern::Closed(e) => PatternCode::Closed(self.expr(e, &mut Scope::default())),
            Pattern::Func(f, groups) => PatternCode::Func(
                *f,
                groups.iter().map(|g| g.iter().map(|p| self.pattern(p, scope)).collect()).collect(),
            ),
        }
    }

    /// An expression in a scope; variables bound inside get slots of the same frame.
    pub fn expr(&mut self, e: &Expr, scope: &mut Scope) -> Code {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_inner(e, scope))
    }

    fn exprs(&mut self, es: &[Expr], scope: &mut Scope) -> Box<[Code]> {
        es.iter().map(|e| self.expr(e, scope)).collect()
    }

    fn expr_inner(&mut self, e: &Expr, scope: &mut Scope) -> Code {
        match &e.kind {
            ExprKind::Var(v) => Code::Slot(scope.slot(*v)),
            ExprKind::Number(n) => Code::Const(Value::Number(Number::from_big(n.clone()))),
            ExprKind::Bool(b) => Code::Const(Value::Bool(*b)),
            ExprKind::Symbol(Symbol::Ctor(c)) if self.model.constructors[c.ix()].fields.is_empty() => {
                Code::Const(Value::Ctor(*c, Arc::new([])))
            }
            ExprKind::Symbol(s) => Code::Symbol(*s),
            ExprKind::Apply(head, args) => self.apply(e, head, args, scope),
            ExprKind::List(items) => Code::List(self.exprs(items, scope)),
            ExprKind::Set(items) => Code::Set(self.exprs(items, scope)),
            ExprKind::Bag(items) => {
                Code::Bag(items.iter().map(|(x, n)| (self.expr(x, scope), self.expr(n, scope))).collect())
            }
            ExprKind::SetComprehension(v, body) => self.comprehension(false, e, *v, body, scope),
            ExprKind::BagComprehension(v, body) => self.comprehension(true, e, *v, body, scope),
            ExprKind::Update(f, x, y) => Code::Update(
                f.sort,
                Box::new([self.expr(f, scope), self.expr(x, scope), self.expr(y, scope)]),
            ),
            ExprKind::Forall(vars, body) => self.quantifier(true, e, vars, body, scope),
            ExprKind::Exists(vars, body) => self.quantifier(false, e, vars, body, scope),
            ExprKind::Lambda(vars, body) => Code::Lambda(self.lambda(e, vars, body, scope)),
            ExprKind::Where(body, defs) => {
                let defs: Vec<(VarId, Code)> = defs.iter().map(|(v, d)| (*v, self.expr(d, scope))).collect();
                let defs = defs.into_iter().map(|(v, d)| (scope.bind(v), d)).collect();
                Code::Where(defs, Box::new(self.expr(body, scope)))
            }
        }
    }

    fn apply(&mut self, whole: &Expr, head: &Expr, args: &[Expr], scope: &mut Scope) -> Code {
        let mut codes = self.exprs(args, scope).into_vec();
        let two =
            |codes: Vec<Code>| -> [Code; 2] { codes.try_into().expect("the checker counted the arguments") };
        if let ExprKind::Symbol(symbol) = head.kind
            && let Some(call) = self.extended_call(symbol, args, &codes)
        {
            return call;
        }
        match &head.kind {
            ExprKind::Symbol(Symbol::Ctor(c)) => Code::Ctor(*c, codes.into()),
            ExprKind::Symbol(Symbol::Func(f)) => Code::Call(*f, codes.into()),
            ExprKind::Symbol(Symbol::Project(p)) => Code::Project(*p, Box::new(codes.remove(0))),
            ExprKind::Symbol(Symbol::Recognise(r)) => Code::Recognise(*r, Box::new(codes.remove(0))),
            ExprKind::Symbol(Symbol::Op(op)) => match op {
                Op::If => Code::If(Box::new(codes.try_into().expect("the checker counted the arguments"))),
                Op::And => junction(true, two(codes)),
                Op::Or => junction(false, two(codes)),
                Op::Implies => {
                    let [a, b] = two(codes);
                    junction(false, [negate(a), b])
                }
                Op::Not => Code::Not(Box::new(codes.remove(0))),
                _ => {
                    let sorts: Vec<SortId> = args.iter().map(|arg| arg.sort).collect();
                    Code::Op(*op, deciding_sort(*op, &sorts), codes.into(), whole.span)
                }
            },
            _ => Code::Apply(Box::new(self.expr(head, scope)), codes.into()),
        }
    }

    fn comprehension(&mut self, bag: bool, e: &Expr, var: VarId, body: &Expr, scope: &mut Scope) -> Code {
        let sort = self.model.vars[var.ix()].sort;
        Code::Comprehension(bag, sort, self.lambda(e, &[var], body, scope))
    }

    fn lambda(&mut self, e: &Expr, vars: &[VarId], body: &Expr, scope: &Scope) -> Arc<LambdaCode> {
        let mut free = Vec::new();
        free_vars(body, &mut free);
        let mut inner = Scope::default();
        let mut captures = Vec::new();
        for v in free {
            if !vars.contains(&v)
                && let Some(&slot) = scope.slots.get(&v)
                && !inner.slots.contains_key(&v)
            {
                inner.bind(v);
                captures.push(slot);
            }
        }
        for v in vars {
            inner.bind(*v);
        }
        let body = self.expr(body, &mut inner);
        let id = self.lambdas;
        self.lambdas += 1;
        Arc::new(LambdaCode {
            id,
            captures,
            params: vars.iter().map(|v| self.model.vars[v.ix()].sort).collect(),
            frame: inner.size(),
            body,
            text: expr_text(self.model, e).into(),
        })
    }

    fn quantifier(&mut self, forall: bool, e: &Expr, vars: &[VarId], body: &Expr, scope: &mut Scope) -> Code {
        let mut all: Vec<VarId> = vars.to_vec();
        let mut body = body;
        // `exists x. exists y. e` is `exists x, y. e`, which gives the enumeration more freedom.
        loop {
            match &body.kind {
                ExprKind::Forall(more, inner) if forall => {
                    all.extend(more);
                    body = inner;
                }
                ExprKind::Exists(more, inner) if !forall => {
                    all.extend(more);
                    body = inner;
                }
                _ => break,
            }
        }
        let vars: Vec<_> = all.iter().map(|v| (scope.bind(*v), self.model.vars[v.ix()].sort)).collect();
        let code = self.expr(body, scope);
        let code = if forall { negate(code) } else { code };
        let slots: Vec<Slot> = vars.iter().map(|v| v.0).collect();
        Code::Quantifier(
            forall,
            Arc::new(QuantifierCode { vars, goal: Goal::new(code, &slots), span: e.span }),
        )
    }
}

impl Goal {
    /// Splits a condition into conjuncts.
    pub fn new(code: Code, slots: &[Slot]) -> Goal {
        let parts = match code {
            Code::Junction(true, parts) => parts.into_vec(),
            Code::Const(Value::Bool(true)) => Vec::new(),
            other => vec![other],
        };
        Goal { conjuncts: parts.into_iter().map(|c| (c.clone(), occurring(&c, slots))).collect() }
    }
}

/// Which of the given slots occur in the code.
pub fn occurring(code: &Code, slots: &[Slot]) -> Vec<Slot> {
    let mut found = Vec::new();
    visit_slots(code, &mut |s| {
        if slots.contains(&s) && !found.contains(&s) {
            found.push(s);
        }
    });
    found
}

/// A flat conjunction or disjunction.
pub fn junction(and: bool, operands: impl IntoIterator<Item = Code>) -> Code {
    let mut flat = Vec::new();
    for x in operands {
        match x {
            Code::Junction(kind, inner) if kind == and => flat.extend(inner.into_vec()),
            other => flat.push(other),
        }
    }
    Code::Junction(and, flat.into())
}

/// The negation, pushed inwards as far as conjunctions, disjunctions and comparisons go.
pub fn negate(code: Code) -> Code {
    match code {
        Code::Const(Value::Bool(b)) => Code::Const(Value::Bool(!b)),
        Code::Not(x) => *x,
        Code::Junction(and, xs) => Code::Junction(!and, xs.into_vec().into_iter().map(negate).collect()),
        Code::Op(op, sort, args, span) => {
            let opposite = match op {
                Op::Equal => Op::NotEqual,
                Op::NotEqual => Op::Equal,
                Op::Less => Op::GreaterEqual,
                Op::GreaterEqual => Op::Less,
                Op::Greater => Op::LessEqual,
                Op::LessEqual => Op::Greater,
                _ => return Code::Not(Box::new(Code::Op(op, sort, args, span))),
            };
            Code::Op(opposite, sort, args, span)
        }
        other => Code::Not(Box::new(other)),
    }
}

/// The free variables of an expression, in the order of their first occurrence; may contain duplicates.
pub fn free_vars(e: &Expr, out: &mut Vec<VarId>) {
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || match &e.kind {
        ExprKind::Var(v) => out.push(*v),
        ExprKind::Number(_) | ExprKind::Bool(_) | ExprKind::Symbol(_) => {}
        ExprKind::Apply(h, args) => {
            free_vars(h, out);
            args.iter().for_each(|a| free_vars(a, out));
        }
        ExprKind::List(xs) | ExprKind::Set(xs) => xs.iter().for_each(|x| free_vars(x, out)),
        ExprKind::Bag(xs) => xs.iter().for_each(|(x, n)| {
            free_vars(x, out);
            free_vars(n, out);
        }),
        ExprKind::SetComprehension(v, body) | ExprKind::BagComprehension(v, body) => bound(&[*v], body, out),
        ExprKind::Forall(vs, body) | ExprKind::Exists(vs, body) | ExprKind::Lambda(vs, body) => {
            bound(vs, body, out)
        }
        ExprKind::Update(f, x, y) => [f, x, y].into_iter().for_each(|x| free_vars(x, out)),
        ExprKind::Where(body, defs) => {
            defs.iter().for_each(|(_, d)| free_vars(d, out));
            bound(&defs.iter().map(|d| d.0).collect::<Vec<_>>(), body, out);
        }
    })
}

fn bound(vars: &[VarId], body: &Expr, out: &mut Vec<VarId>) {
    let start = out.len();
    free_vars(body, out);
    let mut i = start;
    while i < out.len() {
        if vars.contains(&out[i]) {
            out.swap_remove(i);
        } else {
            i += 1;
        }
    }
}

/// The sort of the argument that decides what an operation means: `x in s` has its container second.
fn deciding_sort(op: Op, sorts: &[SortId]) -> SortId {
    match op {
        Op::InSet | Op::InList | Op::InBag | Op::Count => sorts[1],
        _ => sorts[0],
    }
}

/// Marks the arguments whose value every equation needs, so that the others can be passed unevaluated.
///
/// Greatest fixpoint: at first every argument counts as needed, then those that some equation neither inspects nor
/// evaluates for sure are dropped until nothing changes.
fn strictness(model: &Model, codes: &mut [FunctionCode]) {
    for (f, code) in model.functions.iter().zip(codes.iter_mut()) {
        let arity = match &model.sorts[f.sort.ix()] {
            SortDef::Function(domain, _) => domain.len(),
            _ => 0,
        };
        // Without an equation for the first group the arguments are evaluated to stand in an irreducible term.
        code.strict = vec![true; arity];
    }
    loop {
        let mut dropped = Vec::new();
        for (f, code) in codes.iter().enumerate() {
            // What an operator means anyway needs all its arguments.
            let Some(clauses) = code.by_groups.get(1).filter(|_| code.builtin.is_none()) else { continue };
            for i in 0..code.strict.len() {
                if code.strict[i] && !clauses.iter().all(|c| clause_needs(c, i, codes)) {
                    dropped.push((f, i));
                }
            }
        }
        if dropped.is_empty() {
            return;
        }
        for (f, i) in dropped {
            codes[f].strict[i] = false;
        }
    }
}

fn clause_needs(clause: &ClauseCode, arg: usize, codes: &[FunctionCode]) -> bool {
    match &clause.groups[0][arg] {
        PatternCode::Slot(slot, false) => {
            let repeated =
                clause.groups.iter().flatten().any(|p| matches!(p, PatternCode::Slot(s, true) if s == slot));
            repeated
                || clause.condition.as_ref().is_some_and(|c| needs(c, *slot, codes))
                || needs(&clause.right, *slot, codes)
        }
        _ => true,
    }
}

/// Whether running the code surely runs the variable.
fn needs(code: &Code, slot: Slot, codes: &[FunctionCode]) -> bool {
    let any = |xs: &[Code]| xs.iter().any(|x| needs(x, slot, codes));
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match code {
        Code::Slot(s) => *s == slot,
        Code::Const(_) | Code::Symbol(_) => false,
        // Constructors and containers are strict here: values are always in normal form.
        Code::Ctor(_, xs) | Code::Op(_, _, xs, _) | Code::List(xs) | Code::Set(xs) => any(xs),
        Code::Call(f, xs) => {
            let strict = &codes[f.ix()].strict;
            xs.iter()
                .enumerate()
                .any(|(i, x)| strict.get(i).copied().unwrap_or(false) && needs(x, slot, codes))
        }
        Code::If(xs) => {
            needs(&xs[0], slot, codes) || (needs(&xs[1], slot, codes) && needs(&xs[2], slot, codes))
        }
        Code::Junction(_, xs) => xs.first().is_some_and(|x| needs(x, slot, codes)),
        Code::Not(x) | Code::Project(_, x) | Code::Recognise(_, x) => needs(x, slot, codes),
        Code::Apply(h, xs) => needs(h, slot, codes) || any(xs),
        Code::Bag(items) => items.iter().any(|(x, n)| needs(x, slot, codes) || needs(n, slot, codes)),
        Code::Update(_, xs) => any(&xs[..]),
        Code::Comprehension(_, _, l) | Code::Lambda(l) => l.captures.contains(&slot),
        Code::Quantifier(..) => false,
        Code::Where(defs, body) => {
            defs.iter().any(|(_, d)| needs(d, slot, codes)) || needs(body, slot, codes)
        }
    })
}
