//! Networks whose numbers are known by construction, for tests and benchmarks.

use crate::model::network::{LeafIx, Local, LocalLabel, Network, Outcome};

fn leaf(net: &mut Network, name: String, states: u32) -> LeafIx {
    let leaf = net.add_leaf(name);
    for _ in 0..states {
        let state = net.add_state(leaf);
        net.leaves[leaf.0 as usize].states[state.0 as usize].expanded = true;
    }
    leaf
}

fn edge(net: &mut Network, leaf: LeafIx, from: u32, text: &str, to: u32) -> LocalLabel {
    let known = net.leaves[leaf.0 as usize].labels.iter().position(|l| l == text);
    let label = known.map_or_else(|| net.add_local_label(leaf, text), |l| LocalLabel(l as u32));
    net.add_move(leaf, Local(from), label, Local(to));
    label
}

fn sync(net: &mut Network, mut parts: Vec<(LeafIx, LocalLabel)>, text: &str) {
    parts.sort();
    let label = net.label(text);
    net.add_vector(parts, Outcome::Step(label), label);
}

/// `n` philosophers, at least two, and the forks between them: each takes the left fork, then the right one, eats, puts
/// the left one back, then the right one. A philosopher is a leaf and so is a fork; every step is shared by the two.
/// The only deadlock is reached when everyone holds the left fork, after `n` steps.
pub fn philosophers(n: u32) -> Network {
    at_a_table(n, n)
}

/// The same, but the last one takes and puts back the right fork first: there is no deadlock.
pub fn polite_philosophers(n: u32) -> Network {
    at_a_table(n, n - 1)
}

/// Philosophers, those from `polite` on with the right fork first.
fn at_a_table(n: u32, polite: u32) -> Network {
    let mut net = Network::new();
    let people: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Phil({i})"), 4)).collect();
    let forks: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Fork({i})"), 2)).collect();
    for i in 0..n {
        let right = (i + 1) % n;
        let (first, second) = if i < polite { (i, right) } else { (right, i) };
        let actions = [("take", first), ("take", second), ("put", first), ("put", second)];
        for (from, (action, fork)) in (0..).zip(actions) {
            let text = format!("{action}({i}, {fork})");
            let mine = edge(&mut net, people[i as usize], from, &text, (from + 1) % 4);
            let (taken, free) = if action == "take" { (0, 1) } else { (1, 0) };
            let theirs = edge(&mut net, forks[fork as usize], taken, &text, free);
            sync(&mut net, vec![(people[i as usize], mine), (forks[fork as usize], theirs)], &text);
        }
    }
    net
}

/// The number of states of [`philosophers`].
pub fn philosophers_states(n: u32) -> u64 {
    // A philosopher is in one of four phases: none, left, both, right. Neighbours share a fork: not both may hold it.
    // Phase as (holds left, holds right); the transfer matrix says which phases may stand side by side.
    let phases = [(false, false), (true, false), (true, true), (false, true)];
    let fits = |a: usize, b: usize| !(phases[a].1 && phases[b].0);
    let mut total = 0;
    for first in 0..4 {
        let mut ways = [0u64; 4];
        ways[first] = 1;
        for _ in 1..n {
            ways = std::array::from_fn(|b| (0..4).filter(|&a| fits(a, b)).map(|a| ways[a]).sum());
        }
        total += (0..4).filter(|&last| fits(last, first)).map(|last| ways[last]).sum::<u64>();
    }
    // Nobody starts with the right fork: all holding only the right one cannot be reached.
    total - 1
}

/// `n` leaves that count to `k` and start over, independently: `(k + 1)^n` states with `n` steps each.
pub fn counters(n: u32, k: u32) -> Network {
    let mut net = Network::new();
    for i in 0..n {
        let counter = leaf(&mut net, format!("Counter({i})"), k + 1);
        for value in 0..=k {
            let text = format!("count({i}, {value})");
            let label = edge(&mut net, counter, value, &text, (value + 1) % (k + 1));
            sync(&mut net, vec![(counter, label)], &text);
        }
    }
    net
}

/// `n` stations in a ring, each with a buffer of `k` places behind it; station `i` starts with one token and passes
/// tokens on through its buffer. A buffer shares a step with each of its two neighbours.
pub fn tokens(n: u32, k: u32) -> Network {
    let mut net = Network::new();
    let stations: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Station({i})"), 2)).collect();
    let buffers: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Buffer({i})"), k + 1)).collect();
    for i in 0..n {
        let (station, next) = (stations[i as usize], stations[((i + 1) % n) as usize]);
        let buffer = buffers[i as usize];
        // Local state 0 of a station holds a token, 1 does not.
        let (put, get) = (format!("put({i})"), format!("get({i})"));
        let mine = edge(&mut net, station, 0, &put, 1);
        let theirs = edge(&mut net, next, 1, &get, 0);
        let (mut into, mut out) = (LocalLabel(0), LocalLabel(0));
        for fill in 0..k {
            into = edge(&mut net, buffer, fill, &put, fill + 1);
            out = edge(&mut net, buffer, fill + 1, &get, fill);
        }
        sync(&mut net, vec![(station, mine), (buffer, into)], &put);
        sync(&mut net, vec![(next, theirs), (buffer, out)], &get);
    }
    net
}

