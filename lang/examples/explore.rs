use gridlock_lang::system::*;
use gridlock_lts::explore::{self, explore};
use gridlock_lts::equivalence::*;
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&f).unwrap();
    let t = std::time::Instant::now();
    let opts = Options { tables: match std::env::args().nth(2).as_deref() { Some("o") => Tables::OnDemand, Some("a") => Tables::AheadOfTime, _ => Tables::Auto }, ..Default::default() };
    let mut sys = match load(&text, &f, &opts, &mut |_| true) { Ok(s) => s, Err(d) => { for d in d.iter().take(3) { println!("{f}: ERR {} {:?} {:?}", d.message, d.help, text[..d.span.start as usize].lines().count()); } return } };
    let tb = t.elapsed().as_secs_f32();
    let r = explore(&mut sys.network, if sys.closed { None } else { Some(&mut sys.builder) }, explore::Options { max_states: 3000000, progress: &mut |_| true });
    match r { Err(e) => println!("{f}: {e:?}"), Ok(l) => {
      let te = t.elapsed().as_secs_f32();
      let m = minimise(&l, "strong".parse().unwrap()).unwrap();
      if std::env::args().nth(3).is_some() { for (a,b,c) in m.transitions() { println!("{} {} {}", a.0, l.labels()[b.0 as usize], c.0); } }
    println!("{f}\t{}\t{}\tclosed={} local={:?} vectors={} rules={} build={tb:.2} explore={te:.2} total={:.2}\tMIN {} {}", l.num_states(), l.num_transitions(), sys.closed, sys.network.leaves.iter().map(|l| l.states.len()).collect::<Vec<_>>(), sys.network.vectors.len(), sys.builder.rules().len(), t.elapsed().as_secs_f32(), m.num_states(), m.num_transitions());
    }}
}
