//! Random specifications over few action names, so that names meet at every depth, under every operator in every other.

use crate::random::Random;
use crate::{ALL, Agreement, agrees, built, built_with};
use gridlock_lang::system::{Options, Tables};
use gridlock_lts::model::equivalence::{Comparison, Equivalence, compare};
use gridlock_lts::model::explicit::Lts;
use std::fmt::Write;

/// What is demanded outside must reach what is inside, through every operator.
#[test]
fn names_used_again_at_several_depths() {
    let inits = [
        // A name that is renamed away has no source inside; the rest of its pattern stays.
        "allow({c}, comm({s|r->c}, s.delta || rename({s->r}, s.delta)))",
        "allow({a}, rename({a->b, b->a}, a.delta || b.delta))",
        "allow({c|c}, rename({a->c, b->c}, a.delta || b.delta || c.delta))",
        // A communication result that is a left-hand side further out.
        "allow({r}, comm({c|s->r}, comm({s|r->c}, s.delta || r.delta) || s.delta))",
        // Forbidden outside, used up inside; forbidden outside, hidden inside.
        "block({s}, comm({s|r->c}, s.delta || r.delta))",
        "block({s, c}, comm({s|r->c}, s.delta || r.delta) || a.delta)",
        "block({s}, hide({s}, s.a.delta) || s.delta)",
        "block({a}, rename({a->b}, a.delta || b.delta) || a.delta)",
        "block({b}, rename({a->b, b->c}, a.delta || b.delta))",
        // Free outside, renamed or communicating inside.
        "allow({a}, hide({c}, a.delta || comm({s|r->c}, s.delta || r.delta)))",
        "allow({a}, hide({c}, rename({s->c, c->a}, s.delta || c.delta)))",
        "allow({}, hide({c}, comm({a|a->c}, a.delta || a.delta || a.delta)))",
    ];
    for init in inits {
        let text = format!("act a, b, c, r, s;\ninit {init};\n");
        agrees(&text, init, 100, &ALL).expect_equal(&text);
    }
}

/// What may stand at a place of a process.
#[derive(Clone)]
struct Place {
    /// How deep expressions may still nest.
    depth: usize,
    /// The process being written.
    process: usize,
    /// Whether an action comes before.
    guarded: bool,
    /// Whether nothing comes after: only there may a process call itself without growing.
    last: bool,
    /// The variables in scope.
    vars: Vec<&'static str>,
}

impl Place {
    fn deeper(&self) -> Place {
        Place { depth: self.depth - 1, ..self.clone() }
    }

    fn inside(&self) -> Place {
        Place { last: false, ..self.deeper() }
    }
}

const PROCESSES: [&str; 3] = ["P", "Q", "R"];

struct Generator {
    r: Random,
    names: &'static [&'static str],
    /// Whether processes call each other in circles. They may not call each other inside operators or parallel
    /// compositions then.
    circles: bool,
}

