//! Loose prefix operators below tight ones: where the two readings of a text differ, brackets are asked for, and where
//! they agree, nothing is said. The oracle is a pair of plain recursive parsers, one for each reading.

use crate::placeless;
use crate::random::Random;
use gridlock_lang::diagnostic::Diagnostic;
use gridlock_lang::syntax::{self, formula::StateFormula};

fn data(text: &str) -> Result<String, Vec<Diagnostic>> {
    let spec = syntax::parse(&format!("eqn left = {text};"))?;
    Ok(placeless(&spec.equations[0].equations[0].right))
}

fn state(text: &str) -> Result<StateFormula, Vec<Diagnostic>> {
    let formula = syntax::parse_formula(text)?;
    let problems: Vec<Diagnostic> = formula.unclear.into_iter().map(|unclear| unclear.problem).collect();
    if problems.is_empty() { Ok(formula.state) } else { Err(problems) }
}

/// Both readings as the message shows them, the one that reaches far first.
fn readings(errors: &[Diagnostic]) -> (String, String) {
    let message = &errors[0].message;
    assert!(message.contains("brackets are needed"), "{message}");
    let help = errors[0].help.clone().unwrap();
    let mut quoted = help.split('\'').skip(1).step_by(2).map(str::to_owned);
    (quoted.next().unwrap(), quoted.next().unwrap())
}

/// The text is refused, and each reading that is shown parses, to different trees.
fn asks(errors: Vec<Diagnostic>, far: &str, near: &str, show: impl Fn(&str) -> String) {
    let (shown_far, shown_near) = readings(&errors);
    assert_eq!((shown_far.as_str(), shown_near.as_str()), (far, near));
    assert_ne!(show(far), show(near));
}

fn data_asks(text: &str, far: &str, near: &str) {
    asks(data(text).expect_err(text), far, near, |text| data(text).unwrap());
}

fn state_asks(text: &str, far: &str, near: &str) {
    asks(state(text).expect_err(text), far, near, |text| placeless(&state(text).unwrap()));
}

#[test]
fn data_asks_for_brackets() {
    for b in ["forall d: Bool.", "exists d: Bool.", "lambda d: Bool."] {
        data_asks(&format!("!{b} b || a"), &format!("!({b} b || a)"), &format!("(!{b} b) || a"));
        data_asks(&format!("-{b} b + a"), &format!("-({b} b + a)"), &format!("(-{b} b) + a"));
        data_asks(&format!("c && {b} b => a"), &format!("c && ({b} b => a)"), &format!("(c && {b} b) => a"));
        data_asks(&format!("c == {b} b == a"), &format!("c == ({b} b == a)"), &format!("(c == {b} b) == a"));
        data_asks(
            &format!("c && {b} {b} b || a"),
            &format!("c && {b} ({b} b || a)"),
            &format!("(c && {b} {b} b) || a"),
        );
        for same in [
            format!("c => {b} b && a"),
            format!("c => {b} b => a"),
            format!("c && {b} b && a"),
            format!("c || {b} b || a"),
            format!("c && ({b} b || a)"),
            format!("(c && {b} b) || a"),
            format!("!{b} b"),
            format!("!{b} f(a)[b -> c]"),
            format!("!{b} a whr a = true end"),
            format!("f(c, {b} b || a)"),
            format!("c && {b} [b || a]"),
        ] {
            data(&same).unwrap_or_else(|errors| panic!("{same}: {errors:?}"));
        }
    }
}

#[test]
fn state_formulas_ask_for_brackets() {
    state_asks(
        "[b]forall d: Bool. true && [a]false",
        "[b](forall d: Bool. true && [a]false)",
        "([b]forall d: Bool. true) && [a]false",
    );
    state_asks("[b]nu X. [b]X && [a]false", "[b](nu X. [b]X && [a]false)", "([b]nu X. [b]X) && [a]false");
    state_asks("<b>mu X. <b>X || X", "<b>(mu X. <b>X || X)", "(<b>mu X. <b>X) || X");
    state_asks("!exists d: Bool. X || Y", "!(exists d: Bool. X || Y)", "(!exists d: Bool. X) || Y");
    state_asks("true || [b][c]nu X. X => Y", "true || [b][c](nu X. X => Y)", "(true || [b][c]nu X. X) => Y");
    for same in [
        "nu X. [a]X && [b]X",
        "forall d: Bool. nu X. [a]X && [b]X",
        "true && nu X. X && Y",
        "true => forall d: Bool. X || Y => Z",
        "[b](forall d: Bool. true && [a]false)",
        "[b]forall d: Bool. [c][d]false",
    ] {
        state(same).unwrap_or_else(|errors| panic!("{same}: {errors:?}"));
    }
}

