//! Trace IDs on the command line: whole numbers of any size, and ranges of them.

use crate::outcome::Failure;
use crate::quantities::big;
use num_bigint::BigUint;
use std::ops::Range;
use std::str::FromStr;

/// Reads a whole number of any size; commas between its digits mean nothing.
pub fn parse_id(text: &str) -> Result<BigUint, String> {
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

    fn from_str(text: &str) -> Result<Self, String> {
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
    /// The IDs, of which there must be some, in a space of so many; `flag` is where the user wrote them.
    pub fn resolve(&self, traces: &BigUint, flag: &str) -> Result<Range<BigUint>, Failure> {
        let start = self.start.clone().unwrap_or_default();
        let end = self.end.clone().unwrap_or_else(|| traces.clone());
        if end > *traces {
            return Err(Failure::input(format_args!(
                "{flag} {start}..{end} goes beyond the last trace: there are {}, numbered from 0",
                big(traces)
            )));
        }
        if start >= end {
            return Err(Failure::input(format_args!("{flag} {start}..{end} has no trace in it")));
        }
        Ok(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
