//! Values, expressions and labels as text, the way mCRL2's tools print them.

use crate::data::value::{BagOp, Base, Function, Head, Number, Set, SetOp, Value};
use crate::model::{Expr, ExprKind, Model, Op, SortDef, SortId, Symbol, VarId};
use std::fmt::Write;

/// A value as text.
pub fn value_text(model: &Model, value: &Value) -> String {
    let mut out = String::new();
    write_value(model, value, &mut out);
    out
}

fn separated<'a>(model: &Model, values: impl IntoIterator<Item = &'a Value>, out: &mut String) {
    for (i, v) in values.into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_value(model, v, out);
    }
}

fn number_text(n: &Number) -> String {
    match n {
        Number::Small(n) => n.to_string(),
        Number::Big(n) => n.to_string(),
        Number::Ratio(r) => format!("{} / {}", r.numer(), r.denom()),
    }
}

/// Appends a value as text.
pub fn write_value(model: &Model, value: &Value, out: &mut String) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match value {
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number_text(n)),
        Value::Ctor(c, args) => {
            out.push_str(&model.constructors[c.ix()].name);
            if !args.is_empty() {
                out.push('(');
                separated(model, args.iter(), out);
                out.push(')');
            }
        }
        Value::List(l) => {
            out.push('[');
            separated(model, l.iter(), out);
            out.push(']');
        }
        Value::Set(s) => write_set(model, s, out),
        Value::Bag(b) => {
            if b.base != Base::Zero {
                write_base(model, &b.base, out);
                if b.exceptions.is_empty() {
                    return;
                }
                out.push_str(" but ");
            }
            if b.exceptions.is_empty() {
                out.push_str("{:}");
                return;
            }
            out.push('{');
            for (i, (x, n)) in b.exceptions.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_value(model, x, out);
                out.push_str(": ");
                out.push_str(&number_text(n));
            }
            out.push('}');
        }
        Value::Function(f) => write_function(model, f, out),
        Value::Stuck(s) => write_stuck(model, &s.head, &s.args, out),
    })
}

fn write_set(model: &Model, set: &Set, out: &mut String) {
    match set {
        Set::Finite(items) => {
            out.push('{');
            separated(model, items, out);
            out.push('}');
        }
        Set::CoFinite(items) => {
            out.push_str("!{");
            separated(model, items, out);
            out.push('}');
        }
        Set::Where(f) => write_value(model, f, out),
        Set::Combined(op, a, b) => {
            let sign = match op {
                SetOp::Union => " + ",
                SetOp::Intersection => " * ",
                SetOp::Difference => " - ",
            };
            out.push('(');
            write_set(model, a, out);
            out.push_str(sign);
            write_set(model, b, out);
            out.push(')');
        }
    }
}

fn write_base(model: &Model, base: &Base, out: &mut String) {
    match base {
        Base::Zero => out.push('0'),
        Base::One => out.push('1'),
        Base::Where(f) => write_value(model, f, out),
        Base::Member(set) => write_set(model, set, out),
        Base::Combined(op, a, b) => {
            out.push('(');
            write_base(model, a, out);
            out.push_str(match op {
                BagOp::Sum => " + ",
                BagOp::Least => " * ",
                BagOp::Difference => " - ",
            });
            write_base(model, b, out);
            out.push(')');
        }
    }
}

fn write_function(model: &Model, f: &Function, out: &mut String) {
    match f {
        Function::Partial(symbol, groups) => {
            out.push_str(&symbol_text(model, *symbol));
            for g in groups {
                out.push('(');
                separated(model, g.iter(), out);
                out.push(')');
            }
        }
        Function::Lambda(lambda, captured) => {
            out.push_str(&lambda.text);
            // Two closures of one lambda differ in what they captured; their text must differ as well.
            if !captured.is_empty() {
                out.push_str(" @ [");
                separated(model, captured, out);
                out.push(']');
            }
        }
        Function::Update(base, table) => {
            write_value(model, base, out);
            for (x, y) in table {
                out.push('[');
                write_value(model, x, out);
                out.push_str(" -> ");
                write_value(model, y, out);
                out.push(']');
            }
        }
        Function::Table(sort, values) => {
            out.push_str("lambda: ");
            out.push_str(&sort_text(model, *sort));
            out.push_str(" [");
            separated(model, values, out);
            out.push(']');
        }
    }
}

