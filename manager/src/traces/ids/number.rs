//! Numbers of any size that do not need the heap while they fit 128 bits.
//!
//! Most trace counts do, and then a set of ranges follows a pointer less for each number it compares. Invariant: a
//! number is `Big` only if it does not fit.

use num_bigint::BigUint;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Number {
    Small(u128),
    // Behind all small ones, also in the derived order.
    Big(BigUint),
}

impl Number {
    pub(super) const ZERO: Number = Number::Small(0);

    pub(super) fn add(&mut self, other: &Number) {
        if let (Number::Small(a), Number::Small(b)) = (&mut *self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            *a = sum;
            return;
        }
        *self = Number::from(&(BigUint::from(&*self) + BigUint::from(other)));
    }

    /// Subtracts a number that is not greater.
    pub(super) fn sub(&mut self, other: &Number) {
        match (&mut *self, other) {
            (Number::Small(a), Number::Small(b)) => *a -= b,
            _ => *self = Number::from(&(BigUint::from(&*self) - BigUint::from(other))),
        }
    }
}

impl From<&BigUint> for Number {
    fn from(number: &BigUint) -> Self {
        u128::try_from(number).map_or_else(|_| Number::Big(number.clone()), Number::Small)
    }
}

impl From<&Number> for BigUint {
    fn from(number: &Number) -> Self {
        match number {
            Number::Small(small) => BigUint::from(*small),
            Number::Big(big) => big.clone(),
        }
    }
}
