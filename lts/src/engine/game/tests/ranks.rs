//! Formulas on ranks against one machine, and against iteration, for any delay and order of messages.

use super::*;
use crate::engine::mesh::Mesh;
use crate::engine::mesh::local::{self, Disorder, Mischief};
use crate::engine::search::RankStats;
use crate::model::network::LeafIx;
use std::sync::atomic::AtomicBool;

/// Runs the same closure on each of several ranks: what each returns.
fn on_ranks<R: Send>(size: usize, disorder: Disorder, work: impl Fn(&mut dyn Mesh) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |mut mesh| scope.spawn(move || work(&mut mesh));
        let threads: Vec<_> = local::ranks(size, disorder).into_iter().map(start).collect();
        threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).collect()
    })
}

/// The answer of sweeps on ranks, if the formula is for them; the audience asks for the truth of the initial pair.
fn swept_on_ranks(
    net: &Network,
    parts: &Parts,
    size: usize,
    workers: usize,
    disorder: Disorder,
) -> Option<bool> {
    struct Sweeping<'a>(&'a Network, &'a Parts, Options<'a>, &'a mut dyn Mesh);
    impl Visitor for Sweeping<'_> {
        type Out = Option<Swept>;
        fn visit<S: EveryStep + Send + Sync + 'static>(self, system: Arc<S>) -> Option<Swept> {
            let mut audience = Listens::default();
            let first = self.3.rank() == 0;
            let listener = first.then_some(&mut audience as &mut dyn Audience);
            let swept = sweep::ranks::decide(&*system, self.0, self.1, &self.2, self.3, listener);
            let swept = swept.expect("no limits");
            let told = swept.as_ref().is_some_and(|swept| !swept.holds);
            assert_eq!(audience.0, first && told, "the audience hears of what does not hold");
            swept
        }
    }
    let Instrumented { network, alarms } = property::instrument(net, &[]);
    let all = on_ranks(size, disorder, |mesh| {
        let packing = Packing::for_network(&network);
        let options = Options { workers, ..Options::default() };
        prepared::visit(&network, packing, alarms.clone(), Sweeping(net, parts, options, mesh))
            .expect("compiles")
    });
    let facts = |swept: &Option<Swept>| {
        swept.as_ref().map(|s| (s.holds, s.stats.states, s.stats.transitions, s.positions, s.classes.clone()))
    };
    for swept in &all {
        assert_eq!(facts(swept), facts(&all[0]), "all ranks say the same");
    }
    all[0].as_ref().map(|swept| swept.holds)
}

fn slow() -> bool {
    std::env::var_os("GRIDLOCK_SLOW").is_some_and(|v| v == "1")
}

fn disorder(rng: &mut Rng) -> Disorder {
    Disorder { seed: rng.bits(), delay: rng.below(12), mischief: None }
}

#[test]
fn sweeps_on_ranks_agree_with_iteration() {
    let mut rng = Rng::new(31);
    let mut verdicts = [0; 2];
    let count = if slow() { 1200 } else { 400 };
    for seed in 0..count {
        let net = Shape::default().network(seed);
        let moves = moves(&net);
        if moves.len() > 200 {
            continue;
        }
        let formula = without_alternation(&mut rng);
        let expected = kleene(&formula, &moves, &mut Vec::new())[0];
        let parts = Parts::new(&formula, Mistake::None);
        let (size, workers) = (rng.between(1, 8), rng.between(1, 3));
        let Some(holds) = swept_on_ranks(&net, &parts, size, workers, disorder(&mut rng)) else { continue };
        assert_eq!(holds, expected, "seed {seed}, {size} ranks, {workers} threads: {formula:?}");
        verdicts[usize::from(expected)] += 1;
    }
    assert!(verdicts.iter().all(|n| *n > count / 5), "{verdicts:?}");
}

#[test]
fn mistakes_of_sweeps_on_ranks_are_noticed() {
    for mistake in [Mistake::Ranks, Mistake::NoSteps] {
        let mut rng = Rng::new(24);
        let noticed = (0..600).any(|seed| {
            let net = Shape::default().network(seed);
            let formula = without_alternation(&mut rng);
            let expected = kleene(&formula, &moves(&net), &mut Vec::new())[0];
            let parts = Parts::new(&formula, mistake);
            swept_on_ranks(&net, &parts, 3, 1, Disorder::default()).is_some_and(|holds| holds != expected)
        });
        assert!(noticed, "{mistake:?}");
    }
}

/// What must be equal.
fn facts(decided: &Decided) -> impl PartialEq + std::fmt::Debug + use<> {
    let Stats { states, transitions, depth, deadlocks, .. } = decided.stats;
    let Decided { answer, evidence, pairs, positions, vacuous, .. } = decided.clone();
    (answer, evidence, [states, transitions, depth, deadlocks, pairs, positions], vacuous)
}

