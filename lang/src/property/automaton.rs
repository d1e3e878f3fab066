//! Regular expressions over predicates, and the deterministic automata that watch for them.
//!
//! The stages: expression → automaton with silent moves → subsets → merged states and classes. Everything is numbered in
//! the order in which a breadth-first walk from the initial state meets it, so the result is the same in every run.
//!
//! Invariant: [`Watch`] is total, its initial state is 0, and it is bad after a word exactly if a prefix of the word,
//! the empty one and the whole included, is in the language.

use gridlock_lts::base::hash::Map;

/// The most table entries (states times classes) of an automaton.
const MAX_ENTRIES: usize = 1 << 20;

/// The most states of an automaton before states are merged.
const MAX_STATES: usize = 1 << 13;

/// The most states of the automaton with silent moves.
const MAX_SILENT: usize = 1 << 14;

/// A regular expression. One letter is a predicate, by its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Regular {
    /// A step of which the predicate holds.
    Step(u32),
    /// One after the other; of none, the empty word.
    Seq(Vec<Regular>),
    /// Any of these; of none, no word.
    Choice(Vec<Regular>),
    /// Any number of times.
    Star(Box<Regular>),
    /// At least once.
    Plus(Box<Regular>),
}

/// Why there is no automaton: it would be too large.
#[derive(PartialEq, Eq, Debug)]
pub struct TooLarge;

/// An automaton with silent moves.
#[derive(Default)]
struct Silent {
    states: Vec<SilentState>,
}

#[derive(Default)]
struct SilentState {
    silent: Vec<u32>,
    steps: Vec<(u32, u32)>,
}

impl Silent {
    fn state(&mut self) -> Result<u32, TooLarge> {
        if self.states.len() >= MAX_SILENT {
            return Err(TooLarge);
        }
        self.states.push(SilentState::default());
        Ok(self.states.len() as u32 - 1)
    }

    fn silent(&mut self, from: u32, to: u32) {
        self.states[from as usize].silent.push(to);
    }

    /// Adds what an expression reads between two states. Nothing else leads into `from` or out of `to` inside.
    fn add(&mut self, regular: &Regular, from: u32, to: u32) -> Result<(), TooLarge> {
        match regular {
            Regular::Step(predicate) => self.states[from as usize].steps.push((*predicate, to)),
            Regular::Seq(parts) => {
                let mut at = from;
                for part in parts {
                    let next = self.state()?;
                    self.add(part, at, next)?;
                    at = next;
                }
                self.silent(at, to);
            }
            Regular::Choice(parts) => {
                for part in parts {
                    let (first, last) = (self.state()?, self.state()?);
                    self.silent(from, first);
                    self.add(part, first, last)?;
                    self.silent(last, to);
                }
            }
            Regular::Star(body) | Regular::Plus(body) => {
                let (first, last) = (self.state()?, self.state()?);
                self.silent(from, first);
                self.add(body, first, last)?;
                self.silent(last, first);
                self.silent(last, to);
                if matches!(regular, Regular::Star(_)) {
                    self.silent(from, to);
                }
            }
        }
        Ok(())
    }

    /// Everything that silent moves lead to, ascending.
    fn closure(&self, mut work: Vec<u32>) -> Vec<u32> {
        let mut seen = vec![false; self.states.len()];
        let mut closed = Vec::new();
        while let Some(state) = work.pop() {
            if !std::mem::replace(&mut seen[state as usize], true) {
                closed.push(state);
                work.extend(&self.states[state as usize].silent);
            }
        }
        closed.sort_unstable();
        closed
    }

    fn after(&self, set: &[u32], truths: &[bool]) -> Vec<u32> {
        let steps = set.iter().flat_map(|s| &self.states[*s as usize].steps);
        self.closure(steps.filter(|(predicate, _)| truths[*predicate as usize]).map(|(_, to)| *to).collect())
    }
}

