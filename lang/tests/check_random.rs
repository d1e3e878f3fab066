//! Sort inference against a naive reference: all sorts that an expression can have, found by trying every instance of
//! every operator over a finite universe of sorts.

use gridlock_lang::{check, syntax};
use std::collections::{BTreeMap, BTreeSet};

/// The deepest sort of the universe. No operator builds more than one level, so expressions are no deeper.
const LEVELS: usize = 3;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sort {
    Bool,
    /// 0 to 3: Pos, Nat, Int, Real.
    Number(u8),
    List(Box<Sort>),
    FSet(Box<Sort>),
    Set(Box<Sort>),
}

use Sort::*;

const POS: Sort = Number(0);
const NAT: Sort = Number(1);
const INT: Sort = Number(2);
const REAL: Sort = Number(3);

impl Sort {
    fn name(&self) -> String {
        match self {
            Bool => "Bool".into(),
            Number(n) => ["Pos", "Nat", "Int", "Real"][*n as usize].into(),
            List(e) => format!("List({})", e.name()),
            FSet(e) => format!("FSet({})", e.name()),
            Set(e) => format!("Set({})", e.name()),
        }
    }

    /// The sort and all it can be upcast to.
    fn upcasts(&self) -> Vec<Sort> {
        match self {
            Number(n) => (*n..4).map(Number).collect(),
            FSet(e) => vec![self.clone(), Set(e.clone())],
            _ => vec![self.clone()],
        }
    }
}

fn universe() -> Vec<Sort> {
    let mut all = vec![Bool, POS, NAT, INT, REAL];
    let mut layer = all.clone();
    for _ in 0..LEVELS {
        let built = |e: &Sort| [List(e.clone().into()), FSet(e.clone().into()), Set(e.clone().into())];
        layer = layer.iter().flat_map(built).collect();
        all.extend(layer.iter().cloned());
    }
    all
}

/// The signatures of an operator over the universe, from the language's definition.
fn signatures(op: &str, universe: &[Sort]) -> Vec<(Vec<Sort>, Sort)> {
    let list = |s: &Sort| List(s.clone().into());
    let set = |s: &Sort| Set(s.clone().into());
    let fset = |s: &Sort| FSet(s.clone().into());
    let numbers = |pairs: &[[Sort; 3]]| -> Vec<(Vec<Sort>, Sort)> {
        pairs.iter().map(|[a, b, c]| (vec![a.clone(), b.clone()], c.clone())).collect()
    };
    let each = |make: &dyn Fn(&Sort) -> Vec<(Vec<Sort>, Sort)>| universe.iter().flat_map(make).collect();
    let both_sets = |s: &Sort| vec![(vec![set(s), set(s)], set(s)), (vec![fset(s), fset(s)], fset(s))];
    let mut found: Vec<(Vec<Sort>, Sort)> = match op {
        "+" => numbers(&[
            [POS, POS, POS],
            [POS, NAT, POS],
            [NAT, POS, POS],
            [NAT, NAT, NAT],
            [INT, INT, INT],
            [REAL, REAL, REAL],
        ]),
        "-" => numbers(&[[POS, POS, INT], [NAT, NAT, INT], [INT, INT, INT], [REAL, REAL, REAL]]),
        "*" => numbers(&[[POS, POS, POS], [NAT, NAT, NAT], [INT, INT, INT], [REAL, REAL, REAL]]),
        "max" => numbers(&[
            [POS, POS, POS],
            [POS, NAT, POS],
            [NAT, POS, POS],
            [POS, INT, POS],
            [INT, POS, POS],
            [NAT, NAT, NAT],
            [NAT, INT, NAT],
            [INT, NAT, NAT],
            [INT, INT, INT],
            [REAL, REAL, REAL],
        ]),
        "div" => numbers(&[[POS, POS, NAT], [NAT, POS, NAT], [INT, POS, INT]]),
        "==" | "<" => each(&|s| vec![(vec![s.clone(), s.clone()], Bool)]),
        "in" => each(&|s| [list(s), set(s), fset(s)].map(|c| (vec![s.clone(), c], Bool)).to_vec()),
        "|>" => each(&|s| vec![(vec![s.clone(), list(s)], list(s))]),
        "<|" => each(&|s| vec![(vec![list(s), s.clone()], list(s))]),
        "++" => each(&|s| vec![(vec![list(s), list(s)], list(s))]),
        "." => each(&|s| vec![(vec![list(s), NAT], s.clone())]),
        "if" => each(&|s| vec![(vec![Bool, s.clone(), s.clone()], s.clone())]),
        "head" => each(&|s| vec![(vec![list(s)], s.clone())]),
        "tail" => each(&|s| vec![(vec![list(s)], list(s))]),
        "pick" => each(&|s| vec![(vec![fset(s)], s.clone())]),
        "#" => each(&|s| vec![(vec![list(s)], NAT), (vec![fset(s)], NAT)]),
        "!" => {
            let mut sets: Vec<_> = each(&|s| vec![(vec![set(s)], set(s))]);
            sets.push((vec![Bool], Bool));
            sets
        }
        "f" => vec![(vec![NAT], Bool), (vec![list(&NAT)], NAT), (vec![Bool, INT], list(&INT))],
        _ => panic!("no operator {op}"),
    };
    if ["+", "-", "*"].contains(&op) {
        found.extend(universe.iter().flat_map(both_sets));
    }
    found
}

