//! Random networks and formulas against iteration straight from the meaning of the operators.

mod ranks;

use super::*;
use crate::base::rng::Rng;
use crate::engine::search::sweep::Truths;
use crate::model::network::{Label, Local, Outcome, VectorIx};
use crate::property::formula::{Modality, Position, Tree};
use crate::samples::random::{Reveal, Shape};

/// A formula without data. Steps are told apart by the number of their label modulo [`CLASSES`].
#[derive(Clone, Debug)]
enum Formula {
    Const(bool),
    Junction(bool, Vec<Formula>),
    /// Every (`true`) or some step of one of these classes.
    Modal(bool, u32, Box<Formula>),
    /// A greatest (`true`) or least fixed point; its variable is its depth.
    Fix(bool, usize, Box<Formula>),
    Var(usize),
}

const CLASSES: u32 = 3;

fn class(net: &Network, vector: VectorIx) -> Class {
    match net.vectors[vector.0 as usize].outcome {
        Outcome::Step(Label(label)) => Class(label % CLASSES),
        Outcome::Fault(_) => unreachable!("no faults in these networks"),
    }
}

fn random(rng: &mut Rng, depth: usize, vars: usize) -> Formula {
    let more = |rng: &mut Rng, vars| Box::new(random(rng, depth - 1, vars));
    match rng.below(if depth == 0 { 3 } else { 12 }) {
        0 => Formula::Const(rng.below(2) == 0),
        1 | 2 if vars > 0 => Formula::Var(rng.below(vars)),
        1 | 2 => Formula::Const(rng.below(2) == 0),
        3..=5 => {
            let and = rng.below(2) == 0;
            Formula::Junction(and, (0..1 + rng.below(3)).map(|_| *more(rng, vars)).collect())
        }
        6..=8 => {
            let (every, mask) = (rng.below(2) == 0, 1 + rng.below((1 << CLASSES) - 1) as u32);
            Formula::Modal(every, mask, more(rng, vars))
        }
        _ => Formula::Fix(rng.below(2) == 0, vars, more(rng, vars + 1)),
    }
}

impl Formula {
    /// A formula with at least one fixed point.
    fn random(rng: &mut Rng) -> Formula {
        let body = random(rng, 5, 2);
        let inner = Formula::Fix(rng.below(2) == 0, 1, Box::new(body));
        Formula::Fix(rng.below(2) == 0, 0, Box::new(inner))
    }

    fn negated(&self) -> Formula {
        let all = |fs: &[Formula]| fs.iter().map(Formula::negated).collect();
        match self {
            Formula::Const(b) => Formula::Const(!b),
            Formula::Junction(and, fs) => Formula::Junction(!and, all(fs)),
            Formula::Modal(every, mask, f) => Formula::Modal(!every, *mask, Box::new(f.negated())),
            Formula::Fix(greatest, var, f) => Formula::Fix(!greatest, *var, Box::new(f.negated())),
            Formula::Var(var) => Formula::Var(*var),
        }
    }
}

/// The states in which a formula holds, by iteration.
fn kleene(f: &Formula, moves: &[Vec<(Class, usize)>], vars: &mut Vec<Vec<bool>>) -> Vec<bool> {
    match f {
        Formula::Const(b) => vec![*b; moves.len()],
        Formula::Var(var) => vars[*var].clone(),
        Formula::Junction(and, fs) => fs.iter().fold(vec![*and; moves.len()], |all, f| {
            let these = kleene(f, moves, vars);
            all.iter().zip(these).map(|(a, b)| if *and { *a && b } else { *a || b }).collect()
        }),
        Formula::Modal(every, mask, f) => {
            let inside = kleene(f, moves, vars);
            let matching = |state: usize| {
                let mine = moves[state].iter().filter(|(class, _)| mask >> class.0 & 1 == 1);
                mine.map(|(_, to)| inside[*to]).collect::<Vec<_>>()
            };
            let holds = |state| {
                let after = matching(state);
                if *every { after.iter().all(|b| *b) } else { after.iter().any(|b| *b) }
            };
            (0..moves.len()).map(holds).collect()
        }
        Formula::Fix(greatest, var, f) => {
            vars.truncate(*var);
            vars.push(vec![*greatest; moves.len()]);
            loop {
                let next = kleene(f, moves, vars);
                vars.truncate(var + 1);
                if next == vars[*var] {
                    return next;
                }
                vars[*var] = next;
            }
        }
    }
}

