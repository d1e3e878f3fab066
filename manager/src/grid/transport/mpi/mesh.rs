//! The mesh of an MPI job: every rank sends to every other.
//!
//! Messages are non-blocking synchronous sends, which are finished when their receiver has matched them, and are found by
//! matched probes. Collectives are non-blocking, too: a rank that waits for others goes on receiving, and leaves its core to
//! others if that takes long. All of it happens in a communicator of its own, so that nothing of the star comes in between.
//!
//! Ranks give signs of life: rank 0 to all, the others to rank 0. So a rank that hangs is noticed and named, and the job
//! ends, since no collective would ever end without it.

use super::World;
use gridlock_lts::engine::mesh::{Mesh, Patience, UNFINISHED};
use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use std::rc::Rc;
use std::time::{Duration, Instant};

const STATES: i32 = 1;
const HALT: i32 = 2;
const ALIVE: i32 = 3;

/// The number of messages whose memory is kept for later ones.
const SPARE: usize = 4;

/// Time between two signs of life.
const BETWEEN_SIGNS: Duration = Duration::from_secs(2);

/// A message on its way.
struct Sending {
    /// `None` once it has been taken.
    request: Option<Request<'static, [u64], StaticScope>>,
    words: Vec<u64>,
}

impl Sending {
    fn new(communicator: &SimpleCommunicator, to: usize, words: Vec<u64>) -> Self {
        // SAFETY: The words stand on the heap and do not move with the vector; nobody changes them, and they are freed only
        // after the request is finished (see `drop`). The safe way, a scope that outlives the request, would keep all words
        // that were ever sent until the scope ends.
        let lent: &'static [u64] = unsafe { &*std::ptr::from_ref::<[u64]>(&words) };
        let to = communicator.process_at_rank(to as Rank);
        let request = to.immediate_synchronous_send_with_tag(StaticScope, lent, STATES);
        Sending { request: Some(request), words }
    }

    /// Whether it has been taken.
    fn is_taken(&mut self) -> bool {
        if let Some(request) = self.request.take() {
            self.request = request.test().err();
        }
        self.request.is_none()
    }
}

/// Forgets messages that have been taken, and keeps some of their memory for later ones.
fn forget_taken(sending: &mut Vec<Sending>, spare: &mut Vec<Vec<u64>>) {
    sending.retain_mut(|message| {
        let taken = message.is_taken();
        if taken && spare.len() < SPARE {
            spare.push(std::mem::take(&mut message.words));
        }
        !taken
    });
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            // The library may still read them, and the run is about to end with an error.
            std::mem::forget(request);
            std::mem::forget(std::mem::take(&mut self.words));
        }
    }
}

/// See the module head.
pub struct MpiMesh<'w> {
    world: &'w World,
    communicator: Rc<SimpleCommunicator>,
    /// For each rank.
    sending: Vec<Vec<Sending>>,
    /// Memory of messages that have been taken.
    spare: Vec<Vec<u64>>,
    halted: bool,
    told: bool,
    /// How long a rank may be silent, and the function that is called if one is.
    watched: Option<(Duration, &'w dyn Fn(String))>,
    sign: Instant,
    looked: Instant,
    /// The time of the last message or sign of each rank.
    heard: Vec<Instant>,
}

impl<'w> MpiMesh<'w> {
    /// All ranks together.
    pub(super) fn new(world: &'w World) -> Self {
        let communicator = Rc::new(world.communicator.duplicate());
        world.signs.borrow_mut().meshes.push(communicator.clone());
        let sending = (0..world.size()).map(|_| Vec::new()).collect();
        let now = Instant::now();
        let heard = vec![now; world.size() as usize];
        MpiMesh {
            world,
            communicator,
            sending,
            spare: Vec::new(),
            halted: false,
            told: false,
            watched: None,
            sign: now,
            looked: now,
            heard,
        }
    }

    /// Ends the job if a rank gives no sign of life for this time, and reports why.
    pub fn watch(&mut self, patience: Option<Duration>, tell: &'w dyn Fn(String)) {
        self.watched = patience.map(|patience| (patience, tell));
    }

    /// Sends a sign; no rank waits for it.
    fn sign(&self, to: usize, tag: i32) {
        // One word does not wait for its receiver.
        self.communicator.process_at_rank(to as Rank).send_with_tag(&[0u64][..], tag);
        self.world.signs.borrow_mut().sent[to] += 1;
    }