/// A total deterministic automaton over classes. Its initial state is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// `next[state][class]`.
    pub next: Vec<Vec<u32>>,
    /// Whether the language has been met.
    pub bad: Vec<bool>,
}

/// The subsets that words lead to, and which of them accept. With `absorb`, what accepts is never left again.
fn subsets(regular: &Regular, truths: &[Vec<bool>], absorb: bool) -> Result<Watch, TooLarge> {
    let mut silent = Silent::default();
    let (start, end) = (silent.state()?, silent.state()?);
    silent.add(regular, start, end)?;
    let settle = |set: Vec<u32>| if absorb && set.binary_search(&end).is_ok() { vec![end] } else { set };
    let first = settle(silent.closure(vec![start]));
    let mut ids: Map<Vec<u32>, u32> = Map::default();
    ids.insert(first.clone(), 0);
    let mut sets = vec![first];
    let mut watch = Watch { next: Vec::new(), bad: Vec::new() };
    while watch.next.len() < sets.len() {
        let set = sets[watch.next.len()].clone();
        let accepts = set.binary_search(&end).is_ok();
        let mut row = Vec::with_capacity(truths.len());
        for truth in truths {
            let to = if accepts && absorb { set.clone() } else { settle(silent.after(&set, truth)) };
            let fresh = sets.len() as u32;
            let id = *ids.entry(to.clone()).or_insert(fresh);
            if id == fresh {
                sets.push(to);
            }
            row.push(id);
        }
        if sets.len() > MAX_STATES || sets.len() * truths.len() > MAX_ENTRIES {
            return Err(TooLarge);
        }
        watch.next.push(row);
        watch.bad.push(accepts);
    }
    Ok(watch)
}

/// For the words of steps before the end of a run, all of which are in the language: whether they are still in it with
/// the end behind them, which is the step of the class `end`. `None` if some are not in it, or if only some are with the
/// end.
pub fn with_the_end(regular: &Regular, truths: &[Vec<bool>], end: usize) -> Result<Option<bool>, TooLarge> {
    let all = subsets(regular, truths, false)?;
    let (mut open, mut seen) = (vec![0u32], vec![false; all.next.len()]);
    let mut answer = None;
    while let Some(state) = open.pop() {
        if std::mem::replace(&mut seen[state as usize], true) {
            continue;
        }
        let row = &all.next[state as usize];
        let ended = all.bad[row[end] as usize];
        if !all.bad[state as usize] || answer.is_some_and(|before| before != ended) {
            return Ok(None);
        }
        answer = Some(ended);
        open.extend(row.iter().enumerate().filter(|(class, _)| *class != end).map(|(_, to)| *to));
    }
    Ok(answer)
}

impl Watch {
    /// The least automaton that turns bad with the first prefix in the language.
    pub fn new(regular: &Regular, truths: &[Vec<bool>]) -> Result<Self, TooLarge> {
        Ok(subsets(regular, truths, true)?.minimised())
    }

    /// States that the same words make bad become one.
    fn minimised(self) -> Watch {
        let mut block: Vec<u32> = self.bad.iter().map(|bad| u32::from(*bad)).collect();
        let mut count = 0;
        loop {
            let mut ids: Map<(u32, Vec<u32>), u32> = Map::default();
            let refined: Vec<u32> = self
                .next
                .iter()
                .enumerate()
                .map(|(state, row)| {
                    let key = (block[state], row.iter().map(|to| block[*to as usize]).collect());
                    let fresh = ids.len() as u32;
                    *ids.entry(key).or_insert(fresh)
                })
                .collect();
            let refined_count = ids.len();
            block = refined;
            if refined_count == count {
                break;
            }
            count = refined_count;
        }
        // States come in the order of a breadth-first walk, so blocks are numbered by their first state.
        let mut watch = Watch { next: Vec::new(), bad: Vec::new() };
        for (state, row) in self.next.iter().enumerate() {
            if block[state] as usize == watch.next.len() {
                watch.next.push(row.iter().map(|to| block[*to as usize]).collect());
                watch.bad.push(self.bad[state]);
            }
        }
        watch
    }

