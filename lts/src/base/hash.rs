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

/// A 128-bit hash that identifies content. It is the same in every process on machines of one kind.
#[derive(Clone, Copy, Debug)]
pub struct ContentHasher(u128);

impl Default for ContentHasher {
    fn default() -> Self {
        ContentHasher(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl ContentHasher {
    /// The hash of what was written.
    pub fn content(self) -> u128 {
        // Multiplying carries nothing downwards.
        let folded = (self.0 ^ (self.0 >> 71)).wrapping_mul(MIX);
        folded ^ (folded >> 64)
    }
}

/// Odd, and with no pattern in its bits.
const MIX: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

impl std::hash::Hasher for ContentHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.write_u64(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(MIX);
        self.0 ^= self.0 >> 67;
    }

    fn finish(&self) -> u64 {
        self.content() as u64
    }
}

/// The hash of a value's content.
pub fn content_of(thing: &(impl std::hash::Hash + ?Sized)) -> u128 {
    let mut hasher = ContentHasher::default();
    thing.hash(&mut hasher);
    hasher.content()
}
