//! Long walks to a finding are cut short.

use super::*;

/// A run of at least this many steps that ends with the first finding after them.
fn long_walk(net: &Network, steps: usize, is_bad: impl Fn(&Step) -> bool, seed: u64) -> Vec<Step> {
    let (rng, mut path, mut next) = (&mut Rng::new(seed), Vec::<Step>::new(), Vec::new());
    loop {
        let state = path.last().map_or_else(|| net.initial(), |step| step.target.clone());
        net.successors(&state, &mut next);
        let over = path.len() >= steps;
        if let Some(bad) = next.iter().find(|step| over && is_bad(step)) {
            path.push(bad.clone());
            return path;
        }
        // Where nothing else is possible there is no way round it.
        if !next.iter().all(&is_bad) {
            next.retain(|step| !is_bad(step));
        }
        let chosen = next.swap_remove(rng.below(next.len()));
        path.push(chosen);
    }
}

struct Shorten<'a> {
    net: &'a Network,
    what: What,
    path: Vec<Step>,
    states: u64,
}

impl Visitor for Shorten<'_> {
    type Out = (crate::job::Finding, u64);

    fn visit<S: Successors + Send + Sync + 'static>(self, system: Arc<S>) -> Self::Out {
        let system = &*system;
        let shared = Shared::new(system, self.net);
        let setting = Setting { system, net: self.net.into(), properties: &[], guide: None, shared };
        let moves = Moves::new(self.net, system.packing()).unwrap();
        let packed = |step: &Step| {
            let mut state = vec![0; system.packing().words()];
            system.packing().pack(&step.target, &mut state);
            (step.vector.0, state)
        };
        let path = self.path.iter().map(packed).collect();
        let mut finding = crate::job::Finding { what: self.what, path };
        let life = Life::default();
        let mut shortener = Shortener::new(&setting, Some(&moves), 1 << 26, &life);
        let expanded = shortener.shorten(&mut finding, self.states).unwrap();
        (finding, expanded)
    }
}

/// What a walk of thousands of steps finds becomes readable, also where breadth-first search would not come that far.
#[test]
fn long_walks_become_short() {
    for n in [6u32, 10, 14] {
        let net = synthetic::philosophers(n);
        let properties = [Property::DeadlockFree { allow_termination: false }];
        let prepared = Prepared::new(net.clone(), properties);
        let everyone = |step: &Step| step.target[..n as usize].iter().all(|local| *local == Local(1));
        let path = long_walk(&net, 10_000, everyone, u64::from(n));
        assert!(path.len() > 10_000);
        let task = Shorten { net: &net, what: What::Deadlock(0), path, states: 20_000 };
        let (finding, expanded) = prepared.visit(task).unwrap();
        assert!(expanded <= 20_000);
        assert_eq!(finding.path.len(), n as usize);
        let path: Vec<_> = finding.path.iter().map(|(v, state)| (VectorIx(*v), state.clone())).collect();
        prepared.verdict(finding.what, &path).unwrap();
    }
    for (net, label) in [
        (synthetic::queues(3, 2, 3), "receive(1, 0)"),
        (synthetic::queues(4, 3, 2), "receive(3, 0)"),
        (synthetic::tokens(9, 4), "get(5)"),
    ] {
        let bad = net.find_label(label).unwrap();
        let is_bad = move |net: &Network, v: VectorIx| net.vectors[v.0 as usize].unhidden == bad;
        let properties = [Property::Never(Box::new(is_bad))];
        let prepared = Prepared::new(net.clone(), properties);
        let report = plain::check(&net, prepared.properties(), &plain::Options::default()).unwrap();
        let Verdict::Violated { trace, .. } = report.verdict else { panic!("{label} is possible") };
        // On the way everything but the forbidden step is taken, so it is found as late as it can be.
        let path = long_walk(&net, 10_000, |step| is_bad(&net, step.vector), 3);
        let task = Shorten { net: &net, what: What::Property(0), path, states: 5_000 };
        let (finding, expanded) = prepared.visit(task).unwrap();
        assert!(expanded <= 5_000);
        assert!(finding.path.len() <= 2 * trace.len(), "{label}: {} steps", finding.path.len());
        let path: Vec<_> = finding.path.iter().map(|(v, state)| (VectorIx(*v), state.clone())).collect();
        prepared.verdict(finding.what, &path).unwrap();
    }
}
