//! The one place that names the `fxhash` crate: a fast, fixed (not randomly seeded) hasher.
//!
//! `fxhash` has no maintainer any more; replacing it means changing this file only. Iteration order over these
//! maps must never reach an output, an ID or a message.

/// A hash map with the fast hasher.
pub type Map<K, V> = fxhash::FxHashMap<K, V>;
/// A hash set with the fast hasher.
pub type Set<K> = fxhash::FxHashSet<K>;
/// The hasher itself, for code that hashes by hand.
pub type Hasher = fxhash::FxHasher;
