//! All interleavings of a few threads over a tiny table, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p gridlock-lts --release --lib loom`.

use super::slots::{Inserted, Marks, Slots, Word};
use crate::engine::pack::{Many, One, Width};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;

/// Each thread inserts its keys; each distinct key must be new exactly once, and be found afterwards with its words.
fn check<W: Width>(width: W, words: usize, threads: Vec<Vec<Vec<u64>>>) {
    // Three switches that are not forced are enough for every race known in such tables, and keep this short.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    // Waiting for a claimed slot takes many turns.
    model.max_branches = 10_000;
    model.check(move || {
        let table: Arc<Vec<AtomicU64>> = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect());
        let spawn = |keys: Vec<Vec<u64>>| {
            let table = table.clone();
            loom::thread::spawn(move || {
                let slots = Slots::new(&table[..], width, Marks::new(2));
                let insert = |key: &Vec<u64>| slots.insert(key, Marks::new(2).mark(1)) == Inserted::New;
                keys.into_iter().filter(insert).collect::<Vec<_>>()
            })
        };
        let handles: Vec<_> = threads.iter().cloned().map(spawn).collect();
        let mut new: Vec<Vec<u64>> = handles.into_iter().flat_map(|h| h.join().unwrap()).collect();
        new.sort();
        let mut expected: Vec<Vec<u64>> = threads.concat();
        expected.sort();
        expected.dedup();
        assert_eq!(new, expected);
        let slots = Slots::new(&table[..], width, Marks::new(2));
        for key in &expected {
            assert_eq!(slots.find(key), Some(1));
        }
        assert_eq!(table.iter().step_by(width.words()).filter(|w| w.read() != 0).count(), expected.len());
    });
}

#[test]
fn loom_one_word() {
    check(One, 8, vec![vec![vec![0], vec![5]], vec![vec![5], vec![0]]]);
    check(One, 8, vec![vec![vec![0]], vec![vec![0]], vec![vec![0]]]);
}

#[test]
fn loom_several_words() {
    check(Many(3), 6, vec![vec![vec![1, 2, 3]], vec![vec![1, 2, 3]]]);
    check(Many(3), 6, vec![vec![vec![1, 2, 3]], vec![vec![1, 2, 4]]]);
    // Two threads only: with three, two of them wait for the claimed slot by turns, and loom follows them for ever.
    check(Many(5), 10, vec![vec![vec![0; 5], vec![1; 5]], vec![vec![1; 5], vec![0; 5]]]);
}
