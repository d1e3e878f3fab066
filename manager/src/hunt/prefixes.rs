//! The pool of the member `prefix`: paths below which all states within a bound are still to be searched.
//!
//! It begins with the empty path. A job searches below one path; if it reaches its limits it gives back states that stand for
//! the rest, and their paths join the pool. The shallowest path is handed out first, to any worker. When the pool is empty
//! and all jobs are answered, all states within the bound were expanded, and the bound is raised. A state that is in the pool
//! or was handed out with a shorter path is not added again, since the shorter path leaves more steps within the bound.
//! States are compared exactly.
//!
//! Jobs report which states they have expanded, and later jobs leave those out ([`gridlock_worker::hunt::told`]). A job knows
//! the reports that were processed when it was made. The pool uses them, too: states that jobs have reported are not handed
//! out. Reports belong to one round.
//!
//! If searches see the same states again and again, as they do where many paths lead to a state, the pool begins anew at its
//! first path, with larger jobs; if jobs share states, it goes on with larger jobs.
//!
//! Invariant: a bound counts as exhausted only once every job of its round was answered, as complete or with the states that
//! remain, and all of these were searched. The ledger hands lost jobs out again; a job that was cut short, or answered
//! without the states that remain, leaves the bound unproved. The pool is a function of the feedback that was processed.

use gridlock_lts::base::hash::Map;
use gridlock_worker::hunt::job::{HuntEnd, HuntFeedback, Pending};
use gridlock_worker::hunt::told::{Known as Heard, Summaries, Told};
use gridlock_worker::sketch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The first bound.
const FIRST_BOUND: u32 = 4;
/// No bound is greater than this.
const LAST_BOUND: u32 = 1 << 30;
/// Paths of a round are at most this many: they stand in the manager's memory.
const MOST_NODES: usize = 1 << 18;
/// A round begins anew if its jobs have expanded this many times the different states that they have seen.
const WASTE: f64 = 4.0;
/// With fewer answers than this, the waste is not judged.
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

/// A job that is handed out: its path, its bound, and the states it knows of other jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Handed {
    pub(super) path: Path,
    pub(super) bound: u32,
    pub(super) known: Option<Heard>,
}

/// For jobs that share states: the words of a state, and the bytes for the reports of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    pub(super) words: usize,
    pub(super) bytes: u64,
}

/// The figures about shared states.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shared {
    /// States that the jobs have expanded; a state expanded twice within the same bound counts twice.
    pub expanded: u64,
    /// Different states among those reported, added up over the bounds.
    pub different: u64,
    /// Whether all reported states were kept; otherwise there are more different ones.
    pub all_kept: bool,
    /// States that were reported.
    pub told: u64,
    /// Steps to states that were left out because they were known.
    pub skipped: u64,
    /// The states within the greatest bound that was searched to its end. Exact if the flag says so, else there are more.
    pub within: Option<(u32, u64, bool)>,
}

/// The effect of an answer.
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
    /// The number of the round: jobs of an earlier round do not count any more.
    round: u64,
    nodes: Vec<Node>,
    known: Map<Vec<u64>, Known>,
    /// Depth and node of each path that was not handed out yet.
    waiting: BTreeSet<(u32, u32)>,
    /// Jobs in work, by their numbers: the round and the node.
    out: BTreeMap<u64, (u64, u32)>,
    /// How many of those are of this round.
    in_work: usize,
    answers: u64,
    states: u64,
    /// States that its jobs have expanded, those before jobs became larger included.
    spent: u64,
    sketch: Vec<u8>,
    /// Whether steps were cut off by the bound, and whether something in it was not searched.
    cut_off: bool,
    left_out: bool,
    /// Whether a job of this round or an earlier one had a finding.
    found: bool,
    /// The greatest bound that was exhausted without a finding.
    proved: Option<u32>,
    everything: bool,
    retired: bool,
    /// Whether there was no room for the states that remained of a job.
    full: bool,
    most_nodes: usize,
    sharing: Option<Sharing>,
    /// The states reported in this round.
    summaries: Option<Arc<Summaries>>,
    /// The figures about shared states, without the different states of this round.
    shared: Shared,
}

