//! Depth-first search with a random order of successors, over any kind of visited set.
//!
//! A state enters the visited set when it is visited, not when it is generated, so the order is the true depth-first one. A
//! state at the bound is looked at, but none of its steps is taken. Whether a state that was first reached along a long path
//! is expanded again when a shorter one leads to it is up to the visited set. Those of the members `dfs` and `bitstate` say
//! no: what lay beyond the bound then may stay unseen, as in SPIN without its option for exact bounds. To do otherwise visits
//! states again and again, and another seed is a better use of the time; once the bound cut something off, the search does
//! not claim to have seen everything. The member `prefix` wants to know that nothing within the bound was left out, so its
//! set keeps depths ([`super::nearest`]).
//!
//! Invariant: `path` is a run of the system from its initial state, and `pending` holds, frame by frame, the steps of its
//! states that were not taken yet. The first frame is that of the state where the search begins.

use super::job::{HuntEnd, Left, Pending};
use super::survey::{Path, Survey};
use crate::stop::Stop;
use gridlock_lts::base::memory::{Budget, Exhausted, Stack};
use gridlock_lts::base::rng::Rng;
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::{Steps, Successors};
use gridlock_lts::model::network::VectorIx;

/// A visited set.
pub(super) trait Visited {
    /// Whether no state is ever mistaken for another one.
    const EXACT: bool;
    /// Whether a search that is stopped by its limits returns the states that remain.
    const GIVES_BACK: bool = false;

    /// Adds a state that is to be expanded at a depth; returns whether it is new.
    fn insert(&mut self, state: &[u64], depth: u32) -> Result<bool, Exhausted>;

    /// Replaces `absent` by the indices of the states in `targets` that the set does not contain, or that would be new at
    /// that depth. The states stand one after the other.
    fn absent(&mut self, targets: &[u64], depth: u32, absent: &mut Vec<u32>);

    /// The bound cuts off steps of the state that was added last. Returns whether that is final: a set that remembers these
    /// states returns false.
    fn cut_off(&mut self, _state: &[u64]) -> bool {
        true
    }

    /// Whether there are states whose steps were cut off, and which were not new again since.
    fn has_cut_off(&self) -> bool {
        false
    }

    /// Takes a state back that was added and then not expanded, or whose successors were not all searched.
    fn take_back(&mut self, _state: &[u64]) {}

    /// Whether no state was left out because another search has seen it.
    fn is_all(&self) -> bool {
        true
    }
}

/// The most states that a search gives back to its manager, unless a single state has more steps. Fewer in tests, whose
/// systems are small.
const MOST_LEFT: usize = if cfg!(test) { 12 } else { 256 };

struct Depth<'b, V> {
    visited: V,
    bound: u32,
    /// The number of steps of the path before the state where the search begins.
    base: usize,
    /// The state that is taken from the pending ones, and the vector of the step to it.
    state: Vec<u64>,
    vector: u32,
    /// If this state is not expanded yet: the numbers of frames and of pending steps without it.
    open: Option<(usize, usize)>,
    rng: Rng,
    words: usize,
    /// For each state of the path where its pending steps begin.
    frames: Stack<'b, usize>,
    /// The states of the path but the first, and the vectors taken to them.
    path: Stack<'b, u64>,
    path_vectors: Stack<'b, u32>,
    pending: Stack<'b, u64>,
    pending_vectors: Stack<'b, u32>,
    absent: Vec<u32>,
    steps: Steps,
    /// Whether the bound left something out.
    cut: bool,
}

/// The result of a depth-first search.
pub(super) struct Searched<V> {
    pub(super) end: HuntEnd,
    pub(super) visited: V,
    /// What remains to be searched if the limits were reached. `None` if not even one state was expanded.
    pub(super) left: Option<Left>,
    /// Whether the bound left something out.
    pub(super) cut: bool,
}