/// The signatures of all operators.
type Table = BTreeMap<&'static str, Vec<(Vec<Sort>, Sort)>>;

enum Expr {
    Leaf(&'static str),
    /// An operator or function with its notation, the operands marked by `@`.
    Op(&'static str, &'static str, Vec<Expr>),
    List(Vec<Expr>),
    Set(Vec<Expr>),
}

/// The variables of the tests: name and sort.
fn leaves() -> Vec<(&'static str, Sort)> {
    let list = |s: Sort| List(s.into());
    vec![
        ("0", NAT),
        ("1", POS),
        ("true", Bool),
        ("p", POS),
        ("n", NAT),
        ("i", INT),
        ("r", REAL),
        ("lp", list(POS)),
        ("ln", list(NAT)),
        ("li", list(INT)),
        ("ll", list(list(NAT))),
        ("fs", FSet(NAT.into())),
        ("s", Set(NAT.into())),
        ("sl", Set(list(POS).into())),
    ]
}

const OPS: [(&str, &str); 19] = [
    ("+", "(@ + @)"),
    ("-", "(@ - @)"),
    ("*", "(@ * @)"),
    ("max", "max(@, @)"),
    ("div", "(@ div @)"),
    ("==", "(@ == @)"),
    ("<", "(@ < @)"),
    ("in", "(@ in @)"),
    ("|>", "(@ |> @)"),
    ("<|", "(@ <| @)"),
    ("++", "(@ ++ @)"),
    (".", "(@ . @)"),
    ("if", "if(@, @, @)"),
    ("head", "head(@)"),
    ("tail", "tail(@)"),
    ("pick", "pick(@)"),
    ("#", "#(@)"),
    ("!", "!(@)"),
    ("f", "f(@)"),
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn expr(&mut self, depth: usize, leaves: &[(&'static str, Sort)]) -> Expr {
        if depth == 0 || self.below(5) == 0 {
            // Numbers are where most overloads are.
            let scalars = 7;
            if self.below(2) == 0 {
                return Expr::Leaf(leaves[self.below(scalars)].0);
            }
            return match self.below(leaves.len() + 2) {
                0 => Expr::List(Vec::new()),
                1 => Expr::Set(Vec::new()),
                n => Expr::Leaf(leaves[n - 2].0),
            };
        }
        let parts = |random: &mut Self, n: usize| (0..n).map(|_| random.expr(depth - 1, leaves)).collect();
        match self.below(OPS.len() + 4 + 6) {
            0 | 1 => {
                let n = self.below(4);
                Expr::List(parts(self, n))
            }
            2 | 3 => {
                let n = self.below(3);
                Expr::Set(parts(self, n))
            }
            n => {
                // The overloaded operators stand first and come twice as often.
                let (name, notation) = OPS[if n < 4 + OPS.len() { n - 4 } else { n - 4 - OPS.len() }];
                let notation = if name == "f" && self.below(3) == 0 { "f(@, @)" } else { notation };
                Expr::Op(name, notation, parts(self, notation.matches('@').count()))
            }
        }
    }
}

impl Expr {
    fn text(&self) -> String {
        let join = |parts: &[Expr]| parts.iter().map(Expr::text).collect::<Vec<_>>().join(", ");
        match self {
            Expr::Leaf(name) => (*name).to_owned(),
            Expr::List(parts) => format!("[{}]", join(parts)),
            Expr::Set(parts) => format!("{{{}}}", join(parts)),
            Expr::Op(_, notation, parts) => {
                let mut parts = parts.iter();
                let piece =
                    |c| if c == '@' { parts.next().expect("operand").text() } else { String::from(c) };
                notation.chars().map(piece).collect()
            }
        }
    }

    /// Every sort of the universe the expression can have, upcasts included.
    fn sorts(&self, universe: &[Sort], table: &Table, leaves: &[(&'static str, Sort)]) -> BTreeSet<Sort> {
        let parts: Vec<BTreeSet<Sort>> = match self {
            Expr::Leaf(_) => Vec::new(),
            Expr::Op(_, _, parts) | Expr::List(parts) | Expr::Set(parts) => {
                parts.iter().map(|p| p.sorts(universe, table, leaves)).collect()
            }
        };
        let of_all = |make: &dyn Fn(Box<Sort>) -> Sort| -> Vec<Sort> {
            universe
                .iter()
                .filter(|s| parts.iter().all(|p| p.contains(s)))
                .map(|s| make(s.clone().into()))
                .collect()
        };
        let own: Vec<Sort> = match self {
            Expr::Leaf(name) => leaves.iter().filter(|(n, _)| n == name).map(|(_, s)| s.clone()).collect(),
            Expr::List(_) => of_all(&List),
            Expr::Set(_) => of_all(&FSet),
            Expr::Op(op, _, _) => table[op]
                .iter()
                .filter(|(params, _)| {
                    params.len() == parts.len() && params.iter().zip(&parts).all(|(s, p)| p.contains(s))
                })
                .map(|(_, result)| result.clone())
                .collect(),
        };
        own.iter().flat_map(Sort::upcasts).collect()
    }
}

#[test]
fn inference_agrees_with_trying_everything() {
    let universe = universe();
    let leaves = leaves();
    let table: Table = OPS.iter().map(|(op, _)| (*op, signatures(op, &universe))).collect();
    let params: Vec<String> =
        leaves[3..].iter().map(|(name, sort)| format!("{name}: {}", sort.name())).collect();
    let targets: Vec<&Sort> = universe.iter().take(40).collect();
    let mut random = Random(7);
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..1_000 {
        let depth = 1 + random.below(LEVELS - 1);
        let expr = random.expr(depth, &leaves);
        let sorts = expr.sorts(&universe, &table, &leaves);
        // The basic sorts, where numbers are told apart, one at random, and one it can have, if any.
        let fitting: Vec<&Sort> = targets.iter().copied().filter(|t| sorts.contains(t)).collect();
        let mut chosen: Vec<&Sort> = targets[..5].to_vec();
        chosen.push(targets[random.below(targets.len())]);
        if !fitting.is_empty() {
            chosen.push(fitting[random.below(fitting.len())]);
        }
        for target in chosen {
            let text = format!(
                "act a: {}; map f: Nat -> Bool; f: List(Nat) -> Nat; f: Bool # Int -> List(Int); \
                 proc P({}) = a({}); init delta;",
                target.name(),
                params.join(", "),
                expr.text()
            );
            let spec = syntax::parse(&text).expect("syntax");
            let found = check::check(&spec);
            assert_eq!(
                found.is_ok(),
                sorts.contains(target),
                "{} as {}: {found:?}",
                expr.text(),
                target.name()
            );
            *(if found.is_ok() { &mut accepted } else { &mut rejected }) += 1;
        }
    }
    assert!(accepted > 300 && rejected > 300, "{accepted} accepted, {rejected} rejected");
}
