//! The progress of a run, on standard error: a spinner on a terminal, otherwise a line from time to time. There is neither a
//! bar nor an estimate of the remaining time: no search knows how much work is left.

use crate::terminal::{Style, tell};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// A phase that takes less shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);
/// The time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Characters before the text.
const SPINNER: usize = 2;

/// A display.
pub struct Progress {
    kind: Kind,
    /// When something was last shown.
    last: Instant,
}

enum Kind {
    Quiet,
    /// Made when it is first needed, gone when it is cleared.
    Spinner(Option<ProgressBar>),
    Lines,
}

impl Progress {
    /// The display that fits standard error.
    pub fn new(quiet: bool) -> Self {
        let kind = match (quiet, Style::can_redraw()) {
            (true, _) => Kind::Quiet,
            (false, true) => Kind::Spinner(None),
            (false, false) => Kind::Lines,
        };
        Progress { kind, last: Instant::now() }
    }

    /// Shows a line about something that began at `since`, if it is time for that.
    pub fn show(&mut self, since: Instant, line: impl FnOnce() -> String) {
        match &mut self.kind {
            Kind::Spinner(bar) if since.elapsed() > PATIENCE && self.last.elapsed() > FRAME => {
                let bar = bar.get_or_insert_with(spinner);
                let room = Style::of_stderr().columns.saturating_sub(SPINNER);
                bar.set_message(fitting(&line(), room).to_owned());
                bar.tick();
            }
            Kind::Lines if self.last.elapsed() > BETWEEN_LINES => tell(line()),
            _ => return,
        }
        self.last = Instant::now();
    }

    /// Removes the spinner.
    pub fn clear(&mut self) {
        if let Kind::Spinner(bar) = &mut self.kind
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }
}

/// As many of the parts of a line as fit: a line cut within a number would show another number.
fn fitting(line: &str, room: usize) -> &str {
    if line.chars().count() < room {
        return line;
    }
    let ends = line.match_indices(", ").map(|(end, _)| end);
    let end = ends.take_while(|end| line[..*end].chars().count() < room).last();
    &line[..end.unwrap_or(line.len())]
}

fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn only_whole_parts_are_shown() {
        let line = "searching, 7,360,974 states, 2,131,508 states/s, 1,105 waiting";
        assert_eq!(fitting(line, 200), line);
        assert_eq!(fitting(line, 60), "searching, 7,360,974 states, 2,131,508 states/s");
        assert_eq!(fitting(line, 48), "searching, 7,360,974 states, 2,131,508 states/s");
        assert_eq!(fitting(line, 47), "searching, 7,360,974 states");
        assert_eq!(fitting(line, 12), "searching");
        // Nothing can be left out; the bar cuts it.
        assert_eq!(fitting(line, 3), line);
    }
}
