//! Concrete syntax: the pest grammar, the tree it yields, and the parser between them.

pub mod tree;
