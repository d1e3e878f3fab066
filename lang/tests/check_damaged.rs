//! Specifications with words left out, doubled or exchanged: the checker gives errors inside the text, or accepts.
//! With `GRIDLOCK_CORPUS` the specifications of that directory are damaged too.

use gridlock_lang::{check, syntax};

const SAMPLE: &str = "
sort D = struct d1 | d2(val: Nat, next: D)?is_d2; Queue = List(D); E; F = Nat -> Set(E);
cons e1, e2: E; e3: Nat -> E;
map f: D # Nat -> Bool; f: Queue -> Nat; g: Nat -> F; empty: F; N: Pos; h: (Nat -> Nat) -> Nat;
var d: D; n, m: Nat; q: Queue; k: Nat -> Nat;
eqn f(d1, n) = n > 0; f(d2(n, d), m) = f(d, m + n) && is_d2(d); f([]) = 0; f(d |> q) = val(d) + f(q);
    n < 3 -> g(n) = empty[n -> {e1}]; empty(n) = {}; N = 3; h(k) = k(1) whr y = 2 end;
map j: Int -> Int; c: Bag(D) # FSet(Pos) -> Bool;
var i: Int; b: Bag(D); s: FSet(Pos);
eqn j(i) = if(i < 0, -i, i div 2); c(b, s) = #s > count(d1, b) || (exists x: Pos. x in s) || {x: Pos | x < 2} <= s;
act send, receive, talk: D # Nat; tick; show: Real;
proc P(n: Nat, q: Queue) = (n < N) -> sum d: D. receive(d, n) . P(n + 1, d |> q) <> send(head(q), #q) . P(n = 0)
       + tick|show(1/2) . P() + (h(lambda x: Nat. x + 1) == 2) -> delta;
     Q = tau . P(0, []) || rename({tick -> tick}, Q);
init hide({tick}, allow({talk, tick|show, show}, comm({send|receive -> talk}, block({show}, P(0, [d1]) || Q))));
";

/// Words, numbers and single signs, with the space before them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut last_word = false;
    for (i, c) in text.char_indices() {
        let word = c.is_alphanumeric() || c == '_' || c == '\'';
        if i > start && !(word && last_word) {
            words.push(&text[start..i]);
            start = i;
        }
        last_word = word;
    }
    words.push(&text[start..]);
    words
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn damage(text: &str, rounds: usize, random: &mut Random) -> (usize, usize) {
    let (mut checked, mut rejected) = (0, 0);
    for _ in 0..rounds {
        let mut words = words(text);
        for _ in 0..1 + random.below(3) {
            let (i, j) = (random.below(words.len()), random.below(words.len()));
            match random.below(4) {
                0 => {
                    words.remove(i);
                }
                1 => words.insert(i, words[j]),
                2 => words.swap(i, j),
                _ => words[i] = words[j],
            }
        }
        let damaged = words.concat();
        let Ok(spec) = syntax::parse(&damaged) else { continue };
        checked += 1;
        if let Err(errors) = check::check(&spec) {
            rejected += 1;
            assert!(!errors.is_empty());
            for error in errors {
                let span = error.span.start as usize..error.span.end as usize;
                assert!(damaged.get(span).is_some(), "{error:?} is outside {damaged}");
                assert!(!error.message.is_empty());
            }
        }
    }
    (checked, rejected)
}

#[test]
fn damaged_specifications_are_answered() {
    let spec = syntax::parse(SAMPLE).expect("syntax");
    check::check(&spec).expect("the sample is sound");
    let mut random = Random(0x5eed);
    let (checked, rejected) = damage(SAMPLE, 1_500, &mut random);
    assert!(checked > 100 && rejected > 50, "{checked} checked, {rejected} rejected");
    let Some(directory) = std::env::var_os("GRIDLOCK_CORPUS") else { return };
    let mut files: Vec<_> =
        std::fs::read_dir(directory).expect("directory").map(|e| e.expect("entry").path()).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "mcrl2")) {
        let text = String::from_utf8_lossy(&std::fs::read(file).expect("file")).into_owned();
        damage(&text, 20, &mut random);
    }
}
