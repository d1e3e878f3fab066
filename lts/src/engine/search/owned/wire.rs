//! Findings and reasons to stop as words, for messages between ranks.

use crate::base::error::{Error, Limit, Result};
use crate::engine::look::{Found, What};
use crate::engine::mesh::Mesh;
use crate::model::network::VectorIx;
use std::time::Duration;

/// Kinds of errors; limits come first, with their number.
const INPUT: u64 = 10;
const DISK: u64 = 11;
const INTERNAL: u64 = 12;

fn error_words(error: &Error) -> Vec<u64> {
    let (kind, number, text) = match error {
        Error::Limit(limit) => {
            let (kind, number) = match *limit {
                Limit::States(n) => (0, n),
                Limit::Depth(n) => (1, n),
                Limit::Memory(n) => (2, n),
                Limit::JobMemory(n) => (3, n),
                Limit::Time(time) => (4, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
                Limit::Interrupted => (5, 0),
                Limit::Positions(n) => (6, n),
            };
            (kind, number, "")
        }
        Error::Input(text) => (INPUT, 0, text.as_str()),
        Error::Disk(text) => (DISK, 0, text.as_str()),
        Error::Internal(text) => (INTERNAL, 0, text.as_str()),
    };
    let mut words = vec![kind, number, text.len() as u64];
    words.extend(text.as_bytes().chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }));
    words
}

fn read_error(words: &[u64]) -> Option<Error> {
    let (&[kind, number, length], rest) = words.split_first_chunk()?;
    let bytes: Vec<u8> = rest.iter().flat_map(|word| word.to_le_bytes()).collect();
    let text = String::from_utf8_lossy(bytes.get(..usize::try_from(length).ok()?)?).into_owned();
    Some(match kind {
        0 => Limit::States(number).into(),
        1 => Limit::Depth(number).into(),
        2 => Limit::Memory(number).into(),
        3 => Limit::JobMemory(number).into(),
        4 => Limit::Time(Duration::from_nanos(number)).into(),
        5 => Limit::Interrupted.into(),
        6 => Limit::Positions(number).into(),
        INPUT => Error::Input(text),
        DISK => Error::Disk(text),
        INTERNAL => Error::Internal(text),
        _ => return None,
    })
}

/// A finding: kind, index, vector plus one, state, target.
fn found_words(found: &Found) -> Vec<u64> {
    let (kind, index) = match found.what {
        What::Fault(fault) => (0, u64::from(fault)),
        What::Deadlock(property) => (1, property as u64),
        What::Property(property) => (2, property as u64),
    };
    let mut words = vec![kind, index];
    words.push(found.step.as_ref().map_or(0, |(vector, _)| u64::from(vector.0) + 1));
    words.extend(&found.state);
    words.extend(found.step.iter().flat_map(|(_, target)| target));
    words
}

fn read_found(words: &[u64], state: usize) -> Option<Found> {
    let (&[kind, index, vector], rest) = words.split_first_chunk()?;
    let what = match kind {
        0 => What::Fault(u32::try_from(index).ok()?),
        1 => What::Deadlock(usize::try_from(index).ok()?),
        2 => What::Property(usize::try_from(index).ok()?),
        _ => return None,
    };
    let (here, target) = rest.split_at_checked(state)?;
    let vector = vector.checked_sub(1).map(u32::try_from).transpose().ok()?;
    if target.len() != if vector.is_some() { state } else { 0 } {
        return None;
    }
    let step = vector.map(|vector| (VectorIx(vector), target.to_vec()));
    Some(Found { what, state: here.to_vec(), step })
}

/// What a rank has to say besides numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Words {
    pub(super) found: Option<Found>,
    pub(super) stop: Option<Error>,
}

impl Words {
    /// All ranks together: what each has to say, in the order of ranks. `state` is the number of words of a state.
    pub(super) fn share(&self, mesh: &mut dyn Mesh, state: usize) -> Result<Vec<Words>> {
        let found = self.found.as_ref().map_or(Vec::new(), found_words);
        let mut words = vec![found.len() as u64];
        words.extend(found);
        words.extend(self.stop.iter().flat_map(error_words));
        let read = |(rank, words): (usize, Vec<u64>)| {
            Words::read(&words, state)
                .ok_or_else(|| Error::Internal(format!("what rank {rank} says makes no sense")))
        };
        mesh.share_all(&words).into_iter().enumerate().map(read).collect()
    }

    fn read(words: &[u64], state: usize) -> Option<Words> {
        let (&length, rest) = words.split_first()?;
        let (found, stop) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let found = if found.is_empty() { None } else { Some(read_found(found, state)?) };
        let stop = if stop.is_empty() { None } else { Some(read_error(stop)?) };
        Some(Words { found, stop })
    }
}

/// All ranks together: an error if one of them has one, that of the first.
pub(in crate::engine::search) fn agree<T>(mesh: &mut dyn Mesh, result: Result<T>) -> Result<T> {
    if mesh.size() == 1 {
        return result;
    }
    let failed = mesh.share(&[u64::from(result.is_err())], &mut || false);
    if failed.iter().all(|&failed| failed == 0) {
        return result;
    }
    let (stop, value) = match result {
        Ok(value) => (None, Some(value)),
        Err(error) => (Some(error), None),
    };
    let said = Words { found: None, stop }.share(mesh, 0)?;
    match (said.into_iter().find_map(|words| words.stop), value) {
        (Some(error), _) => Err(error),
        (None, Some(value)) => Ok(value),
        (None, None) => Err(Error::internal("ranks do not agree about what went wrong")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    #[test]
    fn what_is_written_is_read_and_broken_words_are_no_panic() {
        let step = Some((VectorIx(7), vec![3, 4]));
        let founds = [
            Found { what: What::Fault(3), state: vec![1, 2], step: step.clone() },
            Found { what: What::Deadlock(0), state: vec![1, 2], step: None },
            Found { what: What::Property(9), state: vec![u64::MAX, 2], step },
        ];
        for found in &founds {
            let words = found_words(found);
            assert_eq!(read_found(&words, 2).as_ref(), Some(found));
            assert_eq!(read_found(&words[..words.len() - 1], 2), None);
        }
        let errors = [
            Error::input("wrong"),
            Error::disk(""),
            Error::internal("a long text with ümlauts"),
            Limit::States(1).into(),
            Limit::Depth(2).into(),
            Limit::Memory(3).into(),
            Limit::JobMemory(4).into(),
            Limit::Time(Duration::from_millis(5)).into(),
            Limit::Interrupted.into(),
        ];
        let rng = &mut Rng::new(1);
        for error in &errors {
            let mut words = error_words(error);
            assert_eq!(read_error(&words).as_ref(), Some(error));
            for _ in 0..1000 {
                let at = rng.below(words.len());
                words[at] = rng.bits();
                let _ = (read_error(&words), read_found(&words, 1), Words::read(&words, 1));
            }
        }
    }
}
