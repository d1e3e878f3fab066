//! Specifications that are too much for the tables: a clear answer, soon.

use gridlock_lang::system::{Options, load};

#[test]
fn unrestricted_parallel_processes_with_data_are_refused() {
    let text = "act tick: Nat; proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
                init Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0);";
    let Err(found) = load(text, "clocks", &Options::default(), &mut |_| true) else { panic!("loaded") };
    assert!(found[0].message.contains("combinations of actions"), "{found:?}");
    assert!(found[0].help.as_ref().is_some_and(|h| h.contains("allow")), "{found:?}");
}

#[test]
fn the_same_with_an_allow_is_small() {
    let text = "act tick: Nat; proc Clock(n: Nat) = tick(n) . Clock((n + 1) mod 50);
                init allow({tick}, Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0) || Clock(0));";
    let Ok(system) = load(text, "clocks", &Options::default(), &mut |_| true) else { panic!("refused") };
    assert!(system.closed);
    assert_eq!(system.network.vectors.len(), 6 * 50);
}
