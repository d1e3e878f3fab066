//! Random specifications with data: structs, numbers, sums that only a partner bounds.

use crate::random::Random;
use crate::{ALL, Agreement, agrees};
use std::fmt::Write;

/// A random specification: a few sequential processes with data, composed in parallel under random operators.
fn specification(seed: u64) -> String {
    let mut r = Random(seed);
    let mut out = String::from(
        "sort D = struct d1 | d2;\nact a, b, c, k; e, f, g: D; s, q, w: Nat; h: Nat # Bool;\nproc\n",
    );
    for p in 0..3 {
        let more = if r.below(2) == 0 { format!(" + {}", body(&mut r, 1)) } else { String::new() };
        writeln!(out, "  P{p}(x: D, n: Nat) = {}{more};", body(&mut r, 2)).expect("strings take everything");
    }
    let leaves = 2 + r.below(2);
    let mut init = (0..leaves)
        .map(|_| format!("P{}({}, {})", r.below(3), r.of(&["d1", "d2"]), r.below(3)))
        .collect::<Vec<_>>()
        .join(" || ");
    // Many short processes: here several communications happen at once.
    if r.below(3) == 0 {
        let short = |r: &mut Random| {
            let send = format!("{} . {}", action(r, "d1", "1"), action(r, "d2", "0"));
            if r.below(3) == 0 { format!("(sum m: Nat. q(m) . {send})") } else { format!("({send})") }
        };
        init = (0..4).map(|_| short(&mut r)).collect::<Vec<_>>().join(" || ");
    } else if r.below(4) == 0 {
        init = format!("hide({{b}}, {init}) || {}", r.of(&["a.c", "f(d1)", "b.delta", "tau.a"]));
    }
    // `q` receives any number: it must never be visible alone.
    let comm =
        r.of(&["s|q -> w, a|b -> c", "s|q -> w, e|f -> g", "s|q -> w, a|a -> k", "s|q -> w, a|b|c -> k"]);
    let allow = r.of(&[
        "a, b, c, e, f, g, w, h, k",
        "a, c, a|a, g, w, w|w, h, k",
        "c, e, f, e|f, w, h|w, a|c, k, a|k",
        "a, b, e|e, g, w|c, w, h, k|k, k",
        "w|w, c|c, k|k, g|g, a|w, s|s",
    ]);
    init = format!("allow({{{allow}}}, comm({{{comm}}}, {init}))");
    init = match r.below(5) {
        0 => format!("hide({{c, w}}, {init})"),
        1 => format!("rename({{a -> b, w -> s}}, {init})"),
        2 => format!("block({{k}}, {init})"),
        3 => format!("hide({{g}}, rename({{e -> f}}, {init}))"),
        _ => init,
    };
    writeln!(out, "init {init};").expect("strings take everything");
    out
}

fn body(r: &mut Random, depth: usize) -> String {
    let choices = if depth == 0 { 4 } else { 9 };
    match r.below(choices) {
        0 | 1 => format!("{} . {}", action(r, "x", "n"), next(r, depth)),
        2 => format!("sum y: D. {}(y) . P{}(y, n)", r.of(&["e", "f", "g"]), r.below(3)),
        3 => format!("sum m: Nat. q(m) . P{}(x, m)", r.below(3)),
        4 => format!("({} + {})", body(r, depth - 1), body(r, depth - 1)),
        5 => format!("(x == d1) -> ({}) <> ({})", body(r, depth - 1), body(r, depth - 1)),
        6 => format!("(n > {}) -> ({})", r.below(2), body(r, depth - 1)),
        7 => format!(
            "sum m: Nat. (m < {}) -> h(m, x == d2) . P{}(x, (n + m) mod 3)",
            1 + r.below(3),
            r.below(3)
        ),
        _ => format!("({} + {}) . {}", action(r, "x", "n"), action(r, "d2", "0"), next(r, depth)),
    }
}

fn action(r: &mut Random, x: &str, n: &str) -> String {
    match r.below(7) {
        0 => r.of(&["a", "b", "c", "k"]).to_owned(),
        1 => format!("{}({x})", r.of(&["e", "f"])),
        2 | 3 => format!("s({n})"),
        4 => format!("a|e({x})"),
        5 => "tau".to_owned(),
        _ => "(a + b)".to_owned(),
    }
}

fn next(r: &mut Random, depth: usize) -> String {
    match r.below(if depth == 0 { 5 } else { 7 }) {
        0..=2 => format!("P{}(x, (n + {}) mod 3)", r.below(3), r.below(3)),
        3 => format!("P{}({}, n)", r.below(3), r.of(&["d1", "d2", "if(x == d1, d2, d1)"])),
        4 => r.of(&["delta", "a", "b . c"]).to_owned(),
        5 => format!("({})", body(r, depth - 1)),
        _ => format!("({} || {})", r.of(&["a", "b", "e(x)"]), r.of(&["c", "f(x)", "a . b"])),
    }
}

#[test]
fn random_specifications_agree_with_the_naive_semantics() {
    let rounds = if std::env::var_os("GRIDLOCK_SLOW").is_some() { 2000 } else { 150 };
    let mut compared = 0;
    let mut sizes = Vec::new();
    for seed in 0..rounds {
        let text = specification(seed);
        let Agreement::Equal(lts) = agrees(&text, &format!("seed {seed}"), 200, &ALL) else { continue };
        compared += 1;
        sizes.push(lts.num_states());
    }
    sizes.sort_unstable();
    assert!(compared * 3 > rounds as usize, "too many specifications were too large: {compared} of {rounds}");
    assert!(sizes[sizes.len() * 9 / 10] >= 10, "the specifications are too small to mean much: {sizes:?}");
}