/// Searches from the end of a path until all is searched or the search is stopped.
pub(super) fn run<'h, S: Successors, V: Visited>(
    survey: &mut Survey<'h, S>,
    visited: V,
    path: &[(u32, Vec<u64>)],
    bound: u32,
    rng: Rng,
) -> Searched<V> {
    let budget: &'h Budget = survey.budget;
    let words = survey.system.width().words();
    let state = path.last().map_or_else(|| survey.system.initial(), |(_, state)| state.clone());
    let mut depth = Depth {
        visited,
        bound,
        base: path.len(),
        state,
        vector: 0,
        open: Some((0, 0)),
        rng,
        words,
        frames: Stack::new(budget),
        path: Stack::new(budget),
        path_vectors: Stack::new(budget),
        pending: Stack::new(budget),
        pending_vectors: Stack::new(budget),
        absent: Vec::new(),
        steps: Steps::new(words),
        cut: false,
    };
    let stop = depth.search(survey, path).err();
    let cut = depth.cut || depth.visited.has_cut_off();
    let left = if V::GIVES_BACK && stop == Some(Stop::OverBudget) { depth.left() } else { None };
    let end = match stop {
        None if V::EXACT && !cut && path.is_empty() && depth.visited.is_all() => HuntEnd::Everything,
        None => HuntEnd::Complete,
        Some(stop) => stop.into(),
    };
    Searched { end, visited: depth.visited, left, cut }
}

