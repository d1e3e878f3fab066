//! Trace IDs on the command line: whole numbers of any size, and ranges of them.

use crate::method::quantities::big;
use gridlock_lts::base::error::{Error, Result};
use num_bigint::BigUint;
use std::ops::Range;
use std::str::FromStr;

/// Reads a whole number of any size; commas between its digits are ignored.
pub fn parse_id(text: &str) -> std::result::Result<BigUint, String> {
    let digits: String = text.trim().chars().filter(|c| *c != ',').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("expected a whole number, found `{text}`"));
    }
    digits.parse().map_err(|_| format!("expected a whole number, found `{text}`"))
}

/// A range of trace IDs as the user wrote it: `A..B` without B; either end may be left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ids {
    start: Option<BigUint>,
    end: Option<BigUint>,
}

impl FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let expected =
            || format!("expected trace IDs as in 0..100, the last one not included, found `{text}`");
        let (start, end) = text.split_once("..").ok_or_else(expected)?;
        let number = |text: &str| match text.trim() {
            "" => Ok(None),
            digits => parse_id(digits).map(Some).map_err(|_| expected()),
        };
        Ok(Ids { start: number(start)?, end: number(end)? })
    }
}

impl Ids {
    /// The IDs, of which there must be some, in a space of this many; `flag` is where the user wrote them.
    pub fn resolve(&self, traces: &BigUint, flag: &str) -> Result<Range<BigUint>> {
        let start = self.start.clone().unwrap_or_default();
        let end = self.end.clone().unwrap_or_else(|| traces.clone());
        if end > *traces {
            return Err(Error::input(format_args!(
                "{flag} {start}..{end} goes beyond the last trace: there are {}, numbered from 0",
                big(traces)
            )));
        }
        if start >= end {
            return Err(Error::input(format_args!("{flag} {start}..{end} has no trace in it")));
        }
        Ok(start..end)
    }
}

/// One of several equal parts of the trace IDs as the user wrote it: `I/N`, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    index: u64,
    count: u64,
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse::<u64>().ok()).flatten()
        };
        let numbers = text.split_once('/').and_then(|(i, n)| Some((number(i.trim())?, number(n.trim())?)));
        let (index, count) =
            numbers.ok_or_else(|| format!("expected a part and their number as in 0/16, found `{text}`"))?;
        if index >= count {
            return Err(format!("parts are counted from 0, so the last one is N-1/N, found `{text}`"));
        }
        Ok(Share { index, count })
    }
}

impl Share {
    /// The IDs, of which there must be some, in a space of this many. The parts together have all IDs, and their sizes differ
    /// by one at most.
    pub fn resolve(&self, traces: &BigUint, flag: &str) -> Result<Range<BigUint>> {
        let Share { index, count } = *self;
        let start = traces * index / count;
        let end = traces * (u128::from(index) + 1) / count;
        if start == end {
            return Err(Error::input(format_args!(
                "{flag} {index}/{count} has no trace in it: there are only {}, so make fewer parts",
                big(traces)
            )));
        }
        Ok(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_everything() {
        let resolved = |traces: &BigUint, i: u64, n: u64| {
            format!("{i}/{n}").parse::<Share>().expect("a share").resolve(traces, "--shard").ok()
        };
        for traces in [1u64, 2, 5, 16, 17, 1000, u64::MAX].map(BigUint::from) {
            for count in 1..20 {
                let mut reached = BigUint::ZERO;
                for range in (0..count).filter_map(|index| resolved(&traces, index, count)) {
                    assert_eq!(range.start, reached);
                    let size = &range.end - &range.start;
                    assert!(size == &traces / count || size == &traces / count + 1u32);
                    reached = range.end;
                }
                assert_eq!(reached, traces);
            }
        }
        let last = resolved(&BigUint::from(u64::MAX), u64::MAX - 1, u64::MAX).expect("one trace");
        assert_eq!(last.end, BigUint::from(u64::MAX));
        for text in
            ["", "1", "/", "1/", "/2", "2/2", "-1/2", "+1/2", "0/0", "a/b", "1/2/3", "0/99999999999999999999"]
        {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_read() {
        let ten = BigUint::from(10u32);
        let resolved = |text: &str| text.parse::<Ids>().map(|ids| ids.resolve(&ten, "--ids").ok());
        let range = |a: u32, b: u32| Ok(Some(BigUint::from(a)..BigUint::from(b)));
        assert_eq!(resolved("2..5"), range(2, 5));
        assert_eq!(resolved(" 2 .. "), range(2, 10));
        assert_eq!(resolved(".."), range(0, 10));
        assert_eq!(resolved("0..11"), Ok(None));
        assert_eq!(resolved("5..5"), Ok(None));
        for text in ["", "5", "a..b", "-1..3", "1...3", "1..2..3"] {
            assert!(text.parse::<Ids>().is_err(), "{text}");
        }
        assert_eq!(parse_id("1,000"), Ok(BigUint::from(1000u32)));
        assert!(parse_id("+1").is_err());
    }
}