/// Deliberate mistakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mistake {
    None,
    /// Ranks are one too large.
    Ranks,
    /// Inner fixed points have the greater ranks.
    Inside,
    /// A box of no steps does not hold.
    NoSteps,
    /// A fixed point has no rank.
    NoRank,
}

/// The equations of a formula: its parts are numbered in preorder.
struct Parts {
    all: Vec<Part>,
    mistake: Mistake,
}

struct Part {
    formula: Formula,
    children: Vec<u32>,
    rank: Option<u32>,
}

impl Parts {
    fn new(formula: &Formula, mistake: Mistake) -> Self {
        let mut parts = Parts { all: Vec::new(), mistake };
        parts.add(formula, &mut Vec::new());
        parts
    }

    fn add(&mut self, formula: &Formula, scope: &mut Vec<u32>) -> (u32, u32) {
        let id = self.all.len() as u32;
        self.all.push(Part { formula: formula.clone(), children: Vec::new(), rank: None });
        let mut greatest = 0;
        let children: Vec<u32> = match formula {
            Formula::Const(_) => Vec::new(),
            Formula::Var(var) => vec![scope[*var]],
            Formula::Junction(_, fs) => fs
                .iter()
                .map(|f| {
                    let (id, rank) = self.add(f, scope);
                    greatest = greatest.max(rank);
                    id
                })
                .collect(),
            Formula::Modal(_, _, f) => {
                let (id, rank) = self.add(f, scope);
                greatest = rank;
                vec![id]
            }
            Formula::Fix(is_greatest, _, f) => {
                scope.push(id);
                let (child, rank) = self.add(f, scope);
                scope.pop();
                let least = u32::from(!is_greatest);
                greatest = if rank % 2 == least { rank } else { rank + 1 };
                self.all[id as usize].rank = match self.mistake {
                    Mistake::Ranks => Some(greatest + 1),
                    Mistake::Inside => Some(2 * (scope.len() as u32) + least),
                    Mistake::NoRank if scope.is_empty() => None,
                    _ => Some(greatest),
                };
                vec![child]
            }
        };
        self.all[id as usize].children = children;
        (id, greatest)
    }
}

impl Equations for Parts {
    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
        Ok(class(net, vector))
    }

    fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
        let part = &self.all[position.0 as usize];
        let children = part.children.iter().map(|child| Tree::At(Position(*child)));
        Ok(Arc::new(match &part.formula {
            Formula::Const(b) => Tree::Const(*b),
            Formula::Junction(and, _) => Tree::junction(*and, children),
            Formula::Modal(true, ..) if self.mistake == Mistake::NoSteps => {
                let modality = Modality(position.0);
                Tree::Junction(true, vec![Tree::Every(modality), Tree::Some(modality)])
            }
            Formula::Modal(true, ..) => Tree::Every(Modality(position.0)),
            Formula::Modal(false, ..) => Tree::Some(Modality(position.0)),
            Formula::Fix(..) | Formula::Var(_) => Tree::junction(true, children),
        }))
    }

    fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
        let part = &self.all[modality.0 as usize];
        let Formula::Modal(every, mask, _) = part.formula else { unreachable!("a modality") };
        let there = Tree::At(Position(part.children[0]));
        Ok(Arc::new(if mask >> class.0 & 1 == 1 { there } else { Tree::Const(every) }))
    }

    fn rank(&self, position: Position) -> Option<u32> {
        self.all[position.0 as usize].rank
    }

    fn describe(&self, position: Position) -> String {
        format!("{:?}", self.all[position.0 as usize].formula)
    }
}

/// The same with whole trees between fixed points, as formulas that are read have them: fewer positions, and fixed points that
/// are about themselves only.
struct Inlined(Parts);

impl Inlined {
    /// A part where only positions may stand.
    fn place(&self, at: u32) -> Tree {
        let part = &self.0.all[at as usize];
        match &part.formula {
            Formula::Const(b) => Tree::Const(*b),
            Formula::Var(_) => Tree::At(Position(part.children[0])),
            Formula::Junction(..) | Formula::Modal(..) | Formula::Fix(..) => Tree::At(Position(at)),
        }
    }

    fn tree(&self, at: u32) -> Tree {
        let part = &self.0.all[at as usize];
        match &part.formula {
            Formula::Junction(and, _) => {
                Tree::junction(*and, part.children.iter().map(|child| self.tree(*child)))
            }
            Formula::Modal(true, ..) => Tree::Every(Modality(at)),
            Formula::Modal(false, ..) => Tree::Some(Modality(at)),
            Formula::Const(_) | Formula::Var(_) | Formula::Fix(..) => self.place(at),
        }
    }
}