impl<V: Visited> Depth<'_, V> {
    fn search<S: Successors>(
        &mut self,
        survey: &mut Survey<S>,
        path: &[(u32, Vec<u64>)],
    ) -> Result<(), Stop> {
        let words = survey.system.width().words();
        for (vector, state) in path {
            self.path.extend(state)?;
            self.path_vectors.push(*vector)?;
        }
        self.visited.insert(&self.state, self.base as u32)?;
        self.frames.reserve(1)?;
        self.visit(survey, None)?;
        while let Some(&start) = self.frames.last() {
            if self.pending_vectors.len() == start {
                self.frames.pop();
                self.path_vectors.pop();
                self.path.truncate(self.path.len().saturating_sub(words));
                continue;
            }
            let Some(vector) = self.pending_vectors.pop() else { break };
            let rest = self.pending.len() - words;
            self.state.copy_from_slice(&self.pending[rest..]);
            self.vector = vector;
            self.pending.truncate(rest);
            self.open = Some((self.frames.len(), self.pending_vectors.len()));
            let depth = (self.base + self.frames.len()) as u32;
            if !self.visited.insert(&self.state, depth)? {
                self.open = None;
                continue;
            }
            if self.has_room(0)? {
                self.path.extend(&self.state)?;
                self.path_vectors.push(vector)?;
                self.visit(survey, Some(VectorIx(vector)))?;
            }
        }
        Ok(())
    }

    /// Whether the stack has room for one more state of the path, or for some more steps. Where the visited set does not
    /// grow, a stack that may not grow any more is one more bound on the depth; elsewhere it ends the search.
    fn has_room(&mut self, steps: usize) -> Result<bool, Exhausted> {
        let words = self.words;
        let reserved = if steps == 0 {
            (self.frames.reserve(1))
                .and_then(|()| self.path_vectors.reserve(1))
                .and_then(|()| self.path.reserve(words))
        } else {
            self.pending_vectors.reserve(steps).and_then(|()| self.pending.reserve(steps * words))
        };
        match reserved {
            Err(_) if !V::EXACT => {
                self.cut = true;
                Ok(false)
            }
            other => other.map(|()| true),
        }
    }

    /// Expands the state that was just appended to the path, and pushes its frame.
    fn visit<S: Successors>(&mut self, survey: &mut Survey<S>, vector: Option<VectorIx>) -> Result<(), Stop> {
        let words = survey.system.width().words();
        let depth = self.base + self.frames.len();
        self.frames.push(self.pending_vectors.len())?;
        survey.effort.widest = survey.effort.widest.max(depth as u64);
        let (path, vectors) = (&self.path, &self.path_vectors);
        let way = || way(words, path, vectors);
        survey.expand(vector, &self.state, &mut self.steps, vectors.len(), way)?;
        // What was visited before need not be pushed.
        self.visited.absent(self.steps.targets(), depth as u32 + 1, &mut self.absent);
        let at_bound = depth as u64 >= u64::from(self.bound);
        if at_bound && !self.absent.is_empty() {
            self.cut |= self.visited.cut_off(&self.state);
        }
        if at_bound || self.absent.is_empty() || !self.has_room(self.absent.len())? {
            self.open = None;
            return Ok(());
        }
        for left in (0..self.absent.len()).rev() {
            let chosen = if left == 0 { 0 } else { self.rng.below(left + 1) };
            self.absent.swap(chosen, left);
            let k = self.absent[left] as usize;
            self.pending.extend(self.steps.target(k))?;
            self.pending_vectors.push(self.steps.vias()[k].vector().0)?;
        }
        self.open = None;
        Ok(())
    }

    /// What remains to be searched: the pending states of the first frames and, where these would be too many, the state of
    /// the next frame in place of all states pending behind it. `None` if the first state was not expanded.
    ///
    /// Every state within the bound was expanded or is as near to one of those given back as it was to the first state, less
    /// the steps between them. For let its shortest way from the first state be given. If all states on it were expanded at
    /// the depths that they have there, it was expanded. Else the first one that was not was pending in the frame of the one
    /// before it: it is given back, or it lies behind the state that stands for that frame, and the path through that state
    /// is not longer.
    ///
    /// The states of the frames for which another one stands are taken back: their own pending steps are not given back, so
    /// no job may count them as expanded.
    fn left(&mut self) -> Option<Left> {
        let (words, base) = (self.words, self.base);
        let mut open = None;
        if let Some((frames, pending)) = self.open.take() {
            if frames == 0 {
                return None;
            }
            self.frames.truncate(frames);
            self.pending_vectors.truncate(pending);
            self.pending.truncate(pending * words);
            self.visited.take_back(&self.state);
            open = Some(Pending { frame: frames as u32 - 1, vector: self.vector, state: self.state.clone() });
        }
        let mut pending = Vec::new();
        let mut spine = 0;
        for frame in 0..self.frames.len() {
            let begin = self.frames[frame];
            let end = self.frames.get(frame + 1).copied().unwrap_or(self.pending_vectors.len());
            let states = &self.pending[begin * words..end * words];
            self.visited.absent(states, (base + frame + 1) as u32, &mut self.absent);
            let own =
                self.absent.len() + usize::from(open.as_ref().is_some_and(|p| p.frame as usize == frame));
            if frame > 0 && pending.len() + own + 1 > MOST_LEFT {
                // The state of this frame stands for it and for those behind.
                let at = base + frame - 1;
                let state = self.path[at * words..(at + 1) * words].to_vec();
                pending.push(Pending { frame: frame as u32 - 1, vector: self.path_vectors[at], state });
                open = None;
                // What is pending behind them is in nobody's hands but by way of that state.
                for k in at..base + self.frames.len() - 1 {
                    self.visited.take_back(&self.path[k * words..(k + 1) * words]);
                }
                break;
            }
            spine = frame;
            for &k in &self.absent {
                let k = begin + k as usize;
                let state = self.pending[k * words..(k + 1) * words].to_vec();
                pending.push(Pending { frame: frame as u32, vector: self.pending_vectors[k], state });
            }
        }
        pending.extend(open);
        let (states, vectors) = (&self.path[base * words..], &self.path_vectors[base..]);
        Some(Left { spine: way(words, states, &vectors[..spine]), pending })
    }
}

/// The steps of a path that is kept as states one after the other, and vectors.
pub(super) fn way(words: usize, states: &[u64], vectors: &[u32]) -> Path {
    vectors.iter().copied().zip(states.chunks_exact(words).map(<[u64]>::to_vec)).collect()
}
