use gridlock_lang::system::*;
use gridlock_lts::network::*;
use std::collections::*;
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&f).unwrap();
    let t = std::time::Instant::now();
    let opts = Options { tables: if std::env::args().nth(2).is_some() { Tables::OnDemand } else { Tables::Auto }, ..Default::default() };
    let mut sys = match load(&text, &f, &opts, &mut |_| true) { Ok(s) => s, Err(d) => { for d in d.iter().take(3) { println!("{f}: ERR {} {:?} {:?}", d.message, d.help, text[..d.span.start as usize].lines().count()); } return } };
    let tb = t.elapsed().as_secs_f32();
    let net = &mut sys.network;
    let init = net.initial();
    let mut seen: HashSet<Vec<Local>> = [init.clone()].into();
    let mut q: VecDeque<Vec<Local>> = [init].into();
    let mut tr = 0u64; let mut out = vec![];
    while let Some(s) = q.pop_front() {
        if !sys.closed { for (i, l) in s.iter().enumerate() { use gridlock_lts::network::TableSource; sys.builder.expand(net, LeafIx(i as u32), *l).unwrap(); } }
        net.successors(&s, &mut out);
        let mut set = HashSet::new();
        for st in out.drain(..) {
            match net.vectors[st.vector.0 as usize].outcome { Outcome::Fault(i) => { println!("{f}: FAULT {}", net.faults[i as usize]); return }, Outcome::Step(l) => { if set.insert((l, st.target.clone())) { tr += 1; } } }
            if seen.insert(st.target.clone()) { q.push_back(st.target); }
        }
        if seen.len() > 3_000_000 { println!("{f} too many"); return; }
    }
    println!("{f}\t{}\t{}\tclosed={} local={:?} vectors={} rules={} build={tb:.2} total={:.2}", seen.len(), tr, sys.closed, net.leaves.iter().map(|l| l.states.len()).collect::<Vec<_>>(), net.vectors.len(), sys.builder.rules().len(), t.elapsed().as_secs_f32());
}
