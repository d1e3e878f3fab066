//! Deliberate mistakes that the tests must notice.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), allow(dead_code))]
pub(super) enum Mutant {
    /// Forgets the steps that are faults.
    DropFaults,
    /// Leaves out of a block what it does together with others.
    ForgetEnvironment,
    /// Takes a path for a run if one leaf can follow it.
    FollowAlone,
    /// Gives the first member of a split all that matters.
    SplitToFirst,
    /// Takes what the block would take part in for what it always takes part in.
    ArmedAlways,
    /// Takes any places for a trap.
    AnyTrap,
}

#[cfg(test)]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Does something with a mistake, on this thread.
#[cfg(test)]
pub(super) fn with<T>(mutant: Mutant, work: impl FnOnce() -> T) -> T {
    ACTIVE.set(Some(mutant));
    let result = work();
    ACTIVE.set(None);
    result
}

/// Whether the mistake is to be made.
#[cfg(test)]
pub(super) fn is(mutant: Mutant) -> bool {
    ACTIVE.get() == Some(mutant)
}

/// Whether the mistake is to be made: only in tests.
#[cfg(not(test))]
#[inline]
pub(super) const fn is(_: Mutant) -> bool {
    false
}
