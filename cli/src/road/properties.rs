//! The properties of a search: from the options on the command line to properties of the library.

use crate::input::{faulty, is_stdin, read_text};
use crate::outcome::Failure;
use crate::quantities::{count, counted};
use gridlock_lang::network::build::Builder;
use gridlock_lang::property::{self, Sight, Unseen};
use gridlock_lang::syntax::MAX_LENGTH;
use gridlock_lts::engine::game::vacuity;
use gridlock_lts::model::network::Network;
use gridlock_lts::property::Property;
use gridlock_lts::property::formula::Equations;
use gridlock_lts::property::just::Just;
use gridlock_manager::fingerprint::fingerprint;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What the user wants to know. Nothing at all means freedom from deadlock.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Properties (several may be given; without any: --deadlock)")]
pub struct Wanted {
    /// Every reachable state has a step
    #[arg(long)]
    deadlock: bool,

    /// As --deadlock, but a state in which all processes have terminated is none
    #[arg(long)]
    allow_termination: bool,

    /// No reachable transition matches the pattern, e.g. 'error' or 'send(_, true)|ack'; may be repeated
    #[arg(long, value_name = "PATTERN")]
    never: Vec<String>,

    /// The formula in this file (`-` is standard input) holds: any formula of mCRL2 without time; may be repeated
    #[arg(long, value_name = "FILE.mcf")]
    property: Vec<PathBuf>,

    /// Some run has a step that the action formula allows, e.g. 'error' or 'send(_, true)|ack || lost'; may be repeated
    #[arg(long, value_name = "ACTIONS")]
    possible: Vec<String>,

    /// From every reachable state, some run has such a step; may be repeated
    #[arg(long, value_name = "ACTIONS")]
    always_possible: Vec<String>,

    /// Every run has such a step: none ends or goes on for ever without it; may be repeated
    #[arg(long, value_name = "ACTIONS")]
    inevitable: Vec<String>,

    /// After each step that the first action formula allows, every run has one that the second allows; may be repeated
    #[arg(long, value_names = ["ACTIONS", "ACTIONS"], num_args = 2)]
    response: Vec<String>,

    /// No run makes hidden steps for ever
    #[arg(long)]
    no_livelock: bool,

    /// Which runs count for --inevitable and --response
    #[arg(long, value_name = "RUNS", value_enum, default_value_t)]
    fair: Fair,

    /// With --fair just: the actions that the environment may refuse for ever [default: none]
    #[arg(long, value_name = "ACTIONS")]
    blocking: Option<String>,

    /// Look behind `hide`: properties see these hidden actions by name instead of as `tau` (names with commas between them;
    /// without names: all)
    #[arg(long, value_name = "NAMES", num_args = 0..=1, value_delimiter = ',')]
    see_hidden: Option<Vec<String>>,

    /// The names and texts of the formula files. Each is read once: it may be a pipe.
    #[arg(skip)]
    texts: OnceLock<Vec<(String, String)>>,
}

/// The values of `--fair`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Fair {
    /// All
    #[default]
    None,
    /// Those that do not put off for ever what stays possible
    Full,
    /// Those in which no possible step waits for ever while all processes that take part in it stand still
    Just,
}

/// A property that a flag stands for.
struct ByFlag {
    /// Its name in reports.
    name: String,
    /// The formula. If only just runs count: the one for all runs, whose actions are the same.
    text: String,
    /// If only just runs count: after which steps, and what they do.
    just: Option<(Option<String>, String)>,
}

/// The kind of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Freedom from deadlock.
    Deadlock,
    /// A forbidden step.
    Never,
    /// Another safety formula, checked by a monitor.
    Formula,
    /// Any other formula, decided by a game.
    Game,
}

/// The name of a property in reports, and its kind.
#[derive(Clone, Debug)]
pub struct AskedProperty {
    /// Stable: `deadlock`, `never` and the pattern, or the file.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
}

