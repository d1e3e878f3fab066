//! Random formulas of all shapes of the grammar, and their texts.

use gridlock_lts::base::rng::Rng;

/// Parameters that are numbers are below this, and numbers that data bounds.
pub const MODULUS: u64 = 3;
/// Arguments of actions are below this.
pub const RANGE: u64 = 5;
/// What a number that nothing bounds may be: beyond [`RANGE`] there are two of each remainder, one greater than the other.
pub const FREE: u64 = 12;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Nat,
    /// `struct d0 | d1`.
    Data,
}

#[derive(Clone, Copy, Debug)]
pub enum Term {
    Number(u64),
    Data(u64),
    /// By its depth.
    Var(usize),
    /// That plus so much, modulo 3.
    Later(usize, u64),
}

/// An action, with arguments or `_`; any arguments if there is no list.
pub type Pattern = (&'static str, Option<Vec<Option<Term>>>);

#[derive(Clone, Debug)]
pub enum Act {
    Const(bool),
    /// All of these at once; nothing is `tau`.
    Acts(Vec<Pattern>),
    Less(Term, Term),
    Not(Box<Act>),
    Both(bool, Box<Act>, Box<Act>),
    Implies(Box<Act>, Box<Act>),
    /// For some (`true`) or all values of a new variable.
    Some(bool, Bound, Box<Act>),
}

/// What bounds a new variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Below,
    Within,
    /// As [`Bound::Below`], behind the formula.
    Behind,
    /// It has a sort of two values.
    Sort,
    /// It is the argument of the step. For action formulas.
    Step,
}

#[derive(Clone, Debug)]
pub enum Regular {
    One(Act),
    Seq(Box<Regular>, Box<Regular>),
    Choice(Box<Regular>, Box<Regular>),
    Star(Box<Regular>),
    Plus(Box<Regular>),
}

#[derive(Clone, Debug)]
pub enum State {
    Const(bool),
    Less(Term, Term),
    Same(Term, Term),
    Not(Box<State>),
    Both(bool, Box<State>, Box<State>),
    Implies(Box<State>, Box<State>),
    Modal(bool, Regular, Box<State>),
    /// A greatest or least fixed point with parameters, which are new variables, and their first values.
    Fix(bool, Vec<(Sort, Term)>, Box<State>),
    /// The fixed point of that depth, with other values.
    Call(usize, Vec<Term>),
    Some(bool, Bound, Box<State>),
    /// The same for two numbers below 2, the second no greater than the first.
    Two(bool, Box<State>),
    /// `exists x: Nat. <R>f` (`true`), or `forall x: Nat. [R]f`, where a step gives the values of that many variables.
    ByStep(bool, usize, Regular, Box<State>),
    /// A number that perhaps nothing bounds.
    Free(bool, Box<State>),
}

/// What is in scope: variables, and for each fixed point whether it is negated, and its parameters.
#[derive(Clone, Default)]
pub struct InScope {
    vars: Vec<Sort>,
    fixes: Vec<(bool, Vec<Sort>)>,
    negated: bool,
    /// Variables that perhaps nothing bounds.
    free: usize,
}

impl InScope {
    fn with(&self, vars: &[Sort]) -> Self {
        InScope { vars: [&self.vars, vars].concat(), ..self.clone() }
    }
}

/// A number, maybe one that can be a parameter (`small`), or another value.
fn term(rng: &mut Rng, vars: &[Sort], sort: Sort, small: bool) -> Term {
    let those: Vec<usize> = (0..vars.len()).filter(|var| vars[*var] == sort).collect();
    match (rng.below(those.len() + 1), sort) {
        (0, Sort::Nat) => Term::Number(rng.below(3) as u64),
        (0, Sort::Data) => Term::Data(rng.below(2) as u64),
        (n, Sort::Nat) if small || rng.below(4) == 0 => Term::Later(those[n - 1], rng.below(3) as u64),
        (n, _) => Term::Var(those[n - 1]),
    }
}

fn acts(rng: &mut Rng, vars: &[Sort]) -> Act {
    let number = |rng: &mut Rng| Some(term(rng, vars, Sort::Nat, false));
    Act::Acts(match rng.below(12) {
        0 => Vec::new(),
        1 => vec![("c", Some(Vec::new()))],
        2 | 3 => vec![("a", Some(vec![number(rng)]))],
        4 => vec![("a", Some(vec![None]))],
        5 => vec![("a", None)],
        6 => vec![("b", Some(vec![number(rng), number(rng)]))],
        7 => vec![("b", Some(vec![None, number(rng)]))],
        8 => vec![("e", Some(vec![Some(term(rng, vars, Sort::Data, false))]))],
        9 => vec![("c", Some(Vec::new())), ("a", Some(vec![number(rng)]))],
        10 => vec![("a", None), ("c", Some(Vec::new()))],
        _ => vec![("Terminate", Some(Vec::new()))],
    })
}