impl Equations for Inlined {
    fn class(&self, net: &Network, vector: VectorIx) -> Result<Class> {
        self.0.class(net, vector)
    }

    fn unfold(&self, position: Position) -> Result<Arc<Tree>> {
        let part = &self.0.all[position.0 as usize];
        Ok(Arc::new(match &part.formula {
            Formula::Fix(..) => self.tree(part.children[0]),
            _ => self.tree(position.0),
        }))
    }

    fn after(&self, modality: Modality, class: Class) -> Result<Arc<Tree>> {
        let part = &self.0.all[modality.0 as usize];
        let Formula::Modal(every, mask, _) = part.formula else { unreachable!("a modality") };
        let there = self.place(part.children[0]);
        Ok(Arc::new(if mask >> class.0 & 1 == 1 { there } else { Tree::Const(every) }))
    }

    fn rank(&self, position: Position) -> Option<u32> {
        self.0.rank(position)
    }

    fn describe(&self, position: Position) -> String {
        self.0.describe(position)
    }
}

/// The states of a network and their steps as formulas see them.
fn moves(net: &Network) -> Vec<Vec<(Class, usize)>> {
    let mut ids: Map<Vec<Local>, usize> = Map::default();
    let mut states = vec![net.initial()];
    ids.insert(net.initial(), 0);
    let (mut moves, mut steps) = (Vec::new(), Vec::new());
    while moves.len() < states.len() {
        let state = states[moves.len()].clone();
        net.successors(&state, &mut steps);
        let here = steps.drain(..).map(|step| {
            let fresh = states.len();
            let to = *ids.entry(step.target.clone()).or_insert(fresh);
            if to == fresh {
                states.push(step.target);
            }
            (class(net, step.vector), to)
        });
        let here = here.collect();
        moves.push(here);
    }
    moves
}

fn answer(net: &Network, formula: &Formula, mistake: Mistake) -> Result<Decided> {
    decide(net, &Parts::new(formula, mistake), &Options::default())
}

#[test]
fn games_agree_with_iteration() {
    let mut rng = Rng::new(20);
    let (mut verdicts, mut ends, mut longest) = ([0; 2], [0; 3], 0);
    for seed in 0..2500 {
        let net = Shape::default().network(seed);
        let moves = moves(&net);
        if moves.len() > 300 {
            continue;
        }
        for _ in 0..2 {
            let formula = Formula::random(&mut rng);
            let expected = kleene(&formula, &moves, &mut Vec::new())[0];
            let decided = answer(&net, &formula, Mistake::None).expect("no data, no errors");
            let holds = if expected { Decision::Holds } else { Decision::Violated };
            assert_eq!(decided.answer, holds, "seed {seed}: {formula:?}");
            let opposite = answer(&net, &formula.negated(), Mistake::None).expect("no data, no errors");
            assert_ne!(decided.answer, opposite.answer, "seed {seed}: {formula:?}");
            verdicts[usize::from(expected)] += 1;
            let evidence = decided.evidence.expect("small games are checked");
            longest = longest.max(evidence.trace.len());
            ends[match evidence.end {
                RunEnd::Repeats(_) => 0,
                RunEnd::Decides => 1,
                RunEnd::Branches => 2,
            }] += 1;
            let (grown, source) = Reveal::new(net.clone());
            let lazy = Lazy::new(grown, Box::new(source), &[]).expect("a network");
            let parts = Parts::new(&formula, Mistake::None);
            let lazily = decide_on_demand(&lazy, &parts, &Options::default()).expect("no errors");
            assert_eq!(lazily.answer, decided.answer, "seed {seed}: {formula:?}");
        }
    }
    assert!(verdicts.iter().all(|n| *n > 500), "{verdicts:?}");
    assert!(ends.iter().all(|n| *n > 20), "{ends:?}");
    assert!((3..60).contains(&longest), "{longest}");
}

#[test]
fn deliberate_mistakes_are_noticed() {
    for mistake in [Mistake::Ranks, Mistake::Inside, Mistake::NoSteps, Mistake::NoRank] {
        let mut rng = Rng::new(21);
        let noticed = (0..600).any(|seed| {
            let net = Shape::default().network(seed);
            let moves = moves(&net);
            let formula = Formula::random(&mut rng);
            let expected = kleene(&formula, &moves, &mut Vec::new())[0];
            let got = answer(&net, &formula, mistake).map(|decided| decided.answer == Decision::Holds);
            got != Ok(expected)
        });
        assert!(noticed, "{mistake:?}");
    }
}

