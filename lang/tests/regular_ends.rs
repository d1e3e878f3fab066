//! Deadlock freedom apart from regular ends, as a formula.

use gridlock_lang::property::{self, Sight};
use gridlock_lang::system::{self, System};
use gridlock_lts::engine::game::{self, Decision};
use gridlock_lts::engine::search::{self, Verdict};
use gridlock_lts::property::Property;

fn load(spec: &str) -> System {
    system::load(spec, "test.mcrl2", &system::Options::default(), &mut |_| true)
        .unwrap_or_else(|errors| panic!("{spec}: {errors:?}"))
}

fn formula(system: &System, text: &str) -> Result<Vec<Property>, String> {
    let properties = property::formula(&system.builder, &Sight::default(), "f.mcf", text)
        .map_err(|errors| errors[0].message.clone())?;
    Ok(properties.into_iter().map(|(_, property)| property).collect())
}

/// The length of the shortest counterexample, and the number of the property that it is for.
fn search(system: &System, properties: &[Property]) -> Option<(usize, usize)> {
    let report = search::check(&system.network, properties, &search::Options::default()).unwrap();
    match report.verdict {
        Verdict::Holds => None,
        Verdict::Violated { trace, property, .. } => Some((trace.len(), property)),
        other => panic!("{other:?}"),
    }
}

const BUT_AT_THE_END: [&str; 6] = [
    "[(!Terminate)*]<true>true",
    "[!Terminate*]<true>true",
    "nu X. <true>true && [!Terminate]X",
    "[(!Terminate)* . (!Terminate)*]<true>true",
    "[(!Terminate)*](<true>true && true)",
    "!<(!Terminate)*>[true]false",
];

#[test]
fn a_regular_end_is_no_deadlock_for_those_who_say_so() {
    for (spec, plain, but_at_the_end) in [
        ("act a; init a;", Some(2), None),
        ("act a; init a . delta;", Some(1), Some(1)),
        ("act a, b; init a || b;", Some(2), None),
        ("act a, b; init a || b . delta;", Some(1), Some(1)),
        ("act a; proc P = a . P; init P;", None, None),
        ("act a; init hide({a}, a);", Some(2), None),
        ("act a, b, c; init a . (b + c . delta);", Some(2), Some(2)),
        ("init delta;", Some(0), Some(0)),
    ] {
        let system = load(spec);
        let length = |text: &str| search(&system, &formula(&system, text).unwrap()).map(|found| found.0);
        assert_eq!(length("[true*]<true>true"), plain, "{spec}");
        for text in BUT_AT_THE_END {
            assert_eq!(length(text), but_at_the_end, "{text} of {spec}");
        }
    }
}

/// What excludes more than the end, or the end only sometimes, is another property, which a game decides.
#[test]
fn other_words_mean_something_else() {
    let ended = "act a; init a;";
    // Steps of a declared action of that name are not the end, and the formula says nothing about what follows them.
    let declared = "act Terminate, a; init Terminate . a . delta;";
    for (spec, text, holds) in [
        (ended, "[(!a)*]<true>true", true),
        (ended, "[(!Terminate && !a)*]<true>true", true),
        (ended, "[(!Terminate)+]<true>true", true),
        (ended, "[true* . !Terminate]<true>true", true),
        (ended, "[(!Terminate)* . (a . Terminate + false*)]<true>true", false),
        (declared, "[(!Terminate)*]<true>true", true),
        (declared, "[(!a)*]<true>true", true),
        (declared, "[(!Terminate + a)* . Terminate . a]<true>true", false),
    ] {
        let system = load(spec);
        let properties = formula(&system, text).unwrap();
        let [Property::Formula(equations)] = &properties[..] else { panic!("{text}: {properties:?}") };
        let decided = game::decide(&system.network, &**equations, &search::Options::default()).unwrap();
        assert_eq!(
            decided.answer,
            if holds { Decision::Holds } else { Decision::Violated },
            "{text} of {spec}"
        );
    }
    let declared = load(declared);
    assert_eq!(search(&declared, &formula(&declared, "[true*]<true>true").unwrap()), Some((2, 0)));
}

/// Of several properties about deadlocks the strictest decides, in any order.
#[test]
fn the_strictest_of_several_counts() {
    let system = load("act a; init a;");
    let strict = "[true*]<true>true";
    let loose = "[(!Terminate)*]<true>true";
    let both = |first: &str, second: &str| {
        search(&system, &formula(&system, &format!("{first} && {second}")).unwrap())
    };
    assert_eq!(both(strict, loose), Some((2, 0)));
    assert_eq!(both(loose, strict), Some((2, 1)));
    assert_eq!(both(loose, loose), None);
}