    /// Classes that no state tells apart become one. Gives the new class of each old one.
    pub fn merge_classes(&mut self) -> Vec<u32> {
        let classes = self.next.first().map_or(0, Vec::len);
        let mut ids: Map<Vec<u32>, u32> = Map::default();
        let mut kept = Vec::new();
        let new: Vec<u32> = (0..classes)
            .map(|class| {
                let column: Vec<u32> = self.next.iter().map(|row| row[class]).collect();
                let fresh = ids.len() as u32;
                let id = *ids.entry(column).or_insert(fresh);
                if id == fresh {
                    kept.push(class);
                }
                id
            })
            .collect();
        for row in &mut self.next {
            *row = kept.iter().map(|class| row[*class]).collect();
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether every word is in the language. `truths[class][predicate]` gives the classes of steps.
    fn is_universal(regular: &Regular, truths: &[Vec<bool>]) -> Result<bool, TooLarge> {
        Ok(subsets(regular, truths, false)?.bad.iter().all(|accepts| *accepts))
    }

    /// Deterministic random numbers.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % n
        }
    }

    fn random_regular(random: &mut Random, depth: u32, predicates: u64) -> Regular {
        let kind = if depth == 0 { 0 } else { random.below(7) };
        let inner = |random: &mut Random| random_regular(random, depth - 1, predicates);
        match kind {
            0 | 1 => Regular::Step(random.below(predicates) as u32),
            2 | 3 => Regular::Seq((0..random.below(4)).map(|_| inner(random)).collect()),
            4 => Regular::Choice((0..1 + random.below(3)).map(|_| inner(random)).collect()),
            5 => Regular::Star(Box::new(inner(random))),
            _ => Regular::Plus(Box::new(inner(random))),
        }
    }

    /// Where reading can end that starts at `from`: straight from the meaning of the operators.
    fn ends(regular: &Regular, word: &[Vec<bool>], from: usize) -> Vec<usize> {
        let mut found: Vec<usize> = match regular {
            Regular::Step(p) => {
                word.get(from).filter(|t| t[*p as usize]).map(|_| from + 1).into_iter().collect()
            }
            Regular::Seq(parts) => parts.iter().fold(vec![from], |starts, part| {
                let mut all: Vec<usize> = starts.iter().flat_map(|s| ends(part, word, *s)).collect();
                all.sort_unstable();
                all.dedup();
                all
            }),
            Regular::Choice(parts) => parts.iter().flat_map(|part| ends(part, word, from)).collect(),
            Regular::Star(body) => {
                let mut all = vec![from];
                let mut next = 0;
                while next < all.len() {
                    for end in ends(body, word, all[next]) {
                        if !all.contains(&end) {
                            all.push(end);
                        }
                    }
                    next += 1;
                }
                all
            }
            Regular::Plus(body) => {
                let star = Regular::Star(body.clone());
                ends(body, word, from).into_iter().flat_map(|s| ends(&star, word, s)).collect()
            }
        };
        found.sort_unstable();
        found.dedup();
        found
    }

    fn all_truths(predicates: u32) -> Vec<Vec<bool>> {
        (0..1 << predicates).map(|mask| (0..predicates).map(|p| mask >> p & 1 == 1).collect()).collect()
    }

