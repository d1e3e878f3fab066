//! The one place that names the `bincode` crate: values as bytes, for messages and journals.
//!
//! `bincode` has no maintainer any more; replacing it means changing this file, and the version of messages and journals with
//! it. Invariant: decoding bytes from another process ends with an error at worst, never with a crash, and never allocates
//! more than a constant times their length.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of all messages and files written with this module. Ranks and journals must agree on it.
pub const VERSION: u32 = 7;

/// No value is longer than this: it is somewhat more than the largest result of a slice.
const LIMIT: usize = 3 << 30;

fn config() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<LIMIT>()
}

/// A value as bytes.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    encode_into(value, &mut bytes)?;
    Ok(bytes)
}

/// Appends a value as bytes.
pub fn encode_into(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<(), String> {
    let written = bincode::serde::encode_into_std_write(value, bytes, config());
    written.map(drop).map_err(|e| format!("a message cannot be written: {e}"))
}

/// The value with which some bytes begin.
pub fn decode_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let decoded = bincode::serde::borrow_decode_from_slice(bytes, config());
    decoded.map(|(value, _)| value).map_err(|e| format!("a message makes no sense: {e}"))
}

/// The value of some bytes, all of which must belong to it.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    // Borrowing, though nothing borrowed is kept: long parts are then copied from what is there, and not into a place that
    // is as large as the bytes pretend.
    match bincode::serde::borrow_decode_from_slice(bytes, config()) {
        Ok((value, read)) if read == bytes.len() => Ok(value),
        Ok((_, read)) => Err(format!("a message has {} bytes too many", bytes.len() - read)),
        Err(e) => Err(format!("a message makes no sense: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridlock_lts::base::rng::Rng;
    use gridlock_worker::job::{Border, Effort, Feedback, Finding, JobEnd, Left, Position, Spot, What};

    fn feedback() -> Feedback {
        Feedback {
            number: 12,
            end: JobEnd::Found(Finding {
                what: What::Deadlock(3),
                path: vec![(7, vec![1, u64::MAX]), (0, vec![2, 3])],
            }),
            possible: vec![vec![1, 2, 3], vec![], vec![9]],
            bounded: true,
            effort: Effort { states: 5, transitions: 6, ..Effort::default() },
            seen: vec![3, 0, 255],
            left: Left {
                border: vec![Border { path: vec![4], states: vec![1, 2], expanded: 1 }],
                words: 2,
                from: Some(Spot { place: 3, state: vec![8, 9] }),
            },
            positions: vec![Position { done: vec![2, 0], possible: vec![5, 7] }],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(decode(&encode(&feedback()).unwrap()), Ok(feedback()));
    }

    #[test]
    fn broken_bytes_are_an_error() {
        let bytes = encode(&feedback()).unwrap();
        for end in 0..bytes.len() {
            assert!(decode::<Feedback>(&bytes[..end]).is_err());
        }
        assert!(decode::<Feedback>(&[&bytes[..], &[0]].concat()).is_err());
        let rng = &mut Rng::new(1);
        for _ in 0..20_000 {
            let mut broken = bytes.clone();
            for _ in 0..rng.between(1, 4) {
                let at = rng.below(broken.len());
                broken[at] = rng.bits() as u8;
            }
            // Whatever comes out, it comes out.
            let _ = decode::<Feedback>(&broken);
        }
    }
}
