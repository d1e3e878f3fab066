//! What every *just* run does: a formula that knows which leaves take part in a step.
//!
//! A run is just if what is possible at one of its states does not wait for ever while every leaf that it needs stands
//! still: for each vector that is enabled in a state of the run and that the surroundings may not block, some later step
//! (or the vector itself) moves one of its leaves. A finite run is just if nothing is enabled at its end but what may be
//! blocked. Vectors without a common leaf neither enable nor disable each other, so an enabled vector stays enabled until
//! one of its leaves moves. Therefore a just run without a goal step exists from a state exactly if the state is in
//!
//! ```text
//! nu X. for each set L of leaves:  a vector of L is enabled  =>  <(no goal)* . (no goal, moves a leaf of L)>X
//! ```
//!
//! (a run serves the sets in turn), and this is the negation of it, as equations. Invariant: the sets are known before
//! anything is asked ([`Equations::prepare`]).

use super::formula::{Class, Equations, Modality, Position, Tree};
use crate::base::error::{Error, Result};
use crate::model::network::{Network, Outcome, VectorIx};
use crate::model::trace::Trace;
use std::sync::{Arc, OnceLock};

/// Sets of leaves that move together; more are refused.
const MOST_SETS: usize = 4096;

/// A set of steps, as the one-step formula `<A>true`.
pub type Steps = Box<dyn Equations>;

/// The equations of a formula about just runs.
pub struct Just {
    goal: Steps,
    /// After which steps the goal is asked for; without any, at the beginning.
    trigger: Option<Steps>,
    /// What the surroundings may block for ever.
    blocking: Option<Steps>,
    sets: OnceLock<Vec<Vec<u32>>>,
    /// What is asked, for people.
    text: String,
}

/// What matters of a step besides the leaves that it moves.
const GOAL: u32 = 1;
const TRIGGER: u32 = 2;
const BLOCKED: u32 = 4;
/// How many combinations of these there are.
const KINDS: u32 = 8;

/// The whole, and the goal from some state on. What is asked for each set follows.
const WHOLE: Position = Position(0);
const REACHED: Position = Position(1);
const FIRST_SET: u32 = 2;

/// The modalities of the whole: any step, and one after which the goal is asked for. Two for each set follow: that one of its
/// vectors is enabled, and what is asked after steps.
const ANY: Modality = Modality(0);
const AFTER: Modality = Modality(1);

impl Just {
    /// Every just run does a goal step: from the beginning, or after each step of `trigger`. `text` says so for people.
    pub fn new(goal: Steps, trigger: Option<Steps>, blocking: Option<Steps>, text: String) -> Self {
        Just { goal, trigger, blocking, sets: OnceLock::new(), text }
    }

    fn sets(&self) -> Result<&[Vec<u32>]> {
        self.sets
            .get()
            .map(Vec::as_slice)
            .ok_or_else(|| Error::internal("the sets of leaves are not known yet"))
    }

    fn leaves(net: &Network, vector: VectorIx) -> Vec<u32> {
        net.vectors[vector.0 as usize].parts.iter().map(|(leaf, _)| leaf.0).collect()
    }
}

/// Whether a one-step formula means a vector.
fn means(steps: &dyn Equations, net: &Network, vector: VectorIx) -> Result<bool> {
    fn truth(steps: &dyn Equations, tree: &Tree, class: Class) -> Result<bool> {
        Ok(match tree {
            Tree::Const(b) => *b,
            Tree::At(position) => truth(steps, &*steps.unfold(*position)?, class)?,
            Tree::Every(modality) | Tree::Some(modality) => {
                truth(steps, &*steps.after(*modality, class)?, class)?
            }
            Tree::Junction(and, parts) => {
                for part in parts {
                    if truth(steps, part, class)? != *and {
                        return Ok(!and);
                    }
                }
                *and
            }
        })
    }
    truth(steps, &Tree::At(Position(0)), steps.class(net, vector)?)
}

