//! The shared set against an ordinary one. Run under Miri with
//! `MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p gridlock-lts visited`; the protocol itself is also
//! checked by loom, see `loom_tests`.

use super::*;
use crate::base::hash::Set;
use crate::base::rng::Rng;
use crate::engine::pack::{Many, One, Two, Width};
use std::sync::Mutex;

const KEYS: usize = if cfg!(miri) { 300 } else { 60_000 };

/// Keys with many repetitions; small numbers and neighbours as packed states have them.
fn keys(words: usize, count: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut rng = Rng::new(seed);
    (0..count)
        .map(|_| {
            let mut key: Vec<u64> = (0..words).map(|_| rng.below(3) as u64 * (u64::MAX / 2)).collect();
            key[rng.below(words)] = rng.below(count) as u64;
            if rng.percent(10) {
                key.fill_with(|| rng.bits());
            }
            key[0] >>= 2;
            key
        })
        .collect()
}

fn insert<W: Width>(
    visited: &Visited<W>,
    keys: &[u64],
    depth: u64,
    new: &mut Vec<usize>,
) -> Result<(), Exhausted> {
    let words = visited.table().width().words();
    let (mut done, count) = (0, keys.len() / words);
    loop {
        done += visited.table().insert_all(&keys[done * words..], depth, |k| new.push(done + k));
        if done == count {
            return Ok(());
        }
        visited.make_room()?;
    }
}

fn against_an_ordinary_set<W: Width>(width: W, seed: u64) {
    let budget = Budget::new(1 << 30);
    let visited = Visited::new(width, 2, 1, 0, &budget).expect("within the budget");
    let mut reference: Set<Vec<u64>> = Set::default();
    let all = keys(width.words(), KEYS, seed);
    for (k, batch) in all.chunks(77).enumerate() {
        let mut new = Vec::new();
        insert(&visited, &batch.concat(), k as u64, &mut new).expect("within the budget");
        let expected: Vec<usize> = (0..batch.len()).filter(|&i| reference.insert(batch[i].clone())).collect();
        let states =
            |indices: &[usize]| -> Set<Vec<u64>> { indices.iter().map(|&k| batch[k].clone()).collect() };
        assert_eq!(new.len(), expected.len());
        assert_eq!(states(&new), states(&expected));
        for key in batch.iter().skip(70) {
            assert!(visited.table().depth_of(key).is_some());
        }
    }
    let absent = keys(width.words(), KEYS / 10, seed + 1);
    for key in absent {
        assert_eq!(visited.table().depth_of(&key).is_some(), reference.contains(&key));
    }
    assert_eq!(visited.len(), reference.len() as u64);
    let mut seen: Set<Vec<u64>> = Set::default();
    (0..3).for_each(|part| visited.table().for_each(part, 3, |key, _| assert!(seen.insert(key.to_vec()))));
    assert_eq!(seen, reference);
    assert_eq!(budget.used(), visited.table().bytes());
    drop(visited);
    assert_eq!(budget.used(), 0);
}

#[test]
fn same_as_an_ordinary_set() {
    against_an_ordinary_set(One, 1);
    against_an_ordinary_set(Two, 2);
    for words in [1, 3, 5, 9] {
        against_an_ordinary_set(Many(words), words as u64);
    }
}

#[test]
fn every_key_can_be_stored_and_keeps_its_depth() {
    let budget = Budget::new(1 << 20);
    for (depth, key) in [0, 1, 2, u64::MAX >> 2, 1 << 61].into_iter().enumerate() {
        let visited = Visited::new(One, 2, 1, 0, &budget).expect("within the budget");
        assert_eq!(visited.table().depth_of(&[key]), None);
        let mut new = Vec::new();
        insert(&visited, &[key, key], depth as u64, &mut new).expect("room");
        assert_eq!(new, [0]);
        assert_eq!(visited.table().depth_of(&[key]), Some(depth as u64 % 3));
        assert_eq!(visited.table().depth_of(&[key ^ 1]), None);
    }
}

fn many_threads<W: Width>(width: W, threads: usize, seed: u64) {
    let budget = Budget::new(1 << 30);
    let visited = Visited::new(width, 2, threads, 0, &budget).expect("within the budget");
    let all = keys(width.words(), KEYS, seed);
    let reference: Set<Vec<u64>> = all.iter().cloned().collect();
    let news: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (all, visited, news) = (&all, &visited, &news);
            scope.spawn(move || {
                // All threads insert everything, each beginning elsewhere.
                let mut mine = all.clone();
                mine.rotate_left(all.len() * thread / threads);
                for batch in mine.chunks(100) {
                    let mut new = Vec::new();
                    insert(visited, &batch.concat(), 0, &mut new).expect("within the budget");
                    news.lock().expect("no panic").extend(new.into_iter().map(|k| batch[k].clone()));
                }
            });
        }
    });
    let news = news.into_inner().expect("no panic");
    assert_eq!(news.len(), reference.len(), "each state is new to exactly one thread");
    assert_eq!(news.into_iter().collect::<Set<_>>(), reference);
    assert_eq!(visited.len(), reference.len() as u64);
}

#[test]
fn new_to_exactly_one_thread() {
    for threads in [2, 3, 8] {
        many_threads(One, threads, 7);
        many_threads(Two, threads, 8);
        many_threads(Many(3), threads, 9);
    }
}

#[test]
fn a_budget_is_used_up_and_not_exceeded() {
    let limit = if cfg!(miri) { 100_000 } else { 64_000_000 };
    let budget = Budget::new(limit);
    let visited = Visited::new(One, 2, 1, 0, &budget).expect("within the budget");
    let mut stored = 0;
    let end = loop {
        let keys: Vec<u64> = (stored..stored + 100).collect();
        let mut new = Vec::new();
        let result = insert(&visited, &keys, 0, &mut new);
        stored += new.len() as u64;
        if let Err(exhausted) = result {
            break exhausted;
        }
    };
    assert_eq!(end.limit, limit);
    assert!(budget.peak() <= limit);
    // While a table grows, a part of the old one and pages of both are there, too.
    assert!(cfg!(miri) || stored * 14 > limit, "{stored} states in {limit} bytes");
    assert_eq!(visited.len(), stored);
    assert!((0..stored).all(|k| visited.table().depth_of(&[k]).is_some()), "nothing is lost at the end");
}
