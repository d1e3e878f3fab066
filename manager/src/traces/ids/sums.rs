//! Sums of the first few of many numbers, as a Fenwick tree: a change and a search take logarithmic time.

use super::number::Number;

/// Numbers that are added up from the first on. Place i holds the sum of the numbers from `i & (i + 1)` to i.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums(Vec<Number>);

impl Sums {
    /// Replaces all numbers.
    pub(super) fn set<'a>(&mut self, numbers: impl Iterator<Item = &'a Number>) {
        self.0.clear();
        self.0.extend(numbers.cloned());
        for at in 0..self.0.len() {
            let above = at | (at + 1);
            if above < self.0.len() {
                let (low, high) = self.0.split_at_mut(above);
                high[0].add(&low[at]);
            }
        }
    }

    /// Applies a change of the number at a place to all sums with it.
    pub(super) fn change(&mut self, mut at: usize, change: impl Fn(&mut Number)) {
        while at < self.0.len() {
            change(&mut self.0[at]);
            at |= at + 1;
        }
    }

    /// How many of the first numbers together are not more than `rest`, which is less by their sum afterwards.
    pub(super) fn within(&self, rest: &mut Number) -> usize {
        let mut count = 0;
        let mut step = self.0.len().next_power_of_two();
        while step > 0 {
            if let Some(sum) = self.0.get(count + step - 1).filter(|sum| **sum <= *rest) {
                rest.sub(sum);
                count += step;
            }
            step /= 2;
        }
        count
    }
}
