//! Message sequence charts in SVG: a lifeline for each leaf that takes part, a row for each step.
//!
//! A step of two leaves is an arrow between their lifelines, with a head at either end, since actions that communicate have
//! no direction. More leaves are joined by a bar, a single one has a box. Steps whose label is hidden are grey. If a run ends
//! in a cycle, an arrow at the right leads from its last step back to the first step of the cycle. Invariant: with any labels
//! and names the picture is well-formed XML, and rows are written one by one.

use crate::shown_trace::{ShownState, ShownStep, ShownTrace};
pub use gridlock_manager::method::page::escaped;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The width of a character of the fixed-width font, at the size used.
const CHARACTER: f64 = 7.3;
const ROW: f64 = 40.0;
const MARGIN: f64 = 16.0;
/// Where names are written, above and below the lifelines.
const NAME_HEIGHT: f64 = 26.0;
const TITLE_HEIGHT: f64 = 36.0;
const LEAST_GAP: f64 = 110.0;
/// The width of the arrow back, for a run that ends in a cycle.
const BACK: f64 = 24.0;
/// Labels and names that are longer are cut; the whole text is in a tooltip.
const LONGEST_TEXT: usize = 48;

/// How the parts of a chart look: on white, as in a file.
pub const STYLE: &str = "\
.paper{fill:#fff}text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1b2733;text-anchor:middle}\
.number{fill:#8a97a5;text-anchor:end}.title{text-anchor:start;font-weight:bold}.name{font-weight:bold}\
.head{fill:#e8eef5;stroke:#51677d}.life{stroke:#b7c3cf;stroke-dasharray:4 4}\
.step{stroke:#1f5fa8;fill:#1f5fa8;stroke-width:1.5}.box{fill:#fff4d6;stroke:#a87b1f}\
.bar{fill:#dcebdc;stroke:#3f7d46}.dot{fill:#3f7d46}.label{paint-order:stroke;stroke:#fff;stroke-width:4px}\
.hidden .step{stroke:#8a97a5;fill:#8a97a5}.hidden text{fill:#66727f}\
.back{fill:none;stroke:#8a3f9e;stroke-width:1.5}.again{fill:#8a3f9e;text-anchor:end}";

/// The differences on a dark page, where the chart is in an element of the class `chart`. Files do not have them, since not
/// all SVG viewers support this.
pub const DARK: &str = "\
@media (prefers-color-scheme:dark){.chart .paper{fill:none}.chart text{fill:#dde5ec}.chart .number{fill:#7c8996}\
.chart .head{fill:#26313c;stroke:#5d7388}.chart .life{stroke:#46525e}.chart .step{stroke:#6fb1f2;fill:#6fb1f2}\
.chart .box{fill:#3b3218;stroke:#b99237}.chart .bar{fill:#22392a;stroke:#5fa568}.chart .dot{fill:#7cc286}\
.chart .label{stroke:#14191f}.chart .hidden .step{stroke:#7c8996;fill:#7c8996}.chart .hidden text{fill:#93a0ad}\
.chart .back{stroke:#c98adb}.chart .again{fill:#c98adb}}";

/// The positions of the elements of a chart.
struct Layout {
    /// The names of the lifelines.
    names: Vec<Name>,
    /// The place of the first lifeline, and the distance to the next.
    first: f64,
    gap: f64,
    /// Where the numbers of the steps end.
    numbers: f64,
    /// The number of the step in the first row, from 1.
    first_number: usize,
    /// The step from which the run repeats, from 1.
    repeats_from: Option<usize>,
    /// Where the names begin.
    top: f64,
    width: f64,
    height: f64,
}

/// Draws a trace, for a file or a page.
pub fn write(trace: &ShownTrace, title: &str, out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::new(trace, involved(trace), TITLE_HEIGHT, 1);
    let layout = Layout { width: layout.width.max(text_width(title) * 1.05 + 2.0 * MARGIN), ..layout };
    layout.open(out)?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>")?;
    writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"22\">{}</text>", escaped(title))?;
    layout.write_lifelines(out)?;
    for (row, step) in trace.steps.iter().enumerate() {
        writeln!(out, "{}", layout.step(row, step, ""))?;
    }
    writeln!(out, "{}</svg>", layout.back(trace.steps.len()))?;
    out.flush()
}