fn act(rng: &mut Rng, depth: usize, vars: &[Sort]) -> Act {
    let more = |rng: &mut Rng| Box::new(act(rng, depth - 1, vars));
    match rng.below(if depth == 0 { 6 } else { 12 }) {
        0 => Act::Const(rng.below(4) > 0),
        1..=4 => acts(rng, vars),
        5 => Act::Less(term(rng, vars, Sort::Nat, false), term(rng, vars, Sort::Nat, false)),
        6 | 7 => Act::Not(more(rng)),
        8 | 9 => Act::Both(rng.below(2) == 0, more(rng), more(rng)),
        10 => Act::Implies(more(rng), more(rng)),
        _ => {
            let bounds = [Bound::Below, Bound::Within, Bound::Sort, Bound::Step, Bound::Step];
            let bound = bounds[rng.below(bounds.len())];
            let inner = act(rng, depth - 1, &[vars, &[bound.sort()]].concat());
            Act::Some(rng.below(2) == 0, bound, Box::new(inner))
        }
    }
}

fn regular(rng: &mut Rng, depth: usize, vars: &[Sort]) -> Regular {
    let more = |rng: &mut Rng| Box::new(regular(rng, depth - 1, vars));
    match rng.below(if depth == 0 { 2 } else { 6 }) {
        0 | 1 => Regular::One(act(rng, 2, vars)),
        2 => Regular::Seq(more(rng), more(rng)),
        3 => Regular::Choice(more(rng), more(rng)),
        4 => Regular::Star(more(rng)),
        _ => Regular::Plus(more(rng)),
    }
}

/// A regular formula whose first steps, or last ones, give values to the last `count` variables.
fn giving(rng: &mut Rng, vars: &[Sort], count: usize) -> Regular {
    let (before, one) = (&vars[..vars.len() - count], Some(Term::Var(vars.len() - 1)));
    let acts = Act::Acts(match count {
        2 => vec![("b", Some(vec![one, Some(Term::Var(vars.len() - 2))]))],
        _ if rng.below(4) == 0 => vec![("a", Some(vec![one])), ("c", Some(Vec::new()))],
        _ => vec![("a", Some(vec![one]))],
    });
    let with = |rng: &mut Rng, acts| Act::Both(true, Box::new(acts), Box::new(act(rng, 1, vars)));
    let step = Regular::One(if rng.below(3) == 0 { with(rng, acts) } else { acts });
    match rng.below(3) {
        0 => step,
        1 => Regular::Seq(Box::new(regular(rng, 1, before)), Box::new(step)),
        _ => Regular::Seq(Box::new(step), Box::new(regular(rng, 1, vars))),
    }
}

fn state(rng: &mut Rng, depth: usize, scope: &InScope) -> State {
    let more = |rng: &mut Rng, scope: &InScope| Box::new(state(rng, depth - 1, scope));
    let usable: Vec<usize> = (0..scope.fixes.len()).filter(|k| scope.fixes[*k].0 == scope.negated).collect();
    let number = |rng: &mut Rng| term(rng, &scope.vars, Sort::Nat, false);
    let some = rng.below(2) == 0;
    match rng.below(if depth == 0 { 5 } else { 19 }) {
        0 => State::Const(some),
        1 if some => State::Less(number(rng), number(rng)),
        1 => {
            let sort = if rng.below(2) == 0 { Sort::Nat } else { Sort::Data };
            State::Same(term(rng, &scope.vars, sort, false), term(rng, &scope.vars, sort, false))
        }
        2..=4 if !usable.is_empty() => {
            let at = usable[rng.below(usable.len())];
            let args = scope.fixes[at].1.iter().map(|sort| term(rng, &scope.vars, *sort, true));
            State::Call(at, args.collect())
        }
        2..=4 => State::Const(some),
        5 => State::Not(more(rng, &InScope { negated: !scope.negated, ..scope.clone() })),
        6..=8 => State::Both(some, more(rng, scope), more(rng, scope)),
        9 => {
            let premise = InScope { negated: !scope.negated, ..scope.clone() };
            State::Implies(more(rng, &premise), more(rng, scope))
        }
        10..=12 => State::Modal(some, regular(rng, 2, &scope.vars), more(rng, scope)),
        13 | 14 => fix(rng, depth - 1, scope),
        15 => {
            let bound = [Bound::Below, Bound::Within, Bound::Behind, Bound::Sort][rng.below(4)];
            State::Some(some, bound, more(rng, &scope.with(&[bound.sort()])))
        }
        16 => State::Two(some, more(rng, &scope.with(&[Sort::Nat; 2]))),
        17 if scope.free < 2 && rng.below(2) == 0 => {
            let inner = InScope { free: scope.free + 1, ..scope.with(&[Sort::Nat]) };
            State::Free(some, more(rng, &inner))
        }
        _ => {
            let count = 1 + rng.below(4) / 3;
            let inner = scope.with(&[Sort::Nat; 2][..count]);
            State::ByStep(some, count, giving(rng, &inner.vars, count), more(rng, &inner))
        }
    }
}

