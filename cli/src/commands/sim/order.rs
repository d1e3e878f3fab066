//! The orders of a simulation.

/// The orders, as the user reads them.
pub const HELP: &str = "\
Orders:
  N          take action number N of the list
  u [N]      undo the last step, or the last N
  r [N]      take a random step, or N
  l          list the state and all possible actions again
  h          history: the steps so far
  s FILE     save the steps so far as a trace
  ?          this list
  q          quit";

/// One order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Take the action of that number, from 1.
    Step(usize),
    /// Undo this number of steps.
    Undo(usize),
    /// Take this number of random steps.
    Random(usize),
    /// Show the state and everything that is possible.
    List,
    /// Show the steps so far.
    History,
    /// Save the steps so far.
    Save(String),
    /// Show the orders.
    Help,
    /// End.
    Quit,
}

impl Order {
    /// Reads a line; `None` if it is empty. The error is shown to the user.
    pub fn parse(line: &str) -> Result<Option<Order>, String> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if word.is_empty() || word.starts_with('#') {
            return Ok(None);
        }
        if word.bytes().all(|b| b.is_ascii_digit()) && rest.is_empty() {
            // A number beyond all machine integers is the number of no action either.
            return Ok(Some(Order::Step(word.parse().unwrap_or(usize::MAX))));
        }
        let alone = |order| match rest {
            "" => Ok(Some(order)),
            _ => Err(format!("`{word}` takes nothing after it")),
        };
        match word {
            "u" | "undo" => Ok(Some(Order::Undo(times(word, rest)?))),
            "r" | "random" => Ok(Some(Order::Random(times(word, rest)?))),
            "s" | "save" if rest.is_empty() => Err(format!("`{word}` needs the name of a file")),
            "s" | "save" => Ok(Some(Order::Save(rest.to_owned()))),
            "l" | "list" => alone(Order::List),
            "h" | "history" => alone(Order::History),
            "?" | "help" => alone(Order::Help),
            "q" | "quit" | "exit" => alone(Order::Quit),
            _ => Err(format!("`{}` is no order; ? lists them", excerpt(line))),
        }
    }
}

fn times(word: &str, rest: &str) -> Result<usize, String> {
    match rest {
        "" => Ok(1),
        _ => rest.parse().map_err(|_| format!("`{word}` takes a number after it, not `{}`", excerpt(rest))),
    }
}

/// The beginning of a text that may be anything, control characters made visible.
fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        for (line, order) in [
            ("", None),
            ("  # a remark", None),
            ("3", Some(Order::Step(3))),
            ("99999999999999999999999", Some(Order::Step(usize::MAX))),
            ("u", Some(Order::Undo(1))),
            (" undo  4 ", Some(Order::Undo(4))),
            ("r 10\r\n", Some(Order::Random(10))),
            ("s my trace.txt\n", Some(Order::Save("my trace.txt".to_owned()))),
            ("l", Some(Order::List)),
            ("h", Some(Order::History)),
            ("?", Some(Order::Help)),
            ("q", Some(Order::Quit)),
        ] {
            assert_eq!(Order::parse(line), Ok(order), "{line}");
        }
    }

    #[test]
    fn what_is_no_order_is_told() {
        for (line, part) in [
            ("x", "`x` is no order"),
            ("-1", "`-1` is no order"),
            ("1 2", "`1 2` is no order"),
            ("s", "needs the name"),
            ("r many", "takes a number after it, not `many`"),
            ("u -1", "takes a number"),
            ("q now", "takes nothing"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
        ] {
            let told = Order::parse(line).expect_err(line);
            assert!(told.contains(part), "{told}");
        }
    }
}
