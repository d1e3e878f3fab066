//! The pool of the member `prefix`: paths below which everything within a bound is still to be searched.
//!
//! It begins with the empty path. A job searches below one path; over its limits it gives back states that stand for what
//! remains, and their paths join the pool, from which any worker draws: the shallowest first. When nothing is left all
//! states within the bound were expanded, and the bound is raised. A state that is in the pool or was handed out with a
//! shorter path is not taken again, since what lies behind it is, or was, searched further. States are compared exactly.
//!
//! If searches see the same states again and again, as they do where many paths lead to a state, the pool begins anew at
//! its first path, with larger jobs.
//!
//! Invariant: a bound counts as exhausted only once every job of its round was answered, as complete or with what remains
//! of it, and all that remained was searched. What is lost is handed out again by the ledger; what was cut short, or
//! answered without saying what remains, leaves the bound unproved. All that is known follows from the feedback that
//! was processed.

use gridlock_lts::base::hash::Map;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, Pending};
use gridlock_worker::sketch;
use std::collections::{BTreeMap, BTreeSet};

/// The first bound.
const FIRST_BOUND: u32 = 4;
/// Bounds beyond this are none.
const LAST_BOUND: u32 = 1 << 30;
/// Paths of a round are at most this many: they stand in the manager's memory.
const MOST_NODES: usize = 1 << 18;
/// A round begins anew if its jobs have expanded this many times the different states that they have seen.
const WASTE: f64 = 4.0;
/// Before that many answers nothing can be said about it.
const FIRST_ANSWERS: u64 = 8;

/// Steps by their vectors and packed targets.
type Path = Vec<(u32, Vec<u64>)>;

/// A step of the tree of paths.
struct Node {
    parent: u32,
    vector: u32,
    depth: u32,
    state: Vec<u64>,
}

/// A state with the shortest path that it was ever in the pool with.
struct Known {
    depth: u32,
    node: u32,
}

/// What came of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taken {
    /// The round goes on, or the next one has begun.
    Well,
    /// Jobs of this size are too small: the same states are seen again and again, or there are too many paths.
    Wasteful,
}

/// See the module head.
pub(super) struct Prefixes {
    bound: u32,
    /// Counts the beginnings: a job of an earlier round is of no use any more.
    round: u64,
    nodes: Vec<Node>,
    known: Map<Vec<u64>, Known>,
    /// Depth and node of each path that nobody has yet.
    waiting: BTreeSet<(u32, u32)>,
    /// Jobs in work, by their numbers: the round and the node.
    out: BTreeMap<u64, (u64, u32)>,
    /// How many of those are of this round.
    in_work: usize,
    answers: u64,
    states: u64,
    sketch: Vec<u8>,
    /// Whether steps were cut off by the bound, and whether something in it was not searched.
    cut_off: bool,
    left_out: bool,
    /// Whether a job had a finding, of this round or an earlier one.
    found: bool,
    /// The greatest bound that was exhausted without a finding.
    proved: Option<u32>,
    everything: bool,
    retired: bool,
    /// Whether there was no room for what remained of a job.
    full: bool,
    most_nodes: usize,
}

impl Prefixes {
    /// Nothing was searched yet.
    pub(super) fn new() -> Self {
        let mut prefixes = Prefixes {
            bound: FIRST_BOUND,
            round: 0,
            nodes: Vec::new(),
            known: Map::default(),
            waiting: BTreeSet::new(),
            out: BTreeMap::new(),
            in_work: 0,
            answers: 0,
            states: 0,
            sketch: vec![0; sketch::REGISTERS],
            cut_off: false,
            left_out: false,
            found: false,
            proved: None,
            everything: false,
            retired: false,
            full: false,
            most_nodes: MOST_NODES,
        };
        prefixes.begin();
        prefixes
    }

    /// No run of this many steps or fewer ends with a violation: that is proved.
    pub(super) fn proved(&self) -> Option<u32> {
        self.proved
    }

    /// Whether every reachable state was expanded.
    pub(super) fn everything(&self) -> bool {
        self.everything
    }

    /// The path and the bound of the job of that number, if there is one to hand out.
    pub(super) fn next(&mut self, number: u64) -> Option<(Path, u32)> {
        if self.retired || self.everything {
            return None;
        }
        let (_, node) = self.waiting.pop_first()?;
        self.out.insert(number, (self.round, node));
        self.in_work += 1;
        Some((self.path(node), self.bound))
    }