impl AskedProperty {
    /// How it is violated by a trace of this many steps; `terminated` says whether it ends regularly.
    pub fn how(&self, steps: usize, terminated: bool) -> String {
        match self.kind {
            Kind::Deadlock if terminated => format!(
                "no action is possible {}: the processes have all terminated (--allow-termination accepts that)",
                after(steps)
            ),
            Kind::Deadlock => format!("no action is possible {}", after(steps)),
            Kind::Never => format!("step {} is one of these", count(steps as u64)),
            Kind::Formula => format!("it fails {}", after(steps)),
            Kind::Game => "it does not hold in the initial state".to_owned(),
        }
    }

    /// The name for people.
    pub fn shown(&self) -> &str {
        AskedProperty::shown_name(&self.name)
    }

    /// A name of a property for people.
    pub fn shown_name(name: &str) -> &str {
        if name == DEADLOCK { "freedom from deadlock" } else { name }
    }
}

/// The name of freedom from deadlock.
pub const DEADLOCK: &str = "deadlock";

/// The number of steps in words, for what is shown after them.
pub fn after(steps: usize) -> String {
    match steps {
        0 => "in the initial state".to_owned(),
        n => format!("after {}", counted(n, "step")),
    }
}

/// Properties and their names.
#[derive(Default)]
pub struct Properties {
    /// The name and kind of each.
    pub asked: Vec<AskedProperty>,
    /// The properties themselves.
    pub checked: Vec<Property>,
    /// The properties as texts, independent of where files are: equal lists give equal properties.
    pub identity: Vec<String>,
    /// The formulas that automata watch, to find antecedents that never occur.
    watched: Vec<Box<dyn Equations>>,
}

/// A formula of more parts than this is not checked for antecedents that never occur.
const MOST_PARTS: usize = 256;

impl Properties {
    fn add(&mut self, name: String, property: Property) {
        let kind = match &property {
            Property::DeadlockFree { .. } => Kind::Deadlock,
            Property::Never(_) => Kind::Never,
            Property::Monitor(_) => Kind::Formula,
            Property::Formula(_) => Kind::Game,
        };
        self.asked.push(AskedProperty { name, kind });
        self.checked.push(property);
    }

    /// The antecedents of formulas that automata watched and that hold, of which the tables have no step. They must be
    /// complete. Antecedents for which this cannot be decided are left out.
    pub fn unasked(&self, net: &Network) -> Vec<String> {
        let mut all = Vec::new();
        for equations in &self.watched {
            all.extend(vacuity::in_tables(net, &**equations).unwrap_or_default());
        }
        all
    }
}

impl Wanted {
    fn deadlock(&self) -> bool {
        let nothing_else = self.never.is_empty() && self.property.is_empty() && self.by_flags().is_empty();
        self.deadlock || self.allow_termination || nothing_else
    }

    /// The properties that the flags stand for.
    fn by_flags(&self) -> Vec<ByFlag> {
        let mut all = Vec::new();
        let mut add = |name: String, text: String| all.push(ByFlag { name, text, just: None });
        for p in &self.possible {
            add(format!("possible {p}"), format!("<true* . ({p})>true"));
        }
        for p in &self.always_possible {
            add(format!("always-possible {p}"), format!("[true*]<true* . ({p})>true"));
        }
        for p in &self.inevitable {
            all.push(self.reached(None, p));
        }
        for pair in self.response.chunks_exact(2) {
            all.push(self.reached(Some(&pair[0]), &pair[1]));
        }
        if self.no_livelock {
            let text = "[true*](mu X. [tau]X)".to_owned();
            all.push(ByFlag { name: "no-livelock".to_owned(), text, just: None });
        }
        all
    }

    /// Every run does a step of `p`, from the beginning or after some steps.
    fn reached(&self, after: Option<&str>, p: &str) -> ByFlag {
        let (name, way) = match after {
            None => (format!("inevitable {p}"), String::new()),
            Some(a) => (format!("response {a} {p}"), format!("true* . ({a})")),
        };
        let every = format!("mu X. ([!({p})]X && <true>true)");
        let every = if way.is_empty() { every } else { format!("[{way}]({every})") };
        match self.fair {
            Fair::None => ByFlag { name, text: every, just: None },
            Fair::Full => {
                let way = if way.is_empty() { way } else { format!("{way} . ") };
                let text = format!("[{way}(!({p}))*]<true* . ({p})>true");
                ByFlag { name: format!("{name} (fair full)"), text, just: None }
            }
            Fair::Just => {
                let but = self.blocking.as_ref().map(|b| format!(", blocking {b}")).unwrap_or_default();
                let just = Some((after.map(str::to_owned), p.to_owned()));
                ByFlag { name: format!("{name} (fair just{but})"), text: every, just }
            }
        }
    }

