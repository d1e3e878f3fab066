//! Rebuilds a shortest trace without a table of parents.
//!
//! The visited set keeps the depth of each state in bits that its word has free anyway, modulo `M`. A state at depth `d`
//! has a predecessor at depth `d - 1`, and no predecessor is nearer to the initial state than that. If the search went less
//! deep than `M`, the depths are exact, and going back costs one step of the reversed tables for each step of the trace.
//! Two bits would do if steps could be undone; in a directed graph a predecessor can be any number of levels too deep, so a
//! short counter is ambiguous where the search went deeper (an earlier version kept depths modulo three; random networks
//! refuted that).
//!
//! Where the depths are ambiguous, and where there are very many combinations of local predecessors (all of fifty
//! leaves terminate at once), the way is found by searching forwards again: each state of the frontier carries its
//! ancestor in the middle level, which divides the trace into two halves, and so on down to single steps. It needs little
//! more memory than the search itself, and time for a few searches, most of them small.
//!
//! Where several ranks own the states, all of them go back together: each asks its own part of the visited set, and the
//! least answer of all is taken, in one exchange a step. The search forwards sends states with their ancestors to the owners.
//!
//! Invariant: of all predecessors at the right depth the least in packed order is taken, with its least vector; of all
//! ancestors of a state, over all ways of the right length, the least. So the trace is the same for every number of
//! threads and ranks.

use super::owned::{Post, agree};
use super::run::Run;
use crate::base::error::{Error, Result};
use crate::base::memory::{Budget, Stack};
use crate::engine::mesh::{Mesh, Patience};
use crate::engine::pack::{Packing, Width};
use crate::engine::predecessors::Predecessors;
use crate::engine::successors::{Steps, Successors};
use crate::model::network::{Network, VectorIx};

/// Combinations of local predecessors that are tried before searching forwards.
const COMBINATIONS: usize = if cfg!(test) { 20 } else { 1 << 20 };

/// A step of a path: the vector and the target.
pub(super) type PathStep = (VectorIx, Vec<u64>);

/// Bytes for messages of a search forwards.
const MESSAGES: u64 = 16 << 20;
/// Records that are put in order at least.
const FEW: usize = if cfg!(test) { 4 } else { 1 << 12 };

/// Goes back through what a breadth-first search has visited.
pub(super) struct Backward<'r, 'a, 'm, S: Successors> {
    run: &'r Run<'a, S>,
    predecessors: Predecessors<'r>,
    mesh: &'r mut (dyn Mesh + 'm),
}

