//! Operator precedence without recursion.
//!
//! The grammar yields flat sequences of operands and operators; this engine puts them together by precedence, with
//! two stacks, so that neither a chain of a hundred thousand operators nor a hundred thousand prefixes uses the
//! call stack. (pest's own Pratt parser recurses once for each prefix and each right-associative operator, and
//! offers no place to bound it.) What an operator builds is up to the [`Language`].
//!
//! Invariant: operands and operators arrive in an order that the grammar admits: each infix operator stands between
//! two operands, each prefix operator before one, and each `close` answers one `open`. Should it break, there is `None`
//! in place of a result, never a panic.

/// Which of two equal operators takes the operand between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assoc {
    Left,
    Right,
}

impl Assoc {
    /// The levels that the left and the right operand of an infix operator need to go without parentheses.
    pub(super) fn operand_levels(self, level: u8) -> (u8, u8) {
        match self {
            Assoc::Left => (level, level + 1),
            Assoc::Right => (level + 1, level),
        }
    }
}

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
}

enum Pending<Op> {
    Prefix(u8, Op),
    Infix(u8, Op),
    /// Nothing before it can be reduced until it is closed.
    Open(Op),
}

/// One sequence being put together. Higher levels bind more tightly.
pub(super) struct Climb<Node, Op> {
    operands: Vec<Node>,
    pending: Vec<Pending<Op>>,
}

impl<Node, Op> Climb<Node, Op> {
    pub(super) fn new() -> Self {
        Climb { operands: Vec::new(), pending: Vec::new() }
    }

    /// An operand comes next.
    pub(super) fn operand(&mut self, node: Node) {
        self.operands.push(node);
    }

    /// A prefix operator comes next. It takes everything to its right that binds at least as tightly, also where
    /// an operator before it binds more tightly.
    pub(super) fn prefix(&mut self, level: u8, op: Op) {
        self.pending.push(Pending::Prefix(level, op));
    }

    /// An infix operator comes next.
    pub(super) fn infix<L>(&mut self, language: &mut L, level: u8, assoc: Assoc, op: Op)
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |above| above > level || above == level && assoc == Assoc::Left);
        self.pending.push(Pending::Infix(level, op));
    }

    /// A postfix operator comes next: the operand it applies to, to be given back with [`operand`](Self::operand).
    pub(super) fn postfix<L>(&mut self, language: &mut L, level: u8) -> Option<Node>
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |above| above > level);
        self.operands.pop()
    }

    /// Starts a part that reaches up to the matching [`close`](Self::close), whatever the operators in it.
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

    /// The whole sequence.
    pub(super) fn finish<L>(mut self, language: &mut L) -> Option<Node>
    where
        L: Language<Node = Node, Op = Op>,
    {
        self.reduce(language, |_| true);
        self.operands.pop()
    }

    fn reduce<L>(&mut self, language: &mut L, wanted: impl Fn(u8) -> bool)
    where
        L: Language<Node = Node, Op = Op>,
    {
        while let Some(Pending::Prefix(level, _) | Pending::Infix(level, _)) = self.pending.last()
            && wanted(*level)
        {
            let Some(right) = self.operands.pop() else { return };
            let node = match self.pending.pop() {
                Some(Pending::Prefix(_, op)) => language.prefix(op, right),
                Some(Pending::Infix(_, op)) => match self.operands.pop() {
                    Some(left) => language.infix(left, op, right),
                    None => right,
                },
                Some(Pending::Open(_)) | None => right,
            };
            self.operands.push(node);
        }
    }
}
