//! Formulas that tell two systems apart, in Hennessy-Milner logic and its extension for branching bisimulation.
//!
//! A formula is stored with sharing: subformulas are numbered, each refers to lower numbers only, and none is stored
//! twice. Written out in full it can be exponentially longer, so a long one is printed as a list of definitions.
//! Nothing here recurses, since a formula can be as deep as a system has states.

use std::fmt;

use crate::base::hash::Map;
use crate::model::network::Label;

/// Number of a subformula.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subformula(u32);

/// A formula of which the parts are subformulas.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// Holds everywhere.
    True,
    /// Holds where the part does not.
    Not(Subformula),
    /// Holds where all parts do.
    And(Vec<Subformula>),
    /// `<label>then`: some transition with the label leads to where `then` holds.
    Step {
        /// What is performed.
        label: Label,
        /// What holds afterwards.
        then: Subformula,
    },
    /// Along some sequence of tau steps, perhaps none, `hold` holds in every state including the last, and from there a
    /// transition with the label leads to where `then` holds.
    Until {
        /// What holds on the way.
        hold: Subformula,
        /// What is performed.
        label: Label,
        /// What holds afterwards.
        then: Subformula,
    },
    /// Some endless sequence of tau steps goes through states in which `hold` holds.
    Diverges {
        /// What holds on the way.
        hold: Subformula,
    },
}

/// A formula over the labels of a system. Its `Display` is the syntax of mCRL2's modal formulas.
#[derive(Clone, Debug)]
pub struct Formula {
    labels: Vec<String>,
    nodes: Vec<Node>,
    root: Subformula,
}

impl Formula {
    /// The formula as a whole.
    pub fn root(&self) -> Subformula {
        self.root
    }

    /// What a subformula is.
    pub fn node(&self, subformula: Subformula) -> &Node {
        &self.nodes[subformula.0 as usize]
    }

    /// All subformulas, the parts of each before itself.
    pub fn subformulas(&self) -> impl Iterator<Item = Subformula> + use<> {
        (0..self.nodes.len() as u32).map(Subformula)
    }

    /// The place of a subformula in the order of [`Formula::subformulas`].
    pub fn index(&self, subformula: Subformula) -> usize {
        subformula.0 as usize
    }

    /// The text of a label.
    pub fn label(&self, label: Label) -> &str {
        &self.labels[label.0 as usize]
    }
}

/// Collects subformulas without repetition.
pub(super) struct FormulaBuilder {
    nodes: Vec<Node>,
    numbers: Map<Node, Subformula>,
}

impl FormulaBuilder {
    pub(super) fn new() -> Self {
        FormulaBuilder { nodes: Vec::new(), numbers: Map::default() }
    }

    pub(super) fn add(&mut self, node: Node) -> Subformula {
        if let Some(&known) = self.numbers.get(&node) {
            return known;
        }
        let number = Subformula(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.numbers.insert(node, number);
        number
    }

    pub(super) fn not(&mut self, part: Subformula) -> Subformula {
        match self.nodes[part.0 as usize] {
            Node::Not(inner) => inner,
            _ => self.add(Node::Not(part)),
        }
    }

    pub(super) fn and(&mut self, mut parts: Vec<Subformula>) -> Subformula {
        parts.sort_unstable();
        parts.dedup();
        match parts[..] {
            [] => self.add(Node::True),
            [only] => only,
            _ => self.add(Node::And(parts)),
        }
    }

    pub(super) fn finish(self, root: Subformula, labels: Vec<String>) -> Formula {
        Formula { labels, nodes: self.nodes, root }
    }
}

/// The number of operators up to which a formula is printed in one piece.
const LONGEST_IN_ONE_PIECE: u64 = 500;

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.written_out_size() <= LONGEST_IN_ONE_PIECE {
            return Printer { formula: self, variables: 0, names: None }.print(self.root, f);
        }
        let mut printer = Printer { formula: self, variables: 0, names: Some(self.names()) };
        printer.print(self.root, f)?;
        f.write_str("\nwhere")?;
        for s in self.subformulas().collect::<Vec<_>>().into_iter().rev() {
            if let Some(name) = printer.name(s) {
                write!(f, "\n  F{name} = ")?;
                printer.print_definition(s, f)?;
            }
        }
        Ok(())
    }
}