    /// A property about just runs.
    fn just(
        &self,
        builder: &Builder,
        sight: &Sight,
        name: &str,
        after: Option<&str>,
        goal: &str,
    ) -> Result<Property, Failure> {
        let steps = |actions: &str| {
            let text = format!("<{actions}>true");
            let parts =
                property::formula(builder, sight, name, &text).map_err(|p| faulty(name, &text, &p))?;
            match <[_; 1]>::try_from(parts) {
                Ok([(_, Property::Formula(steps))]) => Ok(steps),
                _ => Err(Failure::input(format!("--fair just: '{actions}' is no action formula"))),
            }
        };
        let blocking = self.blocking.as_deref().map(steps).transpose()?;
        let after = after.map(steps).transpose()?;
        Ok(Property::Formula(Box::new(Just::new(steps(goal)?, after, blocking, name.to_owned()))))
    }

    /// Refuses flags that do not fit together.
    fn check(&self) -> Result<(), Failure> {
        if self.fair != Fair::None && self.inevitable.is_empty() && self.response.is_empty() {
            return Err(Failure::input("--fair belongs to --inevitable and --response"));
        }
        if self.blocking.is_some() && self.fair != Fair::Just {
            return Err(Failure::input("--blocking belongs to --fair just"));
        }
        Ok(())
    }

    /// How many formulas are on standard input.
    pub fn on_stdin(&self) -> usize {
        self.property.iter().filter(|path| is_stdin(path)).count()
    }

    fn texts(&self) -> Result<&[(String, String)], Failure> {
        if let Some(texts) = self.texts.get() {
            return Ok(texts);
        }
        let read = self.property.iter().map(|path| read_text(path, MAX_LENGTH as u64));
        let texts = read.collect::<Result<Vec<_>, _>>()?;
        Ok(self.texts.get_or_init(|| texts))
    }

    /// Translates the properties that the user asks for; a property is translated even if the specification lacks an action
    /// of it.
    pub fn translate(&self, builder: &Builder) -> Result<Properties, Failure> {
        self.check()?;
        let mut properties = Properties::default();
        let sight = &self.sight(builder)?;
        if self.deadlock() {
            let allow_termination = self.allow_termination;
            properties.add(DEADLOCK.to_owned(), Property::DeadlockFree { allow_termination });
            let allowed = if allow_termination { ", termination allowed" } else { "" };
            properties.identity.push(format!("{DEADLOCK}{allowed}"));
        }
        for pattern in &self.never {
            let property =
                property::never(builder, sight, pattern).map_err(|p| faulty("--never", pattern, &p))?;
            properties.add(format!("never {pattern}"), property);
            properties.identity.push(format!("never {pattern}"));
        }
        for ByFlag { name, text, just } in self.by_flags() {
            if let Some((after, goal)) = just {
                let property = self.just(builder, sight, &name, after.as_deref(), &goal)?;
                properties.add(name.clone(), property);
            } else {
                let parts =
                    property::formula(builder, sight, &name, &text).map_err(|p| faulty(&name, &text, &p))?;
                parts.into_iter().for_each(|(name, property)| properties.add(name, property));
            }
            properties.identity.push(name);
        }
        for (name, text) in self.texts()? {
            let parts = property::formula(builder, sight, name, text).map_err(|p| faulty(name, text, &p))?;
            let is_watched = parts.iter().any(|(_, property)| matches!(property, Property::Monitor(_)));
            if is_watched && parts.len() <= MOST_PARTS {
                properties.watched.extend(property::equations(builder, sight, name, text));
            }
            parts.into_iter().for_each(|(name, property)| properties.add(name, property));
            properties.identity.push(format!("formula {}", fingerprint(text)));
        }
        if let Some(names) = &self.see_hidden {
            properties.identity.push(format!("see hidden {}", names.join(",")));
        }
        Ok(properties)
    }

