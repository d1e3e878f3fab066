//! Notes about a specification: names of processes, values of global variables, equations that are never used.

use gridlock_lang::system::{Checked, Options, load};

fn read(text: &str) -> Checked {
    Checked::read(text, "x.mcrl2", Options::default()).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

#[test]
fn global_variables_and_their_values() {
    let text =
        "sort S = struct s(S) | e?is_e; glob n: Nat; p: Pos; b: Bool; l: List(Nat); v: S; g: Nat -> Bool;
                act a: Nat; init a(n);";
    let told: Vec<String> = read(text).builder().globals().iter().map(|global| global.join(" ")).collect();
    assert_eq!(
        told,
        [
            "n Nat 0",
            "p Pos 1",
            "b Bool false",
            "l List(Nat) []",
            "v S e",
            "g Nat -> Bool lambda x: Nat. false"
        ]
    );
    assert!(read("act a; init a;").builder().globals().is_empty());
}

#[test]
fn equations_that_are_never_applied_to_values() {
    let text = "map f: Nat -> Nat;\nvar b: Bool; x, y: Nat;\neqn f(if(b, x, y)) = if(b, f(x), f(y));\n    f(x) = x;\n\
                act a: Nat;\ninit a(f(1));";
    assert_eq!(read(text).builder().idle_equations(), [3]);
    assert!(
        read("map f: Nat -> Nat; var x: Nat; eqn f(x) = x; init delta;")
            .builder()
            .idle_equations()
            .is_empty()
    );
}

#[test]
fn equal_processes_have_names_of_their_own() {
    let text = "act a, b; proc P = a . P; Q = b . Q; init P || Q || P || P;";
    let Ok(system) = load(text, "x.mcrl2", &Options::default(), &mut |_| true) else { panic!("refused") };
    let names: Vec<&str> = system.network.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    assert_eq!(names, ["P#1", "Q", "P#2", "P#3"]);
}

#[test]
fn a_fault_tells_what_to_do() {
    let text = "act a: Nat; init sum n: Nat. a(n) . delta;";
    let Ok(system) = load(text, "x.mcrl2", &Options::default(), &mut |_| true) else { panic!("refused") };
    let [fault] = &system.network.faults[..] else { panic!("{:?}", system.network.faults) };
    assert!(fault.starts_with("x.mcrl2:1:") && fault.contains("\n  help: "), "{fault}");
}