#[test]
fn action_formulas_ask_for_brackets() {
    let inside = |text: &str| placeless(&state(&format!("[{text}]false")).unwrap());
    for (text, far, near) in [
        ("!exists d: Bool. b || a", "!(exists d: Bool. b || a)", "(!exists d: Bool. b) || a"),
        ("c && forall d: Bool. b || a", "c && (forall d: Bool. b || a)", "(c && forall d: Bool. b) || a"),
        ("c . !forall d: Bool. b => a", "!(forall d: Bool. b => a)", "(!forall d: Bool. b) => a"),
    ] {
        asks(state(&format!("[{text}]false")).expect_err(text), far, near, inside);
    }
    for same in [
        "exists d: Bool. b || a",
        "!(exists d: Bool. b || a)",
        "!exists d: Bool. b . a",
        "(!exists d: Bool. b)*",
    ] {
        inside(same);
    }
}

#[test]
fn specifications_ask_for_brackets_at_the_place() {
    let text = "act a, b; init (!exists d: Bool. true || true) -> a.delta <> b.delta;";
    let errors = syntax::parse(text).expect_err(text);
    assert_eq!(&text[errors[0].span.start as usize..errors[0].span.end as usize], "exists");
    assert_eq!(readings(&errors).1, "(!exists d: Bool. true) || true");
    let condition = "map f: Bool; eqn !forall d: Bool. d && f -> f = true;";
    assert!(readings(&syntax::parse(condition).expect_err(condition)).0.starts_with("!("));
}

#[test]
fn a_reading_fits_on_a_line() {
    let names = vec!["some_name"; 100].join(" && % a comment\n  ");
    let errors = data(&format!("!exists d: Bool. {names} || b")).expect_err("long");
    let (far, near) = readings(&errors);
    assert!(far.len() < 250 && near.len() < 250, "{far}");
    assert!(!far.contains(['\n', '%']), "{far}");
}

/// An expression of the oracle: fully bracketed text.
type Text = String;

/// A language for the oracle: prefix operators and infix operators by level; the flag says 'to the right'.
struct Operators {
    prefixes: &'static [(&'static str, u8)],
    infixes: &'static [(&'static str, u8, bool)],
}

const DATA: Operators = Operators {
    prefixes: &[("!", 13), ("-", 13), ("forall x: A.", 1), ("exists x: A.", 1), ("lambda x: A.", 1)],
    infixes: &[
        ("=>", 2, true),
        ("||", 3, true),
        ("&&", 4, true),
        ("==", 5, false),
        ("<", 6, false),
        ("|>", 7, true),
        ("+", 10, false),
        ("*", 12, false),
    ],
};
const STATE: Operators = Operators {
    prefixes: &[
        ("!", 6),
        ("[a]", 6),
        ("<a>", 6),
        ("forall x: A.", 2),
        ("exists x: A.", 2),
        ("mu X.", 1),
        ("nu X.", 1),
    ],
    infixes: &[("=>", 3, true), ("||", 4, true), ("&&", 5, true)],
};
const ACTION: Operators = Operators {
    prefixes: &[("!", 8), ("forall x: A.", 4), ("exists x: A.", 4)],
    infixes: &[("=>", 5, true), ("||", 6, true), ("&&", 7, true)],
};

impl Operators {
    /// Reads an expression whose operators bind at least as tightly as `least`. A prefix operator is `far` reaching if
    /// what stands around it has no say in where it ends.
    fn read(&self, tokens: &[&str], at: &mut usize, least: u8, far: bool) -> Text {
        let token = tokens[*at];
        *at += 1;
        let mut left = match self.prefixes.iter().find(|(word, _)| *word == token) {
            Some((word, level)) => {
                let least = if far { *level } else { least.max(*level) };
                format!("{word}({})", self.read(tokens, at, least, far))
            }
            None => token.to_owned(),
        };
        while let Some((word, level, right)) =
            tokens.get(*at).and_then(|token| self.infixes.iter().find(|(word, ..)| word == token))
        {
            if *level < least {
                break;
            }
            *at += 1;
            let operand = self.read(tokens, at, if *right { *level } else { level + 1 }, far);
            left = format!("({left}) {word} ({operand})");
        }
        left
    }