    /// The hidden actions that properties see.
    pub fn sight(&self, builder: &Builder) -> Result<Sight, Failure> {
        match &self.see_hidden {
            None => Ok(Sight::default()),
            Some(names) => Sight::of(builder.model(), names)
                .map_err(|why| Failure::input(format!("--see-hidden: {why}"))),
        }
    }

    /// Warnings about named actions that no step seems to have: a property may hold only because of that.
    pub fn notes(&self, builder: &Builder) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        let mut add = |place: &str, names: Vec<(String, Unseen)>| {
            all.extend(names.into_iter().map(|(name, why)| match why {
                Unseen::Absent => {
                    format!("note: {place}: no step can have the action '{name}', hidden or not; nothing matches it")
                }
                Unseen::Hidden => format!(
                    "warning: {place}: the specification hides the action '{name}' wherever it occurs; a hidden step is \
                     'tau', so nothing matches it (--see-hidden {name} uncovers it)"
                ),
            }));
        };
        let sight = &self.sight(builder)?;
        for pattern in &self.never {
            let unseen = property::unseen_in_pattern(builder, sight, pattern);
            add(&format!("--never {pattern}"), unseen.map_err(|p| faulty("--never", pattern, &p))?);
        }
        for ByFlag { name, text, .. } in self.by_flags() {
            let unseen = property::unseen_in_formula(builder, sight, &text);
            add(&format!("--{name}"), unseen.map_err(|p| faulty(&name, &text, &p))?);
        }
        for (name, text) in self.texts()? {
            let unseen = property::unseen_in_formula(builder, sight, text);
            add(name, unseen.map_err(|p| faulty(name, text, &p))?);
        }
        Ok(all)
    }

    /// The same options, for another command line.
    pub fn arguments(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.deadlock {
            all.push("--deadlock".to_owned());
        }
        self.never.iter().for_each(|pattern| all.extend(["--never".to_owned(), pattern.clone()]));
        for (flag, patterns) in [
            ("--possible", &self.possible),
            ("--always-possible", &self.always_possible),
            ("--inevitable", &self.inevitable),
        ] {
            patterns.iter().for_each(|pattern| all.extend([flag.to_owned(), pattern.clone()]));
        }
        for pair in self.response.chunks_exact(2) {
            all.push("--response".to_owned());
            all.extend(pair.iter().cloned());
        }
        all.extend(self.no_livelock.then(|| "--no-livelock".to_owned()));
        match self.fair {
            Fair::None => {}
            Fair::Full => all.push("--fair=full".to_owned()),
            Fair::Just => all.push("--fair=just".to_owned()),
        }
        all.extend(self.blocking.iter().map(|actions| format!("--blocking={actions}")));
        self.property
            .iter()
            .for_each(|path| all.extend(["--property".to_owned(), path.display().to_string()]));
        if let Some(names) = &self.see_hidden {
            all.push("--see-hidden".to_owned());
            all.extend((!names.is_empty()).then(|| names.join(",")));
        }
        all
    }

    /// The properties before they are translated, for a report on a run that did not come that far.
    pub fn names(&self) -> Vec<AskedProperty> {
        let mut asked = Vec::new();
        if self.deadlock() {
            asked.push(AskedProperty { name: DEADLOCK.to_owned(), kind: Kind::Deadlock });
        }
        let never = |p: &String| AskedProperty { name: format!("never {p}"), kind: Kind::Never };
        asked.extend(self.never.iter().map(never));
        asked.extend(
            self.by_flags().into_iter().map(|flag| AskedProperty { name: flag.name, kind: Kind::Game }),
        );
        let formula = |p: &PathBuf| AskedProperty { name: p.display().to_string(), kind: Kind::Formula };
        asked.extend(self.property.iter().map(formula));
        asked
    }
}