impl Equations for Just {
    fn prepare(&self, net: &Network, complete: bool) -> Result<()> {
        if !complete {
            return Err(Error::input(
                "--fair just needs complete tables, since it asks which processes can take part in a step; the tables of \
                 this specification are filled on demand (a larger --table-limit may help)",
            ));
        }
        let steps = net.vectors.iter().filter(|vector| matches!(vector.outcome, Outcome::Step(_)));
        let mut sets: Vec<Vec<u32>> =
            steps.map(|vector| vector.parts.iter().map(|(leaf, _)| leaf.0).collect()).collect();
        sets.sort_unstable();
        sets.dedup();
        if sets.len() > MOST_SETS {
            return Err(Error::input(format_args!(
                "--fair just: the processes move together in {} different sets; at most {MOST_SETS} are supported",
                sets.len()
            )));
        }
        self.sets.get_or_init(|| sets);
        Ok(())
    }

    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
        let set = self.sets()?.binary_search(&Just::leaves(net, vector));
        let set = set.map_err(|_| Error::internal("a vector has a set of leaves that was not there"))? as u32;
        let mut kind = 0;
        for (steps, bit) in
            [(Some(&self.goal), GOAL), (self.trigger.as_ref(), TRIGGER), (self.blocking.as_ref(), BLOCKED)]
        {
            if let Some(steps) = steps
                && means(&**steps, net, vector)?
            {
                kind |= bit;
            }
        }
        Ok(Class(set * KINDS + kind))
    }

    fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
        Ok(Arc::new(match position {
            WHOLE if self.trigger.is_none() => Tree::At(REACHED),
            WHOLE => Tree::Junction(true, vec![Tree::Every(AFTER), Tree::Every(ANY)]),
            REACHED => Tree::junction(
                false,
                (0..self.sets()?.len() as u32).map(|set| {
                    let enabled = Tree::Some(Modality(FIRST_SET + 2 * set));
                    Tree::Junction(true, vec![enabled, Tree::At(Position(FIRST_SET + set))])
                }),
            ),
            Position(set) => Tree::Every(Modality(FIRST_SET + 2 * (set - FIRST_SET) + 1)),
        }))
    }

    fn after(&self, modality: Modality, Class(class): Class) -> Result<Arc<Tree>> {
        let (moving, kind) = (class / KINDS, class % KINDS);
        let is = |bit: u32| kind & bit != 0;
        Ok(Arc::new(match modality {
            ANY => Tree::At(WHOLE),
            AFTER if is(TRIGGER) => Tree::At(REACHED),
            AFTER => Tree::Const(true),
            Modality(number) => {
                let set = (number - FIRST_SET) / 2;
                if (number - FIRST_SET).is_multiple_of(2) {
                    return Ok(Arc::new(Tree::Const(set == moving && !is(BLOCKED))));
                }
                let sets = self.sets()?;
                let touches = sets[moving as usize].iter().any(|leaf| sets[set as usize].contains(leaf));
                let again = Tree::At(Position(FIRST_SET + set));
                match (is(GOAL), touches) {
                    (true, _) => Tree::Const(true),
                    (false, true) => Tree::Junction(true, vec![again, Tree::At(REACHED)]),
                    (false, false) => again,
                }
            }
        }))
    }

    fn rank(&self, position: Position) -> Option<u32> {
        match position {
            WHOLE => self.trigger.as_ref().map(|_| 2),
            REACHED => Some(1),
            _ => Some(0),
        }
    }

    fn describe(&self, _: Position) -> String {
        format!("'{}'", self.text)
    }

    /// Each set of leaves that a vector is enabled for is served at last.
    fn in_turn(&self, position: Position) -> bool {
        position == REACHED
    }

    fn confirm(&self, net: &Network, run: &Trace, repeats: Option<usize>) -> Result<()> {
        let wrong = |what: &str| Err(Error::internal(format_args!("a run is shown as a just one: {what}")));
        let meant = |steps: &Option<Steps>, vector| match steps {
            Some(steps) => means(&**steps, net, vector),
            None => Ok(false),
        };
        // The goal is asked for at the beginning, or after a step: some time without ever coming.
        let mut waiting = self.trigger.is_none();
        for step in &run.steps {
            waiting &= !means(&*self.goal, net, step.vector)?;
            waiting |= meant(&self.trigger, step.vector)?;
        }
        for step in &run.steps[repeats.unwrap_or(run.len())..] {
            waiting &= !means(&*self.goal, net, step.vector)?;
        }
        if !waiting {
            return wrong("it reaches the goal");
        }
        let (mut served, first) = (vec![false; net.leaves.len()], repeats.unwrap_or(run.len()));
        for step in &run.steps[first..] {
            Just::leaves(net, step.vector).iter().for_each(|leaf| served[*leaf as usize] = true);
        }
        let mut steps = Vec::new();
        for at in first..run.len().max(first + 1) {
            let state = Trace { steps: run.steps[..at].to_vec() }.end(net);
            net.successors(&state, &mut steps);
            for step in steps.drain(..) {
                let waits = !Just::leaves(net, step.vector).iter().any(|leaf| served[*leaf as usize]);
                if waits && !meant(&self.blocking, step.vector)? {
                    return wrong("something waits for ever");
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hash::Map;
    use crate::base::rng::Rng;
    use crate::engine::game::{self, Decision, Evidence, RunEnd};
    use crate::engine::search::Options;
    use crate::model::network::{Label, Local, Step};
    use crate::samples::random::Shape;

    /// `<A>true` for the labels of a mask, taken modulo three.
    struct Labels(u32);

    fn is_in(mask: u32, net: &Network, vector: VectorIx) -> bool {
        matches!(net.vectors[vector.0 as usize].outcome, Outcome::Step(Label(label)) if mask >> (label % 3) & 1 == 1)
    }

    impl Equations for Labels {
        fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
            Ok(Class(u32::from(is_in(self.0, net, vector))))
        }

        fn unfold(&self, _: Position) -> Result<Arc<Tree>> {
            Ok(Arc::new(Tree::Some(Modality(0))))
        }

        fn after(&self, _: Modality, class: Class) -> Result<Arc<Tree>> {
            Ok(Arc::new(Tree::Const(class.0 == 1)))
        }

        fn rank(&self, _: Position) -> Option<u32> {
            None
        }

        fn describe(&self, _: Position) -> String {
            String::new()
        }
    }

    /// Mistakes in the definition that must be noticed.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Mistake {
        None,
        /// Every run counts.
        EveryRun,
        /// What may be blocked counts as what may not.
        NothingBlocked,
        /// A step must move all leaves of what is enabled.
        AllLeaves,
    }

    /// Whether some just run from the states does no goal step: one that ends, or one that repeats in a component in which
    /// each enabled vector is touched. If one is touched by no step of a component, its leaves stand still there, and it is
    /// enabled in all of its cycles: so it is enough to look at whole components.
    fn escapes(
        net: &Network,
        starts: &[usize],
        all: &All,
        goal: u32,
        blocked: u32,
        mistake: Mistake,
    ) -> bool {
        let n = all.steps.len();
        let waits = |vector: VectorIx| mistake == Mistake::NothingBlocked || !is_in(blocked, net, vector);
        let mut reach = vec![vec![false; n]; n];
        for (from, steps) in all.steps.iter().enumerate() {
            for (vector, to) in steps {
                reach[from][*to] |= !is_in(goal, net, *vector);
            }
        }
        for via in 0..n {
            let further = reach[via].clone();
            for row in reach.iter_mut().filter(|row| row[via]) {
                row.iter_mut().zip(&further).for_each(|(reached, more)| *reached |= more);
            }
        }
        let reached = |s: usize| starts.iter().any(|start| *start == s || reach[*start][s]);
        (0..n).filter(|s| reached(*s)).any(|s| {
            let ends = all.steps[s].iter().all(|(vector, _)| !waits(*vector));
            let inside = |t: usize| reach[s][t] && reach[t][s];
            let mut cyclic = false;
            let mut moved = vec![false; net.leaves.len()];
            for t in (0..n).filter(|t| inside(*t)) {
                for (vector, to) in all.steps[t].iter().filter(|(vector, _)| !is_in(goal, net, *vector)) {
                    if inside(*to) {
                        cyclic = true;
                        Just::leaves(net, *vector).iter().for_each(|leaf| moved[*leaf as usize] = true);
                    }
                }
            }
            let touched = |vector: VectorIx| {
                let leaves = Just::leaves(net, vector);
                let moves = |leaf: &u32| moved[*leaf as usize];
                if mistake == Mistake::AllLeaves {
                    leaves.iter().all(moves)
                } else {
                    leaves.iter().any(moves)
                }
            };
            let just = (0..n).filter(|t| inside(*t)).all(|t| {
                all.steps[t]
                    .iter()
                    .all(|(vector, _)| mistake == Mistake::EveryRun || !waits(*vector) || touched(*vector))
            });
            ends || cyclic && just
        })
    }

    /// All states of a network.
    struct All {
        steps: Vec<Vec<(VectorIx, usize)>>,
    }

    impl All {
        fn of(net: &Network) -> Self {
            let mut ids: Map<Vec<Local>, usize> = Map::default();
            let mut states = vec![net.initial()];
            ids.insert(net.initial(), 0);
            let (mut all, mut steps) = (Vec::new(), Vec::new());
            while all.len() < states.len() && states.len() < 200 {
                net.successors(&states[all.len()], &mut steps);
                let here = steps.drain(..).map(|Step { vector, target }| {
                    let fresh = states.len();
                    let to = *ids.entry(target.clone()).or_insert(fresh);
                    if to == fresh {
                        states.push(target);
                    }
                    (vector, to)
                });
                let here = here.collect();
                all.push(here);
            }
            All { steps: all }
        }

        fn is_whole(&self) -> bool {
            self.steps.iter().flatten().all(|(_, to)| *to < self.steps.len())
        }
    }

    /// Whether the run of an evidence is one that the definition calls just, and that does not reach its goal.
    fn shows(net: &Network, evidence: &Evidence, goal: u32, trigger: Option<u32>, blocked: u32) -> bool {
        let vectors: Vec<VectorIx> = evidence.trace.steps.iter().map(|step| step.vector).collect();
        // Of several triggers an earlier one may be meant: some of them has no goal behind it.
        let asked = (0..=vectors.len()).any(|at| {
            let asked_there = match trigger {
                None => at == 0,
                Some(mask) => at > 0 && is_in(mask, net, vectors[at - 1]),
            };
            asked_there && vectors[at..].iter().all(|vector| !is_in(goal, net, *vector))
        });
        let from = match evidence.end {
            RunEnd::Repeats(from) => from,
            _ => vectors.len(),
        };
        let mut states = vec![net.initial()];
        states.extend(evidence.trace.steps.iter().map(|step| step.target.clone()));
        let moved: Vec<u32> = vectors[from..].iter().flat_map(|vector| Just::leaves(net, *vector)).collect();
        let mut steps = Vec::new();
        let just = states[from..].iter().all(|state| {
            net.successors(state, &mut steps);
            steps.drain(..).all(|step| {
                is_in(blocked, net, step.vector)
                    || Just::leaves(net, step.vector).iter().any(|leaf| moved.contains(leaf))
            })
        });
        asked && just && (from == vectors.len() || states[from] == states[vectors.len()])
    }

    /// How many of the random networks have another verdict than the definition says, and how many verdicts there are.
    fn compare(seeds: u64, mistake: Mistake) -> (usize, [usize; 2]) {
        let mut rng = Rng::new(31);
        let (mut wrong, mut verdicts) = (0, [0; 2]);
        for seed in 0..seeds {
            let net = Shape { states: 4, ..Shape::default() }.network(seed);
            let all = All::of(&net);
            let (goal, blocked, trigger) = (1 << rng.below(3), rng.below(8) as u32, rng.below(8) as u32);
            if !all.is_whole() {
                continue;
            }
            let after = rng.below(2) == 0;
            let mut starts = vec![0];
            if after {
                let targets = all.steps.iter().flatten().filter(|(vector, _)| is_in(trigger, &net, *vector));
                starts = targets.map(|(_, to)| *to).collect();
            }
            let expected = !escapes(&net, &starts, &all, goal, blocked, mistake);
            let just = Just::new(
                Box::new(Labels(goal)),
                after.then(|| Box::new(Labels(trigger)) as Steps),
                (blocked > 0).then(|| Box::new(Labels(blocked)) as Steps),
                String::new(),
            );
            let decided = game::decide(&net, &just, &Options::default()).expect("complete tables");
            wrong += usize::from((decided.answer == Decision::Holds) != expected);
            if decided.answer == Decision::Violated {
                let evidence = decided.evidence.expect("small enough");
                assert_ne!(evidence.end, RunEnd::Branches, "seed {seed}: a run is shown");
                assert!(
                    shows(&net, &evidence, goal, after.then_some(trigger), blocked),
                    "seed {seed}: {evidence:?}"
                );
            }
            verdicts[usize::from(expected)] += 1;
        }
        (wrong, verdicts)
    }

    #[test]
    fn justness_is_what_its_definition_says() {
        let seeds = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 8000 } else { 1200 };
        let (wrong, verdicts) = compare(seeds, Mistake::None);
        assert_eq!(wrong, 0);
        assert!(verdicts.iter().all(|n| *n > seeds as usize / 20), "{verdicts:?}");
    }

    #[test]
    fn other_definitions_are_told_apart() {
        for mistake in [Mistake::EveryRun, Mistake::NothingBlocked, Mistake::AllLeaves] {
            assert!(compare(600, mistake).0 > 0, "{mistake:?}");
        }
    }

    #[test]
    fn tables_on_demand_are_refused() {
        let net = Shape::default().network(1);
        let just = Just::new(Box::new(Labels(1)), None, None, String::new());
        assert!(just.prepare(&net, false).is_err());
    }
}
