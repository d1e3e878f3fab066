//! Operator precedence without recursion.
//!
//! The grammar yields flat sequences of operands and operators; this engine puts them together by precedence, with
//! two stacks, so that neither a chain of a hundred thousand operators nor a hundred thousand prefixes uses the
//! call stack. (pest's own Pratt parser recurses once for each prefix and each right-associative operator, and
//! offers no place to bound it.) What an operator builds is up to the [`Language`].
//!
//! A prefix operator that binds loosely, such as `forall`, may stand as an operand of one that binds more tightly, as in
//! `!exists d: D. b || a`. It then takes everything to its right that binds at least as tightly as itself, `b || a`. mCRL2
//! since 202507 lets `!` win instead and reads `(!exists d: D. b) || a`. Where the two differ, [`Parting`]s say so.
//!
//! Invariant: operands and operators arrive in an order that the grammar admits: each infix operator stands between
//! two operands, each prefix operator before one, and each `close` answers one `open`. Should it break, there is `None`
//! in place of a result, never a panic.

use crate::diagnostic::Span;

/// Which of two equal operators takes the operand between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assoc {
    Left,
    Right,
    /// Either: the operator is associative, and its operands stand side by side.
    Chain,
}

impl Assoc {
    /// The levels that the left and the right operand of an infix operator need to go without parentheses.
    pub(super) fn operand_levels(self, level: u8) -> (u8, u8) {
        match self {
            Assoc::Left | Assoc::Chain => (level, level + 1),
            Assoc::Right => (level + 1, level),
        }
    }
}

/// A place where the two readings of a loose prefix operator below a tight one differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parting {
    /// Where the expression with the tight operator begins.
    pub outer: u32,
    /// Where the loose prefix operator begins.
    pub prefix: u32,
    /// Where the operand ends behind which the readings part: there the tight operator's expression ends in one of them.
    pub part: u32,
    /// Where the prefix operator's body ends in the other one.
    pub end: u32,
}

/// The most partings of one sequence that are reported.
const MOST_PARTINGS: usize = 20;

/// What operators mean.
pub(super) trait Language {
    /// What is built.
    type Node;
    /// An operator with what belongs to it.
    type Op;
    /// Applies a prefix operator.
    fn prefix(&mut self, op: Self::Op, operand: Self::Node) -> Self::Node;
    /// Applies an infix operator.
    fn infix(&mut self, left: Self::Node, op: Self::Op, right: Self::Node) -> Self::Node;
    /// The place of a node.
    fn span(node: &Self::Node) -> Span;
}

enum Pending<Op> {
    Prefix(u8, Op, Context),
    Infix(u8, Op, Context),
    /// Nothing before it can be reduced until it is closed.
    Open(Op),
}

/// What surrounds an operator that waits.
#[derive(Clone, Copy)]
struct Context {
    /// Where its expression begins.
    start: u32,
    /// The highest level among the operators that wait before it, up to one that is open.
    tightest_before: u8,
    /// Where the readings of this prefix operator part, if they do: `outer` and `part`.
    parting: Option<(u32, u32)>,
}

impl<Op> Pending<Op> {
    fn context(&self) -> Option<(u8, Context)> {
        match self {
            Pending::Prefix(level, _, context) | Pending::Infix(level, _, context) => {
                Some((*level, *context))
            }
            Pending::Open(_) => None,
        }
    }
}

/// One sequence being put together. Higher levels bind more tightly.
pub(super) struct Climb<Node, Op> {
    operands: Vec<Node>,
    pending: Vec<Pending<Op>>,
    partings: Vec<Parting>,
}

impl<Node, Op> Climb<Node, Op> {
    pub(super) fn new() -> Self {
        Climb { operands: Vec::new(), pending: Vec::new(), partings: Vec::new() }
    }

    /// An operand comes next.
    pub(super) fn operand(&mut self, node: Node) {
        self.operands.push(node);
    }