impl Prefixes {
    /// A pool before the first search.
    pub(super) fn new(sharing: Option<Sharing>) -> Self {
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
            spent: 0,
            sketch: vec![0; sketch::REGISTERS],
            cut_off: false,
            left_out: false,
            found: false,
            proved: None,
            everything: false,
            retired: false,
            full: false,
            most_nodes: MOST_NODES,
            sharing,
            summaries: None,
            shared: Shared { all_kept: true, ..Shared::default() },
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

    /// States expanded in this round, according to the answers.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// The figures about shared states, if the jobs share states.
    pub(super) fn shared(&self) -> Option<Shared> {
        let (different, all_kept) = self.summaries.as_ref()?.different();
        let Shared { different: before, all_kept: before_too, .. } = self.shared;
        Some(Shared { different: before + different, all_kept: before_too && all_kept, ..self.shared })
    }

    /// The job of that number, if there is one to hand out.
    pub(super) fn next(&mut self, number: u64) -> Option<Handed> {
        loop {
            if self.retired || self.everything {
                return None;
            }
            let Some((depth, node)) = self.waiting.pop_first() else {
                if self.in_work > 0 {
                    return None;
                }
                // All that was left is known meanwhile.
                self.exhausted();
                continue;
            };
            if node != 0 && self.is_told(&self.nodes[node as usize].state, depth) {
                continue;
            }
            self.out.insert(number, (self.round, node));
            self.in_work += 1;
            let oldest = self.out.values().map(|(round, _)| *round).min().unwrap_or(self.round);
            let summaries = self.summaries.clone();
            let known = summaries.map(|summaries| Heard::new(self.round, oldest, summaries));
            return Some(Handed { path: self.path(node), bound: self.bound, known });
        }
    }

    /// Whether jobs have reported a state at this depth or nearer, so that the states that follow are searched or will be.
    fn is_told(&self, state: &[u64], depth: u32) -> bool {
        self.summaries.as_ref().is_some_and(|summaries| summaries.covers(state, depth))
    }

    /// Begins a round: the bound is searched from the first path on.
    pub(super) fn begin(&mut self) {
        self.round += 1;
        self.nodes.clear();
        self.known.clear();
        self.waiting.clear();
        self.nodes.push(Node { parent: 0, vector: 0, depth: 0, state: Vec::new() });
        self.waiting.insert((0, 0));
        (self.in_work, self.spent) = (0, 0);
        self.count_anew();
        self.shared = self.shared().unwrap_or(self.shared);
        let new = |sharing: Sharing| Arc::new(Summaries::new(sharing.words, sharing.bytes));
        self.summaries = self.sharing.map(new);
        (self.cut_off, self.left_out, self.full) = (false, false, false);
    }

    fn count_anew(&mut self) {
        (self.answers, self.states) = (0, 0);
        self.sketch.fill(0);
    }

    /// Takes the answer to a job. An answer of an earlier round does not count for this one.
    pub(super) fn take(&mut self, feedback: &HuntFeedback) -> Taken {
        self.found |= !feedback.findings.is_empty();
        let Some((round, node)) = self.out.remove(&feedback.number) else { return Taken::Well };
        if round != self.round || self.retired {
            return Taken::Well;
        }
        self.in_work -= 1;
        self.answers += 1;
        self.states = self.states.saturating_add(feedback.effort.states);
        self.spent = self.spent.saturating_add(feedback.effort.states);
        sketch::merge(&mut self.sketch, &feedback.coverage.sketch);
        let below = feedback.below.as_ref();
        self.shared.expanded = self.shared.expanded.saturating_add(feedback.effort.states);
        self.shared.skipped += below.map_or(0, |below| below.skipped);
        // Also where something remains: what was cut off before need not be met again.
        self.cut_off |= below.is_none_or(|below| below.cut_off);
        match (&feedback.end, below, below.and_then(|below| below.left.as_ref())) {
            (HuntEnd::Everything | HuntEnd::Complete, Some(below), None) => self.hear(below.told.as_ref()),
            (HuntEnd::OverBudget, Some(below), Some(left)) => {
                if node == 0 {
                    self.known.insert(below.from.clone(), Known { depth: 0, node: 0 });
                }
                if !self.add(node, &left.spine, &left.pending) {
                    // The round cannot be completed.
                    (self.full, self.left_out) = (true, true);
                    return Taken::Wasteful;
                }
                self.hear(below.told.as_ref());
            }
            // Nothing could be expanded, or it was stopped from outside.
            _ => {
                self.left_out = true;
                self.retired |= node == 0;
            }
        }
        while self.in_work == 0 {
            // What is known meanwhile need not be handed out.
            let known = self.waiting.first().filter(|(depth, node)| {
                *node != 0 && self.is_told(&self.nodes[*node as usize].state, *depth)
            });
            if known.is_none() {
                break;
            }
            self.waiting.pop_first();
        }
        if self.waiting.is_empty() && self.in_work == 0 {
            self.exhausted();
            return Taken::Well;
        }
        let different = sketch::estimate(&self.sketch);
        let wasteful = self.answers >= FIRST_ANSWERS && self.states as f64 > WASTE * different;
        if wasteful { Taken::Wasteful } else { Taken::Well }
    }

    /// Goes on with larger jobs.
    pub(super) fn larger_jobs(&mut self) {
        // What was told is as good for them, unless something had no room.
        if self.full || self.summaries.is_none() { self.begin() } else { self.count_anew() }
    }

    /// Takes the states that an answer reports. The states that remain of its job must be in the pool already.
    fn hear(&mut self, told: Option<&Told>) {
        let (Some(summaries), Some(told)) = (&self.summaries, told) else { return };
        self.shared.told += told.depths.len() as u64;
        summaries.add(told);
    }

    /// Goes on without larger jobs: the round continues if it can; otherwise the member retires.
    pub(super) fn no_larger_jobs(&mut self) {
        self.retired |= self.full;
    }

    /// Ends a round in which all was searched, apart from states that were left out.
    fn exhausted(&mut self) {
        if !self.left_out {
            if !self.found {
                self.proved = Some(self.bound);
            }
            self.everything |= !self.cut_off;
            if let Some((states, exact)) = self.summaries.as_ref().map(|told| told.different()) {
                self.shared.within = Some((self.bound, states, exact));
            }
        }
        self.retired |= self.bound >= LAST_BOUND;
        self.bound = (self.bound + (self.bound / 4).max(1)).min(LAST_BOUND);
        self.begin();
    }

    /// Adds the states that are left behind a node. False if there is no room for them.
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
            if before.is_some_and(|known| known.depth <= depth) || self.is_told(state, depth) {
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
            below: Some(Below { from: vec![0], cut_off: true, left, ..Below::default() }),
            traps: Default::default(),
            effort: Default::default(),
            shortening: 0,
        }
    }