    /// Begins a round: the bound is searched from its first path on.
    pub(super) fn begin(&mut self) {
        self.round += 1;
        self.nodes.clear();
        self.known.clear();
        self.waiting.clear();
        self.nodes.push(Node { parent: 0, vector: 0, depth: 0, state: Vec::new() });
        self.waiting.insert((0, 0));
        (self.in_work, self.answers, self.states) = (0, 0, 0);
        self.sketch.fill(0);
        (self.cut_off, self.left_out, self.full) = (false, false, false);
    }

    /// Takes the answer to a job. That of an earlier round says nothing about this one.
    pub(super) fn take(&mut self, feedback: &HuntFeedback) -> Taken {
        self.found |= !feedback.findings.is_empty();
        let Some((round, node)) = self.out.remove(&feedback.number) else { return Taken::Well };
        if round != self.round || self.retired {
            return Taken::Well;
        }
        self.in_work -= 1;
        self.answers += 1;
        self.states = self.states.saturating_add(feedback.effort.states);
        sketch::merge(&mut self.sketch, &feedback.coverage.sketch);
        let below = feedback.below.as_ref();
        // Also where something remains: what was cut off before need not be met again.
        self.cut_off |= below.is_none_or(|below| below.cut_off);
        match (&feedback.end, below, below.and_then(|below| below.left.as_ref())) {
            (HuntEnd::Everything | HuntEnd::Complete, Some(_), None) => {}
            (HuntEnd::OverBudget, Some(below), Some(left)) => {
                if node == 0 {
                    self.known.insert(below.from.clone(), Known { depth: 0, node: 0 });
                }
                if !self.add(node, &left.spine, &left.pending) {
                    // The round cannot be completed.
                    (self.full, self.left_out) = (true, true);
                    return Taken::Wasteful;
                }
            }
            // Nothing could be expanded, or it was stopped from outside.
            _ => {
                self.left_out = true;
                self.retired |= node == 0;
            }
        }
        if self.waiting.is_empty() && self.in_work == 0 {
            self.exhausted();
            return Taken::Well;
        }
        let different = sketch::estimate(&self.sketch);
        let wasteful = self.answers >= FIRST_ANSWERS && self.states as f64 > WASTE * different;
        if wasteful { Taken::Wasteful } else { Taken::Well }
    }

    /// There are no larger jobs, so the round goes on if it can; else the member has come to its end.
    pub(super) fn no_larger_jobs(&mut self) {
        self.retired |= self.full;
    }

    /// All of the round was searched, apart from what was left out.
    fn exhausted(&mut self) {
        if !self.left_out {
            if !self.found {
                self.proved = Some(self.bound);
            }
            self.everything |= !self.cut_off;
        }
        self.retired |= self.bound >= LAST_BOUND;
        self.bound = (self.bound + (self.bound / 4).max(1)).min(LAST_BOUND);
        self.begin();
    }

    /// Adds what is left behind a node. False if there is no room for it.
    fn add(&mut self, from: u32, spine: &[(u32, Vec<u64>)], pending: &[Pending]) -> bool {
        if self.nodes.len() + spine.len() + pending.len() > self.most_nodes {
            return false;
        }
        // The nodes of the spine as far as something begins there.
        let mut frames = vec![from];
        for Pending { frame, vector, state } in pending {
            let frame = *frame as usize;
            while frames.len() <= frame {
                let (parent, step) = (frames[frames.len() - 1], spine.get(frames.len() - 1));
                let Some((vector, state)) = step else { return false };
                frames.push(self.node(parent, *vector, state));
            }
            let depth = self.nodes[frames[frame] as usize].depth + 1;
            let before = self.known.get(state);
            if before.is_some_and(|known| known.depth <= depth) {
                continue;
            }
            if let Some(Known { depth, node }) = before {
                // If nobody has it yet the shorter path takes its place.
                self.waiting.remove(&(*depth, *node));
            }
            let node = self.node(frames[frame], *vector, state);
            self.known.insert(state.clone(), Known { depth, node });
            self.waiting.insert((depth, node));
        }
        true
    }

    fn node(&mut self, parent: u32, vector: u32, state: &[u64]) -> u32 {
        let depth = self.nodes[parent as usize].depth + 1;
        self.nodes.push(Node { parent, vector, depth, state: state.to_vec() });
        self.nodes.len() as u32 - 1
    }