fn fix(rng: &mut Rng, depth: usize, scope: &InScope) -> State {
    let sorts: &[Sort] = match rng.below(6) {
        0 | 1 => &[],
        2 | 3 => &[Sort::Nat],
        4 => &[Sort::Data],
        _ => &[Sort::Data, Sort::Nat],
    };
    let first = sorts.iter().map(|sort| (*sort, term(rng, &scope.vars, *sort, true))).collect();
    let mut inner = scope.with(sorts);
    inner.fixes.push((scope.negated, sorts.to_vec()));
    State::Fix(rng.below(2) == 0, first, Box::new(state(rng, depth, &inner)))
}

/// A formula with a verdict that depends on more than its first operators.
pub fn random_formula(rng: &mut Rng) -> State {
    let scope = InScope::default();
    match rng.below(3) {
        0 => state(rng, 4, &scope),
        1 => State::Modal(rng.below(2) == 0, regular(rng, 2, &[]), Box::new(state(rng, 4, &scope))),
        _ => fix(rng, 4, &scope),
    }
}

impl Sort {
    fn text(self) -> &'static str {
        if self == Sort::Nat { "Nat" } else { "D" }
    }

    /// How many values a parameter has.
    pub fn count(self) -> u64 {
        if self == Sort::Nat { MODULUS } else { 2 }
    }
}

impl Term {
    fn text(self) -> String {
        match self {
            Term::Number(n) => n.to_string(),
            Term::Data(n) => format!("d{n}"),
            Term::Var(at) => format!("x{at}"),
            Term::Later(at, n) => format!("(x{at} + {n}) mod 3"),
        }
    }

    pub fn value(self, env: &[u64]) -> u64 {
        match self {
            Term::Number(n) | Term::Data(n) => n,
            Term::Var(at) => env[at],
            Term::Later(at, n) => (env[at] + n) % MODULUS,
        }
    }
}

impl Bound {
    pub fn sort(self) -> Sort {
        if self == Bound::Sort { Sort::Data } else { Sort::Nat }
    }

    /// `exists x: S. f` (`some`), or `forall x: S. f`, with what bounds `x`.
    fn text(self, some: bool, var: usize, inner: &str) -> String {
        let (quantifier, then) = if some { ("exists", "&&") } else { ("forall", "=>") };
        let bounded = match self {
            Bound::Below => format!("val(x{var} < 3) {then} ({inner})"),
            Bound::Within => format!("val(x{var} in [0, 2, 1]) {then} ({inner})"),
            Bound::Behind if some => format!("({inner}) && val(x{var} <= 2)"),
            Bound::Behind => format!("({inner}) || val(x{var} > 2)"),
            Bound::Sort => inner.to_owned(),
            Bound::Step => format!("a(x{var}) {then} ({inner})"),
        };
        format!("({quantifier} x{var}: {}. {bounded})", self.sort().text())
    }

    /// Whether `holds` for some, or all, of the values.
    pub fn any(self, some: bool, env: &mut Vec<u64>, mut holds: impl FnMut(&mut Vec<u64>) -> bool) -> bool {
        let values = if self == Bound::Step { RANGE } else { self.sort().count() };
        let mut with = |value| {
            env.push(value);
            let holds = holds(env);
            env.pop();
            holds
        };
        if some { (0..values).any(&mut with) } else { (0..values).all(&mut with) }
    }
}