    fn handed(path: Path, bound: u32) -> Option<Handed> {
        Some(Handed { path, bound, known: None })
    }

    fn pending(frame: u32, state: u64) -> Pending {
        Pending { frame, vector: 7, state: vec![state] }
    }

    #[test]
    fn the_shallowest_first_and_each_state_with_its_shortest_path() {
        let mut prefixes = Prefixes::new(None);
        assert_eq!(prefixes.next(0), handed(Vec::new(), FIRST_BOUND));
        assert_eq!(prefixes.next(1), None);
        let spine = vec![(1, vec![10]), (2, vec![11])];
        let left = Left { spine, pending: vec![pending(0, 5), pending(1, 6), pending(2, 8), pending(2, 0)] };
        assert_eq!(prefixes.take(&feedback(0, HuntEnd::OverBudget, Some(left))), Taken::Well);
        // The initial state was searched from its beginning.
        let paths: Vec<usize> = prefixes.waiting.iter().map(|(depth, _)| *depth as usize).collect();
        assert_eq!(paths, [1, 2, 3]);
        assert_eq!(prefixes.next(1).map(|handed| handed.path), Some(vec![(7, vec![5])]));
        // 8 is reached by a shorter path than the one that waits, 6 by one that is no shorter.
        let left = Left { spine: Vec::new(), pending: vec![pending(0, 8), pending(0, 6)] };
        prefixes.take(&feedback(1, HuntEnd::OverBudget, Some(left)));
        let next: Vec<Path> =
            (2..4).filter_map(|number| prefixes.next(number)).map(|handed| handed.path).collect();
        assert_eq!(next, [vec![(1, vec![10]), (7, vec![6])], vec![(7, vec![5]), (7, vec![8])]]);
        prefixes.take(&feedback(3, HuntEnd::Complete, None));
        assert_eq!(prefixes.proved(), None, "one is still in work");
        prefixes.take(&feedback(2, HuntEnd::Complete, None));
        assert_eq!(prefixes.proved(), Some(FIRST_BOUND));
        assert_eq!(prefixes.next(4), handed(Vec::new(), FIRST_BOUND + 1));
    }

    #[test]
    fn what_has_no_room_or_no_answer_is_not_proved() {
        let mut prefixes = Prefixes { most_nodes: 3, ..Prefixes::new(None) };
        prefixes.next(0);
        let left = Left { spine: Vec::new(), pending: (1..9).map(|state| pending(0, state)).collect() };
        assert_eq!(prefixes.take(&feedback(0, HuntEnd::OverBudget, Some(left))), Taken::Wasteful);
        prefixes.no_larger_jobs();
        assert_eq!((prefixes.next(1), prefixes.proved()), (None, None));
        // A job that could not expand its first state.
        let mut prefixes = Prefixes::new(None);
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
            let mut prefixes = Prefixes::new(None);
            prefixes.next(0);
            prefixes.take(&feedback(0, end, None));
            assert_eq!((prefixes.proved(), prefixes.everything(), prefixes.next(1)), (None, false, None));
        }
    }
}
