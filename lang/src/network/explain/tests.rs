//! The explanations of deadlocks.

use super::*;
use crate::system::{Options, System, load};
use gridlock_lts::model::network::TableSource;

fn system(text: &str) -> System {
    load(text, "spec", &Options::default(), &mut |_| true).map_err(|e| format!("{e:?}")).expect("well-formed")
}

/// What stands in the way in the first deadlock, breadth first: a line for each offer.
fn explained(text: &str) -> Vec<String> {
    let System { mut network, mut builder, .. } = system(text);
    let mut open = std::collections::VecDeque::from([network.initial()]);
    let mut seen: BTreeSet<Vec<Local>> = open.iter().cloned().collect();
    let mut steps = Vec::new();
    while let Some(state) = open.pop_front() {
        for (leaf, local) in (0..).map(LeafIx).zip(&state) {
            builder.expand(&mut network, leaf, *local).expect("expands");
        }
        network.successors(&state, &mut steps);
        assert_eq!(steps.is_empty(), network.is_stuck(&state));
        if steps.is_empty() {
            let line = |stuck: &Stuck, offer: &Refusal| {
                let name = &network.leaves[stuck.leaf.0 as usize].name;
                let help = offer.remedy.as_ref().map_or(String::new(), |remedy| format!(" [{remedy}]"));
                format!("{name} {} {}: {}{help}", offer.action, offer.obstacle.name(), offer.why)
            };
            let stuck = builder.explain(&state);
            assert_eq!(stuck.len(), network.leaves.len());
            return stuck.iter().flat_map(|s| s.offers.iter().map(move |o| line(s, o))).collect();
        }
        for step in steps.drain(..) {
            if seen.insert(step.target.clone()) {
                open.push_back(step.target);
            }
        }
    }
    panic!("there is no deadlock");
}

#[test]
fn a_forgotten_allow() {
    let text =
        "act s, r, c, x;\nproc P = s.delta; Q = r.delta;\ninit allow({x},\n  comm({s|r -> c},\n P || Q));";
    let why =
        "blocked: allow (line 3) does not list c, which comm makes of it [add c to the allow of line 3]";
    assert_eq!(explained(text), [format!("P s {why}"), format!("Q r {why}")]);
    let text = "act a, b; proc P = a.b.delta; init allow({a}, P);";
    assert_eq!(
        explained(text),
        ["P b blocked: allow (line 1) does not list b [add b to the allow of line 1]"]
    );
}

#[test]
fn a_forgotten_communication() {
    let text = "act s, r, c: Nat; proc P = s(1).delta; Q = r(1).delta; init allow({c}, P || Q);";
    assert_eq!(
        explained(text),
        [
            "P s(1) blocked: allow (line 1) does not list s [no comm inside that allow takes s: add a rule such as \
             s|r -> …; or add s to the allow of line 1]",
            "Q r(1) blocked: allow (line 1) does not list r [no comm inside that allow takes r: add a rule such as \
             r|s -> …; or add r to the allow of line 1]"
        ]
    );
}

#[test]
fn nobody_does_the_other_part() {
    let text = "act s, r, c, d; proc P = s.delta; Q = d.delta; init allow({c},\n comm({s|r -> c}, P || Q));";
    let lines = explained(text);
    assert_eq!(
        lines[0],
        "P s no-partner: comm (line 2) joins it with r, which no other process offers there [let another process \
         inside the comm of line 2 do r, or correct the names in that comm]"
    );
    // A name that is renamed away is as good as not there, one that is renamed to it is there.
    let text = "act s, r, c, d; proc P = s.delta; Q = r.delta; \
                init allow({c}, comm({s|r -> c}, P || rename({r -> d}, Q)));";
    assert!(explained(text)[0].starts_with("P s no-partner: "), "{:?}", explained(text));
    let text = "act s, r, c, d; proc P = s.delta; Q = d.delta; \
                init allow({d}, comm({s|r -> c}, P || rename({d -> r}, Q)));";
    assert!(explained(text)[0].contains("does not list c"), "{:?}", explained(text));
}

