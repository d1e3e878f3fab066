//! A formula as a list of blocks that can be solved one after the other.
//!
//! A block is a strongly connected component of positions. If the fixed points in each are all least or all greatest,
//! nothing alternates, and a block is solved by iteration once those that it depends on are. Invariant: a position
//! depends on its own block and on earlier ones only.

use crate::base::error::Result;
use crate::base::hash::Map;
use crate::model::network::{Network, Outcome, VectorIx};
use crate::property::formula::{Class, Equations, Modality, Position, Tree};

/// Positions beyond which a formula is none for sweeps: each takes a bit for every slot of the visited set.
const POSITIONS: usize = 24;
/// Pairs of modalities and classes beyond which a formula is none for sweeps.
const CELLS: usize = 1 << 20;

/// [`Tree`] with positions and modalities numbered without gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Const(bool),
    Junction(bool, Vec<Node>),
    At(usize),
    Every(usize),
    Some(usize),
}

/// How the positions of a block are solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// One position that does not depend on itself.
    Plain,
    /// By iteration from nothing.
    Least,
    /// By iteration from everything.
    Greatest,
}

/// Positions that depend on each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) positions: Vec<usize>,
}

/// A formula without alternation.
pub(super) struct Blocks {
    /// When each position holds; the first is the whole formula.
    pub(super) trees: Vec<Node>,
    /// What each modality wants after a step of each class.
    pub(super) after: Vec<Vec<Node>>,
    /// The class of each vector, numbered without gaps; nothing of faults.
    pub(super) classes: Vec<Option<u32>>,
    /// How many classes there are.
    pub(super) class_count: usize,
    /// Their numbers in the formula.
    pub(super) class_names: Vec<Class>,
    /// In the order in which they can be solved.
    pub(super) blocks: Vec<Block>,
    /// The position that the whole formula is, where it is only another name for it.
    pub(super) root: usize,
    /// The number of each position here.
    pub(super) positions: Map<Position, usize>,
}

impl Blocks {
    /// `None` if the formula has too many positions, or if something alternates.
    pub(super) fn of(net: &Network, equations: &dyn Equations) -> Result<Option<Self>> {
        let mut reader =
            Reader { classes: Vec::new(), positions: Map::default(), modalities: Map::default() };
        let mut numbers = Map::default();
        let mut classes = Vec::with_capacity(net.vectors.len());
        for (vector, content) in net.vectors.iter().enumerate() {
            classes.push(match content.outcome {
                Outcome::Fault(_) => None,
                Outcome::Step(_) => {
                    let class = equations.class(net, VectorIx(vector as u32))?;
                    let next = numbers.len() as u32;
                    Some(*numbers.entry(class).or_insert_with(|| {
                        reader.classes.push(class);
                        next
                    }))
                }
            });
        }
        let mut order = vec![Position(0)];
        reader.positions.insert(Position(0), 0);
        let (mut trees, mut after): (Vec<Node>, Vec<Vec<Node>>) = (Vec::new(), Vec::new());
        while trees.len() < order.len() {
            let mut modalities = Vec::new();
            let tree = equations.unfold(order[trees.len()])?;
            trees.push(reader.node(&tree, &mut order, &mut modalities));
            for modality in modalities {
                if (after.len() + 1) * reader.classes.len() > CELLS {
                    return Ok(None);
                }
                let mut row = Vec::with_capacity(reader.classes.len());
                for class in reader.classes.clone() {
                    let tree = equations.after(modality, class)?;
                    row.push(reader.node(&tree, &mut order, &mut Vec::new()));
                    if order.len() > POSITIONS {
                        return Ok(None);
                    }
                }
                after.push(row);
            }
            if order.len() > POSITIONS {
                return Ok(None);
            }
        }
        let ranks: Vec<Option<u32>> = order.iter().map(|&position| equations.rank(position)).collect();
        let blocks = divide(trees.iter().map(|tree| depends_on(tree, &after)).collect(), &ranks);
        let class_count = reader.classes.len();
        let mut root = 0;
        // Names may go round, as in `nu X. mu Y. X`.
        for _ in 0..trees.len() {
            if let Node::At(next) = trees[root] {
                root = next;
            }
        }
        let (positions, class_names) = (reader.positions, reader.classes);
        Ok(blocks.map(|blocks| Blocks {
            trees,
            after,
            classes,
            class_count,
            class_names,
            blocks,
            root,
            positions,
        }))
    }
}

impl Blocks {
    /// What the whole formula says of each state, if it is one about all states: `nu X. f && [true]X`. Every state is reachable,
    /// so there is nothing to spread. `None` if it says anything else.
    pub(super) fn of_each_state(&self) -> Option<Vec<&Node>> {
        let tree = &self.trees[self.root];
        let parts = match tree {
            Node::Junction(true, parts) => &parts[..],
            other => std::slice::from_ref(other),
        };
        let again = Node::At(self.root);
        let goes_on = |node: &Node| matches!(node, Node::Every(m) if self.after[*m].iter().all(|after| *after == again));
        let (going, others): (Vec<&Node>, Vec<&Node>) = parts.iter().partition(|part| goes_on(part));
        let closed = others.iter().all(|part| depends_on(part, &self.after) >> self.root & 1 == 0);
        (!going.is_empty() && closed).then_some(others)
    }