impl<'r, 'a, 'm, S: Successors> Backward<'r, 'a, 'm, S> {
    /// `net` is the network that was searched, monitors included.
    pub(super) fn new(
        run: &'r Run<'a, S>,
        net: &'r Network,
        packing: &'r Packing,
        mesh: &'r mut (dyn Mesh + 'm),
    ) -> Self {
        Backward { run, predecessors: Predecessors::new(net, packing), mesh }
    }

    /// The steps from the initial state to a visited state at the given depth, the last that was expanded. Afterwards
    /// the visited set is no longer that of the search.
    pub(super) fn path_to(&mut self, state: &[u64], depth: u64) -> Result<Vec<PathStep>> {
        let initial = self.run.system.initial();
        let mut end = Vec::new();
        let mut state = state.to_vec();
        let mut left = depth;
        // States one level deeper than this one have been visited. What is on a chain has not, nor what another state
        // stands for.
        let system = self.run.system;
        let exact = depth + 1 < self.run.visited.table().depth_modulus()
            && !system.has_chains()
            && system.like_leaves().is_none();
        while exact && left > 0 {
            let Some(before) = self.predecessor(&state, left - 1) else { break };
            let (before, vector) =
                before.ok_or_else(|| Error::internal("a visited state has no predecessor"))?;
            end.push((vector, std::mem::replace(&mut state, before)));
            left -= 1;
        }
        if left == 0 && state != initial {
            return Err(Error::internal("a trace does not begin in the initial state"));
        }
        let mut path = Vec::new();
        self.forwards(initial, state, left, &mut path)?;
        path.extend(end.into_iter().rev());
        Ok(path)
    }

    /// The least predecessor at a depth, and the vector; outer `None` if there are too many to try.
    fn predecessor(&mut self, state: &[u64], depth: u64) -> Option<Option<(Vec<u64>, VectorIx)>> {
        let table = self.run.visited.table();
        let mut least: Option<(Vec<u64>, VectorIx)> = None;
        // How many there are does not depend on the rank.
        let few = self.predecessors.of(state, COMBINATIONS, &mut |before, vector| {
            let better = least.as_ref().is_none_or(|(state, v)| (before, vector) < (&state[..], *v));
            if better && table.depth_of(before) == Some(depth) {
                least = Some((before.to_vec(), vector));
            }
        });
        drop(table);
        few.then(|| self.least(least))
    }

    /// The least of what the ranks have.
    fn least(&mut self, own: Option<(Vec<u64>, VectorIx)>) -> Option<(Vec<u64>, VectorIx)> {
        if self.mesh.size() == 1 {
            return own;
        }
        let words = self.run.system.width().words();
        let mut said = vec![u64::from(own.is_some())];
        let (state, vector) = own.unwrap_or_else(|| (vec![0; words], VectorIx(0)));
        said.extend(state);
        said.push(u64::from(vector.0));
        let all = self.mesh.share(&said, &mut || false);
        let theirs = all.chunks_exact(words + 2).filter(|said| said[0] == 1);
        let theirs = theirs.map(|said| (said[1..=words].to_vec(), VectorIx(said[words + 1] as u32)));
        theirs.min()
    }

    /// Appends the steps of a shortest path between two states that are `length` steps apart.
    fn forwards(
        &mut self,
        from: Vec<u64>,
        to: Vec<u64>,
        length: u64,
        path: &mut Vec<PathStep>,
    ) -> Result<()> {
        let mut parts = vec![(from, to, length)];
        while let Some((from, to, length)) = parts.pop() {
            match length {
                0 => {}
                1 => path.extend(self.run.system.unfold(&from, &to)?),
                _ => {
                    let middle = self.halfway(&from, &to, length)?;
                    parts.push((middle.clone(), to, length - length / 2));
                    parts.push((from, middle, length / 2));
                }
            }
        }
        Ok(())
    }

    /// The least state halfway on a shortest path.
    fn halfway(&mut self, from: &[u64], to: &[u64], length: u64) -> Result<Vec<u64>> {
        let words = self.run.system.width().words();
        self.run.visited.clear();
        let post = Post::new(self.mesh, 2 * words, 1, MESSAGES.min(self.run.budget.limit() / 16));
        // States, each with its ancestor in the middle level.
        let mut level = Ancestors::new(words, self.run.budget);
        if self.run.owner.of(from) == self.mesh.rank() {
            let begun = level.add(from, &vec![0; words]).and_then(|()| self.visit(&mut level));
            agree(self.mesh, begun)?;
        } else {
            agree(self.mesh, Ok(()))?;
        }
        for depth in 0..length {
            post.begin(depth, 1);
            let mut next = Ancestors::new(words, self.run.budget);
            let mut found = None;
            let is_middle = depth == length / 2;
            let aim = (depth + 1 == length).then_some(to);
            let done = self.spread(&level, is_middle, aim, &post, &mut next, &mut found);
            let received = self.settle(&post, &mut next);
            let done = done.and(received).and_then(|()| next.tidy()).and_then(|()| self.visit(&mut next));
            agree(self.mesh, done)?;
            if aim.is_some() {
                let found = found.map(|ancestor| (ancestor, VectorIx(0)));
                let least = self.least(found).map(|(ancestor, _)| ancestor);
                return least.ok_or_else(|| Error::internal("the end of a trace was not found again"));
            }
            level = next;
        }
        Err(Error::internal("a trace has no middle"))
    }

    /// Expands a level. Targets go to their owners; if there is an aim, the least ancestor of the states before it is kept.
    fn spread(
        &mut self,
        level: &Ancestors,
        is_middle: bool,
        aim: Option<&[u64]>,
        post: &Post,
        next: &mut Ancestors,
        found: &mut Option<Vec<u64>>,
    ) -> Result<()> {
        let words = self.run.system.width().words();
        let me = self.mesh.rank();
        let (mut steps, mut record) = (Steps::new(words), vec![0; 2 * words]);
        for (state, ancestor) in level.iter() {
            let ancestor = if is_middle { state } else { ancestor };
            steps.clear();
            self.run.system.expand(state, &mut steps)?;
            for (target, _) in steps.iter() {
                match aim {
                    Some(aim) => {
                        if target == aim && found.as_deref().is_none_or(|least| ancestor < least) {
                            *found = Some(ancestor.to_vec());
                        }
                    }
                    None if self.run.owner.of(target) == me => self.meet(target, ancestor, next)?,
                    None => {
                        record[..words].copy_from_slice(target);
                        record[words..].copy_from_slice(ancestor);
                        post.add(self.run.owner.of(target), &record);
                    }
                }
            }
            let mut patience = Patience::default();
            loop {
                let moved = self.receive(post, next)?;
                if !post.is_congested() {
                    break;
                }
                if !moved {
                    patience.rest();
                }
            }
        }
        Ok(())
    }

    /// A state is met that this rank owns.
    fn meet(&self, state: &[u64], ancestor: &[u64], next: &mut Ancestors) -> Result<()> {
        if self.run.visited.table().depth_of(state).is_some() {
            return Ok(());
        }
        next.add(state, ancestor)
    }

    /// Moves messages, and takes what is in those that came.
    fn receive(&mut self, post: &Post, next: &mut Ancestors) -> Result<bool> {
        let mut moved = post.pump(self.mesh);
        while let Some((from, message)) = post.next() {
            let taken = self.open(post, from, &message, next);
            post.handled(message);
            taken?;
            moved = true;
        }
        Ok(moved)
    }

    fn open(&self, post: &Post, from: usize, message: &[u64], next: &mut Ancestors) -> Result<()> {
        let words = self.run.system.width().words();
        let mut records = post.open(from, message)?.chunks_exact(2 * words);
        records.try_for_each(|record| self.meet(&record[..words], &record[words..], next))
    }

    /// Ends a level with all other ranks, even if something went wrong meanwhile: they do not wait for this one in vain.
    fn settle(&mut self, post: &Post, next: &mut Ancestors) -> Result<()> {
        if self.mesh.size() == 1 {
            return Ok(());
        }
        let mut result = Ok(());
        let mut note = |done: Result<()>| {
            if result.is_ok() {
                result = done;
            }
        };
        post.seal_all();
        let mut patience = Patience::default();
        loop {
            let moved = self.receive(post, next);
            if post.is_settled(self.mesh) {
                note(moved.map(drop));
                break;
            }
            match moved {
                Ok(true) => patience.renew(),
                Ok(false) => patience.rest(),
                Err(error) => note(Err(error)),
            }
        }
        let mut came = Vec::new();
        let expected = self.mesh.scatter_sums(&post.sent(), &mut |message| {
            came.extend(message);
            false
        });
        for (from, message) in came {
            note(self.open(post, from, &message, next));
        }
        note(self.receive(post, next).map(drop));
        note(post.compare(&expected));
        result
    }

    /// The states of a level are visited.
    fn visit(&self, level: &mut Ancestors) -> Result<()> {
        let words = self.run.system.width().words();
        for (state, _) in level.iter() {
            while self.run.visited.table().insert_all(state, 0, |_| {}) * words < state.len() {
                self.run.visited.make_room()?;
            }
        }
        Ok(())
    }
}