    fn random(&self, random: &mut Random) -> Vec<&'static str> {
        let mut tokens = Vec::new();
        loop {
            while random.below(5) < 2 {
                tokens.push(random.pick(self.prefixes).0);
            }
            tokens.push(random.pick(&["X", "Y"]));
            if tokens.len() > 12 || random.below(6) == 0 {
                return tokens;
            }
            tokens.push(random.pick(self.infixes).0);
        }
    }

    /// Whether random texts are refused exactly where the readings differ, and read right where they agree.
    fn check(&self, seed: u64, parse: impl Fn(&str) -> Result<String, Vec<Diagnostic>>) {
        let mut random = Random(seed);
        let (mut agreed, mut differed) = (0, 0);
        for _ in 0..4000 {
            let tokens = self.random(&mut random);
            let text = tokens.join(" ");
            let far = self.read(&tokens, &mut 0, 0, true);
            let near = self.read(&tokens, &mut 0, 0, false);
            match parse(&text) {
                Ok(tree) => {
                    assert_eq!(far, near, "{text} was accepted");
                    assert_eq!(tree, parse(&far).unwrap(), "{text}");
                    agreed += 1;
                }
                Err(errors) => {
                    assert_ne!(far, near, "{text} was refused: {errors:?}");
                    readings(&errors);
                    differed += 1;
                }
            }
        }
        assert!(agreed > 400 && differed > 400, "{agreed} agreed, {differed} differed");
    }
}

/// The tree with chains of associative operators nested to the right, as the grammar of mCRL2 has them.
fn binary(text: &str) -> Result<String, Vec<Diagnostic>> {
    use gridlock_lang::syntax::formula::{ActionFormula, ActionKind, RegularKind, StateKind};
    fn action(formula: &ActionFormula) -> String {
        let chain =
            |operands: &[ActionFormula], op: &str| operands.iter().map(action).collect::<Vec<_>>().join(op);
        match &formula.kind {
            ActionKind::And(operands) => format!("({})", chain(operands, "&&")),
            ActionKind::Or(operands) => format!("({})", chain(operands, "||")),
            ActionKind::Implies(a, b) => format!("({} => {})", action(a), action(b)),
            ActionKind::Not(a) => format!("!{}", action(a)),
            ActionKind::Quantifier(q, _, a) => format!("{q:?}{}", action(a)),
            other => placeless(other),
        }
    }
    fn show(formula: &StateFormula) -> String {
        let chain =
            |operands: &[StateFormula], op: &str| operands.iter().map(show).collect::<Vec<_>>().join(op);
        match &formula.kind {
            StateKind::And(operands) => format!("({})", chain(operands, "&&")),
            StateKind::Or(operands) => format!("({})", chain(operands, "||")),
            StateKind::Implies(a, b) => format!("({} => {})", show(a), show(b)),
            StateKind::Not(a) => format!("!{}", show(a)),
            StateKind::Quantifier(q, _, a) => format!("{q:?}{}", show(a)),
            StateKind::Fixpoint(q, _, _, a) => format!("{q:?}{}", show(a)),
            StateKind::Box(regular, a) => match &regular.kind {
                RegularKind::Action(inner) => format!("[{}]{}", action(inner), show(a)),
                other => panic!("{other:?}"),
            },
            StateKind::Diamond(_, a) => format!("<>{}", show(a)),
            other => placeless(other),
        }
    }
    // Brackets around a chain inside an equal one are kept in the tree; here they do not matter.
    state(text).map(|formula| flat(&show(&formula)))
}

/// Without brackets around an operand of an equal associative operator.
fn flat(text: &str) -> String {
    fn expression(chars: &[char], at: &mut usize) -> (String, char) {
        let (mut out, mut op) = (String::new(), ' ');
        while *at < chars.len() && chars[*at] != ')' {
            match chars[*at] {
                '(' => {
                    *at += 1;
                    let (inner, inner_op) = expression(chars, at);
                    *at += 1;
                    let outer = if op != ' ' { op } else { next_op(chars, *at) };
                    let prefixed = out.ends_with(|c: char| c != '&' && c != '|') && !out.is_empty();
                    if inner_op == outer && inner_op != ' ' && !prefixed {
                        out.push_str(&inner);
                    } else {
                        out.push_str(&format!("({inner})"));
                    }
                }
                c @ ('&' | '|') => {
                    op = c;
                    out.push(c);
                    *at += 1;
                }
                c => {
                    out.push(c);
                    *at += 1;
                }
            }
        }
        (out, op)
    }
    fn next_op(chars: &[char], at: usize) -> char {
        chars.get(at).copied().filter(|c| matches!(c, '&' | '|')).unwrap_or(' ')
    }
    expression(&text.chars().collect::<Vec<_>>(), &mut 0).0
}

#[test]
fn random_data_is_refused_where_two_parsers_differ() {
    DATA.check(1, data);
}

#[test]
fn random_state_formulas_are_refused_where_two_parsers_differ() {
    STATE.check(2, binary);
}

#[test]
fn random_action_formulas_are_refused_where_two_parsers_differ() {
    ACTION.check(3, |text| binary(&format!("[{text}]false")));
}
