//! Numerals of any length.

use num_bigint::BigUint;

/// Numerals up to this many digits are handed to the quadratic conversion of the bigint crate.
const SHORT: usize = 512;

/// The value of a numeral. Splits it in halves, so that the cost is that of a few large multiplications: a numeral of
/// a million digits takes a fraction of a second, where digit by digit it takes many.
pub(super) fn parse(digits: &str) -> BigUint {
    if digits.len() <= SHORT {
        return BigUint::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
    }
    // The powers 10^(SHORT * 2^i), each the square of the one before.
    let mut powers = vec![BigUint::from(10u32).pow(SHORT as u32)];
    while SHORT << powers.len() < digits.len() {
        let last = &powers[powers.len() - 1];
        powers.push(last * last);
    }
    split(digits, &powers)
}

/// The lower part has as many digits as the largest power below the length has zeros.
fn split(digits: &str, powers: &[BigUint]) -> BigUint {
    let Some((power, smaller)) = powers.split_last() else {
        return BigUint::parse_bytes(digits.as_bytes(), 10).unwrap_or_default();
    };
    let low = SHORT << smaller.len();
    if digits.len() <= low {
        return split(digits, smaller);
    }
    let (high, low) = digits.split_at(digits.len() - low);
    split(high, smaller) * power + split(low, smaller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_gives_what_digit_by_digit_gives() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for length in [1, 2, SHORT - 1, SHORT, SHORT + 1, 2 * SHORT, 2 * SHORT + 1, 3 * SHORT, 9999] {
            let digits: String = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    char::from(b'0' + (state >> 33) as u8 % 10)
                })
                .collect();
            assert_eq!(Some(parse(&digits)), BigUint::parse_bytes(digits.as_bytes(), 10), "length {length}");
        }
    }
}