/// Draws a part of a trace for a page that has [`STYLE`] and needs to know which step the pointer is on: each row has the
/// attribute `data-step`. The first row is the step of the given number, counted from 1. All leaves have a lifeline if they
/// are few, so that the picture stays the same while the reader steps on.
pub fn embedded(trace: &ShownTrace, first_number: usize) -> String {
    const FEW: usize = 8;
    let names =
        if trace.end.len() <= FEW { trace.end.iter().map(Name::new).collect() } else { involved(trace) };
    let layout = Layout::new(trace, names, 4.0, first_number);
    let mut out = Vec::new();
    // Writing into memory does not fail.
    let _ = layout.open(&mut out).and_then(|()| layout.write_lifelines(&mut out));
    for (row, step) in trace.steps.iter().enumerate() {
        let (number, y) = (first_number + row, layout.y(row) - ROW * 0.55);
        let area = format!(
            "<rect class=\"row\" x=\"0\" y=\"{y}\" width=\"{:.0}\" height=\"{ROW}\" data-step=\"{number}\"/>",
            layout.width
        );
        let _ = writeln!(out, "<g class=\"at\" data-step=\"{number}\">{}</g>", layout.step(row, step, &area));
    }
    let _ = writeln!(out, "{}</svg>", layout.back(trace.steps.len()));
    String::from_utf8(out).unwrap_or_default()
}

/// The names of the leaves that take part in a step.
fn involved(trace: &ShownTrace) -> Vec<Name> {
    let involved: std::collections::BTreeSet<&str> =
        trace.steps.iter().flat_map(|s| &s.leaves).map(|p| p.name.as_str()).collect();
    trace.end.iter().filter(|s| involved.contains(s.name.as_str())).map(Name::new).collect()
}

/// The name of a lifeline.
struct Name {
    full: String,
    short: String,
}

impl Name {
    fn new(state: &ShownState) -> Self {
        Name { full: state.name.clone(), short: state.short.clone() }
    }
}

impl Layout {
    fn new(trace: &ShownTrace, names: Vec<Name>, top: f64, first_number: usize) -> Self {
        let longest = names.iter().map(|n| text_width(&cut(&n.short))).fold(0.0, f64::max);
        let gap = trace.steps.iter().map(|s| arrow_gap(&names, s)).fold(LEAST_GAP, f64::max);
        let gap = gap.max(longest + 3.0 * MARGIN);
        let largest = first_number + trace.steps.len();
        let numbers = MARGIN + CHARACTER * largest.to_string().len() as f64;
        let first = numbers + MARGIN + gap / 2.0;
        let repeats_from = trace.repeats_from;
        let (width, height) = (0.0, 0.0);
        let mut layout =
            Layout { names, first, gap, numbers, first_number, repeats_from, top, width, height };
        // A label may be wider than the arrow it stands on: make room for it at both sides.
        let extents = || trace.steps.iter().map(|step| layout.extent(step));
        let left = extents().map(|e| e.0).fold(f64::INFINITY, f64::min);
        let right = extents().map(|e| e.1).fold(0.0, f64::max);
        let shift = (numbers + MARGIN - left).max(0.0);
        let last = layout.x(layout.names.len().saturating_sub(1)) + gap / 2.0;
        layout.width = last.max(right) + shift + MARGIN + repeats_from.map_or(0.0, |_| BACK);
        layout.first += shift;
        layout.height = layout.bottom() + NAME_HEIGHT + MARGIN + trace.steps.len() as f64 * ROW;
        layout
    }