/// States of a level, each with its least ancestor in the middle level.
struct Ancestors<'a> {
    words: usize,
    /// States and ancestors by turns.
    records: Stack<'a, u64>,
    /// Words of records that are in order, each state once.
    tidy: usize,
    budget: &'a Budget,
}

impl<'a> Ancestors<'a> {
    fn new(words: usize, budget: &'a Budget) -> Self {
        Ancestors { words, records: Stack::new(budget), tidy: 0, budget }
    }

    fn iter(&self) -> impl Iterator<Item = (&[u64], &[u64])> {
        self.records.chunks_exact(2 * self.words).map(|record| record.split_at(self.words))
    }

    fn add(&mut self, state: &[u64], ancestor: &[u64]) -> Result<()> {
        self.records.extend(state)?;
        self.records.extend(ancestor)?;
        // Twice what is needed at most.
        if self.records.len() > 2 * self.tidy + 2 * self.words * FEW {
            self.tidy()?;
        }
        Ok(())
    }

    /// Puts the records in order and keeps the least of each state.
    fn tidy(&mut self) -> Result<()> {
        let (words, size) = (self.words, 2 * self.words);
        let mut records: Vec<&[u64]> = self.records.chunks_exact(size).collect();
        let bytes = (records.len() * size_of::<&[u64]>()) as u64;
        self.budget.take(bytes)?;
        records.sort_unstable();
        records.dedup_by(|later, earlier| later[..words] == earlier[..words]);
        let mut kept = Stack::new(self.budget);
        let copied = records.iter().try_for_each(|record| kept.extend(record));
        drop(records);
        self.budget.give(bytes);
        copied?;
        self.tidy = kept.len();
        self.records = kept;
        Ok(())
    }
}