fn write_stuck(model: &Model, head: &Head, args: &[Value], out: &mut String) {
    let call = |name: &str, args: &[Value], out: &mut String| {
        out.push_str(name);
        if !args.is_empty() {
            out.push('(');
            separated(model, args, out);
            out.push(')');
        }
    };
    match head {
        Head::Symbol(Symbol::Op(op), _) if args.len() == 2 && op_text(*op).1 => {
            write_value(model, &args[0], out);
            let _ = write!(out, " {} ", op_text(*op).0);
            write_value(model, &args[1], out);
        }
        Head::Symbol(symbol, _) => call(&symbol_text(model, *symbol), args, out),
        Head::Apply => {
            write_value(model, &args[0], out);
            call("", &args[1..], out);
        }
        Head::If => call("if", args, out),
        Head::Update => {
            write_value(model, &args[0], out);
            out.push('[');
            write_value(model, &args[1], out);
            out.push_str(" -> ");
            write_value(model, &args[2], out);
            out.push(']');
        }
        Head::Quantifier => out.push_str("<undecided quantifier>"),
        Head::Unknown(sort) => {
            let _ = write!(out, "_: {}", sort_text(model, *sort));
        }
        Head::Range(lo, hi) => {
            let end = |n: &Option<Number>| n.as_ref().map_or_else(String::new, number_text);
            let _ = write!(out, "_{}..{}", end(lo), end(hi));
        }
    }
}

/// The name of a symbol.
pub fn symbol_text(model: &Model, symbol: Symbol) -> String {
    match symbol {
        Symbol::Func(f) => model.functions[f.ix()].name.to_string(),
        Symbol::Ctor(c) => model.constructors[c.ix()].name.to_string(),
        Symbol::Project(p) => model.projections[p.ix()].name.to_string(),
        Symbol::Recognise(r) => model.recognisers[r.ix()].name.to_string(),
        Symbol::Op(op) => op_text(op).0.to_owned(),
    }
}

/// How an operation is written, and whether between its arguments.
fn op_text(op: Op) -> (&'static str, bool) {
    use Op::*;
    match op {
        Equal => ("==", true),
        NotEqual => ("!=", true),
        Less | ProperSubset | ProperSubbag => ("<", true),
        LessEqual | Subset | Subbag => ("<=", true),
        Greater | ProperSuperset | ProperSuperbag => (">", true),
        GreaterEqual | Superset | Superbag => (">=", true),
        If => ("if", false),
        Not | SetComplement => ("!", false),
        And => ("&&", true),
        Or => ("||", true),
        Implies => ("=>", true),
        Add | SetUnion | BagUnion => ("+", true),
        Subtract | SetDifference | BagDifference => ("-", true),
        Multiply | SetIntersection | BagIntersection => ("*", true),
        Negate => ("-", false),
        Divide => ("/", true),
        Div => ("div", true),
        Mod => ("mod", true),
        Succ => ("succ", false),
        Pred => ("pred", false),
        Abs => ("abs", false),
        Min => ("min", false),
        Max => ("max", false),
        Exp => ("exp", false),
        Sqrt => ("sqrt", false),
        Floor => ("floor", false),
        Ceil => ("ceil", false),
        Round => ("round", false),
        ToPos => ("Int2Pos", false),
        ToNat => ("Int2Nat", false),
        ToInt => ("Real2Int", false),
        ToReal => ("Int2Real", false),
        Cons => ("|>", true),
        Snoc => ("<|", true),
        Concat => ("++", true),
        ListSize | SetSize | BagSize => ("#", false),
        At => (".", true),
        Head => ("head", false),
        Tail => ("tail", false),
        RHead => ("rhead", false),
        RTail => ("rtail", false),
        InList | InSet | InBag => ("in", true),
        SetPick | BagPick => ("pick", false),
        Count => ("count", false),
        SetToBag => ("Set2Bag", false),
        BagToSet => ("Bag2Set", false),
    }
}