    fn open(&self, out: &mut dyn Write) -> io::Result<()> {
        let Layout { width, height, .. } = self;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">"
        )?;
        writeln!(
            out,
            "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>"
        )
    }

    /// The middle of a row.
    fn y(&self, row: usize) -> f64 {
        self.top + NAME_HEIGHT + ROW * (row as f64 + 0.9)
    }

    fn x(&self, lifeline: usize) -> f64 {
        self.first + self.gap * lifeline as f64
    }

    /// Where the lifelines would end if there were no steps.
    fn bottom(&self) -> f64 {
        self.top + NAME_HEIGHT + ROW / 2.0
    }

    /// The lifelines of the leaves that take part, from left to right.
    fn involved(&self, step: &ShownStep) -> Vec<f64> {
        let part = |p: &crate::shown_trace::ShownPart| self.names.iter().position(|n| n.full == p.name);
        let mut lifelines: Vec<usize> = step.leaves.iter().filter_map(part).collect();
        lifelines.sort_unstable();
        lifelines.into_iter().map(|lifeline| self.x(lifeline)).collect()
    }

    /// How far a step with its label reaches to the left and to the right.
    fn extent(&self, step: &ShownStep) -> (f64, f64) {
        let lifelines = self.involved(step);
        let (from, to) = ends(&lifelines);
        let half = text_width(&cut(&label(step))) / 2.0 + MARGIN / 2.0;
        let middle = (from + to) / 2.0;
        (from.min(middle - half), to.max(middle + half))
    }

    fn write_lifelines(&self, out: &mut dyn Write) -> io::Result<()> {
        let bottom = self.height - NAME_HEIGHT - MARGIN;
        for (lifeline, name) in self.names.iter().enumerate() {
            let (x, width) = (self.x(lifeline), self.gap - MARGIN);
            let top = self.top + NAME_HEIGHT;
            writeln!(out, "<line class=\"life\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>")?;
            for y in [self.top, bottom] {
                let left = x - width / 2.0;
                writeln!(
                    out,
                    "<g><title>{}</title><rect class=\"head\" x=\"{left}\" y=\"{y}\" width=\"{width}\" \
                     height=\"{NAME_HEIGHT}\" rx=\"4\"/><text class=\"name\" x=\"{x}\" y=\"{}\">{}</text></g>",
                    escaped(&name.full),
                    y + 17.0,
                    escaped(&cut(&name.short))
                )?;
            }
        }
        Ok(())
    }

    /// The arrow from the last row back to the row from which the run repeats, or to the top if that is before the first. It
    /// is not in a group: groups that are not rows are names.
    fn back(&self, rows: usize) -> String {
        let Some(from) = self.repeats_from.filter(|_| rows > 0) else { return String::new() };
        let left = self.width - BACK - MARGIN / 2.0;
        let right = self.width - MARGIN / 2.0;
        let bottom = self.y(rows - 1);
        let top = match from.checked_sub(self.first_number) {
            Some(row) if row < rows => self.y(row) - ROW / 2.0,
            Some(_) => return String::new(),
            None => self.top + NAME_HEIGHT,
        };
        format!(
            "<path class=\"back\" d=\"M{left} {bottom}H{right}V{top}H{left}\" marker-end=\"url(#tip)\">\
             <title>repeats from step {from} for ever</title></path>\
             <text class=\"again\" x=\"{right}\" y=\"{}\">repeats from step {from}</text>\n",
            bottom + 18.0
        )
    }

    /// One row, with something behind it.
    fn step(&self, row: usize, step: &ShownStep, behind: &str) -> String {
        let y = self.y(row);
        let class = if step.unhidden.is_some() { " class=\"hidden\"" } else { "" };
        let tooltip = format!("{}: {}", step.full_label(), step.participants());
        let mut svg = format!("<g{class}><title>{}</title>{behind}", escaped(&tooltip));
        let number = self.first_number + row;
        let _ =
            write!(svg, "<text class=\"number\" x=\"{}\" y=\"{}\">{number}</text>", self.numbers, y + 4.0);
        let text = cut(&label(step)).into_owned();
        let lifelines = self.involved(step);
        let (from, to) = ends(&lifelines);
        let middle = (from + to) / 2.0;
        let mut label_y = y - 8.0;
        match lifelines[..] {
            [] => {}
            [x] => {
                let width = text_width(&text) + MARGIN;
                let (left, top) = (x - width / 2.0, y - 11.0);
                label_y = y + 4.0;
                let _ = write!(
                    svg,
                    "<rect class=\"box\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"22\" rx=\"3\"/>"
                );
            }
            [_, _] => {
                let _ = write!(
                    svg,
                    "<line class=\"step\" x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" \
                     marker-start=\"url(#tip)\" marker-end=\"url(#tip)\"/>"
                );
            }
            _ => {
                let (left, top, width) = (from - 8.0, y - 5.0, to - from + 16.0);
                let _ = write!(
                    svg,
                    "<rect class=\"bar\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"10\" rx=\"5\"/>"
                );
                for x in &lifelines {
                    let _ = write!(svg, "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"4\"/>");
                }
                label_y = y - 10.0;
            }
        }
        let class = if lifelines.len() == 1 { "" } else { " class=\"label\"" };
        let _ = write!(svg, "<text{class} x=\"{middle}\" y=\"{label_y}\">{}</text></g>", escaped(&text));
        svg
    }
}

/// The text at a step: for a hidden step, the hidden label.
fn label(step: &ShownStep) -> Cow<'_, str> {
    match &step.unhidden {
        Some(unhidden) => Cow::Owned(format!("{} [{unhidden}]", step.label)),
        None => Cow::Borrowed(&step.label),
    }
}

/// The distance between lifelines that lets the label of a step of several leaves fit between them.
fn arrow_gap(names: &[Name], step: &ShownStep) -> f64 {
    let place = |name: &str| names.iter().position(|n| n.full == name).unwrap_or(0);
    match &step.leaves[..] {
        [first, .., last] => {
            let apart = place(&first.name).abs_diff(place(&last.name)).max(1);
            (text_width(&cut(&label(step))) + 2.0 * MARGIN) / apart as f64
        }
        _ => 0.0,
    }
}

fn ends(lifelines: &[f64]) -> (f64, f64) {
    match lifelines {
        [first, .., last] => (*first, *last),
        [only] => (*only, *only),
        [] => (0.0, 0.0),
    }
}