    /// A prefix operator comes next. It takes everything to its right that binds at least as tightly, also where
    /// an operator before it binds more tightly.
    pub(super) fn prefix(&mut self, level: u8, op: Op, place: Span) {
        let context = self.next_context(place.start);
        self.pending.push(Pending::Prefix(level, op, context));
    }

    /// The context of an operator that comes next and whose expression begins at a place.
    fn next_context(&self, start: u32) -> Context {
        let last = self.pending.last().and_then(Pending::context);
        let tightest_before = last.map_or(0, |(level, context)| level.max(context.tightest_before));
        Context { start, tightest_before, parting: None }
    }

    /// An infix operator comes next.
    pub(super) fn infix<L>(&mut self, language: &mut L, level: u8, assoc: Assoc, op: Op)
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |above| above > level || above == level && assoc != Assoc::Right);
        let left = self.operands.last().map(L::span).unwrap_or_default();
        self.note_parting(left.end, |above| above > level || above == level && assoc == Assoc::Left);
        let context = self.next_context(left.start);
        self.pending.push(Pending::Infix(level, op, context));
    }

    /// Notes whether an infix operator that comes next goes into the body of a prefix operator although it would end
    /// the expression of an operator further out.
    fn note_parting(&mut self, part: u32, ends: impl Fn(u8) -> bool) {
        let Some(Pending::Prefix(_, _, Context { tightest_before, parting: None, .. })) = self.pending.last()
        else {
            return;
        };
        if !ends(*tightest_before) || self.partings.len() >= MOST_PARTINGS {
            return;
        }
        let waiting = self.pending.iter().rev().map_while(Pending::context);
        let outer = waiting.filter(|(level, _)| ends(*level)).last().map(|(_, context)| context.start);
        if let (Some(Pending::Prefix(_, _, context)), Some(outer)) = (self.pending.last_mut(), outer) {
            context.parting = Some((outer, part));
        }
    }

    /// A postfix operator comes next: the operand it applies to, to be given back with [`operand`](Self::operand).
    pub(super) fn postfix<L>(&mut self, language: &mut L, level: u8) -> Option<Node>
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |above| above > level);
        self.operands.pop()
    }

    /// Starts a part that reaches up to the matching [`close`](Self::close), with any operators in it.
    pub(super) fn open(&mut self, op: Op) {
        self.pending.push(Pending::Open(op));
    }

    /// Ends the part begun last, and gives what opened it and what is in it.
    pub(super) fn close<L>(&mut self, language: &mut L) -> Option<(Op, Node)>
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |_| true);
        match self.pending.pop()? {
            Pending::Open(op) => Some((op, self.operands.pop()?)),
            Pending::Prefix(..) | Pending::Infix(..) => None,
        }
    }

    /// The whole sequence, and where its two readings differ.
    pub(super) fn finish<L>(mut self, language: &mut L) -> (Option<Node>, Vec<Parting>)
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |_| true);
        (self.operands.pop(), self.partings)
    }

    fn reduce<L>(&mut self, language: &mut L, wanted: impl Fn(u8) -> bool)
    where
        L: Language<Node = Node, Op = Op>,
    {
        while let Some(Pending::Prefix(level, ..) | Pending::Infix(level, ..)) = self.pending.last()
            && wanted(*level)
        {
            let Some(right) = self.operands.pop() else { return };
            let node = match self.pending.pop() {
                Some(Pending::Prefix(_, op, context)) => {
                    if let Some((outer, part)) = context.parting {
                        let end = L::span(&right).end;
                        self.partings.push(Parting { outer, prefix: context.start, part, end });
                    }
                    language.prefix(op, right)
                }
                Some(Pending::Infix(_, op, _)) => match self.operands.pop() {
                    Some(left) => language.infix(left, op, right),
                    None => right,
                },
                Some(Pending::Open(_)) | None => right,
            };
            self.operands.push(node);
        }
    }
}