impl Act {
    fn text(&self, vars: usize) -> String {
        match self {
            Act::Const(b) => b.to_string(),
            Act::Acts(acts) if acts.is_empty() => "tau".to_owned(),
            Act::Acts(acts) => {
                let arg = |arg: &Option<Term>| arg.map_or("_".to_owned(), Term::text);
                let one = |(name, args): &Pattern| match args {
                    Some(args) if !args.is_empty() => {
                        format!("{name}({})", args.iter().map(arg).collect::<Vec<_>>().join(", "))
                    }
                    _ => (*name).to_owned(),
                };
                acts.iter().map(one).collect::<Vec<_>>().join("|")
            }
            Act::Less(x, y) => format!("val({} < {})", x.text(), y.text()),
            Act::Not(inner) => format!("!({})", inner.text(vars)),
            Act::Both(and, x, y) => {
                format!("(({}) {} ({}))", x.text(vars), if *and { "&&" } else { "||" }, y.text(vars))
            }
            Act::Implies(x, y) => format!("(({}) => ({}))", x.text(vars), y.text(vars)),
            Act::Some(some, bound, inner) => bound.text(*some, vars, &inner.text(vars + 1)),
        }
    }
}

impl Regular {
    fn text(&self, vars: usize) -> String {
        match self {
            Regular::One(act) => format!("({})", act.text(vars)),
            Regular::Seq(x, y) => format!("({} . {})", x.text(vars), y.text(vars)),
            Regular::Choice(x, y) => format!("({} + {})", x.text(vars), y.text(vars)),
            Regular::Star(x) => format!("{}*", x.text(vars)),
            Regular::Plus(x) => format!("{}+", x.text(vars)),
        }
    }
}

fn quantifier(some: bool) -> &'static str {
    if some { "exists" } else { "forall" }
}

impl State {
    pub fn text(&self, vars: usize, fixes: usize) -> String {
        match self {
            State::Const(b) => b.to_string(),
            State::Less(x, y) => format!("val({} < {})", x.text(), y.text()),
            State::Same(x, y) => format!("val({} == {})", x.text(), y.text()),
            State::Not(f) => format!("!({})", f.text(vars, fixes)),
            State::Both(and, f, g) => {
                let word = if *and { "&&" } else { "||" };
                format!("(({}) {word} ({}))", f.text(vars, fixes), g.text(vars, fixes))
            }
            State::Implies(f, g) => format!("(({}) => ({}))", f.text(vars, fixes), g.text(vars, fixes)),
            State::Modal(true, r, f) => format!("[{}]({})", r.text(vars), f.text(vars, fixes)),
            State::Modal(false, r, f) => format!("<{}>({})", r.text(vars), f.text(vars, fixes)),
            State::Fix(greatest, params, f) => {
                let param = |(k, (sort, first)): (usize, &(Sort, Term))| {
                    format!("x{}: {} = {}", vars + k, sort.text(), first.text())
                };
                let word = if *greatest { "nu" } else { "mu" };
                let inner = f.text(vars + params.len(), fixes + 1);
                match params.len() {
                    0 => format!("({word} X{fixes}. ({inner}))"),
                    _ => {
                        let params: Vec<String> = params.iter().enumerate().map(param).collect();
                        format!("({word} X{fixes}({}). ({inner}))", params.join(", "))
                    }
                }
            }
            State::Call(at, args) if args.is_empty() => format!("X{at}"),
            State::Call(at, args) => {
                let args: Vec<String> = args.iter().map(|arg| arg.text()).collect();
                format!("X{at}({})", args.join(", "))
            }
            State::Some(some, bound, f) => bound.text(*some, vars, &f.text(vars + 1, fixes)),
            State::Two(some, f) => format!(
                "({} x{vars}, x{}: Nat. val(x{} <= x{vars} && x{vars} < 2) {} ({}))",
                quantifier(*some),
                vars + 1,
                vars + 1,
                if *some { "&&" } else { "=>" },
                f.text(vars + 2, fixes)
            ),
            State::ByStep(some, count, r, f) => {
                let names: Vec<String> = (vars..vars + count).map(|var| format!("x{var}: Nat")).collect();
                let (open, close) = if *some { ("<", ">") } else { ("[", "]") };
                let (r, f) = (r.text(vars + count), f.text(vars + count, fixes));
                format!("({} {}. {open}{r}{close}({f}))", quantifier(*some), names.join(", "))
            }
            State::Free(some, f) => {
                format!("({} x{vars}: Nat. ({}))", quantifier(*some), f.text(vars + 1, fixes))
            }
        }
    }
}
