//! The records that ranks exchange at the end of a level, and what must be true of them.
//!
//! Every rank gets the records of all, so every rank takes the same decision. Invariant: the search goes on, or says that
//! everything was expanded, only if [`certify`] finds nothing wrong. What it finds is an internal error, never a verdict.

use super::post::Sum;
use crate::base::error::{Error, Result};
use crate::engine::search::RankStats;
use std::time::Duration;

/// One rank's record of a level.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Record {
    pub(super) rank: u64,
    pub(super) level: u64,
    /// States of the level.
    pub(super) frontier: u64,
    /// Those that were expanded.
    pub(super) expanded: u64,
    /// New states, which are the next level.
    pub(super) new: u64,
    /// Messages of the level.
    pub(super) sent: Sum,
    pub(super) received: Sum,
    /// Since the search began.
    pub(super) states: u64,
    pub(super) saved: u64,
    pub(super) transitions: u64,
    pub(super) deadlocks: u64,
    pub(super) memory: u64,
    pub(super) peak_memory: u64,
    pub(super) words_sent: u64,
    /// Nanoseconds without anything to do.
    pub(super) waited: u64,
    /// Whether the rank has more to share: a finding, or a reason to stop.
    pub(super) found: bool,
    pub(super) stopped: bool,
    /// Whether it is time for a checkpoint.
    pub(super) due: bool,
}

impl Record {
    const WORDS: usize = 20;

    pub(super) fn words(&self) -> [u64; Self::WORDS] {
        [
            self.rank,
            self.level,
            self.frontier,
            self.expanded,
            self.new,
            self.sent.messages,
            self.sent.prints,
            self.received.messages,
            self.received.prints,
            self.states,
            self.transitions,
            self.deadlocks,
            self.memory,
            self.peak_memory,
            self.words_sent,
            self.waited,
            u64::from(self.found),
            u64::from(self.stopped),
            u64::from(self.due),
            self.saved,
        ]
    }

    /// The records of all ranks.
    pub(super) fn read_all(words: &[u64]) -> Vec<Record> {
        let read = |words: &[u64]| Record {
            rank: words[0],
            level: words[1],
            frontier: words[2],
            expanded: words[3],
            new: words[4],
            sent: Sum { messages: words[5], prints: words[6] },
            received: Sum { messages: words[7], prints: words[8] },
            states: words[9],
            transitions: words[10],
            deadlocks: words[11],
            memory: words[12],
            peak_memory: words[13],
            words_sent: words[14],
            waited: words[15],
            found: words[16] != 0,
            stopped: words[17] != 0,
            due: words[18] != 0,
            saved: words[19],
        };
        words.chunks_exact(Self::WORDS).map(read).collect()
    }

    /// For people; `words` is the number of words of a state.
    pub(super) fn stats(&self, words: usize) -> RankStats {
        RankStats {
            states: self.states,
            states_saved: self.saved,
            transitions: self.transitions,
            states_sent: self.words_sent / words as u64,
            bytes_sent: 8 * self.words_sent,
            memory: self.memory,
            peak_memory: self.peak_memory,
            waited: Duration::from_nanos(self.waited),
        }
    }
}

/// The sum of something over all ranks.
pub(super) fn sum(records: &[Record], of: impl Fn(&Record) -> u64) -> u64 {
    records.iter().map(of).sum()
}

/// What was known before a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Before {
    pub(super) level: u64,
    /// States of the level, of all ranks.
    pub(super) frontier: u64,
    /// States visited, of all ranks.
    pub(super) states: u64,
}

/// An error unless all ranks took part in a level, expanded all of it, and received all that was sent. Nothing is said of a
/// level that was stopped.
pub(super) fn certify(records: &[Record], ranks: usize, before: Before) -> Result<()> {
    let fault = |what: String| Err(Error::Internal(format!("in level {}: {what}", before.level)));
    if records.len() != ranks {
        return fault(format!("{} of {ranks} ranks took part", records.len()));
    }
    for (rank, record) in (0..).zip(records) {
        if (record.rank, record.level) != (rank, before.level) {
            return fault(format!("rank {rank} says it is rank {} in level {}", record.rank, record.level));
        }
    }
    // Also of a level that was stopped: what is sent is received, come what may.
    let prints = |of: fn(&Record) -> Sum| records.iter().fold(0u64, |sum, r| sum.wrapping_add(of(r).prints));
    let (sent, received) = (sum(records, |r| r.sent.messages), sum(records, |r| r.received.messages));
    if sent != received {
        return fault(format!("{sent} messages were sent and {received} received"));
    }
    if prints(|r| r.sent) != prints(|r| r.received) {
        return fault(format!("other messages were received than the {sent} that were sent"));
    }
    if records.iter().any(|record| record.stopped) {
        return Ok(());
    }
    for record in records {
        if record.frontier != record.expanded {
            return fault(format!(
                "rank {} expanded {} of {} states",
                record.rank, record.expanded, record.frontier
            ));
        }
    }
    let (frontier, states, new) =
        (sum(records, |r| r.frontier), sum(records, |r| r.states), sum(records, |r| r.new));
    if frontier != before.frontier {
        return fault(format!("{frontier} states were expanded, and there were {}", before.frontier));
    }
    if states != before.states + new {
        return fault(format!("{} states and {new} new ones are {states}", before.states));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any single number that is wrong is noticed.
    #[test]
    fn a_certificate_needs_every_number() {
        let sum = |messages, prints| Sum { messages, prints };
        let one = Record {
            frontier: 3,
            expanded: 3,
            new: 2,
            sent: sum(4, 70),
            received: sum(1, 5),
            states: 10,
            level: 6,
            ..Record::default()
        };
        let two = Record {
            rank: 1,
            frontier: 1,
            expanded: 1,
            sent: sum(1, 5),
            received: sum(4, 70),
            ..one.clone()
        };
        let before = Before { level: 6, frontier: 4, states: 16 };
        let good = [one, two];
        assert_eq!(certify(&good, 2, before), Ok(()));
        assert!(certify(&good, 3, before).is_err() && certify(&good[..1], 2, before).is_err());
        for k in 0..=9 {
            let mut words: Vec<u64> = good.iter().flat_map(Record::words).collect();
            words[Record::WORDS + k] += 1;
            let records = Record::read_all(&words);
            assert!(matches!(certify(&records, 2, before), Err(Error::Internal(_))), "word {k}");
            // What was sent must have been received also by those that stop.
            words[Record::WORDS + 17] = 1;
            let stopped = certify(&Record::read_all(&words), 2, before);
            assert_eq!(stopped.is_err(), k < 2 || (5..9).contains(&k), "word {k}");
        }
        for wrong in
            [Before { level: 5, ..before }, Before { frontier: 5, ..before }, Before { states: 15, ..before }]
        {
            assert!(certify(&good, 2, wrong).is_err(), "{wrong:?}");
        }
    }
}
