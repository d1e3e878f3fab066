//! An explicit labelled transition system: every state and transition stored, as files and equivalences need it.
//!
//! States are numbered from 0 without gaps. Transitions lie in one array, grouped by source, and within a source in the
//! order in which they were added; eight bytes each, so ten million of them take 80 MB. Labels are printed texts, all
//! different, and label 0 is always `tau`.

use std::borrow::Cow;

use crate::base::hash::{Map, Set};
use crate::model::network::Label;

/// The text of the hidden label.
pub const TAU: &str = "tau";

/// A state of an explicit LTS.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct State(pub u32);

/// A transition without its source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Transition {
    /// What is performed.
    pub label: Label,
    /// Where it leads.
    pub to: State,
}

/// A labelled transition system. See the module head for its invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lts {
    initial: State,
    labels: Vec<String>,
    /// `offsets[s]..offsets[s + 1]` are the transitions of state `s`.
    offsets: Vec<usize>,
    transitions: Vec<Transition>,
}

impl Lts {
    /// The initial state.
    pub fn initial(&self) -> State {
        self.initial
    }

    /// How many states there are.
    pub fn num_states(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many transitions there are, repeated ones counted each time.
    pub fn num_transitions(&self) -> usize {
        self.transitions.len()
    }

    /// The printed labels; the first is `tau`.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The text of a label.
    pub fn label(&self, label: Label) -> &str {
        &self.labels[label.0 as usize]
    }

    /// All states in ascending order.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = State> + use<> {
        (0..self.num_states() as u32).map(State)
    }

    /// The transitions that leave a state.
    pub fn outgoing(&self, state: State) -> &[Transition] {
        &self.transitions[self.offsets[state.0 as usize]..self.offsets[state.0 as usize + 1]]
    }

    /// All transitions in ascending order of their sources.
    pub fn transitions(&self) -> impl Iterator<Item = (State, Label, State)> + '_ {
        self.states().flat_map(|s| self.outgoing(s).iter().map(move |t| (s, t.label, t.to)))
    }

    /// The part that can be reached from the initial state, numbered breadth-first; `self` if that is all of it.
    pub fn reachable(&self) -> Cow<'_, Lts> {
        const UNSEEN: u32 = u32::MAX;
        let mut number = vec![UNSEEN; self.num_states()];
        let mut order = vec![self.initial];
        number[self.initial.0 as usize] = 0;
        let mut next = 0;
        while next < order.len() {
            for t in self.outgoing(order[next]) {
                let seen = &mut number[t.to.0 as usize];
                if *seen == UNSEEN {
                    *seen = order.len() as u32;
                    order.push(t.to);
                }
            }
            next += 1;
        }
        if order.len() == self.num_states() {
            return Cow::Borrowed(self);
        }
        let mut builder = Builder::new();
        builder.require_states(order.len() as u32);
        for (from, &old) in order.iter().enumerate() {
            for t in self.outgoing(old) {
                builder.add(State(from as u32), t.label, State(number[t.to.0 as usize]));
            }
        }
        Cow::Owned(builder.finish_with_labels(self.labels.clone(), State(0)))
    }

    /// Both systems side by side, labels matched by their texts. The states of `self` keep their numbers, those of
    /// `other` follow; the second result is where `other` starts. `None` if there are too many states for 32 bits.
    pub fn beside(&self, other: &Lts) -> Option<(Lts, State)> {
        let shift = u32::try_from(self.num_states()).ok()?;
        let total = u32::try_from(self.num_states() + other.num_states()).ok()?;
        let mut builder = Builder::with_capacity(self.num_transitions() + other.num_transitions());
        builder.require_states(total);
        let ours: Vec<Label> = self.labels.iter().map(|l| builder.label(l)).collect();
        let theirs: Vec<Label> = other.labels.iter().map(|l| builder.label(l)).collect();
        for (from, label, to) in self.transitions() {
            builder.add(from, ours[label.0 as usize], to);
        }
        for (from, label, to) in other.transitions() {
            builder.add(State(from.0 + shift), theirs[label.0 as usize], State(to.0 + shift));
        }
        Some((builder.finish(self.initial), State(other.initial.0 + shift)))
    }
}

/// Collects transitions in any order and turns them into an [`Lts`].
///
/// Sources that arrive in ascending order, as a breadth-first search produces them, cost no sorting at the end.
#[derive(Clone, Debug)]
pub struct Builder {
    labels: Vec<String>,
    label_ids: Map<String, Label>,
    sources: Vec<u32>,
    transitions: Vec<Transition>,
    states: u32,
    ascending: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// No states, no transitions, the label `tau`.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// As [`Builder::new`], with room for that many transitions.
    pub fn with_capacity(transitions: usize) -> Self {
        let mut builder = Builder {
            labels: Vec::new(),
            label_ids: Map::default(),
            sources: Vec::with_capacity(transitions),
            transitions: Vec::with_capacity(transitions),
            states: 0,
            ascending: true,
        };
        builder.label(TAU);
        builder
    }

    /// The number of a label, a new one if it was not seen before.
    pub fn label(&mut self, text: &str) -> Label {
        if let Some(&id) = self.label_ids.get(text) {
            return id;
        }
        let id = Label(u32::try_from(self.labels.len()).expect("fewer than 2^32 labels"));
        self.labels.push(text.to_owned());
        self.label_ids.insert(text.to_owned(), id);
        id
    }

    /// How many transitions were added so far.
    pub fn num_transitions(&self) -> usize {
        self.transitions.len()
    }

    /// Makes sure that there are at least this number of states, even if no transition mentions them.
    pub fn require_states(&mut self, states: u32) {
        self.states = self.states.max(states);
    }