impl Generator {
    fn name(&mut self) -> &'static str {
        self.r.of(self.names)
    }

    fn list(&mut self, least: usize, most: usize, separator: &str, one: fn(&mut Self) -> String) -> String {
        let n = least + self.r.below(most + 1 - least);
        (0..n).map(|_| one(self)).collect::<Vec<_>>().join(separator)
    }

    /// Different names, in any order.
    fn some_names(&mut self) -> Vec<&'static str> {
        let mut all = self.names.to_vec();
        for i in (1..all.len()).rev() {
            all.swap(i, self.r.below(i + 1));
        }
        all
    }

    fn operator(&mut self, inner: &str) -> String {
        match self.r.below(7) {
            0 => {
                let set = self.list(0, 2, ", ", |g| g.name().to_owned());
                format!("hide({{{set}}}, {inner})")
            }
            1 => {
                let set = self.list(0, 1, ", ", |g| g.name().to_owned());
                format!("block({{{set}}}, {inner})")
            }
            2 | 3 => {
                let n = 1 + self.r.below(self.names.len());
                let sources = self.some_names();
                let pairs: Vec<String> =
                    sources[..n].iter().map(|from| format!("{from} -> {}", self.name())).collect();
                format!("rename({{{}}}, {inner})", pairs.join(", "))
            }
            4 => {
                let set = self.list(1, 5, ", ", |g| g.list(1, 3, "|", |g| g.name().to_owned()));
                format!("allow({{{set}}}, {inner})")
            }
            _ => {
                let rules = self.communications();
                format!("comm({{{rules}}}, {inner})")
            }
        }
    }

    /// One or two communications that share no action on their left-hand sides, as the language wants it.
    fn communications(&mut self) -> String {
        let names = self.some_names();
        let mut rules: Vec<(Vec<&str>, &str)> = Vec::new();
        let (first, second) = names.split_at(1 + self.r.below(2));
        for lefts in [first, second].into_iter().take(1 + self.r.below(2)) {
            let mut left = lefts[..lefts.len().min(1 + self.r.below(3))].to_vec();
            while left.len() < 2 {
                left.push(left[0]);
            }
            rules.push((left, self.name()));
        }
        let lefts: Vec<Vec<&str>> = rules.iter().map(|r| r.0.clone()).collect();
        let fits = |i: usize, to: &str| lefts.iter().enumerate().all(|(j, l)| i == j || !l.contains(&to));
        let rules = rules.iter().enumerate().filter(|(i, (_, to))| fits(*i, to));
        rules.map(|(_, (left, to))| format!("{} -> {to}", left.join("|"))).collect::<Vec<_>>().join(", ")
    }

    fn condition(&mut self, vars: &[&str]) -> String {
        match self.r.below(6) {
            0 => "true".to_owned(),
            1 => "false".to_owned(),
            2 if vars.len() > 1 => format!("{} == {}", self.r.of(vars), self.r.of(vars)),
            3 if !vars.is_empty() => format!("!{}", self.r.of(vars)),
            _ if !vars.is_empty() => self.r.of(vars).to_owned(),
            _ => "true".to_owned(),
        }
    }

    fn action(&mut self, vars: &[&str]) -> String {
        if self.r.below(10) == 0 {
            return "tau".to_owned();
        }
        let n = if self.r.below(4) == 0 { 2 } else { 1 };
        let one = |g: &mut Self| match g.r.below(3) {
            0 => format!("{}({})", g.name(), g.condition(vars)),
            _ => g.name().to_owned(),
        };
        (0..n).map(|_| one(self)).collect::<Vec<_>>().join("|")
    }

    /// A call that lets no process grow: of a later process, or at the end of a sequence of the same or, in a circle, any.
    fn call(&mut self, at: &Place) -> Option<String> {
        let from = match (at.guarded && at.last, self.circles) {
            (true, true) => 0,
            (true, false) => at.process,
            (false, true) => PROCESSES.len(),
            (false, false) => at.process + 1,
        };
        let choices = PROCESSES.get(from..).filter(|c| !c.is_empty())?;
        let name = self.r.of(choices);
        Some(format!("{name}({})", self.condition(&at.vars)))
    }

    fn process(&mut self, at: &Place) -> String {
        let action = self.action(&at.vars);
        let after = Place { guarded: true, ..at.clone() };
        if at.depth == 0 {
            return match self.r.below(4) {
                0 => self.call(at).unwrap_or(action),
                1 => format!("{action} . {}", self.call(&after).unwrap_or("delta".into())),
                2 => self.r.of(&["delta", &action]).to_owned(),
                _ => action,
            };
        }
        match self.r.below(13) {
            0 | 1 => format!("({action} . {})", self.process(&after.deeper())),
            2 => {
                let first = Place { last: false, ..at.deeper() };
                format!("({} . {})", self.process(&first), self.process(&after.deeper()))
            }
            3 | 4 => format!("({} + {})", self.process(&at.deeper()), self.process(&at.deeper())),
            5 | 6 => {
                let var = self.r.of(&["x", "y"]);
                let mut inner = at.deeper();
                inner.vars.retain(|v| *v != var);
                inner.vars.push(var);
                format!("(sum {var}: Bool. {})", self.process(&inner))
            }
            7 => format!("(({}) -> {})", self.condition(&at.vars), self.process(&at.deeper())),
            8 => {
                let (yes, no) = (self.process(&at.deeper()), self.process(&at.deeper()));
                format!("(({}) -> {yes} <> {no})", self.condition(&at.vars))
            }
            9 => {
                let sign = self.r.of(&["||", "||", "||_", "|"]);
                let left = self.process(&at.inside());
                let right = if self.r.below(4) == 0 { left.clone() } else { self.process(&at.inside()) };
                format!("({left} {sign} {right})")
            }
            10 => {
                let inner = self.process(&at.inside());
                self.operator(&inner)
            }
            _ => self.call(at).unwrap_or(action),
        }
    }

    /// The initial process: components under operators, in parallel, under operators again.
    fn system(&mut self, depth: usize, parts: &mut usize) -> String {
        if depth > 0 && self.r.below(3) > 0 {
            let inner = self.system(depth - 1, parts);
            return self.operator(&inner);
        }
        if depth > 0 && *parts > 1 && self.r.below(5) > 0 {
            *parts -= 1;
            let left = self.system(depth - 1, parts);
            let right = if self.r.below(6) == 0 { left.clone() } else { self.system(depth - 1, parts) };
            return format!("({left} || {right})");
        }
        let at = Place { depth: 1, process: usize::MAX - 1, guarded: false, last: false, vars: vec![] };
        match self.r.below(3) {
            0 => self.process(&at),
            1 => format!("({} . {})", self.action(&[]), self.action(&[])),
            _ => {
                let e = self.condition(&[]);
                format!("{}({e})", self.r.of(&PROCESSES))
            }
        }
    }
}

