//! x
#[path = "rates/models.rs"]
mod models;
use gridlock_lts::search::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let net = models::network(&a[1]).unwrap();
    let t = models::processor_time();
    let r = check(&net, &[], &Options { workers: a[2].parse().unwrap(), ..Options::default() }).unwrap();
    let t = models::processor_time() - t;
    println!("{} {} states {} trans: {:.2} cpu s {:.1} M/s  {:.1} bytes", a[1], r.stats.states, r.stats.transitions, t, r.stats.transitions as f64 / t / 1e6, r.stats.peak_memory as f64 / r.stats.states as f64);
}
