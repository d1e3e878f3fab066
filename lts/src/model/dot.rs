//! Writing an LTS as a picture for Graphviz.
//!
//! One node for each state, named by its number; an arrow from a point without a name marks the initial state.

use std::io::{self, BufWriter, Write};

use crate::model::explicit::{Lts, State};

/// Writes the system in Graphviz's `dot` language.
pub fn write(lts: &Lts, out: impl Write) -> io::Result<()> {
    write_nodes(lts, "node [shape=circle]", |_| None, out)
}

/// The same, with a text in each node.
pub fn write_named(lts: &Lts, name: impl Fn(State) -> String, out: impl Write) -> io::Result<()> {
    write_nodes(lts, "node [shape=box]", |state| Some(name(state)), out)
}

fn write_nodes(
    lts: &Lts,
    shape: &str,
    name: impl Fn(State) -> Option<String>,
    out: impl Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let labels: Vec<String> = lts.labels().iter().map(|l| escape(l)).collect();
    writeln!(out, "digraph lts {{")?;
    writeln!(out, "  {shape};")?;
    writeln!(out, "  initial [shape=point, label=\"\"];")?;
    writeln!(out, "  initial -> {};", lts.initial().0)?;
    for s in lts.states() {
        match name(s) {
            Some(name) => writeln!(out, "  {} [label=\"{}\"];", s.0, escape(&name))?,
            None => writeln!(out, "  {};", s.0)?,
        }
    }
    for (from, label, to) in lts.transitions() {
        writeln!(out, "  {} -> {} [label=\"{}\"];", from.0, to.0, labels[label.0 as usize])?;
    }
    writeln!(out, "}}")?;
    out.flush()
}

/// The text as it stands between quotes in `dot`: a backslash would start one of Graphviz's own escapes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            '\n' => escaped.push_str("\\n"),
            '\r' => {}
            // Graphviz reads its input as a C string.
            '\0' => escaped.push('\u{2400}'),
            // What a terminal or a viewer would obey is shown: control characters and marks that reverse text.
            c if c.is_control()
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                escaped.push_str(&format!("\\\\u{:04x}", u32::from(c)));
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::explicit::Builder;

    #[test]
    fn picture_of_two_states() {
        let mut b = Builder::new();
        let odd = b.label("say(\"a\\b\")");
        let tau = b.label("tau");
        b.add(State(0), odd, State(1));
        b.add(State(1), tau, State(0));
        let mut out = Vec::new();
        write(&b.finish(State(1)), &mut out).unwrap();
        let expected = r#"digraph lts {
  node [shape=circle];
  initial [shape=point, label=""];
  initial -> 1;
  0;
  1;
  0 -> 1 [label="say(\"a\\b\")"];
  1 -> 0 [label="tau"];
}
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn nodes_may_have_texts() {
        let mut b = Builder::new();
        b.require_states(1);
        let mut out = Vec::new();
        write_named(&b.finish(State(0)), |state| format!("state {}\n\"X\"", state.0), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(r#"  0 [label="state 0\n\"X\""];"#), "{text}");
    }
}
