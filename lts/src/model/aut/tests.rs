use super::*;

fn parse(text: impl AsRef<[u8]>) -> Result<Lts, String> {
    read(text.as_ref(), "x.aut").map_err(|e| e.to_string())
}

fn printed(lts: &Lts) -> String {
    let mut out = Vec::new();
    write(lts, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A small deterministic generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

const ODD_LABELS: [&str; 9] =
    ["c2(d1, true)", "a|b(1)", "\"", "x\",5)", ",", " spaced ", "", "(0,\"a\",1)", "größer"];

fn random_lts(random: &mut Random) -> Lts {
    let mut b = Builder::new();
    let states = 1 + random.below(9);
    b.require_states(states as u32);
    for _ in 0..random.below(20) {
        let label = match random.below(ODD_LABELS.len() + 1) {
            0 => Label::TAU,
            n => b.label(ODD_LABELS[n - 1]),
        };
        b.add(State(random.below(states) as u32), label, State(random.below(states) as u32));
    }
    b.finish(State(random.below(states) as u32))
}

#[test]
fn writes_what_other_tools_read() {
    let mut b = Builder::new();
    let c = b.label("c2(d1, true)");
    b.add(State(0), c, State(1));
    b.add(State(1), Label::TAU, State(0));
    assert_eq!(printed(&b.finish(State(0))), "des (0,2,2)\n(0,\"c2(d1, true)\",1)\n(1,\"tau\",0)\n");
}

#[test]
fn every_spelling_is_read_alike() {
    let expected = parse("des (0,3,2)\n(0,\"c(1, 2)\",1)\n(1,\"tau\",0)\n(1,\"tau\",1)\n").unwrap();
    let spellings = [
        "des(0,3,2)\n(0,c(1, 2),1)\n(1,tau,0)\n(1,i,1)",
        "\r\n des ( 0 , 3 , 2 ) \r\n\r\n ( 0 , \"c(1, 2)\" , 1 ) \r\n(1, \"i\", 0)\r\n\t(1,i,1)\r\n\r\n",
        "\u{feff}des (0,3,2)\n(00,c(1, 2),01)\n(1,tau,0)\n(1,\"i\",1)\n",
    ];
    for text in spellings {
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut random = Random(1);
    for _ in 0..2000 {
        let lts = random_lts(&mut random);
        let text = printed(&lts);
        let again = parse(&text).unwrap();
        assert_eq!(printed(&again), text);
        assert_eq!(again.num_states(), lts.num_states());
        let texts =
            |l: &Lts| l.transitions().map(|(f, a, t)| (f, l.label(a).to_owned(), t)).collect::<Vec<_>>();
        assert_eq!(texts(&again), texts(&lts));
    }
}

#[test]
fn a_label_with_a_line_break_is_refused() {
    let mut b = Builder::new();
    b.label("two\nlines");
    let error = write(&b.finish(State(0)), Vec::new()).unwrap_err().to_string();
    assert!(error.contains("two\\nlines"), "{error}");
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    let cases = [
        ("", "x.aut: the file is empty; expected the header"),
        (" \n\n", "x.aut: the file is empty"),
        (
            "\nhello",
            "x.aut:2: expected the header des (INITIAL,TRANSITIONS,STATES), for instance des (0,12,5), found `hello`",
        ),
        ("des (0,1)", "x.aut:1: expected the header"),
        ("des (0,1,2,3)", "x.aut:1: expected the header"),
        ("des (0,-1,2)", "x.aut:1: expected the header"),
        ("des (,,)", "x.aut:1: expected the header"),
        ("des (0,0,0)", "x.aut:1: the initial state is 0"),
        ("des (5,0,3)", "x.aut:1: the initial state is 5, but with 3 states"),
        (
            "des (0,99999999999,99999999999)\n(0,a,1)",
            "x.aut:1: the header announces more than the 4294967294 states",
        ),
        ("des (0,0,99999999999999999999999999)", "x.aut:1: the header announces more"),
        (
            "des (0,1,4000000000)\n(0,a,3999999999)",
            "x.aut: the header announces 4000000000 states, but 1 transitions",
        ),
        (
            "des (0,99999999999,2)\n(0,a,1)",
            "x.aut: the header announces 99999999999 transitions, the file has 1",
        ),
        ("des (0,1,2)\n(0,a,1)\n(1,a,1)", "x.aut:3: one transition more than the 1 that"),
        ("des (0,1,2)\n(0,a,2)", "x.aut:2: there is no state `2`: the header announces 2"),
        (
            "des (0,1,2)\n(99999999999999999999999,a,1)",
            "x.aut:2: there is no state `99999999999999999999999`",
        ),
        ("des (0,1,2)\n(x,a,1)", "x.aut:2: expected the number of a state, found `x`"),
        ("des (0,1,2)\n(0,a,)", "x.aut:2: expected the number of a state, found ``"),
        ("des (0,1,2)\n(0,,1)", "x.aut:2: expected a transition such as (0,\"a\",1), found `(0,,1)`"),
        ("des (0,1,2)\n(0,1)", "x.aut:2: expected a transition"),
        ("des (0,1,2)\n0,a,1", "x.aut:2: expected a transition"),
        ("des (0,1,2)\n(0,\",1)", "x.aut:2: expected a quote at the end of the label `\"`"),
        ("des (0,1,2)\n(0,\"a,1)", "x.aut:2: expected a quote at the end of the label `\"a`"),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let error = parse(b"des (0,1,2)\n(0,\"\xff\",1)").unwrap_err();
    assert!(error.starts_with("x.aut:2: expected a label in UTF-8"), "{error}");
    let error = parse(b"\x7fELF\x01\x00\x1b[31m").unwrap_err();
    assert!(error.starts_with("x.aut:1: expected the header") && !error.contains('\x1b'), "{error}");
}

#[test]
fn states_without_transitions_are_kept() {
    assert_eq!(parse("des (2,0,5)").unwrap().num_states(), 5);
}

#[test]
fn an_endless_line_ends() {
    let error = read(BufReader::new(io::repeat(b'x')), "zero").unwrap_err();
    assert_eq!(error.line, Some(1));
    assert!(error.problem.contains("longer than"));
}

#[test]
fn unreadable_places_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("none.aut")] {
        let error = read_file(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot be read: ", path.display())), "{error}");
    }
}

/// Damages written files at random: reading must answer, and what it accepts must be a proper system.
#[test]
fn damaged_files_are_refused_or_read() {
    const BYTES: &[u8] = b"(),\"0123456789 desitau\r\n\x00\xff";
    let mut random = Random(2);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut text = printed(&random_lts(&mut random)).into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len());
            let byte = BYTES[random.below(BYTES.len())];
            match random.below(5) {
                0 => text.truncate(at + 1),
                1 => drop(text.remove(at)),
                2 => text.insert(at, byte),
                3 => text[at] = byte,
                _ => {
                    let end = (at + random.below(12)).min(text.len());
                    let piece = text[at..end].to_vec();
                    text.splice(at..at, piece);
                }
            }
            if text.is_empty() {
                text.push(b'd');
            }
        }
        match parse(&text) {
            Ok(lts) => {
                accepted += 1;
                assert!((lts.initial().0 as usize) < lts.num_states());
                assert!(lts.transitions().all(|(_, _, to)| (to.0 as usize) < lts.num_states()));
                assert_eq!(printed(&parse(printed(&lts)).unwrap()), printed(&lts));
            }
            Err(e) => {
                refused += 1;
                assert!(e.starts_with("x.aut") && e.len() < 500, "{e}");
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} accepted, {refused} refused");
}
