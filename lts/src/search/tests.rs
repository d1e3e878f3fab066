//! Searches against a naive one.
use super::*;
use crate::synthetic;

#[test]
fn philosophers_have_their_number_of_states() {
    for n in 2..8 {
        let report = check(&synthetic::philosophers(n), &[], &Options::default()).unwrap();
        assert_eq!(report.verdict, Verdict::Holds);
        assert_eq!(report.stats.states, synthetic::philosophers_states(n), "{n} philosophers");
        assert_eq!(report.stats.deadlocks, 1);
        let report =
            check(&synthetic::philosophers(n), &[Property::DeadlockFree], &Options::default()).unwrap();
        assert!(
            matches!(report.verdict, Verdict::Violated { property: 0, trace } if trace.len() == n as usize)
        );
    }
}