/// `n` processes that write any of `k` values into a register of their own and read that of the next process into a
/// variable: labels with data, and `k` vectors between the same two leaves.
pub fn registers(n: u32, k: u32) -> Network {
    let mut net = Network::new();
    // A process is about to write (k) or about to read, having read v last.
    let processes: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Process({i})"), k + 1)).collect();
    let cells: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Register({i})"), k)).collect();
    for i in 0..n {
        let (process, own) = (processes[i as usize], cells[i as usize]);
        for value in 0..k {
            let text = format!("write({i}, {value})");
            let mine = edge(&mut net, process, k, &text, value);
            let mut theirs = LocalLabel(0);
            for old in 0..k {
                theirs = edge(&mut net, own, old, &text, value);
            }
            sync(&mut net, vec![(process, mine), (own, theirs)], &text);
            // Reads what the next one has written, if it is what was written here.
            let next = cells[((i + 1) % n) as usize];
            let text = format!("read({i}, {value})");
            let mine = edge(&mut net, process, value, &text, k);
            let theirs = edge(&mut net, next, value, &text, value);
            sync(&mut net, vec![(process, mine), (next, theirs)], &text);
        }
    }
    net
}

/// `n` processes that take `k` steps of their own between barriers at which all of them must meet.
pub fn barrier(n: u32, k: u32) -> Network {
    let mut net = Network::new();
    let mut meeting = Vec::new();
    for i in 0..n {
        let process = leaf(&mut net, format!("Process({i})"), k + 1);
        for step in 0..k {
            let text = format!("step({i}, {step})");
            let label = edge(&mut net, process, step, &text, step + 1);
            sync(&mut net, vec![(process, label)], &text);
        }
        meeting.push((process, edge(&mut net, process, k, "meet", 0)));
    }
    sync(&mut net, meeting, "meet");
    net
}

/// `n` processes in a ring with a first-in-first-out queue of `k` places behind each, over `values` values. A process
/// receives a value, remembers it, and sends on a value that depends on the last two; all start by sending one. Queues
/// are leaves with many local states.
pub fn queues(n: u32, k: u32, values: u32) -> Network {
    let mut net = Network::new();
    // 0: about to send the first value; 1 + last: waits; 1 + values + last * values + now: about to send.
    let size = 1 + values + values * values;
    let processes: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Process({i})"), size)).collect();
    // The number of a content is that of its digits in base `values`, after all shorter ones.
    let shorter = |len: u32| (0..len).map(|l| values.pow(l)).sum::<u32>();
    let queues: Vec<LeafIx> = (0..n).map(|i| leaf(&mut net, format!("Queue({i})"), shorter(k + 1))).collect();
    for i in 0..n {
        let (process, next) = (processes[i as usize], processes[((i + 1) % n) as usize]);
        let queue = queues[i as usize];
        for value in 0..values {
            let (send, receive) = (format!("send({i}, {value})"), format!("receive({i}, {value})"));
            for len in 0..k {
                for content in 0..values.pow(len) {
                    let from = shorter(len) + content;
                    let to = shorter(len + 1) + content + value * values.pow(len);
                    edge(&mut net, queue, from, &send, to);
                    // The oldest value is the lowest digit.
                    let from = shorter(len + 1) + content * values + value;
                    edge(&mut net, queue, from, &receive, shorter(len) + content);
                }
            }
            let into = edge(&mut net, queue, 0, &send, shorter(1) + value);
            let out = edge(&mut net, queue, shorter(1) + value, &receive, 0);
            let mut mine = None;
            if value == i % values {
                mine = Some(edge(&mut net, process, 0, &send, 1));
            }
            let mut theirs = LocalLabel(0);
            for last in 0..values {
                theirs = edge(&mut net, next, 1 + last, &receive, 1 + values + last * values + value);
                for now in (0..values).filter(|now| (last + now) % values == value) {
                    mine = Some(edge(&mut net, process, 1 + values + last * values + now, &send, 1 + now));
                }
            }
            if let Some(mine) = mine {
                sync(&mut net, vec![(process, mine), (queue, into)], &send);
            }
            sync(&mut net, vec![(next, theirs), (queue, out)], &receive);
        }
    }
    net
}
