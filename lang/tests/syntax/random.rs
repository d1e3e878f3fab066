//! Random trees, such as the parser can yield, from a seed.

use gridlock_lang::diagnostic::Span;
use gridlock_lang::syntax::formula::*;
use gridlock_lang::syntax::tree::*;
use std::sync::Arc;

/// A splitmix generator: small, fast, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Between `least` and `most` items.
    fn list<T>(&mut self, least: usize, most: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = least + self.below(most - least + 1);
        (0..count).map(|_| item(self)).collect()
    }
}

const NAMES: [&str; 14] =
    ["a", "b", "c", "x", "y", "P", "Q", "S", "x'", "_t", "in_1", "sort1", "forall_", "deltax"];

impl Random {
    fn name(&mut self) -> Arc<str> {
        Arc::from(self.pick(&NAMES))
    }

    fn ident(&mut self) -> Ident {
        Ident { name: self.name(), span: Span::default() }
    }

    pub fn sort(&mut self, depth: usize) -> Sort {
        let kind = match if depth == 0 { 0 } else { self.below(6) } {
            0 | 1 => SortKind::Name(Arc::from(self.pick(&["Bool", "Nat", "Real", "S", "D"]))),
            2 => {
                let all = [Container::List, Container::Set, Container::FSet, Container::Bag, Container::FBag];
                SortKind::Container(self.pick(&all), Box::new(self.sort(depth - 1)))
            }
            3 => SortKind::Struct(self.list(1, 3, |r| StructConstructor {
                name: r.ident(),
                fields: r.list(0, 2, |r| {
                    (if r.below(2) == 0 { Some(r.ident()) } else { None }, r.sort(depth - 1))
                }),
                recogniser: if r.below(3) == 0 { Some(r.ident()) } else { None },
            })),
            _ => SortKind::Function(self.list(1, 3, |r| r.sort(depth - 1)), Box::new(self.sort(depth - 1))),
        };
        Sort { kind, span: Span::default() }
    }

    fn vars(&mut self, depth: usize) -> Vec<VarDecl> {
        self.list(1, 2, |r| r.var(depth))
    }

    fn var(&mut self, depth: usize) -> VarDecl {
        VarDecl { name: self.ident(), sort: self.sort(depth.min(1)) }
    }

    fn assignments(&mut self, least: usize, depth: usize) -> Vec<(Ident, Data)> {
        self.list(least, 2, |r| (r.ident(), r.data(depth)))
    }

    pub fn data(&mut self, depth: usize) -> Data {
        use BinaryOp::*;
        const BINARY: [BinaryOp; 20] = [
            Implies,
            Or,
            And,
            Equal,
            NotEqual,
            Less,
            LessEqual,
            GreaterEqual,
            Greater,
            In,
            Cons,
            Snoc,
            Concat,
            Plus,
            BinaryOp::Minus,
            Divide,
            Div,
            Mod,
            Times,
            At,
        ];
        let boxed = |r: &mut Self| Box::new(r.data(depth - 1));
        let kind = match if depth == 0 { self.below(3) } else { self.below(22) } {
            0 => DataKind::Name(self.name()),
            1 => DataKind::Number(self.pick(&[0u64, 1, 10, 1 << 40, u64::MAX]).into()),
            2 => DataKind::Bool(self.below(2) == 0),
            3 => DataKind::List(self.list(0, 3, |r| r.data(depth - 1))),
            4 => DataKind::Set(self.list(0, 3, |r| r.data(depth - 1))),
            5 => DataKind::Bag(self.list(0, 2, |r| (r.data(depth - 1), r.data(depth - 1)))),
            6 => DataKind::Comprehension(Box::new(self.var(depth)), boxed(self)),
            7 | 8 => DataKind::Apply(boxed(self), self.list(1, 3, |r| r.data(depth - 1))),
            9 => DataKind::Update(boxed(self), boxed(self), boxed(self)),
            10 | 11 => {
                DataKind::Unary(self.pick(&[UnaryOp::Not, UnaryOp::Minus, UnaryOp::Size]), boxed(self))
            }
            12 => {
                let binder = self.pick(&[Binder::Forall, Binder::Exists, Binder::Lambda]);
                DataKind::Binder(binder, self.vars(depth), boxed(self))
            }
            13 => DataKind::Where(boxed(self), self.assignments(1, depth - 1)),
            _ => DataKind::Binary(self.pick(&BINARY), boxed(self), boxed(self)),
        };
        Data { kind, span: Span::default() }
    }

    pub fn process(&mut self, depth: usize) -> Process {
        let boxed = |r: &mut Self| Box::new(r.process(depth - 1));
        let several = |r: &mut Self| r.list(2, 3, |r| r.process(depth - 1));
        let idents = |r: &mut Self| r.list(0, 3, |r| r.ident());
        let kind = match if depth == 0 { self.below(4) } else { self.below(19) } {
            0 => ProcessKind::Call(self.ident(), self.list(0, 2, |r| r.data(depth))),
            1 => ProcessKind::Assign(self.ident(), self.assignments(0, depth)),
            2 => ProcessKind::Delta,
            3 => ProcessKind::Tau,
            4 | 5 => ProcessKind::Choice(several(self)),
            6 | 7 => ProcessKind::Seq(several(self)),
            8 => ProcessKind::Parallel(several(self)),
            9 => ProcessKind::LeftMerge(boxed(self), boxed(self)),
            10 => ProcessKind::Sync(several(self)),
            11 => ProcessKind::Sum(self.vars(depth), boxed(self)),
            12 => ProcessKind::Condition(Box::new(self.data(depth)), boxed(self), None),
            13 => ProcessKind::Condition(Box::new(self.data(depth)), boxed(self), Some(boxed(self))),
            14 => ProcessKind::Block(idents(self), boxed(self)),
            15 => ProcessKind::Hide(idents(self), boxed(self)),
            16 => ProcessKind::Rename(self.list(0, 2, |r| (r.ident(), r.ident())), boxed(self)),
            17 => ProcessKind::Allow(self.list(0, 2, |r| r.list(1, 3, |r| r.ident())), boxed(self)),
            _ => {
                let communication = |r: &mut Self| (r.list(2, 3, |r| r.ident()), r.ident());
                ProcessKind::Comm(self.list(0, 2, communication), boxed(self))
            }
        };
        Process { kind, span: Span::default() }
    }