    /// Calls `each` for all modalities of a tree.
    fn for_each_modality(node: &Node, each: &mut dyn FnMut(usize)) {
        match node {
            Node::Const(_) | Node::At(_) => {}
            Node::Junction(_, parts) => parts.iter().for_each(|part| Self::for_each_modality(part, each)),
            Node::Every(modality) | Node::Some(modality) => each(*modality),
        }
    }

    /// The classes of steps whose targets matter to trees.
    pub(super) fn needed_by<'t>(&self, trees: impl Iterator<Item = &'t Node>) -> Vec<bool> {
        let mut needed = vec![false; self.class_count];
        trees.for_each(|tree| {
            Self::for_each_modality(tree, &mut |modality| {
                let targets = self.after[modality].iter().map(|node| !matches!(node, Node::Const(_)));
                needed.iter_mut().zip(targets).for_each(|(needed, matters)| *needed |= matters);
            });
        });
        needed
    }

    /// The positions that trees ask for in the targets of steps, as bits.
    pub(super) fn asked_by<'t>(&self, trees: impl Iterator<Item = &'t Node>) -> u32 {
        let mut asked = 0;
        trees.for_each(|tree| {
            Self::for_each_modality(tree, &mut |modality| {
                asked |= self.after[modality].iter().fold(0, |all, node| all | depends_on(node, &self.after));
            });
        });
        asked
    }
}

struct Reader {
    classes: Vec<Class>,
    positions: Map<Position, usize>,
    modalities: Map<Modality, usize>,
}

impl Reader {
    /// Adds what was not met before to `order` and `new`, in the order of its numbers.
    fn node(&mut self, tree: &Tree, order: &mut Vec<Position>, new: &mut Vec<Modality>) -> Node {
        match tree {
            Tree::Const(b) => Node::Const(*b),
            Tree::Junction(and, parts) => {
                Node::Junction(*and, parts.iter().map(|part| self.node(part, order, new)).collect())
            }
            Tree::At(position) => Node::At(*self.positions.entry(*position).or_insert_with(|| {
                order.push(*position);
                order.len() - 1
            })),
            Tree::Every(modality) => Node::Every(self.modality(*modality, new)),
            Tree::Some(modality) => Node::Some(self.modality(*modality, new)),
        }
    }

    fn modality(&mut self, modality: Modality, new: &mut Vec<Modality>) -> usize {
        let next = self.modalities.len();
        *self.modalities.entry(modality).or_insert_with(|| {
            new.push(modality);
            next
        })
    }
}

/// The positions of a mask, in order.
pub(super) fn in_mask(mask: u32) -> impl Iterator<Item = usize> {
    (0..POSITIONS).filter(move |position| mask >> position & 1 == 1)
}

/// The positions that a tree depends on directly, as bits.
pub(super) fn depends_on(node: &Node, after: &[Vec<Node>]) -> u32 {
    match node {
        Node::Const(_) => 0,
        Node::At(position) => 1 << position,
        Node::Junction(_, parts) => parts.iter().fold(0, |all, part| all | depends_on(part, after)),
        Node::Every(modality) | Node::Some(modality) => {
            after[*modality].iter().fold(0, |all, node| all | depends_on(node, after))
        }
    }
}

/// Components in the order in which they can be solved, from what each position depends on directly; `None` if the fixed points of one alternate.
fn divide(mut reach: Vec<u32>, ranks: &[Option<u32>]) -> Option<Vec<Block>> {
    for via in 0..reach.len() {
        for from in 0..reach.len() {
            if reach[from] >> via & 1 == 1 {
                reach[from] |= reach[via];
            }
        }
    }
    let with = |p: usize| reach[p] | 1 << p;
    let mut order: Vec<usize> = (0..reach.len()).collect();
    // What another depends on reaches strictly less, unless they are in one component, which then stand together.
    order.sort_by_key(|&p| (with(p).count_ones(), with(p), p));
    let mut blocks: Vec<Block> = Vec::new();
    for p in order {
        match blocks.last_mut() {
            Some(block) if with(block.positions[0]) == with(p) => block.positions.push(p),
            _ => blocks.push(Block { kind: Kind::Plain, positions: vec![p] }),
        }
    }
    for block in &mut blocks {
        let first = block.positions[0];
        if reach[first] >> first & 1 == 0 {
            continue;
        }
        let mut least = block.positions.iter().filter_map(|&p| ranks[p]).map(|rank| rank % 2 == 1);
        // Every cycle goes through a fixed point.
        let kind = least.next()?;
        if least.any(|other| other != kind) {
            return None;
        }
        block.kind = if kind { Kind::Least } else { Kind::Greatest };
    }
    Some(blocks)
}
