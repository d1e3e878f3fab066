//! The pages that gridlock makes, in a real browser: `explore`, and the report of a swarm.
//!
//! Needs Chromium. Without it the tests say so and pass; `scripts/test` installs it, and reports tests that were left out.

mod chromium;
mod explore;
mod report;
