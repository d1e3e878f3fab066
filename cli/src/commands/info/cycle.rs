//! Whether a process can return to a local state: a cycle in a graph.

/// Whether a graph has a cycle; a loop at one node is one. `targets[n]` are the successors of node `n`.
///
/// Removes nodes without predecessors (Kahn's algorithm), which needs no recursion for any length of paths: the nodes left at
/// the end lie on a cycle or behind one.
pub fn has_cycle(targets: &[Vec<u32>]) -> bool {
    let mut incoming = vec![0usize; targets.len()];
    for &to in targets.iter().flatten() {
        incoming[to as usize] += 1;
    }
    let mut free: Vec<usize> = (0..targets.len()).filter(|&n| incoming[n] == 0).collect();
    let mut removed = 0;
    while let Some(node) = free.pop() {
        removed += 1;
        for &to in &targets[node] {
            incoming[to as usize] -= 1;
            if incoming[to as usize] == 0 {
                free.push(to as usize);
            }
        }
    }
    removed < targets.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;

    /// The definition: some node reaches itself by one step or more.
    fn naive(targets: &[Vec<u32>]) -> bool {
        let n = targets.len();
        let mut reach: Vec<Vec<bool>> =
            targets.iter().map(|to| (0..n as u32).map(|t| to.contains(&t)).collect()).collect();
        for via in 0..n {
            for from in 0..n {
                for to in 0..n {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
        }
        (0..n).any(|node| reach[node][node])
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 2];
        for _ in 0..2000 {
            let n = 1 + rng.below(8);
            let edges = rng.below(2 * n);
            let mut targets = vec![Vec::new(); n];
            for _ in 0..edges {
                targets[rng.below(n)].push(rng.below(n) as u32);
            }
            let cyclic = has_cycle(&targets);
            assert_eq!(cyclic, naive(&targets), "{targets:?}");
            seen[usize::from(cyclic)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
    }

    #[test]
    fn long_paths_are_no_problem() {
        let n = 1_000_000;
        let mut targets: Vec<Vec<u32>> = (1..n).map(|to| vec![to]).collect();
        targets.push(vec![]);
        assert!(!has_cycle(&targets));
        targets[n as usize - 1].push(0);
        assert!(has_cycle(&targets));
    }
}
