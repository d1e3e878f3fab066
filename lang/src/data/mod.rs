//! Data: values, their evaluation, and the enumeration of the values that satisfy a condition.
//!
//! Evaluation happens only while tables are built. It is innermost with lazy conditionals (and lazy arguments where a
//! mapping does not need them), over closed expressions. What no equation reduces is a value too: an irreducible term
//! ([`value::Value::Stuck`]), as in mCRL2. The same mechanism carries unknowns, which makes the evaluator a partial
//! evaluator for the enumeration in [`solve`].

pub mod bags;
pub mod code;
mod compare;
pub mod compile;
pub mod disagreement;
pub mod eval;
pub mod lists;
pub mod meter;
pub mod numbers;
pub mod ops;
pub mod print;
pub mod sets;
pub mod solve;
pub mod sorts;
pub mod strategy;
pub mod value;