/// Formulas of every kind, also such as alternate, on networks some of which have faults: answer, evidence and figures are
/// those of one machine.
#[test]
fn ranks_make_no_difference() {
    let mut rng = Rng::new(32);
    let (mut violated, mut together, mut alone) = (0, 0, 0);
    for seed in 0..if slow() { 600 } else { 250 } {
        let net = Shape::default().network(seed);
        if moves(&net).len() < 30 {
            continue;
        }
        let formula = if rng.percent(70) { without_alternation(&mut rng) } else { Formula::random(&mut rng) };
        let parts = Parts::new(&formula, Mistake::None);
        let one = decide(&net, &parts, &Options::default()).expect("no data, no errors");
        let (size, workers) = (rng.between(1, 6), rng.between(1, 3));
        let leaves: Vec<LeafIx> =
            (0..net.leaves.len() as u32).map(LeafIx).filter(|_| rng.percent(60)).collect();
        let owners = Some(&leaves[..]).filter(|_| rng.percent(40));
        let options = Options { workers, owners, ..Options::default() };
        let mut all = on_ranks(size, disorder(&mut rng), |mesh| {
            super::super::ranks::decide_together(&net, &parts, &options, mesh).expect("no data, no errors")
        });
        assert!(all[1..].iter().all(Option::is_none));
        let many = all.swap_remove(0).expect("rank 0 has the answer");
        assert_eq!(facts(&many), facts(&one), "seed {seed}, {size} ranks, {workers} threads: {formula:?}");
        violated += usize::from(many.answer == Decision::Violated);
        together += usize::from(!many.ranks.is_empty());
        alone += usize::from(many.ranks.is_empty());
        let states = |ranks: &[RankStats]| ranks.iter().map(|rank| rank.states).sum::<u64>();
        assert!(many.ranks.is_empty() || states(&many.ranks) == many.stats.states, "seed {seed}");
    }
    assert!(violated > 20 && together > 5 && alone > 20, "{violated} {together} {alone}");
}

/// Tables that are filled on demand: rank 0 decides, and no rank waits for ever.
#[test]
fn tables_on_demand_are_rank_0s_work() {
    let mut rng = Rng::new(33);
    for seed in 0..20 {
        let full = Shape::default().network(seed);
        let parts = Parts::new(&without_alternation(&mut rng), Mistake::None);
        let options = Options::default();
        let one = decide(&full, &parts, &options).expect("no data, no errors").answer;
        let all = on_ranks(3, disorder(&mut rng), |mesh| {
            let (net, source) = Reveal::new(full.clone());
            let lazy = Lazy::new(net, Box::new(source), &[]).expect("has initial states");
            let decided = super::super::ranks::decide_on_demand_together(&lazy, &parts, &options, mesh);
            decided.expect("no errors").map(|decided| decided.answer)
        });
        assert_eq!(all, [Some(one), None, None], "seed {seed}");
    }
}

/// For any fault of the network: an error, or the answer of one machine, and never anything else.
#[test]
fn lost_doubled_late_and_damaged_messages_are_faults() {
    let mut rng = Rng::new(34);
    let mut noticed = [0; 4];
    for seed in 0..if slow() { 600 } else { 240 } {
        let net = Shape::default().network(seed);
        let parts = Parts::new(&without_alternation(&mut rng), Mistake::None);
        let one = decide(&net, &parts, &Options::default()).expect("no data, no errors");
        let (size, number, kind) = (rng.between(2, 4), rng.below(120) as u64, seed as usize % 4);
        let mischief = [Mischief::Lose, Mischief::Double, Mischief::Late, Mischief::Damage][kind](number);
        let disorder = Disorder { seed, delay: rng.below(6), mischief: Some(mischief) };
        let all = on_ranks(size, disorder, |mesh| {
            super::super::ranks::decide_together(&net, &parts, &Options::default(), mesh)
        });
        match &all[0] {
            Err(Error::Internal(_)) => noticed[kind] += 1,
            // Fewer messages were sent.
            Ok(Some(many)) => assert_eq!(facts(many), facts(&one), "seed {seed}, {mischief:?}"),
            other => panic!("seed {seed}, {mischief:?}: {other:?}"),
        }
    }
    assert!(noticed.iter().all(|&n| n > 2), "{noticed:?}");
}

/// One rank has little memory, or the run is to stop: that is the answer, and no rank waits.
#[test]
fn what_stops_one_rank_stops_all() {
    let net = crate::samples::synthetic::counters(4, 9);
    let fix = |greatest, var, body| Formula::Fix(greatest, var, Box::new(body));
    let modal = |every, f| Formula::Modal(every, (1 << CLASSES) - 1, Box::new(f));
    // Some state without a step can always be reached, which is not so.
    let stuck = modal(true, Formula::Const(false));
    let possible = fix(false, 1, Formula::Junction(false, vec![stuck, modal(false, Formula::Var(1))]));
    let parts = Parts::new(
        &fix(true, 0, Formula::Junction(true, vec![possible, modal(true, Formula::Var(0))])),
        Mistake::None,
    );
    for which in 0..3 {
        let all = on_ranks(3, Disorder::default(), |mesh| {
            let max_memory = Some(if mesh.rank() == which { 60_000 } else { 1 << 40 });
            let options = Options { max_memory, ..Options::default() };
            super::super::ranks::decide_together(&net, &parts, &options, mesh).expect("no error")
        });
        let answer = all[0].as_ref().map(|decided| decided.answer.clone());
        assert_eq!(answer, Some(Decision::Unknown(Limit::Memory(60_000))), "rank {which}");
    }
    let cancel = AtomicBool::new(true);
    let all = on_ranks(3, Disorder::default(), |mesh| {
        let options = Options { cancel: Some(&cancel).filter(|_| mesh.rank() == 0), ..Options::default() };
        super::super::ranks::decide_together(&net, &parts, &options, mesh).expect("no error")
    });
    let answer = all[0].as_ref().map(|decided| decided.answer.clone());
    assert_eq!(answer, Some(Decision::Unknown(Limit::Interrupted)));
}
