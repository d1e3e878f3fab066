//! Parcels of words from each rank to each, of any length, in one exchange that all ranks make together.
//!
//! The parcels for a rank are one stream, cut into messages that are numbered, since they may come in any order. A rank
//! that waits for room first takes what has come, so there is no cycle of waiting, and a parcel is made only when it is its
//! turn. Invariant: an exchange ends without an error at a rank only if everything that was sent to it has come, once and
//! unchanged, as sums over all ranks say. Until then, what was handed over may be anything.

use super::{Mesh, Patience, print};
use crate::base::error::{Error, Result};
use crate::base::hash::Map;

/// Words before those of the stream: the number of the exchange and that of the message.
const HEADER: usize = 2;
/// Words of a message: 64 KiB. Tests use short ones, so that small networks send many.
const MESSAGE: usize = if cfg!(test) { 16 } else { 8 << 10 };

/// What a rank has sent in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Their words.
    pub words: u64,
}

/// What goes to one rank.
#[derive(Default)]
struct Outgoing {
    message: Vec<u64>,
    messages: u64,
    prints: u64,
}

/// What comes from one rank.
#[derive(Default)]
struct Incoming {
    /// The number of the next message of the stream, and those that came before their turn.
    next: u64,
    early: Map<u64, Vec<u64>>,
    /// What belongs to a parcel that is not whole.
    stream: Vec<u64>,
}

struct Exchange<'a> {
    mesh: &'a mut dyn Mesh,
    number: u64,
    out: Vec<Outgoing>,
    into: Vec<Incoming>,
    accept: &'a mut dyn FnMut(usize, &[u64]) -> Result<()>,
    sent: Sent,
    received: [u64; 2],
    /// What went wrong first. Everything is still sent and taken, since others wait for it.
    trouble: Option<Error>,
}

/// All ranks together: sends what `next` makes, each parcel to a rank that is not this one, and hands over to `accept` what
/// comes, those of each rank in the order in which they were sent. All ranks must give the exchange the same number,
/// another one than the last. An error concerns this rank alone: what others think must be asked next, before there is
/// another exchange.
pub fn exchange(
    mesh: &mut dyn Mesh,
    number: u64,
    next: &mut dyn FnMut() -> Result<Option<(usize, Vec<u64>)>>,
    accept: &mut dyn FnMut(usize, &[u64]) -> Result<()>,
) -> Result<Sent> {
    let ranks = mesh.size();
    let mut exchange = Exchange {
        mesh,
        number,
        out: (0..ranks).map(|_| Outgoing::default()).collect(),
        into: (0..ranks).map(|_| Incoming::default()).collect(),
        accept,
        sent: Sent::default(),
        received: [0; 2],
        trouble: None,
    };
    loop {
        match next() {
            Ok(Some((to, words))) => exchange.add(to, &words),
            Ok(None) => break,
            Err(why) => {
                exchange.trouble.get_or_insert(why);
                break;
            }
        }
    }
    exchange.finish()
}