    /// The steps from the initial state to a node.
    fn path(&self, mut node: u32) -> Path {
        let mut path = Vec::new();
        while node != 0 {
            let Node { parent, vector, state, .. } = &self.nodes[node as usize];
            path.push((*vector, state.clone()));
            node = *parent;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_worker::hunt::job::{Below, Left};

    fn feedback(number: u64, end: HuntEnd, left: Option<Left>) -> HuntFeedback {
        HuntFeedback {
            number,
            end,
            findings: Vec::new(),
            coverage: Default::default(),
            guided: None,
            below: Some(Below { from: vec![0], cut_off: true, left }),
            traps: Default::default(),
            effort: Default::default(),
            shortening: 0,
        }
    }

    fn pending(frame: u32, state: u64) -> Pending {
        Pending { frame, vector: 7, state: vec![state] }
    }

    #[test]
    fn the_shallowest_first_and_each_state_with_its_shortest_path() {
        let mut prefixes = Prefixes::new();
        assert_eq!(prefixes.next(0), Some((Vec::new(), FIRST_BOUND)));
        assert_eq!(prefixes.next(1), None);
        let spine = vec![(1, vec![10]), (2, vec![11])];
        let left = Left { spine, pending: vec![pending(0, 5), pending(1, 6), pending(2, 8), pending(2, 0)] };
        assert_eq!(prefixes.take(&feedback(0, HuntEnd::OverBudget, Some(left))), Taken::Well);
        // The initial state was searched from its beginning.
        let paths: Vec<usize> = prefixes.waiting.iter().map(|(depth, _)| *depth as usize).collect();
        assert_eq!(paths, [1, 2, 3]);
        assert_eq!(prefixes.next(1).map(|(path, _)| path), Some(vec![(7, vec![5])]));
        // 8 is reached by a shorter path than the one that waits, 6 by one that is no shorter.
        let left = Left { spine: Vec::new(), pending: vec![pending(0, 8), pending(0, 6)] };
        prefixes.take(&feedback(1, HuntEnd::OverBudget, Some(left)));
        let next: Vec<Path> =
            (2..4).filter_map(|number| prefixes.next(number)).map(|(path, _)| path).collect();
        assert_eq!(next, [vec![(1, vec![10]), (7, vec![6])], vec![(7, vec![5]), (7, vec![8])]]);
        prefixes.take(&feedback(3, HuntEnd::Complete, None));
        assert_eq!(prefixes.proved(), None, "one is still in work");
        prefixes.take(&feedback(2, HuntEnd::Complete, None));
        assert_eq!(prefixes.proved(), Some(FIRST_BOUND));
        assert_eq!(prefixes.next(4), Some((Vec::new(), FIRST_BOUND + 1)));
    }

    #[test]
    fn what_has_no_room_or_no_answer_is_not_proved() {
        let mut prefixes = Prefixes { most_nodes: 3, ..Prefixes::new() };
        prefixes.next(0);
        let left = Left { spine: Vec::new(), pending: (1..9).map(|state| pending(0, state)).collect() };
        assert_eq!(prefixes.take(&feedback(0, HuntEnd::OverBudget, Some(left))), Taken::Wasteful);
        prefixes.no_larger_jobs();
        assert_eq!((prefixes.next(1), prefixes.proved()), (None, None));
        // A job that could not expand its first state.
        let mut prefixes = Prefixes::new();
        prefixes.next(0);
        let left = Left { spine: Vec::new(), pending: vec![pending(0, 1)] };
        prefixes.take(&feedback(0, HuntEnd::OverBudget, Some(left)));
        prefixes.next(1);
        prefixes.take(&feedback(1, HuntEnd::OverBudget, None));
        assert_eq!((prefixes.proved(), prefixes.everything()), (None, false));
        // Answers of an earlier round.
        prefixes.next(2);
        prefixes.begin();
        prefixes.take(&feedback(2, HuntEnd::Complete, None));
        assert_eq!(prefixes.proved(), None);
        // The first state itself, with too little memory, or stopped from outside.
        for end in [HuntEnd::OverBudget, HuntEnd::Interrupted] {
            let mut prefixes = Prefixes::new();
            prefixes.next(0);
            prefixes.take(&feedback(0, end, None));
            assert_eq!((prefixes.proved(), prefixes.everything(), prefixes.next(1)), (None, false, None));
        }
    }
}
