//! What is printed parses to what was printed.

use crate::placeless;
use crate::random::Random;
use gridlock_lang::diagnostic::render;
use gridlock_lang::syntax::{self, formula::Formula, print, print_formula, tree::Spec};

#[test]
fn random_specifications_survive_printing_and_parsing() {
    for seed in 0..600 {
        let spec = Random(seed).spec(seed as usize % 5);
        let text = print::spec(&spec);
        match syntax::parse(&text) {
            Ok(again) => assert_eq!(placeless(&spec), placeless(&again), "seed {seed}\n{text}"),
            Err(errors) => panic!("seed {seed}\n{}", render("printed", &text, &errors, false)),
        }
    }
}

#[test]
fn random_formulas_survive_printing_and_parsing() {
    for seed in 0..600 {
        let mut random = Random(seed);
        let state = random.state(seed as usize % 5);
        let declarations =
            Spec { globals: Vec::new(), processes: Vec::new(), inits: Vec::new(), ..random.spec(1) };
        let formula = Formula { declarations, state, unclear: Vec::new() };
        let text = print_formula::formula(&formula);
        match syntax::parse_formula(&text) {
            Ok(again) => assert_eq!(placeless(&formula), placeless(&again), "seed {seed}\n{text}"),
            Err(errors) => panic!("seed {seed}\n{}", render("printed", &text, &errors, false)),
        }
        let bare = print_formula::state(&formula.state);
        let again = syntax::parse_formula(&bare).expect("a formula parses without 'form' too");
        assert_eq!(placeless(&formula.state), placeless(&again.state), "seed {seed}\n{bare}");
    }
}

#[test]
fn trees_at_the_depth_limit_print() {
    let depth = syntax::MAX_DEPTH as usize - 1;
    let text = format!("eqn f = {}x;\n", "!".repeat(depth));
    let spec = syntax::parse(&text).expect("the depth is within the limit");
    assert_eq!(print::spec(&spec), format!("eqn\nf = {}x;\n", "!".repeat(depth)));
}
