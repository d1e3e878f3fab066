//! Runs that violate formulas: each is proved by other code, and there is one exactly if the formula does not hold.

use super::*;
use gridlock_lts::base::error::Result;
use gridlock_lts::engine::game::live::{Ending, certify, shape};
use gridlock_lts::engine::game::{Evidence, RunEnd};
use gridlock_lts::model::network::{Label, Outcome, Step};
use gridlock_lts::model::trace::Trace;
use gridlock_lts::property::formula::{Class, Equations, Modality, Position, Tree};

/// Steps are told apart by the number of their label modulo this.
const CLASSES: u32 = 3;

/// The formulas that the flags stand for. Steps of class 0 are those that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    /// Every run does a step of class 0.
    Inevitable,
    /// After each step of class 1 every run does one of class 0.
    Response,
    /// No run does steps of class 0 for ever.
    NoLivelock,
    /// After every run a step of class 0 can still be done.
    AlwaysPossible,
    /// The same, after each step of class 1 and until one of class 0.
    FairResponse,
}

const ALL: [Asked; 5] =
    [Asked::Inevitable, Asked::Response, Asked::NoLivelock, Asked::AlwaysPossible, Asked::FairResponse];

/// Positions: 0 begins, 1 comes after a step that matters, 2 is what is asked for there.
impl Equations for Asked {
    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
        match net.vectors[vector.0 as usize].outcome {
            Outcome::Step(Label(label)) => Ok(Class(label % CLASSES)),
            Outcome::Fault(_) => unreachable!("no faults in these networks"),
        }
    }

    fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
        let every = |k| Tree::Every(Modality(k));
        let some = |k| Tree::Some(Modality(k));
        let at = |k| Tree::At(Position(k));
        Ok(Arc::new(match (self, position.0) {
            (Asked::Inevitable, _) | (Asked::Response, 1) => Tree::junction(true, [every(1), some(9)]),
            (Asked::Response | Asked::FairResponse, 0) => every(0),
            (Asked::NoLivelock, 0) => Tree::junction(true, [every(0), at(1)]),
            (Asked::NoLivelock, _) => every(1),
            (Asked::AlwaysPossible, 0) => Tree::junction(true, [every(0), at(2)]),
            (Asked::FairResponse, 1) => Tree::junction(true, [every(1), at(2)]),
            (Asked::AlwaysPossible | Asked::FairResponse | Asked::Response, _) => some(2),
        }))
    }

    fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
        let at = |k| Tree::At(Position(k));
        let begin = if *self == Asked::Inevitable { 0 } else { 1 };
        Ok(Arc::new(match (self, modality.0, class.0) {
            (_, 9, _) => Tree::Const(true),
            (Asked::Response | Asked::FairResponse, 0, 1) => Tree::junction(true, [at(0), at(1)]),
            (_, 0, _) => at(0),
            (Asked::NoLivelock, 1, 0) => at(1),
            (Asked::NoLivelock, 1, _) | (_, _, 0) => Tree::Const(true),
            (_, 1, _) => at(begin),
            _ => at(2),
        }))
    }

    fn rank(&self, position: Position) -> Option<u32> {
        match (self, position.0) {
            (Asked::Inevitable, _) => Some(1),
            (_, 0) => Some(4),
            (Asked::FairResponse, 1) => Some(2),
            _ => Some(1),
        }
    }

    fn describe(&self, position: Position) -> String {
        format!("{self:?} {}", position.0)
    }
}

/// All reachable states with their steps: classes and numbers of targets. State 0 is the initial one.
fn graph(net: &Network) -> Vec<Vec<(u32, usize)>> {
    let mut ids = BTreeMap::from([(net.initial(), 0)]);
    let (mut states, mut all, mut steps) = (vec![net.initial()], Vec::new(), Vec::new());
    while let Some(state) = states.get(all.len()).cloned() {
        net.successors(&state, &mut steps);
        let mut moves = Vec::new();
        for Step { vector, target } in &steps {
            let class = Asked::Inevitable.class(net, *vector).unwrap().0;
            let fresh = states.len();
            let to = *ids.entry(target.clone()).or_insert(fresh);
            if to == fresh {
                states.push(target.clone());
            }
            moves.push((class, to));
        }
        all.push(moves);
    }
    all
}

