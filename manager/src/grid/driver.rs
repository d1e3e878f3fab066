//! Runs a machine over a transport: the one loop that deals with clocks, journals and missing answers.
//!
//! Invariant: an answer counts only once it is in the journal, if there is one; the worker that gave it does other work
//! meanwhile. A job that is lost is handed out again; one that is lost three times is an internal error, since the fault
//! is then in the job and not in its workers.

use super::journal::{Batch, Journal, Records, Tally, Trouble};
use super::machine::{Accepted, Machine, Next, Numbered, Reply};
use super::transport::{Returned, Ticket, Transport};
use gridlock_lts::base::error::{Error, Limit, Result};
use gridlock_lts::base::hash::Map;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// How often the driver looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);
/// How often it reports progress.
const TELL: Duration = Duration::from_millis(200);
/// How often the page of the journal is replaced.
const PAGE: Duration = Duration::from_secs(2);
/// A job that was lost this many times is given up.
const TRIES: u32 = 3;
/// How long answers are waited for while others are on their way to the disk.
const ON_ITS_WAY: Duration = Duration::from_millis(1);
/// How often the disk is asked to keep answers that count before it does.
const SYNC: Duration = Duration::from_secs(1);
/// The most answers that are put into the journal at once.
const AT_ONCE: usize = 1_000;

/// The functions by which a run asks and reports.
pub struct Control<'a, S> {
    /// Whether to stop now: time is up, a signal came.
    pub stop: &'a dyn Fn() -> bool,
    /// Called from time to time with the progress of the run.
    pub progress: &'a dyn Fn(&S),
    /// The page for the journal, from the status.
    pub page: &'a dyn Fn(&S) -> Vec<u8>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// There is an outcome.
    Done,
    /// It was stopped from outside.
    Stopped,
    /// The machine has reached a limit of its own.
    Limit(Limit),
    /// The journal could not be written; what is in it can be resumed.
    Journal(Trouble),
}

/// For each job, by its number, when it was handed out and answered, since the run began.
pub type Times = Map<u64, (Duration, Duration)>;

/// A journal and the records that were in it.
pub type Opened<R> = (Journal<R>, Records<R>);

/// Workers of a machine.
type Workers<'t, M> = &'t mut dyn Transport<<M as Machine>::Job, <M as Machine>::Answer>;
/// The journal of a machine, if there is one.
type Book<M> = Option<Journal<<M as Machine>::Record>>;
/// Answers as they come.
type Arrived<A> = Vec<(u32, Ticket, Returned<A>)>;

/// Runs a machine until it has an outcome or is stopped. Jobs whose answers are in the journal are not done again. Times are
/// kept if the machine wants them.
pub fn drive<M: Machine>(
    machine: &mut M,
    transport: Workers<M>,
    opened: Option<Opened<M::Record>>,
    control: &Control<M::Status>,
) -> Result<(Ended, Times)> {
    let (mut journal, records) = opened.unzip();
    let mut driver = Driver::<M> {
        begun: Instant::now(),
        times: machine.keeps_times().then(Times::default),
        free: transport.slots().into(),
        busy: Vec::new(),
        unsettled: VecDeque::new(),
        recorded: 0,
        tries: Map::default(),
        cancelled: false,
        synced: Instant::now(),
        told: None,
        paged: None,
    };
    info!(workers = driver.free.len(), resumed = records.as_ref().map_or(0, Records::len), "begins");
    let result = match driver.resume(machine, records, &mut journal, control)? {
        Some(ended) => Ok(ended),
        None => driver.run(machine, transport, &mut journal, control),
    };
    let (made, done) = machine.made_and_done();
    info!(made, done, "ends");
    transport.cancel();
    driver.cancelled = true;
    let mut trouble = driver.collect(machine, transport, &mut journal)?;
    if trouble.is_none() {
        trouble = driver.take(machine, Vec::new(), &mut journal)?.err();
    }
    if let Some(journal) = &mut journal {
        if trouble.is_none() && !M::DURABLE {
            trouble = journal.sync().err();
        }
        journal.tell(&(control.page)(&machine.status()));
    }
    (control.progress)(&machine.status());
    let ended = match (result?, trouble) {
        (ended @ Ended::Journal(_), _) | (ended, None) => ended,
        (_, Some(trouble)) => Ended::Journal(trouble),
    };
    Ok((ended, driver.times.unwrap_or_default()))
}