impl Exchange<'_> {
    fn add(&mut self, to: usize, words: &[u64]) {
        self.append(to, &[words.len() as u64]);
        self.append(to, words);
    }

    fn append(&mut self, to: usize, mut words: &[u64]) {
        while !words.is_empty() {
            let out = &mut self.out[to];
            if out.message.is_empty() {
                out.message.reserve_exact(HEADER + MESSAGE);
                out.message.extend([self.number, out.messages]);
            }
            let (now, later) = words.split_at(words.len().min(HEADER + MESSAGE - out.message.len()));
            out.message.extend_from_slice(now);
            words = later;
            if out.message.len() == HEADER + MESSAGE {
                self.post(to);
            }
        }
    }

    /// Sends what was collected for a rank, once there is room.
    fn post(&mut self, to: usize) {
        let mut patience = Patience::default();
        while !self.mesh.has_room(to) {
            if self.take() {
                patience.renew();
            } else {
                patience.rest();
            }
        }
        let (me, out) = (self.mesh.rank(), &mut self.out[to]);
        let message = std::mem::take(&mut out.message);
        out.messages += 1;
        out.prints = out.prints.wrapping_add(print(me, to, &message));
        self.sent.messages += 1;
        self.sent.words += message.len() as u64;
        self.mesh.post(to, message);
        // A rank that only sends fills no memory, but keeps others waiting.
        self.take();
    }

    fn take(&mut self) -> bool {
        let came = self.mesh.take();
        came.map(|(from, message)| self.handle(from, message)).is_some()
    }

    fn handle(&mut self, from: usize, message: Vec<u64>) {
        self.received[0] += 1;
        self.received[1] = self.received[1].wrapping_add(print(from, self.mesh.rank(), &message));
        if let Err(why) = self.unpack(from, message) {
            self.trouble.get_or_insert(why);
        }
    }

    fn unpack(&mut self, from: usize, message: Vec<u64>) -> Result<()> {
        let broken = || Error::Internal(format!("a message from rank {from} makes no sense"));
        match message.split_at_checked(HEADER) {
            Some((header, _)) if header[0] == self.number => {}
            Some((header, _)) => {
                return Err(Error::Internal(format!(
                    "a message of exchange {} from rank {from} came in exchange {}",
                    header[0], self.number
                )));
            }
            None => return Err(broken()),
        }
        if self.trouble.is_some() {
            return Ok(());
        }
        let incoming = &mut self.into[from];
        if message[1] < incoming.next || incoming.early.insert(message[1], message).is_some() {
            return Err(broken());
        }
        while let Some(message) = incoming.early.remove(&incoming.next) {
            incoming.next += 1;
            incoming.stream.extend_from_slice(&message[HEADER..]);
        }
        let mut at = 0;
        while let Some((&length, rest)) = incoming.stream[at..].split_first() {
            let Some(parcel) = usize::try_from(length).ok().and_then(|length| rest.get(..length)) else {
                break;
            };
            (self.accept)(from, parcel)?;
            at += 1 + parcel.len();
        }
        incoming.stream.drain(..at);
        Ok(())
    }

    fn finish(mut self) -> Result<Sent> {
        for to in 0..self.out.len() {
            if !self.out[to].message.is_empty() {
                self.post(to);
            }
        }
        let mut patience = Patience::default();
        while !self.mesh.all_taken() {
            if self.take() {
                patience.renew();
            } else {
                patience.rest();
            }
        }
        let sums: Vec<u64> = self.out.iter().flat_map(|out| [out.messages, out.prints]).collect();
        let mut came = Vec::new();
        let expected = self.mesh.scatter_sums(&sums, &mut |message| {
            came.extend(message);
            false
        });
        came.into_iter().for_each(|(from, message)| self.handle(from, message));
        if let Some(why) = self.trouble {
            return Err(why);
        }
        let whole = self.into.iter().all(|incoming| incoming.stream.is_empty() && incoming.early.is_empty());
        if expected != self.received || !whole {
            return Err(Error::Internal(format!(
                "rank {} received {} messages in exchange {}, and {} were sent to it{}",
                self.mesh.rank(),
                self.received[0],
                self.number,
                expected[0],
                if self.received[0] == expected[0] { ", but not these" } else { "" }
            )));
        }
        Ok(self.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::super::local::{self, Disorder, Mischief};
    use super::*;
    use crate::base::rng::Rng;

    type Outcome = (Result<Sent>, Vec<(usize, Vec<u64>)>);

    /// Random parcels between random ranks, several exchanges one after the other: what each rank got in each.
    fn run(ranks: usize, disorder: Disorder, seed: u64) -> Vec<Vec<Outcome>> {
        let parcels = |rank: usize, number: u64| -> Vec<(usize, Vec<u64>)> {
            let rng = &mut Rng::new(seed ^ (rank as u64) << 20 ^ number << 40);
            let count = if ranks == 1 { 0 } else { rng.below(20) };
            let mut parcel = || {
                let to = (rank + rng.between(1, ranks - 1)) % ranks;
                (to, (0..rng.below(60)).map(|_| rng.bits()).collect())
            };
            (0..count).map(|_| parcel()).collect()
        };
        let all: Vec<Vec<Outcome>> = std::thread::scope(|scope| {
            let handles: Vec<_> = local::ranks(ranks, disorder)
                .into_iter()
                .enumerate()
                .map(|(rank, mut mesh)| {
                    scope.spawn(move || {
                        let mut outcomes = Vec::new();
                        for number in 0..3 {
                            let mut mine = parcels(rank, number).into_iter();
                            let mut got = Vec::new();
                            let result =
                                exchange(&mut mesh, number, &mut || Ok(mine.next()), &mut |from, words| {
                                    got.push((from, words.to_vec()));
                                    Ok(())
                                });
                            let wrong = mesh.share(&[u64::from(result.is_err())], &mut || false);
                            outcomes.push((result, got));
                            if wrong.iter().any(|&wrong| wrong > 0) {
                                break;
                            }
                        }
                        outcomes
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        });
        for (rank, outcomes) in all.iter().enumerate() {
            for (number, (result, got)) in (0..).zip(outcomes) {
                if result.is_err() {
                    continue;
                }
                for from in 0..ranks {
                    let sent = parcels(from, number)
                        .into_iter()
                        .filter(|(to, _)| *to == rank)
                        .map(|(_, words)| words);
                    let got = got.iter().filter(|(of, _)| *of == from).map(|(_, words)| words.clone());
                    assert_eq!(got.collect::<Vec<_>>(), sent.collect::<Vec<_>>(), "from {from} to {rank}");
                }
            }
        }
        all
    }

    #[test]
    fn everything_comes_in_order_whatever_the_network_does() {
        for seed in 0..60 {
            let ranks = 1 + seed as usize % 7;
            let all = run(ranks, Disorder { seed, delay: seed as usize % 9, mischief: None }, seed);
            assert!(all.iter().flatten().all(|(result, _)| result.is_ok()), "seed {seed}");
        }
    }

    #[test]
    fn what_a_network_must_not_do_is_noticed() {
        let mut noticed = 0;
        for seed in 0..80 {
            let number = seed % 11;
            let mischief = Some(match seed % 4 {
                0 => Mischief::Lose(number),
                1 => Mischief::Double(number),
                2 => Mischief::Damage(number),
                _ => Mischief::Late(number),
            });
            let all = run(3, Disorder { seed, delay: 3, mischief }, seed);
            noticed += usize::from(all.iter().flatten().any(|(result, _)| result.is_err()));
        }
        assert!(noticed > 70, "{noticed}");
    }

    /// A message of the next exchange that comes before this one is over is a fault of the rank that sent it.
    #[test]
    fn messages_of_another_exchange_are_faults() {
        let mut ranks = local::ranks(2, Disorder::default());
        // It is under way before the exchange begins, so it comes within the exchange, even if its sender is faster.
        ranks[1].post(0, vec![1, 0, 7]);
        let results: Vec<Result<Sent>> = std::thread::scope(|scope| {
            let handles: Vec<_> = ranks
                .iter_mut()
                .map(|mesh| scope.spawn(|| exchange(mesh, 0, &mut || Ok(None), &mut |_, _| Ok(()))))
                .collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        });
        let fault = results[0].as_ref().expect_err("it came").to_string();
        assert!(fault.contains("a message of exchange 1 from rank 1 came in exchange 0"), "{fault}");
        assert!(results[1].is_ok());
    }

    #[test]
    fn trouble_at_one_rank_keeps_nobody_waiting() {
        let got: Vec<Result<Sent>> = std::thread::scope(|scope| {
            let handles: Vec<_> = local::ranks(3, Disorder::default())
                .into_iter()
                .enumerate()
                .map(|(rank, mut mesh)| {
                    scope.spawn(move || {
                        let mut left = 40;
                        let mut next = || {
                            left -= 1;
                            match (left, rank) {
                                (20, 1) => Err(Error::disk("full")),
                                (0, _) => Ok(None),
                                _ => Ok(Some(((rank + 1) % 3, vec![7; 30]))),
                            }
                        };
                        exchange(&mut mesh, 0, &mut next, &mut |_, _| {
                            if rank == 2 { Err(Error::internal("no")) } else { Ok(()) }
                        })
                    })
                })
                .collect();
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect()
        });
        assert!(got[0].is_ok());
        assert_eq!(got[1], Err(Error::disk("full")));
        assert_eq!(got[2], Err(Error::internal("no")));
    }
}