/// A random specification over three or four names, each with and without an argument.
pub fn specification(seed: u64) -> String {
    let mut r = Random(seed);
    let names: &[&str] = if r.below(2) == 0 { &["a", "b", "c"] } else { &["a", "b", "c", "d"] };
    let circles = r.below(2) == 0;
    let mut g = Generator { r, names, circles };
    let all = names.join(", ");
    let mut out = format!("act {all}; {all}: Bool;\nproc\n");
    for (process, name) in PROCESSES.iter().enumerate() {
        let at = Place { depth: 3, process, guarded: false, last: true, vars: vec!["x"] };
        writeln!(out, "  {name}(x: Bool) = {};", g.process(&at)).expect("strings take everything");
    }
    let depth = 3 + g.r.below(4);
    let mut parts = 2 + g.r.below(3);
    let (left, right) = (g.system(depth - 1, &mut parts), g.system(depth - 2, &mut parts));
    let mut init = format!("({left} || {right})");
    for _ in 0..g.r.below(4) {
        init = g.operator(&init);
    }
    writeln!(out, "init {init};").expect("strings take everything");
    out
}

/// Equal actions communicate in very many ways: a few are compared, and too many are refused while they are counted.
#[test]
fn many_equal_actions_communicate_or_are_refused() {
    let text = |many: usize, more: &str| {
        format!("act a, b; a, b: Bool; init comm({{a|a -> b}}, {}{more});", vec!["a(true)"; many].join("|"))
    };
    for more in ["", " || a(false)", " || a(true)"] {
        let text = text(6, more);
        agrees(&text, &text, 100, &ALL).expect_equal(&text);
    }
    for more in ["", " || a(false)", " . b"] {
        let text = text(40, more);
        assert!(ALL.iter().all(|tables| built(&text, *tables).is_none()), "{text}");
    }
}

/// The state space is the same if building ahead is given up after a few local states, and everything is forgotten.
fn given_up_ahead(text: &str, expected: &Lts) {
    for table_limit in [1, 3] {
        let options = Options { tables: Tables::AheadOfTime, table_limit, warm_up: 5, ..Options::default() };
        let found = built_with(text, &options).unwrap_or_else(|| panic!("refused: {text}"));
        let verdict = compare(expected, &found, Equivalence::Strong).expect("small");
        assert!(matches!(verdict, Comparison::Equal), "{table_limit}: {verdict:?}\n{text}");
    }
}

/// A share of these always runs, more with `GRIDLOCK_SLOW`, and as many as `GRIDLOCK_COLLISIONS` says: a number, or a range
/// of seeds as in `4000..8000`.
#[test]
fn random_specifications_over_few_names() {
    let seeds = match std::env::var("GRIDLOCK_COLLISIONS") {
        Ok(text) => {
            let number =
                |text: &str| text.parse().expect("GRIDLOCK_COLLISIONS is a number or a range of seeds");
            text.split_once("..").map_or_else(|| 0..number(&text), |(from, to)| number(from)..number(to))
        }
        Err(_) if std::env::var_os("GRIDLOCK_SLOW").is_some() => 0..4000,
        Err(_) => 0..300,
    };
    let rounds: u64 = seeds.end - seeds.start;
    let (mut compared, mut moving, mut refused) = (0, 0, Vec::new());
    for seed in seeds {
        let text = specification(seed);
        let modes = if seed % 8 == 0 { &ALL[..] } else { &ALL[(seed % 3) as usize..][..1] };
        match agrees(&text, &format!("seed {seed}"), 100, modes) {
            Agreement::Equal(lts) => {
                compared += 1;
                moving += u64::from(lts.num_transitions() > 3);
                if seed % 8 == 0 {
                    given_up_ahead(&text, &lts);
                }
            }
            Agreement::TooLarge => {}
            Agreement::Refused => refused.push(seed),
        }
    }
    println!("{compared} of {rounds} specifications compared, {moving} of them move, refused: {refused:?}");
    assert!(refused.len() as u64 <= 1 + rounds / 500, "too many specifications were refused: {refused:?}");
    assert!(compared * 10 > rounds * 7, "too many specifications were too large: {compared} of {rounds}");
    assert!(moving * 2 > compared, "too few specifications do much: {moving} of {compared}");
}
