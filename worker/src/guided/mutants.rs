//! Mistakes that tests put into jobs on several threads, to see whether the comparison with one thread notices them.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mutant {
    /// Two neighbouring states are given each other's steps.
    Order,
    /// The last step of a state that is new is forgotten.
    Loss,
    /// States that were looked at ahead of their turn are expanded beyond the limit.
    Limit,
}

#[cfg(test)]
thread_local! {
    static CHOSEN: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Whether this mistake is to be made. Outside of tests none ever is.
#[cfg(test)]
pub(super) fn is(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(mutant)
}

/// Whether this mistake is to be made. Outside of tests none ever is.
#[cfg(not(test))]
#[inline(always)]
pub(super) fn is(_: Mutant) -> bool {
    false
}

/// Does something with a mistake in it.
#[cfg(test)]
pub(super) fn with<R>(mutant: Mutant, act: impl FnOnce() -> R) -> R {
    CHOSEN.set(Some(mutant));
    let result = act();
    CHOSEN.set(None);
    result
}
