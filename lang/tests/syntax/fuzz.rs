//! Random texts: no panic, no hang, and no tree that does not survive printing.
//!
//! `GRIDLOCK_FUZZ_CASES` sets how many are tried, `GRIDLOCK_FUZZ_SEED` where to begin.

use crate::corpus::specifications;
use crate::random::Random;
use crate::{LIMIT_REACHED, limit_work, placeless};
use gridlock_lang::diagnostic::{Diagnostic, render};
use gridlock_lang::syntax::{self, print, print_formula};

const SAMPLES: [&str; 4] = [
    "sort D = struct d1 | d2(n: Nat, List(D))?is_d2; Error;\nmap f: D # Nat -> Bool; N: Pos;\nvar d: D; n, m: Nat;\n\
     eqn n < m -> f(d, n) = exists x: Nat. x == n && !(m in {y: Nat | y mod 2 == 0});\n    N = 3;\n",
    "act r1, s4: D; i;\nproc S(b: Bool, n: Nat) = sum d: D. r1(d) . (b -> i . S(n = n + 1) <> delta) + tau . S();\n\
     init hide({i}, allow({r1, s4|i}, comm({r1|s4 -> i}, rename({i -> i}, block({s4}, S(true, 0) || S(false, 1) ||_ i)))));\n",
    "map g: List(Nat) -> Nat -> Bag(Nat);\neqn g([1, 2] ++ (3 |> []) <| 4)(#[5] . 0) = {1: 2, 3: 4} + {:} - lambda x: Nat. f[x -> -1](x) whr z = 7 div 2 end;\n",
    "nu X(n: Nat = 0). [true* . (a(n) || !b|c)+ . exists m: Nat. d(m)]X(n + 1) && <tau>true => mu Y. forall k: Nat. val(k < 3) || Y\n",
];

const TOKENS: [&str; 92] = [
    "sort", "cons", "map", "var", "eqn", "glob", "act", "proc", "init", "form", "struct", "Bool", "Nat",
    "Real", "List", "FBag", "true", "false", "forall", "exists", "lambda", "whr", "end", "div", "mod", "in",
    "delta", "tau", "sum", "dist", "block", "allow", "hide", "rename", "comm", "mu", "nu", "val", "delay",
    "x", "y", "P", "a", "f", "_", "'", "0", "1", "42", "007", "(", ")", "[", "]", "{", "}", "(", ")", ",",
    ":", ";", ";", "=", "==", "!=", "!", "-", "->", "<>", "<", "<=", ">", ">=", "<<", "<|", "|>", "|", "||",
    "||_", "&&", "&", "=>", "+", "++", "*", "/", ".", "#", "@", "?", "%", "\n",
];

/// A sample with random cuts, copies, swaps and replacements of bytes and tokens.
fn mutate(random: &mut Random, samples: &[String]) -> String {
    let mut text: Vec<char> = samples[random.below(samples.len())].chars().collect();
    if text.len() > 4_000 {
        let start = random.below(text.len() - 4_000);
        text = text[start..start + 4_000].to_vec();
    }
    for _ in 0..1 + random.below(8) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(20)).min(text.len());
        match random.below(6) {
            0 => drop(text.drain(at..end)),
            1 => {
                let token = random.pick(&TOKENS);
                drop(text.splice(at..at, format!(" {token} ").chars()));
            }
            2 => {
                let token = random.pick(&TOKENS);
                drop(text.splice(at..end, token.chars()));
            }
            3 => {
                let copy: Vec<char> = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                drop(text.splice(to..to, copy));
            }
            4 if at < text.len() => {
                text[at] = random.pick(&['\0', 'é', '\u{feff}', '"', '\r', '\t', '∧', '9', ';'])
            }
            _ => {
                let token = random.pick(&["(", "((", "!", "[", "{x:", "c->", "forall x:S.", "x,", ")", "}"]);
                let many = token.repeat(random.below(200));
                drop(text.splice(at..at, many.chars()));
            }
        }
    }
    text.into_iter().collect()
}

fn soup(random: &mut Random) -> String {
    let count = random.below(60);
    let mut text =
        random.pick(&["", "init ", "eqn f = ", "proc P = ", "sort S = ", "act ", "form ", "["]).to_string();
    for _ in 0..count {
        text.push_str(random.pick(&TOKENS));
        text.push_str(random.pick(&["", " ", " ", "\n"]));
    }
    text
}

fn check_errors(text: &str, errors: &[Diagnostic]) {
    assert!(!errors.is_empty());
    for error in errors {
        assert!(error.span.start <= error.span.end && error.span.end as usize <= text.len(), "{error:?}");
        assert!(!error.message.is_empty() && !error.message.contains(LIMIT_REACHED), "{error:?}");
    }
    assert!(!render("fuzz", text, errors, true).is_empty());
}

fn check_text(text: &str) {
    match syntax::parse(text) {
        Ok(spec) => {
            let printed = print::spec(&spec);
            let again =
                syntax::parse(&printed).unwrap_or_else(|errors| panic!("{text}\n{printed}\n{errors:?}"));
            assert_eq!(placeless(&spec), placeless(&again), "{text}");
        }
        Err(errors) => check_errors(text, &errors),
    }
    match syntax::parse_formula(text) {
        Ok(formula) => {
            let printed = print_formula::formula(&formula);
            let again = syntax::parse_formula(&printed)
                .unwrap_or_else(|errors| panic!("{text}\n{printed}\n{errors:?}"));
            assert_eq!(placeless(&formula), placeless(&again), "{text}");
        }
        Err(errors) => check_errors(text, &errors),
    }
    if let Err(errors) = syntax::parse_action_pattern(text) {
        check_errors(text, &errors);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn random_texts_get_an_answer() {
    let samples: Vec<String> = SAMPLES
        .iter()
        .map(|sample| sample.to_string())
        .chain(specifications().into_iter().map(|(_, text)| text))
        .collect();
    limit_work();
    let first = setting("GRIDLOCK_FUZZ_SEED").unwrap_or(0);
    let cases = setting("GRIDLOCK_FUZZ_CASES").unwrap_or(3_000);
    let mut parsed = 0usize;
    for seed in first..first + cases {
        let mut random = Random(seed);
        let text = match random.below(4) {
            0 => soup(&mut random),
            1 => {
                let depth = random.below(4);
                mutate(&mut Random(seed + 1), &[print::spec(&random.spec(depth))])
            }
            _ => mutate(&mut random, &samples),
        };
        let outcome = std::panic::catch_unwind(|| check_text(&text));
        assert!(outcome.is_ok(), "seed {seed}:\n{text}");
        parsed += usize::from(syntax::parse(&text).is_ok());
    }
    assert!(parsed > 0, "some texts are still correct");
}
