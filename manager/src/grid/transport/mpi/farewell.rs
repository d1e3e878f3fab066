//! How ranks part: every message that was sent is received before MPI ends.
//!
//! Receivers wait for messages of jobs and states, and count them. Signs of life and of the end of a mesh ([`Signs`]) are
//! different: no rank waits for them, so one may still be on its way when the search is over. MPI must not be ended then, and
//! some libraries report that on standard output, in the midst of the result. Therefore a rank that learns of the end reports
//! how many signs it has sent to each rank, and rank 0 tells each rank how many to expect.
//!
//! Invariant: no rank waits longer than [`GOODBYE`] for one that does not answer.

use super::{DOWN, Down, HELLO, Hello, Pause, UP, Up, World};
use gridlock_lts::base::error::{Error, Result};
use mpi::Rank;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long ranks wait for each other at the end.
const GOODBYE: Duration = Duration::from_secs(20);

/// Signs of all meshes so far.
pub(super) struct Signs {
    /// To each rank.
    pub(super) sent: Vec<u64>,
    pub(super) received: u64,
    /// The communicators on which they arrive.
    pub(super) meshes: Vec<Rc<SimpleCommunicator>>,
}

impl Signs {
    pub(super) fn new(ranks: usize) -> Self {
        Signs { sent: vec![0; ranks], received: 0, meshes: Vec::new() }
    }

    /// Receives the signs that have arrived.
    fn take(&mut self) -> bool {
        let mut any = false;
        for mesh in &self.meshes {
            while let Some(found) = mesh.any_process().immediate_matched_probe() {
                found.matched_receive_vec::<u64>();
                self.received += 1;
                any = true;
            }
        }
        any
    }
}

/// A message that is received and ignored.
#[derive(Serialize, Deserialize)]
struct Skipped;

impl World {
    /// Waits until rank 0 ends the run, and returns its exit code.
    pub fn wait_for_end(&self) -> Result<u8> {
        let mut pause = Pause::default();
        loop {
            match self.poll::<Down<()>>(DOWN) {
                Ok(Some((_, Down::End(code)))) => {
                    self.leave()?;
                    return Ok(code);
                }
                // Jobs are not for a rank that has said it cannot work.
                Ok(Some(_)) => {}
                Ok(None) => pause.rest(),
                Err(why) => return Err(why),
            }
        }
    }

    /// On a rank that knows that the run is over: takes leave of rank 0.
    pub(super) fn leave(&self) -> Result<()> {
        self.post(
            0,
            UP,
            &Up::<()>::Bye { signs: self.signs.borrow().sent.clone(), hellos: self.hellos.get() },
        )?;
        let (begun, mut pause) = (Instant::now(), Pause::default());
        while begun.elapsed() < GOODBYE {
            match self.poll::<Down<()>>(DOWN)? {
                Some((_, Down::Signs(all))) => {
                    self.take_signs(all, begun);
                    break;
                }
                Some(_) => {}
                None => pause.rest(),
            }
        }
        Ok(())
    }

    /// On rank 0: tells the others that the run is over, and waits until they have confirmed it.
    pub fn end(&self, code: u8) -> Result<()> {
        let others = 1..self.size() as Rank;
        for rank in others.clone() {
            self.post(rank, DOWN, &Down::<()>::End(code))?;
        }
        let (begun, mut left, mut pause) = (Instant::now(), self.size() - 1, Pause::default());
        let (mut signs, mut hellos) = (self.signs.borrow().sent.clone(), 0);
        while left > 0 && begun.elapsed() < GOODBYE {
            // Answers that nobody waits for any more are passed over, whatever they are.
            match self.poll::<Up<Skipped>>(UP) {
                Ok(Some((_, Up::Bye { signs: sent, hellos: said }))) => {
                    signs.iter_mut().zip(sent).for_each(|(all, sent)| *all += sent);
                    hellos += said;
                    left -= 1;
                }
                Ok(Some(_)) | Err(_) => {}
                Ok(None) => pause.rest(),
            }
        }
        for rank in others {
            self.post(rank, DOWN, &Down::<()>::Signs(signs[rank as usize]))?;
        }
        self.take_signs(signs[0], begun);
        // A run may have ended before all were there. Only what is missing is taken: a rank that has left may have said hello
        // to the next run.
        let mut pause = Pause::default();
        while self.hellos.get() < hellos && begun.elapsed() < GOODBYE {
            match self.poll::<Hello>(HELLO)? {
                Some(_) => self.hellos.update(|hellos| hellos + 1),
                None => pause.rest(),
            }
        }
        if left > 0 { Err(Error::Input(format!("{left} ranks did not answer at the end"))) } else { Ok(()) }
    }

    /// Receives signs until all have arrived.
    fn take_signs(&self, all: u64, begun: Instant) {
        let (mut signs, mut pause) = (self.signs.borrow_mut(), Pause::default());
        while signs.received < all && begun.elapsed() < GOODBYE {
            if !signs.take() {
                pause.rest();
            }
        }
    }
}