    /// Gives a sign of life, and receives those of others.
    fn look(&mut self) {
        let now = Instant::now();
        if self.watched.is_some_and(|(patience, _)| now.duration_since(self.looked) > patience / 2) {
            // Who has not looked for long, because a disk or a table took its time, gives others as long.
            self.heard.fill(now);
        }
        self.looked = now;
        if now.duration_since(self.sign) < BETWEEN_SIGNS {
            return;
        }
        self.sign = now;
        let me = self.rank();
        let others: Vec<usize> = if me == 0 { (1..self.size()).collect() } else { vec![0] };
        for &to in &others {
            self.sign(to, ALIVE);
        }
        while let Some(found) = self.communicator.any_process().immediate_matched_probe_with_tag(ALIVE) {
            let (_, status) = found.matched_receive_vec::<u64>();
            self.world.signs.borrow_mut().received += 1;
            self.heard[status.source_rank() as usize] = now;
        }
        let Some((patience, tell)) = self.watched else { return };
        if let Some(silent) = others.into_iter().find(|&rank| now.duration_since(self.heard[rank]) > patience)
        {
            tell(format!(
                "rank {silent} has given no sign of life for {} s (--stuck-after): its machine, network or disk may hang; the \
                 run ends, begin it again without that machine, with --resume if there is a checkpoint",
                now.duration_since(self.heard[silent]).as_secs()
            ));
            self.world.abort(2);
        }
    }
}

impl Mesh for MpiMesh<'_> {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn has_room(&mut self, to: usize) -> bool {
        let sending = &mut self.sending[to];
        if sending.len() >= UNFINISHED {
            forget_taken(sending, &mut self.spare);
        }
        sending.len() < UNFINISHED
    }

    fn post(&mut self, to: usize, message: Vec<u64>) {
        self.world.count(8 * message.len());
        self.sending[to].push(Sending::new(&self.communicator, to, message));
    }

    fn take(&mut self) -> Option<(usize, Vec<u64>)> {
        self.look();
        loop {
            let (found, status) = self.communicator.any_process().immediate_matched_probe()?;
            let (tag, from) = (status.tag(), status.source_rank() as usize);
            let mut message = if tag == STATES { self.spare.pop() } else { None }.unwrap_or_default();
            message.resize(status.count(u64::equivalent_datatype()) as usize, 0);
            found.matched_receive_into(&mut message[..]);
            self.heard[from] = self.looked;
            match tag {
                STATES => {
                    self.world.count(8 * message.len());
                    return Some((from, message));
                }
                ALIVE => {}
                _ => self.halted = true,
            }
            self.world.signs.borrow_mut().received += 1;
        }
    }

    fn all_taken(&mut self) -> bool {
        self.sending.iter_mut().all(|sending| {
            forget_taken(sending, &mut self.spare);
            sending.is_empty()
        })
    }

    fn halt(&mut self) {
        self.halted = true;
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        for to in (0..self.size()).filter(|&to| to != self.rank()) {
            self.sign(to, HALT);
        }
    }

    fn halted(&mut self) -> bool {
        self.halted
    }

    fn scatter_sums(
        &mut self,
        mine: &[u64],
        attend: &mut dyn FnMut(Option<(usize, Vec<u64>)>) -> bool,
    ) -> Vec<u64> {
        let mut sums = vec![0u64; mine.len() / self.size()];
        self.world.count(8 * (mine.len() + sums.len()));
        mpi::request::scope(|scope| {
            let sum = SystemOperation::sum();
            let mut request =
                self.communicator.immediate_reduce_scatter_block_into(scope, mine, &mut sums[..], sum);
            let mut patience = Patience::default();
            while let Err(unfinished) = request.test() {
                request = unfinished;
                let came = self.take();
                if came.is_some() {
                    patience.renew();
                }
                if attend(came) {
                    self.halt();
                }
                patience.rest();
            }
        });
        // What was matched before the sum was there is in hand.
        while let Some(came) = self.take() {
            attend(Some(came));
        }
        sums
    }

    fn share(&mut self, mine: &[u64], attend: &mut dyn FnMut() -> bool) -> Vec<u64> {
        let mut all = vec![0u64; mine.len() * self.size()];
        self.world.count(8 * all.len());
        mpi::request::scope(|scope| {
            let mut request = self.communicator.immediate_all_gather_into(scope, mine, &mut all[..]);
            let mut patience = Patience::default();
            while let Err(unfinished) = request.test() {
                request = unfinished;
                self.look();
                if attend() {
                    self.halt();
                }
                patience.rest();
            }
        });
        all
    }
}
