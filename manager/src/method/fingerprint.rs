//! Short names for texts: two runs are of the same specification if its text has the same fingerprint.
//!
//! It guards against mistakes, not against malice: 128 bits of FNV-1a, the same on every machine and in every version.

/// The fingerprint of a text, 32 hexadecimal digits.
pub fn fingerprint(text: &str) -> String {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let hash = text.bytes().fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn known_values() {
        assert_eq!(fingerprint(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(fingerprint("a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_ne!(fingerprint("ab"), fingerprint("ba"));
    }
}
