//! The pages that gridlock makes, in a real browser: `explore`, and the report of a swarm.
//!
//! Needs Chromium. Where there is none the tests say so and pass; `scripts/test` installs it, and reports what was left
//! out.

mod chromium;
mod explore;
mod report;
