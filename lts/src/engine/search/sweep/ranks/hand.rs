//! What a thread has at hand while states are looked at in turns: steps, questions, answers.

use crate::engine::successors::Steps;

/// Questions of a thread in a turn, and steps that wait for answers. Tests ask little at a time.
const QUESTIONS: usize = if cfg!(test) { 6 } else { 1 << 15 };
const MOVES: usize = if cfg!(test) { 24 } else { 1 << 17 };
/// The least number of steps, and which part of the visited set they may take.
const LEAST: usize = 1 << 10;
const PART: usize = 8;
/// Questions that a thread remembers, so that it does not ask the same twice in a turn.
const RECENT: usize = if cfg!(test) { 4 } else { 1 << 12 };
/// What is known of the target of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// It does not matter.
    Any,
    /// The positions that hold there.
    Word(u32),
    /// This rank owns it, and was not asked.
    Of(u32),
    /// The answer to a question to a rank.
    Answer(u32, u32),
}

impl Target {
    /// The positions that hold there, if that is known by now.
    pub(super) fn word(self) -> Option<u32> {
        if let Target::Word(word) = self { Some(word) } else { None }
    }
}

/// A state that waits for answers.
pub(super) struct Waiting {
    /// Its place in the part.
    pub(super) place: usize,
    pub(super) slot: usize,
    /// Where its steps end.
    pub(super) end: usize,
}

#[derive(Clone, Copy, Default)]
struct Asked {
    turn: u64,
    rank: u32,
    number: u32,
}

/// What a thread keeps from turn to turn.
pub(super) struct Hand {
    pub(super) steps: Steps,
    /// The places of the states whose steps these are, and where those of each end.
    pub(super) places: Vec<usize>,
    pub(super) ends: Vec<usize>,
    pub(super) keys: Vec<u64>,
    pub(super) slots: Vec<usize>,
    /// The classes and targets of steps that are looked at or wait.
    pub(super) moves: Vec<(u32, Target)>,
    pub(super) values: Vec<(u32, Option<u32>)>,
    /// The states that are not decided, and the steps whose targets are looked up for that.
    pub(super) open: Vec<usize>,
    pub(super) wanted: Vec<usize>,
    pub(super) waiting: Vec<Waiting>,
    /// Places of states that a few answers did not decide.
    pub(super) again: Vec<usize>,
    /// For each rank.
    pub(super) questions: Vec<Vec<u64>>,
    pub(super) answers: Vec<Vec<u64>>,
    recent: Vec<Asked>,
    /// Questions and steps of a turn.
    pub(super) most: Most,
    pub(super) turn: u64,
    /// Which states of the part can change no more.
    pub(super) over: Vec<bool>,
    pub(super) met: Vec<bool>,
    /// Whether a bit has changed.
    pub(super) changed: bool,
    /// States whose bit was found never to change.
    pub(super) never: u64,
    /// The least state in which not everything holds.
    pub(super) least: Option<Vec<u64>>,
}

/// How much a thread does in a turn. A small system needs no more memory for that than a part of what its states take, and
/// has few turns anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Most {
    pub(super) questions: usize,
    pub(super) moves: usize,
}

impl Most {
    /// For a thread of several, of a rank whose visited set takes this many bytes.
    pub(super) fn new(bytes: u64, threads: usize) -> Self {
        // A step takes about 64 bytes, with its part of the questions.
        let steps = bytes as usize / PART / threads / 64;
        let moves = steps.clamp(LEAST.min(MOVES), MOVES);
        Most { moves, questions: (moves / 4).min(QUESTIONS) }
    }

    pub(super) fn bytes(self, words: usize) -> usize {
        self.questions * 8 * (words + 1) * 2 + self.moves * 32 + RECENT * size_of::<Asked>()
    }
}

impl Hand {
    /// For states of `words` words.
    pub(super) fn new(words: usize, ranks: usize, classes: usize, most: Most) -> Self {
        Hand {
            steps: Steps::new(words),
            places: Vec::new(),
            ends: Vec::new(),
            keys: Vec::new(),
            slots: Vec::new(),
            moves: Vec::new(),
            values: Vec::new(),
            open: Vec::new(),
            wanted: Vec::new(),
            waiting: Vec::new(),
            again: Vec::new(),
            questions: vec![Vec::new(); ranks],
            answers: vec![Vec::new(); ranks],
            recent: vec![Asked::default(); RECENT],
            most,
            turn: 0,
            over: Vec::new(),
            met: vec![false; classes],
            changed: false,
            never: 0,
            least: None,
        }
    }

    /// Where the steps of a state begin.
    pub(super) fn begin_of(&self, state: usize) -> usize {
        if state == 0 { 0 } else { self.ends[state - 1] }
    }

    /// Asks a rank about the target of a step: the number of the question, and whether it is a new one.
    pub(super) fn question(&mut self, rank: u32, step: usize, words: usize) -> (u32, bool) {
        let target = self.steps.target(step);
        let questions = &mut self.questions[rank as usize];
        let hash = target.iter().fold(0u64, |h, &word| (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let recent = &mut self.recent[(hash >> 40) as usize % RECENT];
        let at = recent.number as usize * words;
        if recent.turn == self.turn && recent.rank == rank && questions[at..at + words] == *target {
            return (recent.number, false);
        }
        let number = (questions.len() / words) as u32;
        questions.extend_from_slice(target);
        *recent = Asked { turn: self.turn, rank, number };
        (number, true)
    }
}
