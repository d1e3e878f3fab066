//! A number for every local state that grows along most moves.
//!
//! The potential of a global state is the sum over its leaves. Any potential is sound, since all that matters is that it
//! has finitely many values; a good one grows along many steps. States of a leaf are ordered by their strongly connected
//! components, and within one by their distance from the initial state, so that only moves back to somewhere do not raise
//! it.

/// The potential of each state of a leaf, given the moves of its states.
pub(super) fn of(states: &[Vec<(u32, u32)>]) -> Vec<i64> {
    let (components, count) = components(states);
    let distances = distances(states);
    let potential = |state: usize| {
        let rank = i64::from(count - 1 - components[state]);
        rank * states.len() as i64 + i64::from(distances[state])
    };
    (0..states.len()).map(potential).collect()
}

/// Steps from state 0; one more than any other for states that cannot be reached.
fn distances(states: &[Vec<(u32, u32)>]) -> Vec<u32> {
    let mut distances = vec![states.len() as u32; states.len()];
    let mut queue = Vec::with_capacity(states.len());
    if !states.is_empty() {
        distances[0] = 0;
        queue.push(0u32);
    }
    let mut next = 0;
    while let Some(&state) = queue.get(next) {
        next += 1;
        for &(_, to) in &states[state as usize] {
            if distances[to as usize] as usize == states.len() {
                distances[to as usize] = distances[state as usize] + 1;
                queue.push(to);
            }
        }
    }
    distances
}

/// The strongly connected component of each state, and how many there are. Moves between components lead to smaller
/// numbers. Tarjan's algorithm with its own stack, since a leaf may be as deep as it is large.
fn components(states: &[Vec<(u32, u32)>]) -> (Vec<u32>, u32) {
    const NONE: u32 = u32::MAX;
    let (mut order, mut low) = (vec![NONE; states.len()], vec![0u32; states.len()]);
    let mut component = vec![NONE; states.len()];
    let (mut seen, mut count) = (0, 0);
    let (mut open, mut frames) = (Vec::new(), Vec::<(u32, usize)>::new());
    for root in 0..states.len() as u32 {
        if order[root as usize] != NONE {
            continue;
        }
        frames.push((root, 0));
        while let Some((state, next)) = frames.last_mut() {
            let s = *state as usize;
            if *next == 0 {
                order[s] = seen;
                low[s] = seen;
                seen += 1;
                open.push(*state);
            }
            if let Some(&(_, to)) = states[s].get(*next) {
                *next += 1;
                if order[to as usize] == NONE {
                    frames.push((to, 0));
                } else if component[to as usize] == NONE {
                    low[s] = low[s].min(order[to as usize]);
                }
                continue;
            }
            if low[s] == order[s] {
                while let Some(member) = open.pop() {
                    component[member as usize] = count;
                    if member as usize == s {
                        break;
                    }
                }
                count += 1;
            }
            frames.pop();
            if let Some(&(parent, _)) = frames.last() {
                low[parent as usize] = low[parent as usize].min(low[s]);
            }
        }
    }
    (component, count)
}
