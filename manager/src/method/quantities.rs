//! Quantities as people write and read them: bytes, durations, counts.

use num_bigint::BigUint;
use std::time::Duration;

/// Reads a number of bytes: `4096`, `512K`, `1.5G`, `2GiB`. Suffixes are powers of 1024.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a number of bytes such as 500M or 2G, found `{text}`");
    let (number, unit) = split(text).ok_or_else(expected)?;
    let unit = unit.to_ascii_lowercase();
    let power = match unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit) {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(expected()),
    };
    let bytes = number * 1024f64.powi(power);
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(expected()) }
}

/// Reads a duration: `500ms`, `30s`, `1.5h`, `2d`; a number alone is in seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a duration such as 30s, 10m or 2h, found `{text}`");
    let (number, unit) = split(text).ok_or_else(expected)?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(expected()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

/// A number that is not negative, and what follows it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// A count with its digits in groups of three: `188,569`.
pub fn count(n: impl TryInto<u64>) -> String {
    grouped(&n.try_into().unwrap_or(u64::MAX).to_string())
}

/// A number with one digit after the point, its other digits in groups of three: `1,314.0`.
pub fn tenths(n: f64) -> String {
    let text = format!("{:.1}", n.max(0.0));
    match text.split_once('.') {
        Some((whole, part)) => format!("{}.{part}", grouped(whole)),
        None => text,
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Numbers with more digits than this are rounded for people.
const LONG: usize = 24;

/// A whole number of any size, every digit of it.
pub fn exact(n: &BigUint) -> String {
    grouped(&n.to_string())
}

/// A whole number of any size as a power of ten, if it is long: `1.23 * 10^45`.
pub fn rounded(n: &BigUint) -> Option<String> {
    let digits = n.to_string();
    let (first, more) = digits.split_at_checked(1)?;
    // Cut, not rounded: a number of nines must not grow by a digit.
    (digits.len() > LONG).then(|| format!("{first}.{} * 10^{}", &more[..2], digits.len() - 1))
}

/// A whole number of any size in as many characters as a line has room for.
pub fn big(n: &BigUint) -> String {
    rounded(n).unwrap_or_else(|| exact(n))
}

/// A count with its noun: `1 state`, `2 states`, `3 processes`.
pub fn counted(n: usize, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(n as u64))
}

/// A number of bytes in the unit that gives it one to four digits: `1.5 GiB`.
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "bytes" { counted(n as usize, "byte") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// A duration to about three digits: `0.52 s`, `12 s`, `3 min 5 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read() {
        for (text, expected) in [
            ("0", 0),
            ("4096", 4096),
            ("1K", 1024),
            ("1.5k", 1536),
            ("2 MiB", 2 << 20),
            ("3GB", 3 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "K", "-1", "1X", "1e9", "1.2.3", "inf", "NaN", "999999999999T", "1KK"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_read() {
        for (text, milliseconds) in
            [("0", 0), ("2", 2000), ("30s", 30_000), ("1.5m", 90_000), ("250ms", 250), ("1h", 3_600_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "-1s", "1y", "1 s s", "99999999999999999999d"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_shown() {
        assert_eq!(
            ["0", "999", "1,000", "188,569", "1,234,567"],
            [0u64, 999, 1000, 188_569, 1_234_567].map(count)[..]
        );
        assert_eq!(["0.0", "9.9", "1,314.0"], [0.0, 9.94, 1313.96].map(tenths)[..]);
        let large = BigUint::from(10u32).pow(30) - 1u32;
        assert_eq!(rounded(&large).as_deref(), Some("9.99 * 10^29"));
        assert_eq!(big(&large), "9.99 * 10^29");
        assert_eq!(exact(&(large + 1u32)), format!("1{}", ",000".repeat(10)));
        assert_eq!(big(&BigUint::from(1234567u32)), "1,234,567");
        assert_eq!([counted(1, "state"), counted(2, "state")], ["1 state", "2 states"]);
        assert_eq!([counted(1, "process"), counted(0, "process")], ["1 process", "0 processes"]);
        assert_eq!(["1 byte", "12 bytes", "1.0 KiB", "1.5 GiB"], [1, 12, 1024, 3 << 29].map(bytes)[..]);
        let shown = [0.123, 12.34, 185.0, 7260.0].map(|s| duration(Duration::from_secs_f64(s)));
        assert_eq!(["0.12 s", "12.3 s", "3 min 5 s", "2 h 1 min"], shown[..]);
    }
}
