//! Whole specifications, broken at random: nothing may panic, hang or exhaust memory, for any text. How long it takes is
//! measured in units of work, which are the same on every machine.
//!
//! `GRIDLOCK_FUZZ_CASES` sets how many are tried, `GRIDLOCK_FUZZ_SEED` where to begin.

use gridlock_lang::diagnostic::Span;
use gridlock_lang::system::{Options, Tables, load};
use gridlock_lts::engine::explore::{self, explore};

/// Seeds of the mutations: together they use every construct of the language.
const SAMPLES: &[&str] = &[
    "sort D = struct d1 | d2; Frame = struct frame(getd: D, bit: Bool)?is_frame | none;
     map inv: Bool -> Bool; len: List(D) -> Nat; up: Nat # Nat -> Nat;
     var b: Bool; l: List(D); d: D; n, m: Nat;
     eqn inv(true) = false; inv(false) = true; len([]) = 0; len(d |> l) = 1 + len(l);
         n < m -> up(n, m) = up(n + 1, m); n >= m -> up(n, m) = n;
     act r1, s4: D; s2, r2, c2: Frame; s3, r3, c3: Bool; i;
     proc S(b: Bool) = sum d: D. r1(d) . T(d, b);
          T(d: D, b: Bool) = s2(frame(d, b)) . (r3(b) . S(inv(b)) + r3(inv(b)) . T(d, b));
          R(b: Bool) = sum f: Frame. r2(f) . (is_frame(f) && bit(f) == b) -> s4(getd(f)) . s3(b) . R(!b) <> s3(!b) . R(b);
     init hide({c3}, allow({r1, s4, c2, c3}, comm({s2|r2 -> c2, s3|r3 -> c3}, S(true) || R(true))));",
    "act put, get, move: Nat; enq, deq, q; proc Q(l: List(Nat)) = sum n: Nat. get(n) . Q(l <| n) + (l != []) -> put(head(l)) . Q(tail(l));
     P(n: Nat) = (n < 3) -> put(n) . P(n + 1) <> q . delta; C = sum m: Nat. get(m) . C;
     init allow({move, q}, comm({put|get -> move}, P(0) || Q([]) || C));",
    "sort E = struct a1 | a2 | a3; F = E -> Nat; map z: F; eqn z = lambda x: E. 0; act set: E # Nat; show: Set(E); bag: Bag(E);
     proc P(f: F, s: Set(E), b: Bag(E)) = sum e: E. (f(e) < 2 && !(e in s)) -> set(e, f(e)) . P(f[e -> f(e) + 1], s + {e}, b + {e: 1})
       + (exists e: E. f(e) == 2) -> show({e: E | f(e) > 1}) . P(z, !s, {:}) + (forall e: E. count(e, b) > 0) -> bag(b) . delta;
     init P(z, {}, {:});",
    "map N: Pos; eqn N = 3; act t, u, d, tt, l: Pos; proc Phil(n: Pos) = t(n) . t(if(n == N, 1, n + 1)) . u(n) . Phil(n);
     Fork(n: Pos) = d(n) . (u(n) + tau) . Fork(n); K(n: Pos) = (n > 1) -> (Phil(n) || Fork(n) || K(Int2Pos(n - 1))) <> (Phil(1) || Fork(1));
     init block({t, d}, rename({u -> l}, comm({t|d -> tt}, K(N))));",
    "act a, b: Real; proc P(x: Real, y: Int) = (x > 1/8) -> a(x / 2) . P(x / 2, y - 1) + (y > -3) -> b(exp(2, abs(y)) + floor(x)) . P(x, y - 1) <> (a(0) . b(1) || b(2));
     init P(4, 2) . (a(max(1, 2)) + tau);",
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n.max(1) as u64) as usize
    }
}

/// Words, numbers, spaces and single signs.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match out.last_mut() {
            Some(last) if word && last.chars().all(|c| c.is_alphanumeric() || c == '_') => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

fn mutate(r: &mut Random) -> String {
    let mut all = tokens(SAMPLES[r.below(SAMPLES.len())]);
    let other = tokens(SAMPLES[r.below(SAMPLES.len())]);
    for _ in 0..1 + r.below(4) {
        let at = r.below(all.len());
        match r.below(7) {
            0 => drop(all.remove(at)),
            1 => all.insert(at, other[r.below(other.len())].clone()),
            2 => all[at] = other[r.below(other.len())].clone(),
            3 => {
                let end = (at + r.below(30)).min(all.len());
                let piece: Vec<String> = all[at..end].to_vec();
                let to = r.below(all.len());
                all.splice(to..to, piece);
            }
            4 => {
                // A name for another name of the same text: often still a correct specification.
                let from = r.below(all.len());
                all[at] = all[from].clone();
            }
            5 => {
                all[at] =
                    ["0", "1", "100000000000000000000", "+", "||", ".", "->", "true"][r.below(8)].to_owned()
            }
            _ => all.truncate(at.max(1)),
        }
        if all.is_empty() {
            break;
        }
    }
    all.concat()
}

/// Units of work that a specification may take: a second or two. The limits below allow little more than this.
const MOST_WORK: u64 = 10_000_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn broken_specifications_are_answered() {
    let cases = setting("GRIDLOCK_FUZZ_CASES").unwrap_or(1_500);
    let mut r = Random(setting("GRIDLOCK_FUZZ_SEED").unwrap_or(1));
    let (mut loaded, mut refused, mut most) = (0u32, 0u32, (0, String::new()));
    for _ in 0..cases {
        let text = mutate(&mut r);
        let tables = [Tables::Auto, Tables::OnDemand, Tables::AheadOfTime][r.below(3)];
        let options =
            Options { tables, step_limit: 20_000, table_limit: 2_000, warm_up: 300, ..Options::default() };
        match load(&text, "fuzz", &options, &mut |_| true) {
            Err(found) => {
                refused += 1;
                assert!(!found.is_empty(), "refused without a reason:\n{text}");
                let end = text.len() as u32;
                assert!(
                    found.iter().all(|d| {
                        d.span == Span::END || (d.span.start <= d.span.end && d.span.end <= end)
                    }),
                    "{found:?}\n{text}"
                );
            }
            Ok(mut system) => {
                loaded += 1;
                let source: Option<&mut dyn gridlock_lts::model::network::TableSource> =
                    if system.closed { None } else { Some(&mut system.builder) };
                let options = explore::Options { max_states: 1_000, progress: &mut |_| true };
                let _ = explore(&mut system.network, source, options);
                let work = system.builder.work();
                if work > most.0 {
                    most = (work, text);
                }
            }
        }
    }
    assert!(most.0 < MOST_WORK, "{} units of work:\n{}", most.0, most.1);
    assert!(loaded > 20 && refused > 20, "one-sided: {loaded} loaded, {refused} refused");
    println!("{loaded} loaded, {refused} refused, most work {}", most.0);
}