    /// Adds a transition; the states exist from then on, with all those of lower number.
    ///
    /// # Panics
    /// On the state `u32::MAX`, which is one too many to count.
    pub fn add(&mut self, from: State, label: Label, to: State) {
        let highest = from.0.max(to.0);
        assert!(highest < u32::MAX, "states are counted in 32 bits");
        self.states = self.states.max(highest + 1);
        self.ascending &= self.sources.last().is_none_or(|&last| last <= from.0);
        self.sources.push(from.0);
        self.transitions.push(Transition { label, to });
    }

    /// The finished system, with the labels that [`Builder::label`] numbered.
    ///
    /// # Panics
    /// If a transition has a label that this builder did not number.
    pub fn finish(mut self, initial: State) -> Lts {
        self.label_ids = Map::default();
        let labels = std::mem::take(&mut self.labels);
        self.arrange(labels, initial)
    }

    /// The finished system, with labels that the caller numbered, for instance those of a network.
    ///
    /// # Panics
    /// If `labels` does not start with `tau`, repeats a text, or lacks the label of a transition.
    pub fn finish_with_labels(self, labels: Vec<String>, initial: State) -> Lts {
        assert!(labels.first().is_some_and(|l| l == TAU), "label 0 is tau");
        let different: Set<&str> = labels.iter().map(String::as_str).collect();
        assert!(different.len() == labels.len(), "each label stands for one number");
        self.arrange(labels, initial)
    }

    /// The finished system with this many labels that are called by their numbers, for callers that do not print them.
    pub(crate) fn finish_numbered(self, labels: u32, initial: State) -> Lts {
        let texts = (1..labels).map(|label| label.to_string());
        let labels = std::iter::once(TAU.to_owned()).chain(texts).collect();
        self.arrange(labels, initial)
    }

    fn arrange(mut self, labels: Vec<String>, initial: State) -> Lts {
        self.require_states(initial.0 + 1);
        assert!(
            self.transitions.iter().all(|t| (t.label.0 as usize) < labels.len()),
            "every transition has a known label"
        );
        let mut offsets = vec![0; self.states as usize + 1];
        for &from in &self.sources {
            offsets[from as usize + 1] += 1;
        }
        for s in 0..self.states as usize {
            offsets[s + 1] += offsets[s];
        }
        let transitions = if self.ascending {
            self.transitions.shrink_to_fit();
            self.transitions
        } else {
            let mut next = offsets.clone();
            let mut sorted = vec![Transition { label: Label::TAU, to: State(0) }; self.transitions.len()];
            for (&from, &t) in self.sources.iter().zip(&self.transitions) {
                sorted[next[from as usize]] = t;
                next[from as usize] += 1;
            }
            sorted
        };
        Lts { initial, labels, offsets, transitions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_by_source_and_keeps_the_order_within() {
        let mut b = Builder::new();
        let a = b.label("a");
        let c = b.label("c");
        assert_eq!(b.label("a"), a);
        for (from, label, to) in [(2, c, 0), (0, a, 2), (2, a, 1), (0, Label::TAU, 0), (0, a, 2)] {
            b.add(State(from), label, State(to));
        }
        let lts = b.finish(State(2));
        assert_eq!((lts.num_states(), lts.num_transitions(), lts.initial()), (3, 5, State(2)));
        assert_eq!(lts.labels(), ["tau", "a", "c"]);
        let all: Vec<_> = lts.transitions().map(|(f, l, t)| (f.0, lts.label(l).to_owned(), t.0)).collect();
        let expected = [(0, "a", 2), (0, "tau", 0), (0, "a", 2), (2, "c", 0), (2, "a", 1)];
        assert_eq!(all, expected.map(|(f, l, t)| (f, l.to_owned(), t)));
        assert!(lts.outgoing(State(1)).is_empty());
    }

    #[test]
    fn a_state_without_transitions_is_a_system() {
        let lts = Builder::new().finish(State(0));
        assert_eq!((lts.num_states(), lts.num_transitions()), (1, 0));
    }

    #[test]
    fn reachable_part_is_numbered_breadth_first() {
        let mut b = Builder::new();
        let a = b.label("a");
        for (from, to) in [(0, 3), (3, 1), (3, 0), (2, 3)] {
            b.add(State(from), a, State(to));
        }
        let lts = b.clone().finish(State(3));
        let part = lts.reachable();
        assert_eq!((part.num_states(), part.initial()), (3, State(0)));
        let all: Vec<_> = part.transitions().map(|(f, _, t)| (f.0, t.0)).collect();
        assert_eq!(all, [(0, 1), (0, 2), (2, 0)]);
        assert!(matches!(b.finish(State(2)).reachable(), Cow::Borrowed(_)));
    }

    #[test]
    fn beside_matches_labels_by_text() {
        let one = |label: &str| {
            let mut b = Builder::new();
            let l = b.label(label);
            b.add(State(0), l, State(1));
            b.finish(State(0))
        };
        let (both, start) = one("x").beside(&one("y")).unwrap();
        assert_eq!((both.num_states(), start), (4, State(2)));
        assert_eq!(both.labels(), ["tau", "x", "y"]);
        let (both, _) = one("x").beside(&one("x")).unwrap();
        assert_eq!(both.labels(), ["tau", "x"]);
        assert_eq!(both.outgoing(State(0))[0].label, both.outgoing(State(2))[0].label);
    }

    #[test]
    #[should_panic(expected = "label 0 is tau")]
    fn foreign_labels_must_start_with_tau() {
        Builder::new().finish_with_labels(vec!["a".into()], State(0));
    }
}
