//! The states handed to jobs, for the path to a finding: a job can rebuild the path from a state that it was given, and the
//! job that handed that state on can rebuild the path to it.
//!
//! It is read only if there is a finding, so it is kept as bytes, most of them in a file without a name.

use super::border::Sources;
use crate::grid::wire;
use gridlock_lts::base::error::{Error, Result};
use gridlock_lts::guide::Guide;
use gridlock_worker::job::{Job, Spot};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// Bytes that are kept in memory.
const MEMORY: usize = 16 << 20;

/// Steps as vectors and packed targets.
pub type Steps = Vec<(u32, Vec<u64>)>;

/// Rebuilds the path to a state that a job expands or hands on: the state given to the job from which it begins, and its steps.
pub type WayWithin<'w> = &'w mut dyn FnMut(&Job, &Spot) -> Result<(Spot, Steps)>;

#[derive(Default)]
pub(super) struct History {
    /// For each job where its record begins, and its length; of jobs that were given nothing the length is 0.
    records: Vec<(u64, u64)>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// The bytes that follow those in the file.
    buffer: Vec<u8>,
    trouble: Option<Error>,
}

impl History {
    /// Records a job, in the order of numbers, and for each of its borders the jobs that its states came from.
    pub(super) fn add(&mut self, job: &Job, sources: &[Sources]) {
        let begin = self.written + self.buffer.len() as u64;
        if job.handed.is_some() && self.trouble.is_none() {
            if let Err(error) = wire::encode_into(&(job, sources), &mut self.buffer) {
                self.trouble = Some(Error::Internal(error));
            }
            if self.buffer.len() > MEMORY {
                self.flush();
            }
        }
        self.records.push((begin, self.written + self.buffer.len() as u64 - begin));
    }

    fn flush(&mut self) {
        let write = |file: &mut Option<File>, bytes: &[u8]| {
            let file = match file {
                Some(file) => file,
                None => file.insert(tempfile::tempfile()?),
            };
            file.write_all(bytes)
        };
        match write(&mut self.file, &self.buffer) {
            Ok(()) => self.written += self.buffer.len() as u64,
            Err(error) => {
                let directory = std::env::temp_dir();
                let directory = directory.display();
                self.trouble = Some(Error::Disk(format!(
                    "the way to a violation was lost, since {directory} could not be written: {error}"
                )));
            }
        }
        self.buffer.clear();
    }

    fn get(&mut self, number: u64) -> Result<(Job, Vec<Sources>)> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        let &(begin, length) =
            self.records.get(number as usize).ok_or_else(|| Error::internal("a job was not noted"))?;
        let mut bytes = vec![0; length as usize];
        match (begin.checked_sub(self.written), &mut self.file) {
            (Some(at), _) => bytes.copy_from_slice(&self.buffer[at as usize..][..length as usize]),
            (None, Some(file)) => {
                let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(&mut bytes));
                read.map_err(|error| Error::Disk(format!("the way to a violation cannot be read: {error}")))?;
            }
            (None, None) => return Err(Error::internal("a job was not noted")),
        }
        wire::decode(&bytes).map_err(Error::Internal)
    }

    /// The steps from the initial state to a state that was handed to a job.
    pub(super) fn way(&mut self, guide: &Guide, number: u64, to: Spot, within: WayWithin) -> Result<Steps> {
        let (mut number, mut to, mut pieces) = (number, to, Vec::new());
        loop {
            let (job, sources) = self.get(number)?;
            let starts = job.handed.map_or(Vec::new(), |handed| handed.starts);
            if starts.is_empty() {
                pieces.reverse();
                return Ok(pieces.concat());
            }
            let at = starts.iter().position(|s| super::border::end(guide, &s.path).0 == to.place);
            let lost = || Error::internal("a state was not handed to its job");
            let at = at.ok_or_else(lost)?;
            let mut states = starts[at].states.chunks_exact(to.state.len());
            let mut place = states.position(|state| state == to.state).ok_or_else(lost)? as u64;
            let from = sources.get(at).and_then(|sources| {
                sources.iter().find(|(_, count)| {
                    let here = place < *count;
                    place = place.saturating_sub(*count);
                    here
                })
            });
            number = from.ok_or_else(lost)?.0;
            let (spot, steps) = within(&self.get(number)?.0, &to)?;
            pieces.push(steps);
            to = spot;
        }
    }
}
