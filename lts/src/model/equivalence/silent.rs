//! Contraction of tau cycles, which branching bisimulation starts with: states on a common tau cycle are equivalent.
//!
//! What results has no tau cycle, and **every tau transition leads to a state with a lower number**. The refinement
//! and the quotient rely on that order.

use crate::model::explicit::{Builder, Lts, State};
use crate::model::network::Label;

/// The system without tau cycles.
pub(super) struct Contracted {
    pub(super) lts: Lts,
    /// For each old state the new one.
    pub(super) component: Vec<u32>,
    /// The label of the loops that mark divergent states, if they were asked for.
    pub(super) divergence: Option<Label>,
}

/// Contracts the tau cycles. If `mark_divergence`, each state that stands for a cycle (or a tau loop) gets a loop with a
/// label that occurs nowhere else; otherwise such loops just vanish.
pub(super) fn contract_tau_cycles(lts: &Lts, mark_divergence: bool) -> Contracted {
    let (component, count) = tau_components(lts);
    let mut builder = Builder::with_capacity(lts.num_transitions());
    builder.require_states(count);
    let mut labels = lts.labels().to_vec();
    let divergence = mark_divergence.then(|| {
        let mut unused = "divergence".to_owned();
        while labels.contains(&unused) {
            unused.push('\'');
        }
        labels.push(unused);
        Label(labels.len() as u32 - 1)
    });
    let mut divergent = vec![false; if mark_divergence { count as usize } else { 0 }];
    for (from, label, to) in lts.transitions() {
        let (from, to) = (component[from.0 as usize], component[to.0 as usize]);
        if label != Label::TAU || from != to {
            builder.add(State(from), label, State(to));
        } else if let Some(loop_label) = divergence
            && !std::mem::replace(&mut divergent[from as usize], true)
        {
            builder.add(State(from), loop_label, State(from));
        }
    }
    let initial = State(component[lts.initial().0 as usize]);
    Contracted { lts: builder.finish_with_labels(labels, initial), component, divergence }
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's algorithm over tau transitions, without recursion. It completes a component only after all components
/// that it leads to, which gives the order promised above.
fn tau_components(lts: &Lts) -> (Vec<u32>, u32) {
    let n = lts.num_states();
    let mut component = vec![UNSEEN; n];
    let mut visit = vec![UNSEEN; n];
    let mut low = vec![0u32; n];
    let mut open: Vec<u32> = Vec::new();
    // A state and how many of its transitions were looked at.
    let mut path: Vec<(u32, u32)> = Vec::new();
    let (mut visited, mut count) = (0, 0);
    for root in 0..n as u32 {
        if visit[root as usize] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (s, ref mut next)) = path.last_mut() {
            if *next == 0 {
                visit[s as usize] = visited;
                low[s as usize] = visited;
                visited += 1;
                open.push(s);
            }
            let rest = &lts.outgoing(State(s))[*next as usize..];
            let child =
                rest.iter().position(|t| t.label == Label::TAU && component[t.to.0 as usize] == UNSEEN);
            if let Some(skipped) = child {
                let to = rest[skipped].to.0;
                *next += skipped as u32 + 1;
                if visit[to as usize] == UNSEEN {
                    path.push((to, 0));
                } else {
                    low[s as usize] = low[s as usize].min(visit[to as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[s as usize]);
            }
            if low[s as usize] == visit[s as usize] {
                while let Some(member) = open.pop() {
                    component[member as usize] = count;
                    if member == s {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    (component, count)
}
