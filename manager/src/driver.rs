//! Runs a swarm or a hunt over a transport: the one loop with clocks, journals and answers that come or do not come.
//!
//! Invariant: an answer counts only once it is in the journal, if there is one; whoever gave it does other work meanwhile.
//! A job that is lost is handed out again; one that is lost again and again is an error, since there is something wrong
//! with the job and not with its workers.

use crate::journal::{Journal, Trouble};
use crate::machine::{Accepted, Machine, Next, Numbered, Reply};
use crate::transport::{Answer, Ticket, Transport};
use gridlock_lts::base::hash::Map;
use gridlock_worker::job::Effort;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// How often the driver looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How often it tells how far it is.
const TELL: Duration = Duration::from_millis(200);
/// How often the page of the journal is replaced.
const PAGE: Duration = Duration::from_secs(2);
/// A job that was lost so often is given up.
const TRIES: u32 = 3;
/// How long answers are waited for while others are on their way to the disk.
const SYNC: Duration = Duration::from_millis(1);
/// Answers that are put into the journal at once.
const AT_ONCE: usize = 1_000;

/// Whom a run asks and tells.
pub struct Control<'a, S = crate::swarm::Status> {
    /// Whether to stop now: time is up, a signal came.
    pub stop: &'a dyn Fn() -> bool,
    /// Is told now and then how far the run is.
    pub progress: &'a dyn Fn(&S),
    /// The page for the journal, from the status.
    pub page: &'a dyn Fn(&S) -> Vec<u8>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// There is an outcome.
    Done,
    /// It was told to stop.
    Stopped,
    /// The journal could not be written; what is in it can be resumed.
    Journal(Trouble),
}

/// When jobs were handed out and answered, since the run began; by their numbers.
pub type Times = Map<u64, (Duration, Duration)>;

/// Workers of a machine.
type Workers<'t, M> = &'t mut dyn Transport<<M as Machine>::Job, <M as Machine>::Answer>;
/// The journal of a machine, if there is one.
type Book<'j, M> = Option<&'j mut Journal<<M as Machine>::Answer>>;
/// Answers as they come.
type Arrived<A> = Vec<(u32, Ticket, Answer<A>)>;

/// Runs a machine until it has an outcome or is told to stop. `resumed` are answers of an earlier run. Times are kept if
/// the machine wants them.
pub fn drive<M: Machine>(
    machine: &mut M,
    transport: Workers<M>,
    mut journal: Book<M>,
    resumed: Vec<M::Answer>,
    control: &Control<M::Status>,
) -> Result<(Ended, Times), String>
where
    M::Answer: Serialize + DeserializeOwned,
{
    let mut driver = Driver {
        begun: Instant::now(),
        times: machine.keeps_times().then(Times::default),
        free: transport.slots().into(),
        busy: Vec::new(),
        unsettled: VecDeque::new(),
        recorded: 0,
        resumed: resumed.into_iter().map(|feedback| (feedback.number(), feedback)).collect(),
        tries: Map::default(),
        cancelled: false,
        told: None,
        paged: None,
    };
    info!(workers = driver.free.len(), resumed = driver.resumed.len(), "begins");
    let result = driver.run(machine, transport, &mut journal, control);
    let (made, done) = machine.made_and_done();
    info!(made, done, "ends");
    transport.cancel();
    driver.cancelled = true;
    let collected = driver.collect(machine, transport, &mut journal);
    if let Some(journal) = journal {
        journal.tell(&(control.page)(&machine.status()));
    }
    (control.progress)(&machine.status());
    match (result?, collected?) {
        (ended @ Ended::Journal(_), _) | (ended, None) => Ok((ended, driver.times.unwrap_or_default())),
        (_, Some(trouble)) => Ok((Ended::Journal(trouble), driver.times.unwrap_or_default())),
    }
}

struct Driver<M: Machine> {
    begun: Instant,
    times: Option<Times>,
    /// Workers, once for each job that they can take.
    free: VecDeque<u32>,
    /// Who works on what.
    busy: Vec<(u32, u64)>,
    /// Answers that do not count yet: how many records there are in the journal once they do, and from whom they are.
    unsettled: VecDeque<(u64, u32, M::Answer)>,
    /// Records for the journal so far.
    recorded: u64,
    resumed: Map<u64, M::Answer>,
    tries: Map<u64, u32>,
    /// Nothing more is handed out, so what is interrupted need not be done again.
    cancelled: bool,
    told: Option<Instant>,
    paged: Option<Instant>,
}

