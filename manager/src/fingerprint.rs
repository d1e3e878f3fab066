//! Short names for texts and tables: two runs are of the same specification if its text has the same fingerprint.
//!
//! It guards against mistakes, not against malice: 128 bits of FNV-1a, the same on every machine and in every version.

use gridlock_lts::model::network::{Network, Outcome};

/// The fingerprint of a text, 32 hexadecimal digits.
pub fn fingerprint(text: &str) -> String {
    format!("{:032x}", print_of(text.as_bytes()))
}

/// The fingerprint of bytes, as a number.
pub fn print_of(bytes: &[u8]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(START, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Describes the tables, with a number that changes with any entry: states in messages consist of numbers of local states.
pub fn tables_made(net: &Network) -> String {
    let mut print = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |number: u64| {
        print = (print ^ number).wrapping_mul(0x9fb2_1c65_1e98_df25);
        print ^= print >> 29;
    };
    let mut locals = 0;
    for leaf in &net.leaves {
        locals += leaf.states.len();
        leaf.name.bytes().for_each(|byte| add(u64::from(byte)));
        for table in &leaf.states {
            add(table.moves.len() as u64 * 2 + u64::from(table.expanded));
            table.moves.iter().for_each(|(label, to)| add(u64::from(label.0) << 32 | u64::from(to.0)));
        }
    }
    for vector in &net.vectors {
        add(match vector.outcome {
            Outcome::Step(label) => u64::from(label.0),
            Outcome::Fault(fault) => u64::from(fault) | 1 << 40,
        });
        vector.parts.iter().for_each(|(leaf, label)| add(u64::from(leaf.0) << 32 | u64::from(label.0)));
    }
    format!(
        "{} processes, {locals} local states, {} vectors, {print:016x}",
        net.leaves.len(),
        net.vectors.len()
    )
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
