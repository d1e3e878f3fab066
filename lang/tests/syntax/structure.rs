//! The tree that the parser yields for each construct, with its places.

use gridlock_lang::diagnostic::Span;
use gridlock_lang::syntax::{self, tree::*};

fn spec(text: &str) -> Spec {
    syntax::parse(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn at(text: &str, span: Span) -> &str {
    &text[span.start as usize..span.end as usize]
}

#[test]
fn sections_stand_in_any_order_and_repeat() {
    let spec = spec(
        "init P; proc P = a; act a; sort S = struct c; act b, c: Nat # S; map f, g: S -> Nat; cons d: S;
         eqn f(c) = 1; sort A, B; var x: S; y, z: Nat, w: S; eqn f(x) = y; g(x) = z; eqn g(c) = 0;",
    );
    assert_eq!(spec.sorts.iter().map(|sort| &*sort.name.name).collect::<Vec<_>>(), ["S", "A", "B"]);
    assert_eq!(spec.maps.iter().map(|map| &*map.name.name).collect::<Vec<_>>(), ["f", "g"]);
    assert_eq!(spec.constructors.len(), 1);
    assert_eq!(spec.actions.iter().map(|act| act.sorts.len()).collect::<Vec<_>>(), [0, 2, 2]);
    assert_eq!((spec.processes.len(), spec.inits.len()), (1, 1));
    let sizes: Vec<_> =
        spec.equations.iter().map(|section| (section.vars.len(), section.equations.len())).collect();
    assert_eq!(sizes, [(0, 1), (4, 2), (0, 1)]);
}

#[test]
fn variables_are_separated_by_commas_or_semicolons() {
    let vars = |text: &str| -> Vec<String> {
        spec(&format!("var {text} eqn f = g;")).equations[0]
            .vars
            .iter()
            .map(|var| var.name.name.to_string())
            .collect()
    };
    assert_eq!(vars("a, b: S, c: T;"), ["a", "b", "c"]);
    assert_eq!(vars("a, b: S; c: T;"), ["a", "b", "c"]);
    assert_eq!(vars("a: Set(S),\n b, c: T;"), ["a", "b", "c"]);
}

#[test]
fn structured_sorts() {
    let spec = spec("sort S = struct leaf | node(left: S, List(S), right: struct x?is_x | y)?is_node;");
    let Some(Sort { kind: SortKind::Struct(constructors), .. }) = &spec.sorts[0].definition else { panic!() };
    assert_eq!(constructors.len(), 2);
    let fields: Vec<_> =
        constructors[1].fields.iter().map(|(name, _)| name.as_ref().map(|n| &*n.name)).collect();
    assert_eq!(fields, [Some("left"), None, Some("right")]);
    assert_eq!(constructors[1].recogniser.as_ref().map(|n| &*n.name), Some("is_node"));
    assert!(matches!(&constructors[1].fields[2].1.kind, SortKind::Struct(inner) if inner.len() == 2));
}

#[test]
fn an_action_may_take_a_function() {
    let spec = spec("act a: Nat # Nat -> Nat -> Nat; b: (Nat -> Nat) # Bool;");
    assert_eq!(spec.actions[0].sorts.len(), 1);
    assert_eq!(spec.actions[1].sorts.len(), 2);
}

#[test]
fn calls_and_assignments() {
    let kind = |text: &str| spec(&format!("init {text};")).inits.remove(0).kind;
    assert!(matches!(kind("P"), ProcessKind::Call(_, args) if args.is_empty()));
    assert!(matches!(kind("P(1, 2)"), ProcessKind::Call(_, args) if args.len() == 2));
    assert!(matches!(kind("P()"), ProcessKind::Assign(_, args) if args.is_empty()));
    assert!(matches!(kind("P(x = 1, y = x == 2)"), ProcessKind::Assign(_, args) if args.len() == 2));
    assert!(matches!(kind("P(x == 1)"), ProcessKind::Call(_, args) if args.len() == 1));
    assert!(matches!(kind("P(x => y)"), ProcessKind::Call(_, args) if args.len() == 1));
}

#[test]
fn restrictions() {
    let kind = |text: &str| spec(&format!("init {text};")).inits.remove(0).kind;
    assert!(matches!(kind("block({a, b}, p)"), ProcessKind::Block(names, _) if names.len() == 2));
    assert!(matches!(kind("hide({a}, p)"), ProcessKind::Hide(names, _) if names.len() == 1));
    assert!(matches!(kind("rename({a -> b, c -> d}, p)"), ProcessKind::Rename(pairs, _) if pairs.len() == 2));
    let ProcessKind::Allow(sets, _) = kind("allow({a, b|c|c}, p)") else { panic!() };
    assert_eq!(sets.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3]);
    let ProcessKind::Comm(sets, _) = kind("comm({a|b -> c, d|e|f -> g}, p)") else { panic!() };
    assert_eq!(sets.iter().map(|(parties, _)| parties.len()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn braces() {
    let kind =
        |text: &str| spec(&format!("eqn f = {text};")).equations.remove(0).equations.remove(0).right.kind;
    assert!(matches!(kind("{}"), DataKind::Set(e) if e.is_empty()));
    assert!(matches!(kind("{:}"), DataKind::Bag(e) if e.is_empty()));
    assert!(matches!(kind("{ : }"), DataKind::Bag(e) if e.is_empty()));
    assert!(matches!(kind("{x, y}"), DataKind::Set(e) if e.len() == 2));
    assert!(matches!(kind("{x: 1, f(y): z}"), DataKind::Bag(e) if e.len() == 2));
    assert!(matches!(kind("{x: S}"), DataKind::Bag(e) if e.len() == 1));
    assert!(matches!(kind("{x: S | x == y}"), DataKind::Comprehension(..)));
    assert!(matches!(kind("{x: S -> Set(T) | true || false}"), DataKind::Comprehension(..)));
    assert!(matches!(kind("{x: S || y}"), DataKind::Bag(e) if e.len() == 1));
}

#[test]
fn places_are_those_of_the_text() {
    let text = "% é\nproc P(x: Nat) = (x < 3) -> a(x + 1) . P() <> sum y: Nat. b(y) ;\r\n  eqn c -> f(x) = g ( x ) ;";
    let spec = spec(text);
    let ProcessKind::Condition(condition, then, Some(otherwise)) = &spec.processes[0].body.kind else {
        panic!()
    };
    assert_eq!(at(text, spec.processes[0].name.span), "P");
    assert_eq!(at(text, spec.processes[0].params[0].sort.span), "Nat");
    assert_eq!(at(text, condition.span), "(x < 3)");
    assert_eq!(at(text, then.span), "a(x + 1) . P()");
    assert_eq!(at(text, otherwise.span), "sum y: Nat. b(y)");
    assert_eq!(at(text, spec.processes[0].body.span), "(x < 3) -> a(x + 1) . P() <> sum y: Nat. b(y)");
    let equation = &spec.equations[0].equations[0];
    assert_eq!(at(text, equation.left.span), "f(x)");
    assert_eq!(at(text, equation.right.span), "g ( x )");
    assert_eq!(at(text, equation.span), "c -> f(x) = g ( x )");
}

#[test]
fn comments_line_ends_and_marks() {
    let spec = spec("\u{feff}act a; % init b; ( \r\n\tinit % here: é\r a\r\n.\r\na;%");
    assert_eq!((spec.actions.len(), spec.inits.len()), (1, 1));
    assert_eq!(self::spec("").inits.len(), 0);
    assert_eq!(self::spec("% nothing").inits.len(), 0);
}

#[test]
fn numbers_are_exact() {
    let text = format!("eqn f = 1{};", "0".repeat(100));
    let DataKind::Number(number) = spec(&text).equations.remove(0).equations.remove(0).right.kind else {
        panic!()
    };
    assert_eq!(number, num_bigint::BigUint::from(10u32).pow(100));
}

#[test]
fn bytes_become_text() {
    assert_eq!(syntax::decode(b"act a;").as_deref(), Ok("act a;"));
    assert_eq!(syntax::decode(b"\xef\xbb\xbfact a;").as_deref(), Ok("act a;"));
    assert_eq!(syntax::decode("act a; % é".as_bytes()).as_deref(), Ok("act a; % é"));
    assert_eq!(syntax::decode(b"% J\xfcrgen\nact a;").as_deref(), Ok("% J\u{fffd}rgen\nact a;"));
    let error = syntax::decode(b"\xef\xbb\xbfact a;\n b\xfc;").expect_err("not UTF-8");
    assert_eq!(error.message, "this is not text: byte 12, in line 2 at column 3, is 0xfc");
    assert_eq!(error.span, Span::new(9, 9));
    let error = syntax::decode(b"% x\nact\0a;").expect_err("a NUL byte");
    assert_eq!(error.message, "this is not text: byte 7, in line 2 at column 4, is 0x00");
    assert!(
        syntax::decode(b"\xff\xfea\0c\0t\0")
            .expect_err("UTF-16")
            .help
            .is_some_and(|help| help.contains("UTF-16"))
    );
    assert!(syntax::decode(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]).is_err());
}