/// Whether a formula holds, straight from what it means.
fn holds(asked: Asked, graph: &[Vec<(u32, usize)>]) -> bool {
    let n = graph.len();
    // The states that make a condition true, from those that do so at once to all that only lead there.
    let grow = |mut good: Vec<bool>, more: &dyn Fn(&[bool], usize) -> bool| loop {
        let next: Vec<bool> = (0..n).map(|s| good[s] || more(&good, s)).collect();
        if next == good {
            return good;
        }
        good = next;
    };
    let none = vec![false; n];
    let inevitable = grow(none.clone(), &|good, s| {
        !graph[s].is_empty() && graph[s].iter().all(|(class, to)| *class == 0 || good[*to])
    });
    let possible = grow(none.clone(), &|good, s| graph[s].iter().any(|(class, to)| *class == 0 || good[*to]));
    let ends = grow(none, &|good, s| graph[s].iter().all(|(class, to)| *class != 0 || good[*to]));
    let after_1 = |s: usize| graph[s].iter().filter(|step| step.0 == 1).map(|step| step.1);
    match asked {
        Asked::Inevitable => inevitable[0],
        Asked::Response => (0..n).all(|s| after_1(s).all(|to| inevitable[to])),
        Asked::NoLivelock => ends.iter().all(|good| *good),
        Asked::AlwaysPossible => possible.iter().all(|good| *good),
        Asked::FairResponse => {
            let mut pending = vec![false; n];
            (0..n).flat_map(after_1).for_each(|to| pending[to] = true);
            let reached = |pending: &[bool], s: usize| {
                (0..n).any(|from| pending[from] && graph[from].iter().any(|step| step.0 != 0 && step.1 == s))
            };
            let pending = grow(pending, &reached);
            (0..n).all(|s| !pending[s] || possible[s])
        }
    }
}

fn network(seed: u64) -> Network {
    Shape { acyclic: seed.is_multiple_of(7), faults: 0, ..Shape::default() }.network(seed)
}

fn trace(prepared: &Prepared, path: &[(u32, Vec<u64>)]) -> Trace {
    let step = |(vector, target): &(u32, Vec<u64>)| {
        let mut target = prepared.packing().unpack(target);
        target.truncate(prepared.net().leaves.len());
        Step { vector: VectorIx(*vector), target }
    };
    Trace { steps: path.iter().map(step).collect() }
}

fn is_run(net: &Network, trace: &Trace) -> bool {
    let (mut state, mut steps) = (net.initial(), Vec::new());
    trace.steps.iter().all(|step| {
        net.successors(&state, &mut steps);
        state = step.target.clone();
        steps.contains(step)
    })
}

fn prove(prepared: &Prepared, asked: Asked, found: &HuntFinding) -> Result<Evidence> {
    let ending = found.ending.expect("a run");
    certify(prepared.net(), &asked, &trace(prepared, &found.finding.path), ending)
}

/// Hunts one network for one formula; how many findings of each kind, and traps that walks have missed.
fn hunt(seed: u64, asked: Asked) -> [usize; 4] {
    let net = network(seed);
    let graph = graph(&net);
    let holds = holds(asked, &graph);
    let Some(shape) = shape(&net, &asked).unwrap() else {
        // No step is of a class that matters, or a trap would be the whole system.
        assert!(holds || asked.has_traps(), "{asked:?} seed {seed} can be hunted");
        return [0; 4];
    };
    let prepared = Prepared::new(net, [Property::Formula(Box::new(asked))]);
    let mut kinds = [0; 4];
    with_hunter(&prepared, None, |run| {
        let lasso = Method::Lasso { property: 0, depth: u32::MAX };
        let trap = Method::Trap { property: 0, length: 40, pairs: 5_000 };
        for (method, suits) in [(lasso, shape.run), (trap, shape.trap)] {
            let exact = suits && matches!(method, Method::Lasso { .. });
            let mut job = job(method, seed);
            job.limits.states = 20_000;
            let (feedback, _) = run(&job);
            let at = format!("{asked:?} seed {seed}: {:?}", job.method);
            assert!(!matches!(feedback.end, HuntEnd::Failed(_)), "{at}: {:?}", feedback.end);
            assert!(feedback.findings.is_empty() || !holds, "{at}: it holds");
            assert_eq!(feedback, run(&job).0, "{at}: the same job, the same feedback");
            if suits && !holds && feedback.findings.is_empty() {
                assert!(!exact, "{at}: it does not hold");
                kinds[3] += 1;
            }
            for found in &feedback.findings {
                let evidence = prove(&prepared, asked, found).unwrap_or_else(|why| panic!("{at}: {why}"));
                let steps = found.finding.path.len();
                assert!(found.found_steps >= steps as u64, "{at}");
                let kind = match found.ending.expect("a run") {
                    Ending::Decides => 0,
                    Ending::Repeats(from) => {
                        // A run that goes round in a trap is told up to its critical step.
                        let trapped = shape.trap && evidence.end == RunEnd::Branches;
                        assert!(
                            trapped || matches!(evidence.end, RunEnd::Repeats(_) | RunEnd::Decides),
                            "{at}"
                        );
                        assert!((from as usize) < steps, "{at}");
                        1
                    }
                    Ending::Trap => {
                        assert_eq!(evidence.end, RunEnd::Branches, "{at}");
                        assert!(evidence.trace.len() <= steps, "{at}");
                        // The last step is the critical one.
                        if let Some((_, before)) = found.finding.path.split_last().filter(|_| shape.trap) {
                            let path = trace(&prepared, before);
                            assert!(certify(prepared.net(), &asked, &path, Ending::Trap).is_err(), "{at}");
                        }
                        2
                    }
                };
                kinds[kind] += 1;
            }
        }
    });
    kinds
}