/// A wrong solution does not pass for a right one.
#[test]
fn certificates_of_the_wrong_answer_are_refused() {
    let mut rng = Rng::new(22);
    let mut refused = 0;
    for seed in 0..300 {
        let net = Shape::default().network(seed);
        let formula = Formula::random(&mut rng);
        let parts = Parts::new(&formula, Mistake::None);
        let Instrumented { network, alarms } = property::instrument(&net, &[]);
        struct Forging<'a>(&'a Network, &'a Parts);
        impl Visitor for Forging<'_> {
            type Out = bool;
            fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> bool {
                let mut game = Game::new(&*system, self.1, None, Order::Breadth).expect("an initial vertex");
                let mut class = |via: Via| Ok(class(self.0, via.vector()));
                while !game.is_complete() {
                    assert!(game.expand(&mut class).is_ok());
                }
                let mut solution =
                    solve::solve(&game.graph, Player::All, &|| Ok(())).expect("nobody stops it");
                for vertex in 0..game.graph.len() {
                    // Everybody is said to lose, and goes to any successor.
                    solution.winner[vertex] = solution.winner[vertex].other();
                    let to = game.graph.edges(vertex as u32).first();
                    solution.choice[vertex] = to.copied().unwrap_or(graph::TRUE);
                }
                let leaves = self.0.leaves.len();
                let forged =
                    Certificate::of(&game, &solution, &Map::default(), system.packing(), leaves, usize::MAX);
                certificate::check(self.0, self.1, &forged.expect("not too large")).is_err()
            }
        }
        let packing = Packing::for_network(&network);
        let noticed = prepared::visit(&network, packing, alarms, Forging(&net, &parts)).expect("compiles");
        assert!(noticed, "seed {seed}: {formula:?}");
        refused += 1;
    }
    assert_eq!(refused, 300);
}

/// Listens to sweeps: whether it was told that the formula does not hold.
#[derive(Default)]
struct Listens(bool);

impl Audience for Listens {
    fn has_enough(&mut self, _: u64) -> bool {
        false
    }

    fn hear(&mut self, truths: &dyn Truths) -> Result<()> {
        self.0 = !truths.holds();
        Ok(())
    }
}

/// The answer of sweeps, if the formula is for them.
fn swept(net: &Network, parts: &dyn Equations, workers: usize) -> Option<bool> {
    struct Sweeping<'a>(&'a Network, &'a dyn Equations, usize);
    impl Visitor for Sweeping<'_> {
        type Out = Option<bool>;
        fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Option<bool> {
            let options = Options { workers: self.2, ..Options::default() };
            let mut audience = Listens::default();
            let swept = sweep::decide(&*system, self.0, self.1, &options, &mut audience).expect("no limits");
            let swept = swept.map(|swept| swept.holds);
            assert_eq!(audience.0, swept == Some(false), "the audience hears of what does not hold");
            swept
        }
    }
    let Instrumented { network, alarms } = property::instrument(net, &[]);
    let packing = Packing::for_network(&network);
    prepared::visit(&network, packing, alarms, Sweeping(net, parts, workers)).expect("compiles")
}

/// The same on tables that are filled as needed.
fn swept_on_demand(net: &Network, parts: &dyn Equations, workers: usize) -> Option<bool> {
    let (grown, source) = Reveal::new(net.clone());
    let lazy = Lazy::new(grown, Box::new(source), &[]).expect("a network");
    let options = Options { workers, ..Options::default() };
    let swept = sweep::decide(&lazy, &lazy, parts, &options, &mut Listens::default()).expect("no limits");
    swept.map(|swept| swept.holds)
}

/// `[true*]<true*.P>true`, `P` is inevitable, and what random formulas have without alternation.
fn without_alternation(rng: &mut Rng) -> Formula {
    let fix = |greatest, var, body| Formula::Fix(greatest, var, Box::new(body));
    let modal = |every, mask, f| Formula::Modal(every, mask, Box::new(f));
    let goal = 1 + rng.below((1 << CLASSES) - 2) as u32;
    let (all, others) = ((1 << CLASSES) - 1, ((1 << CLASSES) - 1) & !goal);
    let or = |f, g| Formula::Junction(false, vec![f, g]);
    let and = |f, g| Formula::Junction(true, vec![f, g]);
    match rng.below(6) {
        0 => {
            let possible = fix(
                false,
                1,
                or(modal(false, goal, Formula::Const(true)), modal(false, all, Formula::Var(1))),
            );
            fix(true, 0, and(possible, modal(true, all, Formula::Var(0))))
        }
        1 => {
            let not_stuck = modal(false, all, Formula::Const(true));
            fix(false, 0, and(not_stuck, modal(true, others, Formula::Var(0))))
        }
        2 => {
            let not_stuck = modal(false, all, Formula::Const(true));
            let inevitable = fix(false, 1, and(not_stuck, modal(true, others, Formula::Var(1))));
            fix(true, 0, and(modal(true, goal, inevitable), modal(true, all, Formula::Var(0))))
        }
        _ => Formula::random(rng),
    }
}