/// A sort as text.
pub fn sort_text(model: &Model, sort: SortId) -> String {
    match &model.sorts[sort.ix()] {
        SortDef::Bool => "Bool".into(),
        SortDef::Pos => "Pos".into(),
        SortDef::Nat => "Nat".into(),
        SortDef::Int => "Int".into(),
        SortDef::Real => "Real".into(),
        SortDef::List(e) => format!("List({})", sort_text(model, *e)),
        SortDef::Set(e) => format!("Set({})", sort_text(model, *e)),
        SortDef::FSet(e) => format!("FSet({})", sort_text(model, *e)),
        SortDef::Bag(e) => format!("Bag({})", sort_text(model, *e)),
        SortDef::FBag(e) => format!("FBag({})", sort_text(model, *e)),
        SortDef::Function(domain, range) => {
            let domain: Vec<String> = domain
                .iter()
                .map(|d| match &model.sorts[d.ix()] {
                    SortDef::Function(..) => format!("({})", sort_text(model, *d)),
                    _ => sort_text(model, *d),
                })
                .collect();
            format!("{} -> {}", domain.join(" # "), sort_text(model, *range))
        }
        SortDef::Named { name, .. } => name.to_string(),
    }
}

/// An expression as text; fully parenthesised where operators nest.
pub fn expr_text(model: &Model, e: &Expr) -> String {
    stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
        let list = |es: &[Expr]| es.iter().map(|e| expr_text(model, e)).collect::<Vec<_>>().join(", ");
        let vars = |vs: &[VarId]| {
            let each = vs.iter().map(|v| {
                let v = &model.vars[v.ix()];
                format!("{}: {}", v.name, sort_text(model, v.sort))
            });
            each.collect::<Vec<_>>().join(", ")
        };
        match &e.kind {
            ExprKind::Var(v) => model.vars[v.ix()].name.to_string(),
            ExprKind::Number(n) => n.to_string(),
            ExprKind::Bool(b) => b.to_string(),
            ExprKind::Symbol(s) => symbol_text(model, *s),
            ExprKind::Apply(head, args) => match (&head.kind, &args[..]) {
                (ExprKind::Symbol(Symbol::Op(op)), [x, y]) if op_text(*op).1 => {
                    format!("({} {} {})", expr_text(model, x), op_text(*op).0, expr_text(model, y))
                }
                _ => format!("{}({})", expr_text(model, head), list(args)),
            },
            ExprKind::List(xs) => format!("[{}]", list(xs)),
            ExprKind::Set(xs) => format!("{{{}}}", list(xs)),
            ExprKind::Bag(xs) if xs.is_empty() => "{:}".into(),
            ExprKind::Bag(xs) => {
                let each =
                    xs.iter().map(|(x, n)| format!("{}: {}", expr_text(model, x), expr_text(model, n)));
                format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
            }
            ExprKind::SetComprehension(v, body) | ExprKind::BagComprehension(v, body) => {
                format!("{{ {} | {} }}", vars(&[*v]), expr_text(model, body))
            }
            ExprKind::Update(f, x, y) => {
                format!("{}[{} -> {}]", expr_text(model, f), expr_text(model, x), expr_text(model, y))
            }
            ExprKind::Forall(vs, body) => format!("forall {}. {}", vars(vs), expr_text(model, body)),
            ExprKind::Exists(vs, body) => format!("exists {}. {}", vars(vs), expr_text(model, body)),
            ExprKind::Lambda(vs, body) => format!("lambda {}. {}", vars(vs), expr_text(model, body)),
            ExprKind::Where(body, defs) => {
                let each = defs
                    .iter()
                    .map(|(v, d)| format!("{} = {}", model.vars[v.ix()].name, expr_text(model, d)));
                format!("{} whr {} end", expr_text(model, body), each.collect::<Vec<_>>().join(", "))
            }
        }
    })
}