#[test]
fn runs_are_found_exactly_if_there_are_any() {
    let many = std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1");
    let mut kinds = [0; 4];
    for seed in 0..if many { 200 } else { 150 } {
        for asked in ALL {
            let more = hunt(seed, asked);
            kinds = std::array::from_fn(|k| kinds[k] + more[k]);
        }
    }
    let [found @ .., missed] = kinds;
    assert!(found.iter().all(|n| *n > 20) && missed * 50 < found[2], "{kinds:?}");
}

/// A finding with one thing changed is not proved.
#[test]
fn a_run_that_shows_nothing_is_not_proved() {
    let (mut open, mut short) = (0, 0);
    for (seed, asked) in (0..150).flat_map(|seed| ALL.map(|asked| (seed, asked))) {
        let prepared = Prepared::new(network(seed), [Property::Formula(Box::new(asked))]);
        with_hunter(&prepared, None, |run| {
            let (feedback, _) = run(&job(Method::Lasso { property: 0, depth: u32::MAX }, seed));
            for found in &feedback.findings {
                let Some(Ending::Repeats(from)) = found.ending else { continue };
                let run = trace(&prepared, &found.finding.path);
                let states: Vec<_> = (0..=run.len())
                    .map(|n| Trace { steps: run.steps[..n].to_vec() }.end(prepared.net()))
                    .collect();
                let prove = |run: &Trace, from| certify(prepared.net(), &asked, run, Ending::Repeats(from));
                // It does not close there.
                for other in (0..run.len()).filter(|k| states[*k] != states[run.len()]) {
                    assert!(prove(&run, other as u32).is_err(), "{asked:?} seed {seed}");
                    open += 1;
                }
                // A step is missing.
                if run.len() > from as usize + 1 {
                    let mut less = run.clone();
                    less.steps.remove(from as usize);
                    // What is left may go round by another way, which is a run then.
                    match prove(&less, from) {
                        Ok(proved) => assert!(is_run(prepared.net(), &proved.trace), "{asked:?} seed {seed}"),
                        Err(_) => short += 1,
                    }
                }
            }
        });
    }
    assert!(open > 20 && short > 5, "too easy: {open} {short}");
}

impl Asked {
    fn has_traps(self) -> bool {
        matches!(self, Asked::AlwaysPossible | Asked::FairResponse)
    }
}

/// Formulas that need a game, or the whole system, are left to other searches.
#[test]
fn formulas_that_take_a_game_have_no_shape() {
    /// `nu X. <true>X`, `mu X. <0>true || <true>X` at the beginning, and `nu X. [true]X && mu Y. <true>([1]Y)`.
    struct Other(u32);
    impl Equations for Other {
        fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
            Asked::Inevitable.class(net, vector)
        }
        fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
            Ok(Arc::new(match (self.0, position.0) {
                (2, 0) => Tree::junction(true, [Tree::Every(Modality(0)), Tree::At(Position(1))]),
                (2, 2) => Tree::Every(Modality(2)),
                _ => Tree::Some(Modality(1)),
            }))
        }
        fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
            Ok(Arc::new(match (self.0, modality.0, class.0) {
                (1, _, 0) => Tree::Const(true),
                (2, 1, _) => Tree::At(Position(2)),
                (2, 2, 1) => Tree::At(Position(1)),
                (2, 2, _) => Tree::Const(true),
                _ => Tree::At(Position(0)),
            }))
        }
        fn rank(&self, position: Position) -> Option<u32> {
            [Some(2), Some(1), [Some(2), Some(1), None][position.0 as usize]][self.0 as usize]
        }
        fn describe(&self, position: Position) -> String {
            position.0.to_string()
        }
    }
    let net = (0..).map(network).find(|net| graph(net).iter().flatten().any(|step| step.0 == 1)).unwrap();
    for other in 0..3 {
        assert_eq!(shape(&net, &Other(other)).unwrap(), None, "{other}");
    }
    for asked in ALL {
        let shape = shape(&net, &asked).unwrap().expect("a shape");
        assert_eq!((shape.run, shape.trap), (!asked.has_traps(), asked.has_traps()), "{asked:?}");
    }
}