#[test]
fn sweeps_agree_with_iteration() {
    let mut rng = Rng::new(23);
    let (mut verdicts, mut on_demand) = ([0; 2], 0);
    let count = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 20_000 } else { 2000 };
    for seed in 0..count {
        let net = Shape::default().network(seed);
        let moves = moves(&net);
        if moves.len() > 300 {
            continue;
        }
        let formula = without_alternation(&mut rng);
        let expected = kleene(&formula, &moves, &mut Vec::new())[0];
        let parts = Parts::new(&formula, Mistake::None);
        let inlined = Inlined(Parts::new(&formula, Mistake::None));
        for (parts, workers) in
            [(&parts as &dyn Equations, 1), (&parts, 3), (&inlined, 1), (&inlined, 2), (&inlined, 8)]
        {
            let Some(holds) = swept(&net, parts, workers) else { continue };
            assert_eq!(holds, expected, "seed {seed}, {workers} workers: {formula:?}");
            verdicts[usize::from(expected)] += 1;
        }
        for workers in [1, 3] {
            let lazily = swept_on_demand(&net, &inlined, workers);
            assert!(lazily.is_none_or(|holds| holds == expected), "seed {seed}: {formula:?}");
            on_demand += usize::from(lazily.is_some());
        }
        let decided = decide(&net, &inlined, &Options::default()).expect("no data, no errors");
        assert_eq!(decided.answer == Decision::Holds, expected, "seed {seed}: {formula:?}");
    }
    assert!(verdicts.iter().all(|n| *n > count / 4), "{verdicts:?}");
    assert!(on_demand as u64 > count / 2, "{on_demand}");
}

#[test]
fn mistakes_of_sweeps_are_noticed() {
    for mistake in [Mistake::Ranks, Mistake::NoSteps] {
        let mut rng = Rng::new(24);
        let noticed = (0..600).any(|seed| {
            let net = Shape::default().network(seed);
            let formula = without_alternation(&mut rng);
            let expected = kleene(&formula, &moves(&net), &mut Vec::new())[0];
            swept(&net, &Parts::new(&formula, mistake), 1).is_some_and(|holds| holds != expected)
        });
        assert!(noticed, "{mistake:?}");
    }
}

/// Games that are set aside for sweeps and for games depth first: answer, evidence and figures are the same for every number
/// of workers, and what does not hold has evidence.
#[test]
fn workers_make_no_difference() {
    let mut rng = Rng::new(25);
    let mut violated = 0;
    for seed in 0..100 {
        let net = Shape::default().network(seed);
        if moves(&net).len() < 40 {
            continue;
        }
        let parts = Parts::new(&without_alternation(&mut rng), Mistake::None);
        let decided = |workers| {
            let options = Options { workers, ..Options::default() };
            let decided = decide(&net, &parts, &options).expect("no data, no errors");
            (decided.answer, decided.evidence, decided.stats.states, decided.stats.transitions, decided.pairs)
        };
        let one = decided(1);
        for workers in [2, 3, 8] {
            assert_eq!(decided(workers), one, "seed {seed}, {workers} workers");
        }
        if one.0 == Decision::Violated {
            violated += 1;
            assert!(one.1.is_some(), "seed {seed}");
        }
    }
    assert!(violated > 0);
}

/// Limits are heard while a game is solved.
#[test]
fn solving_can_be_stopped() {
    let mut graph = graph::Graph::new();
    // Two players take turns on a circle with ranks of both.
    let vertices: Vec<Vertex> = (0..6).map(|rank| graph.add(Some(rank))).collect();
    for (at, vertex) in vertices.iter().enumerate() {
        let owner = if at % 2 == 0 { Player::Some } else { Player::All };
        graph.expand(*vertex, owner, &[vertices[(at + 1) % 6], vertices[(at + 2) % 6]]);
    }
    assert!(solve::solve(&graph, Player::All, &|| Ok(())).is_ok());
    let stopped = solve::solve(&graph, Player::All, &|| Err(Limit::Interrupted.into()));
    assert!(matches!(stopped, Err(Error::Limit(Limit::Interrupted))));
}