    pub fn spec(&mut self, depth: usize) -> Spec {
        let equation = |r: &mut Self| Equation {
            condition: if r.below(2) == 0 { Some(r.data(depth)) } else { None },
            left: r.data(depth),
            right: r.data(depth),
            span: Span::default(),
        };
        let function = |r: &mut Self| FunctionDecl { name: r.ident(), sort: r.sort(depth) };
        Spec {
            sorts: self.list(0, 2, |r| SortDecl {
                name: r.ident(),
                definition: if r.below(3) == 0 { None } else { Some(r.sort(depth)) },
            }),
            constructors: self.list(0, 2, function),
            maps: self.list(0, 2, function),
            equations: self.list(0, 2, |r| EquationSection {
                vars: if r.below(2) == 0 { Vec::new() } else { r.vars(depth) },
                equations: r.list(1, 2, equation),
            }),
            globals: if self.below(3) == 0 { self.vars(depth) } else { Vec::new() },
            actions: self
                .list(0, 2, |r| ActionDecl { name: r.ident(), sorts: r.list(0, 3, |r| r.sort(depth)) }),
            processes: self.list(0, 2, |r| ProcessDecl {
                name: r.ident(),
                params: if r.below(2) == 0 { Vec::new() } else { r.vars(depth) },
                body: r.process(depth),
            }),
            inits: self.list(0, 1, |r| r.process(depth)),
        }
    }

    fn quantifier(&mut self) -> Quantifier {
        self.pick(&[Quantifier::Forall, Quantifier::Exists])
    }

    pub fn state(&mut self, depth: usize) -> StateFormula {
        let boxed = |r: &mut Self| Box::new(r.state(depth - 1));
        let kind = match if depth == 0 { self.below(3) } else { self.below(13) } {
            0 => StateKind::Bool(self.below(2) == 0),
            1 => StateKind::Data(self.data(depth)),
            2 => StateKind::Variable(self.ident(), self.list(0, 2, |r| r.data(depth))),
            3 => StateKind::Not(boxed(self)),
            4 | 5 => StateKind::And(self.list(2, 3, |r| r.state(depth - 1))),
            6 | 7 => StateKind::Or(self.list(2, 3, |r| r.state(depth - 1))),
            8 => StateKind::Implies(boxed(self), boxed(self)),
            9 => StateKind::Box(self.regular(depth - 1), boxed(self)),
            10 => StateKind::Diamond(self.regular(depth - 1), boxed(self)),
            11 => StateKind::Quantifier(self.quantifier(), self.vars(depth), boxed(self)),
            _ => {
                let fixpoint = self.pick(&[Fixpoint::Least, Fixpoint::Greatest]);
                let param = |r: &mut Self| FixpointParam {
                    name: r.ident(),
                    sort: r.sort(1),
                    value: r.data(depth - 1),
                };
                StateKind::Fixpoint(fixpoint, self.ident(), self.list(0, 2, param), boxed(self))
            }
        };
        StateFormula { kind, span: Span::default() }
    }

    fn regular(&mut self, depth: usize) -> RegularFormula {
        let kind = match if depth == 0 { 0 } else { self.below(6) } {
            0 | 1 => RegularKind::Action(self.action(depth)),
            2 => RegularKind::Seq(self.list(2, 3, |r| r.regular(depth - 1))),
            3 => RegularKind::Choice(self.list(2, 3, |r| r.regular(depth - 1))),
            4 => RegularKind::Star(Box::new(self.regular(depth - 1))),
            _ => RegularKind::Plus(Box::new(self.regular(depth - 1))),
        };
        RegularFormula { kind, span: Span::default() }
    }

    fn action(&mut self, depth: usize) -> ActionFormula {
        let boxed = |r: &mut Self| Box::new(r.action(depth - 1));
        let kind = match if depth == 0 { self.below(3) } else { self.below(8) } {
            0 => ActionKind::Bool(self.below(2) == 0),
            1 => ActionKind::Data(self.data(depth)),
            2 => ActionKind::MultiAction(
                self.list(0, 2, |r| Action { name: r.ident(), arguments: r.list(0, 2, |r| r.data(depth)) }),
            ),
            3 => ActionKind::Not(boxed(self)),
            4 => ActionKind::And(self.list(2, 3, |r| r.action(depth - 1))),
            5 => ActionKind::Or(self.list(2, 3, |r| r.action(depth - 1))),
            6 => ActionKind::Implies(boxed(self), boxed(self)),
            _ => ActionKind::Quantifier(self.quantifier(), self.vars(depth), boxed(self)),
        };
        ActionFormula { kind, span: Span::default() }
    }
}