#[test]
fn partners_with_other_arguments_or_elsewhere() {
    let text = "act s, r, c: Nat; proc P = s(1).delta; Q = r(2).Q + r(3).Q; init allow({c}, comm({s|r -> c}, P || Q));";
    let lines = explained(text);
    assert_eq!(
        lines[0],
        "P s(1) other-arguments: needs equal arguments, but there is only r(2) of Q, r(3) of Q"
    );
    assert_eq!(lines[1], "Q r(2) other-arguments: needs equal arguments, but there is only s(1) of P");
    let text =
        "act s, r, c: Nat; proc P = s(1).s(2).P; Q = r(1).r(1).Q; init allow({c}, comm({s|r -> c}, P || Q));";
    assert_eq!(
        explained(text),
        [
            "P s(2) other-arguments: needs equal arguments, but there is only r(1) of Q",
            "Q r(1) not-ready: waits for s(1) of P"
        ]
    );
}

#[test]
fn philosophers_wait_for_each_other() {
    let text = "
        act get, up, lock: Nat; put, down, free: Nat;
        proc Phil(l: Nat, r: Nat) = get(l).get(r).put(l).put(r).Phil();
        Fork(i: Nat) = up(i).down(i).Fork();
        init allow({lock, free}, comm({get|up -> lock, put|down -> free},
            Phil(0, 1) || Phil(1, 0) || Fork(0) || Fork(1)));";
    let lines = explained(text);
    assert_eq!(lines[0], "Phil(0, 1) get(1) not-ready: waits for up(1) of Fork(1)");
    assert_eq!(lines[1], "Phil(1, 0) get(0) not-ready: waits for up(0) of Fork(0)");
    assert!(lines[2].starts_with("Fork(0) down(0) not-ready: waits for put(0) of Phil(0, 1)"), "{lines:?}");
}

#[test]
fn three_partners_and_sums_without_bounds() {
    let text = "act a, b, c, d: Nat; e; proc P = sum n: Nat. a(n).P; Q = e.Q; R = c(1).R; S = b(7).delta;
        init allow({d}, comm({a|b|c -> d}, P || Q || R || S));";
    let lines = explained(text);
    assert!(lines[0].starts_with("P a(_) "), "{lines:?}");
    assert!(lines[1].starts_with("Q e blocked: allow (line 2) does not list e"), "{lines:?}");
    assert!(lines[2].starts_with("R c(1) other-arguments: "), "{lines:?}");
}

#[test]
fn what_offers_nothing_has_no_reasons_and_blocks_are_named() {
    assert_eq!(explained("init delta || delta;"), Vec::<String>::new());
    let text = "act a, b; proc P = a.delta; init block({b},\nblock({a}, P));";
    assert_eq!(
        explained(text),
        ["P a blocked: block (line 2) forbids a [take a out of the block of line 2]"]
    );
}

#[test]
fn info_knows_what_never_happens() {
    let blocked = |text: &str| {
        let System { network, builder, .. } = system(text);
        let all = blocked_everywhere(&builder).into_iter().flat_map(|(leaf, refused)| {
            let name = network.leaves[leaf.0 as usize].name.clone();
            refused.into_iter().map(move |refusal| format!("{name}: {}", refusal.action))
        });
        all.collect::<Vec<_>>()
    };
    let text = "act s, r, c, x: Nat; proc P = s(1).x(1).P; Q = sum n: Nat. r(n).Q + x(3).Q;
        init allow({c}, comm({s|r -> c}, P || Q));";
    assert_eq!(blocked(text), ["P: x", "Q: x"]);
    assert_eq!(blocked("act a; proc P = a.P; init P;"), Vec::<String>::new());
}

#[test]
fn points_inside_a_process_are_named_by_its_line() {
    let text = "act a, b, c;\nproc P(n: Nat) =\n  a . b\n  . c . P(n + 1);\ninit allow({a, b},\n P(0) || a . b . delta);";
    let System { network, mut builder, .. } = system(text);
    let mut network = network;
    let mut names = vec![BTreeSet::new(); network.leaves.len()];
    for (leaf, names) in names.iter_mut().enumerate() {
        let mut local = 0;
        while local < network.leaves[leaf].states.len() {
            let (ix, at) = (LeafIx(leaf as u32), Local(local as u32));
            builder.expand(&mut network, ix, at).expect("expands");
            names.insert((builder.describe(ix, at), builder.excerpt(ix, at).unwrap_or_default()));
            local += 1;
        }
    }
    let pair = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    let points = [("P(n = 0)", ""), ("P line 3(n = 0)", "b"), ("P line 4(n = 0)", "c . P(n + 1)")];
    assert_eq!(names[0], points.map(pair).into());
    assert!(names[1].contains(&pair(("init line 6:14", "b . delta)"))), "{names:?}");
}