/// As much of a text as is shown.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// The width of a text; characters beyond Latin, Greek and Cyrillic may be twice as wide.
fn text_width(text: &str) -> f64 {
    text.chars().map(|c| if u32::from(c) < 0x1100 { CHARACTER } else { 2.0 * CHARACTER }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown_trace::ShownPart;

    fn step(label: &str, names: &[&str]) -> ShownStep {
        let part = |name: &&str| ShownPart {
            name: name.to_string(),
            short: name.to_string(),
            action: "x".into(),
            state: String::new(),
        };
        ShownStep { label: label.into(), unhidden: None, leaves: names.iter().map(part).collect() }
    }

    fn drawn(steps: Vec<ShownStep>) -> String {
        let end = ["P", "idle", "Q<1>", "R"].map(|n| ShownState {
            name: n.into(),
            short: n.into(),
            state: String::new(),
            source: None,
        });
        let mut out = Vec::new();
        write(&ShownTrace { steps, end: end.into(), ..ShownTrace::default() }, "a & b", &mut out)
            .expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn each_kind_of_step_has_its_shape() {
        let svg =
            drawn(vec![step("one", &["P"]), step("two", &["P", "R"]), step("three", &["P", "Q<1>", "R"])]);
        let count = |part: &str| svg.matches(part).count();
        assert_eq!((count("class=\"box\""), count("class=\"step\""), count("class=\"bar\"")), (1, 1, 1));
        assert_eq!(count("class=\"dot\""), 3);
        assert_eq!(count("class=\"life\""), 3, "who takes part in nothing has no lifeline");
        assert_eq!(count("class=\"number\""), 3);
    }

    #[test]
    fn texts_are_escaped_and_cut() {
        let svg = drawn(vec![step("<&>\"'\u{1}", &["Q<1>"]), step(&"long ".repeat(40), &["P", "R"])]);
        assert!(
            svg.contains("&lt;&amp;&gt;&quot;&#39;\u{fffd}")
                && svg.contains("Q&lt;1&gt;")
                && svg.contains("a &amp; b")
        );
        assert!(!svg.contains('\u{1}') && !svg.contains("Q<1>"));
        assert!(svg.contains("long long…") || svg.contains("lon…"), "{svg}");
        assert_eq!(svg.matches(&"long ".repeat(40)).count(), 1, "the whole label is in the tooltip only");
    }

    #[test]
    fn a_page_gets_rows_it_can_tell_apart_and_no_style() {
        let end = ["P", "Q"].map(|n| ShownState {
            name: n.into(),
            short: n.into(),
            state: String::new(),
            source: None,
        });
        let steps = vec![step("one", &["P"]), step("two", &["P"])];
        let svg = embedded(&ShownTrace { steps, end: end.into(), ..ShownTrace::default() }, 41);
        assert!(svg.contains("<g class=\"at\" data-step=\"41\">") && svg.contains(">42</text>"), "{svg}");
        assert!(!svg.contains("<style") && !svg.contains("style="), "the page's rules forbid it: {svg}");
        assert_eq!(svg.matches("class=\"life\"").count(), 2, "few leaves all have a lifeline");
    }

    #[test]
    fn a_run_that_goes_round_has_an_arrow_back() {
        let steps = vec![step("one", &["P"]), step("two", &["P"]), step("three", &["P"])];
        let end =
            vec![ShownState { name: "P".into(), short: "P".into(), state: String::new(), source: None }];
        let trace = ShownTrace { steps, end, repeats_from: Some(2), ..ShownTrace::default() };
        let mut out = Vec::new();
        write(&trace, "round", &mut out).expect("memory");
        let svg = String::from_utf8(out).expect("text");
        assert_eq!(svg.matches("class=\"back\"").count(), 1);
        assert!(svg.contains("repeats from step 2 for ever"), "{svg}");
        // From the height of the last row to just before the second.
        let layout = Layout::new(&trace, involved(&trace), TITLE_HEIGHT, 1);
        let (bottom, top) = (layout.y(2), layout.y(1) - ROW / 2.0);
        assert!(svg.contains(&format!(" {bottom}H")) && svg.contains(&format!("V{top}H")), "{svg}");
        // A part of it that begins later has the arrow up to its top; one that ends before has none.
        assert!(embedded(&trace, 10).contains("class=\"back\""));
        let before = ShownTrace { repeats_from: Some(9), ..trace };
        assert!(!embedded(&before, 1).contains("class=\"back\""));
    }

    #[test]
    fn no_steps_give_a_picture_too() {
        let svg = drawn(Vec::new());
        assert!(
            svg.starts_with("<svg")
                && svg.ends_with("</svg>\n")
                && !svg.contains("NaN")
                && !svg.contains("inf")
        );
    }
}
