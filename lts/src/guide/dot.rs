//! A guide as a picture: the number of traces from each state in it.

use super::{EdgeIx, Guide, StateIx};
use crate::model::network::Network;
use std::io::{self, Write};

impl Guide {
    /// Writes the guide in the language of Graphviz, weights in the states, edges that were cut dashed.
    pub fn write_dot(&self, net: &Network, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "digraph guide {{\n  node [shape=circle];\n  start [shape=point];\n  start -> 0;")?;
        for s in (0..self.states() as u32).map(StateIx) {
            writeln!(out, "  {} [label=\"{}\"];", s.0, self.weight(s))?;
        }
        for s in (0..self.states() as u32).map(StateIx) {
            for e in self.edges_of(s).map(EdgeIx) {
                let edge = self.edge(e);
                let label = self.label(net, e).replace('\\', "\\\\").replace('"', "\\\"");
                if edge.cut {
                    writeln!(
                        out,
                        "  cut{} [shape=point];\n  {} -> cut{} [label=\"{label}\", style=dashed];",
                        e.0, s.0, e.0
                    )?;
                } else {
                    writeln!(out, "  {} -> {} [label=\"{label}\"];", s.0, edge.target.0)?;
                }
            }
        }
        writeln!(out, "}}")
    }
}
