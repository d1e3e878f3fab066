//! Cycles of a graph: whether there are any, strongly connected components, and the edges that close cycles.

use super::StateIx;

/// A cycle as the projections of its edges, if there is one: the first that a depth-first search meets.
pub(super) fn find_cycle(moves: &[Vec<(u32, StateIx)>]) -> Option<Vec<u32>> {
    let mut found = None;
    depth_first(moves, &mut |stack, edge| {
        let target = moves[stack[stack.len() - 1].0][edge].1.0 as usize;
        let from = stack.iter().position(|(state, _)| *state == target);
        if let Some(from) = from.filter(|_| found.is_none()) {
            // On the stack, `next` is one past the edge that led to the entry above.
            let path = stack[from..].iter().map(|&(state, next)| moves[state][next - 1].0);
            found = Some(path.collect());
        }
    });
    found
}

/// Runs through a graph depth first. `closing(stack, edge)` is called for every edge of the state on top of the stack that
/// leads to a state on the stack; entries are states and the number of edges begun.
fn depth_first(moves: &[Vec<(u32, StateIx)>], closing: &mut dyn FnMut(&[(usize, usize)], usize)) {
    #[derive(Clone, Copy, PartialEq)]
    enum Colour {
        New,
        OnStack,
        Done,
    }
    let mut colour = vec![Colour::New; moves.len()];
    colour[0] = Colour::OnStack;
    let mut stack = vec![(0usize, 0usize)];
    while let Some(top) = stack.last_mut() {
        let (state, edge) = *top;
        top.1 += 1;
        let Some(&(_, target)) = moves[state].get(edge) else {
            colour[state] = Colour::Done;
            stack.pop();
            continue;
        };
        let target = target.0 as usize;
        match colour[target] {
            Colour::New => {
                colour[target] = Colour::OnStack;
                stack.push((target, 0));
            }
            Colour::OnStack => closing(&stack, edge),
            Colour::Done => {}
        }
    }
}

/// The strongly connected components and the edges that close cycles in a depth-first search.
pub(super) struct Cycles {
    component: Vec<u32>,
    closing: Vec<Vec<usize>>,
}

impl Cycles {
    pub(super) fn of(moves: &[Vec<(u32, StateIx)>]) -> Self {
        let mut closing = vec![Vec::new(); moves.len()];
        depth_first(moves, &mut |stack, edge| closing[stack[stack.len() - 1].0].push(edge));
        Cycles { component: components(moves), closing }
    }

    pub(super) fn is_closing(&self, state: StateIx, edge: usize) -> bool {
        self.closing[state.0 as usize].contains(&edge)
    }

    pub(super) fn component(&self, state: StateIx) -> u32 {
        self.component[state.0 as usize]
    }
}

/// Tarjan's algorithm with a stack of its own.
fn components(moves: &[Vec<(u32, StateIx)>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let (mut index, mut low) = (vec![NEW; moves.len()], vec![0u32; moves.len()]);
    let (mut component, mut components, mut next) = (vec![NEW; moves.len()], 0, 0);
    let (mut waiting, mut stack) = (vec![0usize], vec![(0usize, 0usize)]);
    index[0] = next;
    while let Some(top) = stack.last_mut() {
        let (state, edge) = *top;
        top.1 += 1;
        if let Some(&(_, target)) = moves[state].get(edge) {
            let target = target.0 as usize;
            if index[target] == NEW {
                next += 1;
                index[target] = next;
                low[target] = next;
                waiting.push(target);
                stack.push((target, 0));
            } else if component[target] == NEW {
                low[state] = low[state].min(index[target]);
            }
            continue;
        }
        stack.pop();
        if let Some(&(parent, _)) = stack.last() {
            low[parent] = low[parent].min(low[state]);
        }
        if low[state] == index[state] {
            while let Some(member) = waiting.pop() {
                component[member] = components;
                if member == state {
                    break;
                }
            }
            components += 1;
        }
    }
    component
}