    #[test]
    fn automata_agree_with_the_meaning_of_the_operators() {
        let mut random = Random(7);
        let mut verdicts = [0; 2];
        for _ in 0..400 {
            let predicates = 1 + random.below(3) as u32;
            let regular = random_regular(&mut random, 4, u64::from(predicates));
            let truths = all_truths(predicates);
            let mut watch = Watch::new(&regular, &truths).unwrap();
            let merged = watch.merge_classes();
            for _ in 0..25 {
                let classes: Vec<usize> =
                    (0..random.below(9)).map(|_| random.below(truths.len() as u64) as usize).collect();
                let word: Vec<Vec<bool>> = classes.iter().map(|c| truths[*c].clone()).collect();
                let first = ends(&regular, &word, 0).first().copied();
                let mut state = 0;
                for read in 0..=classes.len() {
                    let expected = first.is_some_and(|first| first <= read);
                    assert_eq!(watch.bad[state], expected, "{regular:?} after {read} of {word:?}");
                    verdicts[usize::from(expected)] += 1;
                    if let Some(class) = classes.get(read) {
                        state = watch.next[state][merged[*class] as usize] as usize;
                    }
                }
            }
        }
        assert!(verdicts.iter().all(|n| *n > 10_000), "the words are too easy: {verdicts:?}");
    }

    #[test]
    fn universal_languages_are_recognised() {
        let mut random = Random(11);
        let mut universal = 0;
        for _ in 0..600 {
            let regular = random_regular(&mut random, 3, 2);
            // The first predicate always holds.
            let truths = [vec![true, false], vec![true, true]];
            // Expressions this small tell all their words apart within a few letters.
            let words = (0..=6u32).flat_map(|n| (0..1u32 << n).map(move |mask| (n, mask)));
            let expected = words.into_iter().all(|(n, mask)| {
                let word: Vec<Vec<bool>> = (0..n).map(|i| truths[mask as usize >> i & 1].clone()).collect();
                ends(&regular, &word, 0).contains(&word.len())
            });
            assert_eq!(is_universal(&regular, &truths), Ok(expected), "{regular:?}");
            universal += u32::from(expected);
        }
        assert!((10..590).contains(&universal), "{universal} of 600");
        let anything = Regular::Star(Box::new(Regular::Step(0)));
        assert_eq!(is_universal(&anything, &[vec![true]]), Ok(true));
        let both = Regular::Seq(vec![anything.clone(), anything.clone()]);
        assert_eq!(is_universal(&both, &[vec![true]]), Ok(true));
        let some = Regular::Plus(Box::new(Regular::Step(0)));
        assert_eq!(is_universal(&some, &[vec![true]]), Ok(false));
    }

    #[test]
    fn states_and_classes_are_as_few_as_possible() {
        let any = || Regular::Star(Box::new(Regular::Step(0)));
        // true* . a . b with predicates true, a, b.
        let regular = Regular::Seq(vec![any(), Regular::Step(1), Regular::Step(2)]);
        let truths = [[false, false], [true, false], [false, true]].map(|[a, b]| vec![true, a, b]).to_vec();
        let mut watch = Watch::new(&regular, &truths).unwrap();
        assert_eq!(watch.merge_classes(), [0, 1, 2]);
        assert_eq!(watch.next, [[0, 1, 0], [0, 1, 2], [2, 2, 2]]);
        assert_eq!(watch.bad, [false, false, true]);
        // The language of a* contains the empty word: bad at once, and nothing matters any more.
        let mut watch = Watch::new(&Regular::Star(Box::new(Regular::Step(1))), &truths).unwrap();
        assert_eq!(watch.merge_classes(), [0, 0, 0]);
        assert_eq!(watch, Watch { next: vec![vec![0]], bad: vec![true] });
        // No word at all: never bad.
        let watch = Watch::new(&Regular::Choice(Vec::new()), &truths).unwrap();
        assert_eq!(watch, Watch { next: vec![vec![0, 0, 0]], bad: vec![false] });
    }

    #[test]
    fn an_expression_with_too_many_subsets_is_refused() {
        let any = Regular::Choice(vec![Regular::Step(0), Regular::Step(1)]);
        let mut parts = vec![Regular::Star(Box::new(any.clone())), Regular::Step(0)];
        parts.extend((0..30).map(|_| any.clone()));
        let truths = [vec![true, false], vec![false, true]];
        assert_eq!(Watch::new(&Regular::Seq(parts), &truths), Err(TooLarge));
    }
}
