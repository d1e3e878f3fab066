//! The path to a finding across ranks: the rank that has the slice of the finding asks, and all ranks answer from their slices.
//!
//! Invariant: all ranks receive and answer every question, if only with an error, so that no rank waits for an answer that
//! does not come. Answers are merged as if one process had all slices: by slice, run and place.

use super::ranks::{Ranks, worst};
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::engine::pack::Width;
use gridlock_lts::engine::successors::Successors;
use gridlock_lts::model::network::VectorIx;
use gridlock_worker::slice::message::Found;
use gridlock_worker::slice::partition::SliceIx;
use gridlock_worker::slice::trace::{Candidate, OfRun, Past, PathStep, Remembered, Searched, path_to};
use serde::{Deserialize, Serialize};

/// Words of states that are sent at once.
const PARCEL: usize = if cfg!(test) { 8 } else { 1 << 12 };

/// A question to all ranks.
#[derive(Clone, Serialize, Deserialize)]
enum Question {
    Find(SliceIx, Vec<u64>, u64),
    Load(u64),
    Earlier(u64, Vec<Candidate>),
    Predecessors(Vec<u64>, u64),
    /// No more questions: the path, or why there is none.
    Over(std::result::Result<Vec<(u32, Vec<u64>)>, Error>),
}

/// The answer of a rank.
#[derive(Serialize, Deserialize)]
enum Known {
    Find(Option<u64>),
    Earlier(Option<Candidate>),
    Predecessors(Vec<OfRun>),
}

/// Asks all ranks.
struct Asking<'a, 'm, S> {
    ranks: &'a Ranks<'m>,
    own: Remembered<'a, S>,
    words: usize,
}

/// Called with each state of an activation.
type Visit<'v> = &'v mut dyn FnMut(&[u64]) -> Result<()>;

impl<S: Successors> Asking<'_, '_, S> {
    /// Asks a question other than to load; returns the answers in the order of ranks.
    fn ask(&mut self, question: Question) -> Result<Vec<Known>> {
        self.ranks.share(&Some(question.clone()))?;
        self.answer(question)
    }

    fn answer(&mut self, question: Question) -> Result<Vec<Known>> {
        let answer = match question {
            Question::Find(slice, state, before) => self.own.find(slice, &state, before).map(Known::Find),
            Question::Earlier(before, candidates) => {
                self.own.earlier(before, &candidates).map(Known::Earlier)
            }
            Question::Predecessors(target, until) => {
                self.own.predecessors(&target, until).map(Known::Predecessors)
            }
            Question::Load(_) | Question::Over(_) => Err(Error::internal("that has no answer")),
        };
        let (mut answers, mut troubles) = (Vec::new(), Vec::new());
        for answer in self.ranks.share(&answer)? {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(trouble) => troubles.push(Some(trouble)),
            }
        }
        worst(troubles).map_or(Ok(answers), Err)
    }

    /// Sends the states of an activation to the rank that asks.
    fn load_for(&mut self, activation: u64, leader: usize, visit: Visit) -> Result<()> {
        let (me, words) = (self.ranks.rank(), self.words);
        let mut states = Vec::new();
        // A run is at most what a job may use, and it is read once.
        let read = self.own.load(activation, &mut |state| {
            if me == leader {
                return visit(state);
            }
            states.extend_from_slice(state);
            Ok(())
        });
        let mut parcels = states.chunks((PARCEL / words).max(1) * words);
        let mut trouble = read.err();
        self.ranks.exchange(
            &mut || match trouble.take() {
                Some(trouble) => Err(trouble),
                None => Ok(parcels.next().map(|states| (leader, states.to_vec()))),
            },
            &mut |states| states.chunks_exact(words).try_for_each(&mut *visit),
        )
    }
}

impl<S: Successors> Past for Asking<'_, '_, S> {
    fn find(&mut self, slice: SliceIx, state: &[u64], before: u64) -> Result<Option<u64>> {
        let answers = self.ask(Question::Find(slice, state.to_vec(), before))?;
        Ok(answers.into_iter().find_map(|answer| match answer {
            Known::Find(found) => found,
            _ => None,
        }))
    }

    fn load(&mut self, activation: u64, visit: Visit) -> Result<()> {
        self.ranks.share(&Some(Question::Load(activation)))?;
        self.load_for(activation, self.ranks.rank(), visit)
    }

    fn earlier(&mut self, activation: u64, candidates: &[Candidate]) -> Result<Option<Candidate>> {
        let answers = self.ask(Question::Earlier(activation, candidates.to_vec()))?;
        let found = answers.into_iter().filter_map(|answer| match answer {
            Known::Earlier(found) => found,
            _ => None,
        });
        // A slice is at one rank, which has told its first.
        Ok(found.min_by_key(|candidate| candidate.slice))
    }

    fn predecessors(&mut self, target: &[u64], activation: u64) -> Result<Vec<OfRun>> {
        let answers = self.ask(Question::Predecessors(target.to_vec(), activation))?;
        let mut found: Vec<OfRun> = answers
            .into_iter()
            .flat_map(|answer| match answer {
                Known::Predecessors(found) => found,
                _ => Vec::new(),
            })
            .collect();
        found.sort_unstable_by_key(|&(slice, run, _)| (slice, run));
        Ok(found)
    }
}

/// All ranks together: the path to a finding; `leader` is the rank that has its slice.
pub(super) fn way<S: Successors>(
    searched: &Searched<S>,
    ranks: &Ranks,
    leader: usize,
    found: &Found,
) -> Result<Vec<PathStep>> {
    if !ranks.is_distributed() {
        return path_to(searched, &mut Remembered::new(searched), found);
    }
    let words = searched.system.width().words();
    let mut asking = Asking { ranks, own: Remembered::new(searched), words };
    if ranks.rank() == leader {
        let path = path_to(searched, &mut asking, found);
        let told = path.clone().map(|path| path.into_iter().map(|(vector, to)| (vector.0, to)).collect());
        ranks.share(&Some(Question::Over(told)))?;
        return path;
    }
    loop {
        let mut questions = ranks.share::<Option<Question>>(&None)?;
        match questions.swap_remove(leader) {
            Some(Question::Over(path)) => {
                return path
                    .map(|path| path.into_iter().map(|(vector, to)| (VectorIx(vector), to)).collect());
            }
            // The one who asks learns what goes wrong, and it comes back with the end.
            Some(Question::Load(activation)) => {
                let _ = asking.load_for(activation, leader, &mut |_| Ok(()));
            }
            Some(question) => {
                let _ = asking.answer(question);
            }
            None => return Err(Error::internal("nobody asks")),
        }
    }
}