struct Driver<M: Machine> {
    begun: Instant,
    times: Option<Times>,
    /// Free workers, once for each job that they can take.
    free: VecDeque<u32>,
    /// The workers that have jobs, each with the number of its job.
    busy: Vec<(u32, u64)>,
    /// Answers that do not count yet: the number of records in the journal from which on each counts, its worker, and the
    /// answer.
    unsettled: VecDeque<(u64, u32, M::Answer)>,
    /// Records for the journal so far.
    recorded: u64,
    tries: Map<u64, u32>,
    /// No more jobs are handed out, so interrupted jobs need not be done again.
    cancelled: bool,
    synced: Instant,
    told: Option<Instant>,
    paged: Option<Instant>,
}

impl<M: Machine> Driver<M> {
    /// Gives the machine the records of the journal, one at a time.
    fn resume(
        &mut self,
        machine: &mut M,
        records: Option<Records<M::Record>>,
        journal: &mut Book<M>,
        control: &Control<M::Status>,
    ) -> Result<Option<Ended>> {
        let (Some(mut records), mut looked) = (records, Instant::now()) else { return Ok(None) };
        while let Some(record) = records.next()? {
            machine.resume(record)?;
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if let Some(ended) = told_to_end(machine, control) {
                    return Ok(Some(ended));
                }
                self.tell(machine, journal, control);
            }
        }
        Ok(None)
    }

    fn run(
        &mut self,
        machine: &mut M,
        transport: Workers<M>,
        journal: &mut Book<M>,
        control: &Control<M::Status>,
    ) -> Result<Ended> {
        loop {
            if self.hand_out(machine, transport)? {
                return Ok(Ended::Done);
            }
            if let Some(ended) = told_to_end(machine, control) {
                return Ok(ended);
            }
            if self.busy.is_empty() && self.unsettled.is_empty() {
                if machine.has_peers() {
                    if let Err(trouble) = self.take(machine, Vec::new(), journal)? {
                        return Ok(Ended::Journal(trouble));
                    }
                    self.tell(machine, journal, control);
                    continue;
                }
                return Err(Error::internal("nothing is in work and nothing can be handed out"));
            }
            let answers = self.receive(transport)?;
            if let Err(trouble) = self.take(machine, answers, journal)? {
                return Ok(Ended::Journal(trouble));
            }
            self.tell(machine, journal, control);
        }
    }

    /// Gives jobs to all workers that have none. True if the machine has an outcome.
    fn hand_out(&mut self, machine: &mut M, transport: Workers<M>) -> Result<bool> {
        while let Some(&worker) = self.free.front() {
            match machine.next() {
                Next::Done => return Ok(true),
                Next::Wait => break,
                Next::Job(job) => {
                    debug!(job = job.number(), worker, "handed out");
                    self.free.pop_front();
                    self.busy.push((worker, job.number()));
                    if let Some(times) = &mut self.times {
                        let now = self.begun.elapsed();
                        times.insert(job.number(), (now, now));
                    }
                    transport.send(worker, job.number(), job)?;
                }
            }
        }
        Ok(false)
    }

    /// Waits for an answer, and takes all that have arrived.
    fn receive(&mut self, transport: Workers<M>) -> Result<Arrived<M::Answer>> {
        let wait = if self.unsettled.is_empty() { LOOK } else { ON_ITS_WAY };
        let mut answers: Vec<_> = transport.receive(wait)?.into_iter().collect();
        while !answers.is_empty() && answers.len() < AT_ONCE {
            match transport.receive(Duration::ZERO)? {
                Some(answer) => answers.push(answer),
                None => break,
            }
        }
        Ok(answers)
    }

    fn take(
        &mut self,
        machine: &mut M,
        answers: Arrived<M::Answer>,
        journal: &mut Book<M>,
    ) -> Result<std::result::Result<(), Trouble>> {
        let mut done = Vec::new();
        for (worker, number, answer) in answers {
            let at = self.busy.iter().position(|busy| *busy == (worker, number));
            self.busy.swap_remove(at.ok_or_else(|| Error::internal("an answer to no job"))?);
            self.free.push_back(worker);
            if let Some((_, end)) = self.times.as_mut().and_then(|times| times.get_mut(&number)) {
                *end = self.begun.elapsed();
            }
            match answer {
                Returned::Done(feedback) if feedback.is_interrupted() && self.cancelled => {
                    machine.cut_short(feedback)
                }
                Returned::Done(feedback) if feedback.number() == number => done.push((worker, feedback)),
                Returned::Done(_) => return Err(Error::internal("an answer to another job")),
                Returned::Lost(why) => {
                    warn!(job = number, worker, %why, "lost");
                    let tries = self.tries.entry(number).or_default();
                    *tries += 1;
                    // At the end it does not matter any more.
                    if *tries == TRIES && !self.cancelled {
                        return Err(Error::Internal(format!(
                            "job {number} was lost {TRIES} times, at last because: {why}"
                        )));
                    }
                    machine.lost(number, worker);
                }
            }
        }
        let mut batch = Batch::default();
        for (worker, answer) in done {
            if journal.is_some() {
                machine.record(&answer, &mut batch)?;
            }
            self.unsettled.push_back((self.recorded + batch.records(), worker, answer));
        }
        machine.notes(&mut batch)?;
        self.recorded += batch.records();
        let settled = match journal {
            Some(journal) => match self.keep(journal, batch) {
                Ok(settled) => settled,
                Err(trouble) => return Ok(Err(trouble)),
            },
            None => u64::MAX,
        };
        let on_disk = self.unsettled.partition_point(|(at, ..)| *at <= settled);
        for (_, worker, feedback) in self.unsettled.drain(..on_disk) {
            let Tally { states, nanoseconds } = feedback.tally();
            debug!(job = feedback.number(), worker, states, nanoseconds, end = feedback.end(), "answered");
            if machine.accept(feedback, worker) == Accepted::Unknown {
                return Err(Error::internal("an answer to a job that was never made"));
            }
        }
        Ok(Ok(()))
    }

    /// Gives records to the journal, and returns how many of all count now.
    fn keep(&mut self, journal: &mut Journal<M::Record>, batch: Batch) -> std::result::Result<u64, Trouble> {
        if M::DURABLE {
            return journal.begin(batch).and_then(|()| journal.settled());
        }
        journal.write(batch)?;
        if self.synced.elapsed() >= SYNC {
            self.synced = Instant::now();
            journal.sync()?;
        }
        Ok(u64::MAX)
    }

    /// Waits for all answers that are still out, so that none is lost that could count.
    fn collect(
        &mut self,
        machine: &mut M,
        transport: Workers<M>,
        journal: &mut Book<M>,
    ) -> Result<Option<Trouble>> {
        let mut trouble = None;
        while !self.busy.is_empty() || !self.unsettled.is_empty() {
            let answers = if self.busy.is_empty() {
                std::thread::sleep(ON_ITS_WAY);
                Vec::new()
            } else {
                self.receive(transport)?
            };
            if let Err(why) = self.take(machine, answers, journal)? {
                // They will never count.
                self.unsettled.clear();
                trouble = trouble.or(Some(why));
            }
        }
        Ok(trouble)
    }

    fn tell(&mut self, machine: &M, journal: &mut Book<M>, control: &Control<M::Status>) {
        let due = |last: &mut Option<Instant>, every: Duration| {
            let due = last.is_none_or(|last| last.elapsed() >= every);
            if due {
                *last = Some(Instant::now());
            }
            due
        };
        if due(&mut self.told, TELL) {
            (control.progress)(&machine.status());
        }
        if let Some(journal) = journal
            && due(&mut self.paged, PAGE)
        {
            journal.tell(&(control.page)(&machine.status()));
        }
    }
}

/// How a run ends that is stopped from outside or has reached a limit.
fn told_to_end<M: Machine>(machine: &M, control: &Control<M::Status>) -> Option<Ended> {
    if (control.stop)() {
        return Some(Ended::Stopped);
    }
    machine.limit().map(Ended::Limit)
}
