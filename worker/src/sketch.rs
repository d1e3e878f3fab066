//! Estimates the number of different states from a small sketch (HyperLogLog; Flajolet et al. 2007).
//!
//! A state's hash chooses a register by its first bits; a register keeps the longest run of zeros among the other bits.
//! Invariant: the sketch of a union is the [`merge`] of the sketches, in any order.

use crate::states;

/// Registers of a sketch; any power of two from 128 on will do.
pub const REGISTERS: usize = 1 << 12;
/// Registers of the sketch in the feedback to a job. Its standard error is about 7 %.
pub const SMALL: usize = 1 << 8;
/// The standard error of [`estimate`] with [`REGISTERS`], as a part of the estimate.
pub const ERROR: f64 = 1.04 / 64.0;

/// A hash of a state, the same in every job. All of its bits are well mixed.
#[inline]
pub fn hash(state: &[u64]) -> u64 {
    finish(states::hash(state))
}

/// Makes every bit of a hash depend on all others; different hashes stay different.
#[inline]
pub fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Adds the hash of a state; all of its bits must be well mixed.
pub fn add(sketch: &mut [u8], hash: u64) {
    let precision = sketch.len().ilog2();
    let register = &mut sketch[(hash >> (64 - precision)) as usize];
    let rank = ((hash << precision) | (1 << (precision - 1))).leading_zeros() as u8 + 1;
    *register = (*register).max(rank);
}

/// Adds the states of another sketch.
pub fn merge(sketch: &mut [u8], other: &[u8]) {
    for (register, other) in sketch.iter_mut().zip(other) {
        *register = (*register).max(*other);
    }
}

/// Estimates how many different hashes were added.
pub fn estimate(sketch: &[u8]) -> f64 {
    let m = sketch.len() as f64;
    let sum: f64 = sketch.iter().map(|&register| (-f64::from(register)).exp2()).sum();
    let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
    let zeros = sketch.iter().filter(|&&register| register == 0).count();
    if raw <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { raw }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;

    #[test]
    fn estimates_are_within_four_standard_errors() {
        for (seed, count) in [(1, 10), (2, 1_000), (3, 9_000), (4, 20_000), (5, 300_000), (6, 2_000_000)] {
            let rng = &mut Rng::new(seed);
            let mut sketch = vec![0; REGISTERS];
            let mut halves = [sketch.clone(), sketch.clone()];
            for k in 0..count {
                let hash = rng.bits();
                add(&mut sketch, hash);
                add(&mut halves[k % 2], hash);
            }
            let estimate = estimate(&sketch);
            let off = (estimate - count as f64).abs() / count as f64;
            assert!(off < 4.0 * ERROR, "{estimate} for {count}");
            let [mut one, other] = halves;
            merge(&mut one, &other);
            assert_eq!(one, sketch);
        }
    }
}