impl<M: Machine> Driver<M>
where
    M::Answer: Serialize + DeserializeOwned,
{
    fn run(
        &mut self,
        machine: &mut M,
        transport: Workers<M>,
        journal: &mut Book<M>,
        control: &Control<M::Status>,
    ) -> Result<Ended, String> {
        loop {
            if self.hand_out(machine, transport)? {
                return Ok(Ended::Done);
            }
            if (control.stop)() {
                return Ok(Ended::Stopped);
            }
            if self.busy.is_empty() && self.unsettled.is_empty() {
                return Err("internal: nothing is in work and nothing can be handed out".to_owned());
            }
            let answers = self.receive(transport)?;
            if let Err(trouble) = self.take(machine, answers, journal)? {
                return Ok(Ended::Journal(trouble));
            }
            self.tell(machine, journal, control);
        }
    }

    /// Gives work to all who have none. True if the machine has an outcome.
    fn hand_out(&mut self, machine: &mut M, transport: Workers<M>) -> Result<bool, String> {
        while let Some(&worker) = self.free.front() {
            match machine.next() {
                Next::Done => return Ok(true),
                Next::Wait => break,
                Next::Job(job) => match self.resumed.remove(&job.number()) {
                    Some(feedback) => drop(machine.accept(feedback, u32::MAX)),
                    None => {
                        debug!(job = job.number(), worker, "handed out");
                        self.free.pop_front();
                        self.busy.push((worker, job.number()));
                        if let Some(times) = &mut self.times {
                            let now = self.begun.elapsed();
                            times.insert(job.number(), (now, now));
                        }
                        transport.send(worker, job.number(), job)?;
                    }
                },
            }
        }
        Ok(false)
    }

    /// Waits for an answer, and takes all that are there.
    fn receive(&mut self, transport: Workers<M>) -> Result<Arrived<M::Answer>, String> {
        let wait = if self.unsettled.is_empty() { LOOK } else { SYNC };
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
    ) -> Result<Result<(), Trouble>, String> {
        let mut done = Vec::new();
        for (worker, number, answer) in answers {
            let at = self.busy.iter().position(|busy| *busy == (worker, number));
            self.busy.swap_remove(at.ok_or("internal: an answer to no job")?);
            self.free.push_back(worker);
            if let Some((_, end)) = self.times.as_mut().and_then(|times| times.get_mut(&number)) {
                *end = self.begun.elapsed();
            }
            match answer {
                Answer::Done(feedback) if feedback.is_interrupted() && self.cancelled => {
                    machine.cut_short(feedback)
                }
                Answer::Done(feedback) if feedback.number() == number => done.push((worker, feedback)),
                Answer::Done(_) => return Err("internal: an answer to another job".to_owned()),
                Answer::Lost(why) => {
                    warn!(job = number, worker, %why, "lost");
                    let tries = self.tries.entry(number).or_default();
                    *tries += 1;
                    // At the end it does not matter any more.
                    if *tries == TRIES && !self.cancelled {
                        return Err(format!("job {number} was lost {TRIES} times, at last because: {why}"));
                    }
                    machine.lost(number);
                }
            }
        }
        let counts = |f: &M::Answer| !f.is_interrupted() && !f.is_failed();
        let mut settled = u64::MAX;
        if let Some(journal) = journal {
            let records: Vec<M::Answer> =
                done.iter().map(|(_, f)| f).filter(|f| counts(f)).cloned().collect();
            match journal.begin(&records).and_then(|()| journal.settled()) {
                Ok(records) => settled = records,
                Err(trouble) => return Ok(Err(trouble)),
            }
        }
        for (worker, feedback) in done {
            self.recorded += u64::from(counts(&feedback));
            self.unsettled.push_back((self.recorded, worker, feedback));
        }
        let on_disk = self.unsettled.partition_point(|(at, ..)| *at <= settled);
        for (_, worker, feedback) in self.unsettled.drain(..on_disk) {
            let Effort { states, nanoseconds, .. } = *feedback.effort();
            debug!(job = feedback.number(), worker, states, nanoseconds, end = feedback.end(), "answered");
            if machine.accept(feedback, worker) == Accepted::Unknown {
                return Err("internal: an answer to a job that was never made".to_owned());
            }
        }
        Ok(Ok(()))
    }

    /// Waits for all answers that are still out, so that none is lost that could count.
    fn collect(
        &mut self,
        machine: &mut M,
        transport: Workers<M>,
        journal: &mut Book<M>,
    ) -> Result<Option<Trouble>, String> {
        let mut trouble = None;
        while !self.busy.is_empty() || !self.unsettled.is_empty() {
            let answers = if self.busy.is_empty() {
                std::thread::sleep(SYNC);
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