impl Formula {
    fn written_out_size(&self) -> u64 {
        let mut sizes: Vec<u64> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let size = |s: &Subformula| sizes[s.0 as usize];
            let parts = match node {
                Node::True => 0,
                Node::Not(part) | Node::Step { then: part, .. } | Node::Diverges { hold: part } => size(part),
                Node::And(parts) => parts.iter().map(size).fold(0, u64::saturating_add),
                Node::Until { hold, then, .. } => size(hold).saturating_add(size(then)),
            };
            sizes.push(parts.saturating_add(1));
        }
        sizes[self.root.0 as usize]
    }

    fn is_true(&self, s: Subformula) -> bool {
        matches!(self.node(s), Node::True)
    }

    /// The label of a formula that says only that a step is possible, and whether tau steps may precede it. The
    /// negation of such a formula is printed with a box.
    fn as_step(&self, s: Subformula) -> Option<(Label, bool)> {
        match *self.node(s) {
            Node::Step { label, then } if self.is_true(then) => Some((label, false)),
            Node::Until { hold, label, then } if self.is_true(hold) && self.is_true(then) => {
                Some((label, true))
            }
            _ => None,
        }
    }

    /// A name for each subformula that is needed and begins with a modality, counted from the root.
    fn names(&self) -> Vec<Option<u32>> {
        let mut needed = vec![false; self.nodes.len()];
        needed[self.root.0 as usize] = true;
        let mut names = vec![None; self.nodes.len()];
        let mut count = 0;
        for i in (0..self.nodes.len()).rev().filter(|&i| i <= self.root.0 as usize) {
            if !needed[i] {
                continue;
            }
            let mut need = |s: &Subformula| needed[s.0 as usize] = true;
            match &self.nodes[i] {
                Node::True => {}
                Node::Not(part) if self.as_step(*part).is_none() => need(part),
                Node::Not(_) => {}
                Node::And(parts) => parts.iter().for_each(need),
                Node::Step { then, .. } => need(then),
                Node::Until { hold, then, .. } => [hold, then].into_iter().for_each(need),
                Node::Diverges { hold } => need(hold),
            }
            if matches!(self.nodes[i], Node::Step { .. } | Node::Until { .. } | Node::Diverges { .. }) {
                count += 1;
                names[i] = Some(count);
            }
        }
        names
    }
}

/// What is left to print, the next last.
enum Piece {
    Text(&'static str),
    Label(Label),
    /// The name of a fixpoint's variable.
    Variable(u32),
    /// A subformula that stands alone.
    Loose(Subformula),
    /// A subformula that needs parentheses if an operator could tear it apart.
    Tight(Subformula),
}

struct Printer<'a> {
    formula: &'a Formula,
    variables: u32,
    names: Option<Vec<Option<u32>>>,
}

impl Printer<'_> {
    fn name(&self, s: Subformula) -> Option<u32> {
        self.names.as_ref().and_then(|names| names[s.0 as usize])
    }

    fn print(&mut self, s: Subformula, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print_all(vec![Piece::Loose(s)], f)
    }

    fn print_definition(&mut self, s: Subformula, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = Vec::new();
        self.expand(s, false, &mut pieces);
        self.print_all(pieces, f)
    }

    fn print_all(&mut self, mut pieces: Vec<Piece>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Label(label) => f.write_str(self.formula.label(label))?,
                Piece::Variable(number) => write!(f, "X{number}")?,
                Piece::Loose(s) | Piece::Tight(s) => match self.name(s) {
                    Some(name) => write!(f, "F{name}")?,
                    None => self.expand(s, matches!(piece, Piece::Tight(_)), &mut pieces),
                },
            }
        }
        Ok(())
    }

    /// Puts the pieces of a subformula on the stack.
    fn expand(&mut self, s: Subformula, tight: bool, pieces: &mut Vec<Piece>) {
        use Piece::{Label, Loose, Text, Tight, Variable};
        let formula = self.formula;
        let (open, close) = if tight { (Text("("), Text(")")) } else { (Text(""), Text("")) };
        let mut text = Vec::new();
        match formula.node(s) {
            Node::True => text.push(Text("true")),
            Node::Not(part) => match formula.as_step(*part) {
                Some((label, false)) => text.extend([Text("["), Label(label), Text("]false")]),
                Some((label, true)) => text.extend([Text("[tau* . "), Label(label), Text("]false")]),
                None => text.extend([Text("!"), Tight(*part)]),
            },
            Node::And(parts) => {
                text.push(open);
                for (i, &part) in parts.iter().enumerate() {
                    text.extend([Text(if i == 0 { "" } else { " && " }), Tight(part)]);
                }
                text.push(close);
            }
            &Node::Step { label, then } => text.extend([Text("<"), Label(label), Text(">"), Tight(then)]),
            &Node::Until { hold, label, then } if formula.is_true(hold) => {
                text.extend([Text("<tau* . "), Label(label), Text(">"), Tight(then)]);
            }
            &Node::Until { hold, label, then } => {
                self.variables += 1;
                let x = self.variables;
                text.extend([
                    open,
                    Text("mu "),
                    Variable(x),
                    Text(". "),
                    Tight(hold),
                    Text(" && (<"),
                    Label(label),
                ]);
                text.extend([Text(">"), Tight(then), Text(" || <tau>"), Variable(x), Text(")"), close]);
            }
            &Node::Diverges { hold } => {
                self.variables += 1;
                let x = self.variables;
                text.extend([open, Text("nu "), Variable(x), Text(". ")]);
                if !formula.is_true(hold) {
                    text.extend([Tight(hold), Text(" && ")]);
                }
                text.extend([Text("<tau>"), Variable(x), close]);
            }
        }
        // `Loose` is what a caller starts with; parts are always tight.
        debug_assert!(!text.iter().any(|p| matches!(p, Loose(_))));
        pieces.extend(text.into_iter().rev());
    }
}
