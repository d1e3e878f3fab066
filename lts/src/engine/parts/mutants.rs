//! Deliberate mistakes that the tests must notice.

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), allow(dead_code))]
pub(super) enum Mutant {
    /// Hides a step that others take part in.
    HideHeard,
    /// Reduces by weak traces where deadlocks are asked for.
    TracesForDeadlocks,
    /// Reduces by a bisimulation that ignores divergence where deadlocks are asked for.
    IgnoreDivergence,
    /// Forgets the steps that are faults.
    DropFaults,
    /// Takes a component that the observer is connected with for one that it is not.
    DropConnected,
    /// Keeps the largest of what stable states offer in place of the smallest.
    MaximalReadySets,
    /// Puts pairs together as if those before them in the same round were not together yet.
    OldSyncs,
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
