// As elements.c, in Rust.
use std::sync::atomic::{AtomicU32, Ordering::*};

static SLOTS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

#[inline(never)]
fn each(i: usize, count: &mut [(u32, u32); 4]) -> u32 {
    count[i].1 += 1;
    SLOTS[i].store(i as u32 + 2, Release);
    count[i].0 += 1;
    count[i].1 += 1;
    SLOTS[i].fetch_add(4, AcqRel);
    count[i].0 += 1;
    SLOTS[i].load(Acquire)
}

fn main() {
    let mut count = [(0, 0); 4];
    let n = std::env::args().count();
    let mut sum = 0;
    for i in 0..4 {
        sum += each(i * n % 4, &mut count);
    }
    for (i, (reads, writes)) in count.iter().enumerate() {
        println!("= elements::SLOTS[{i}] {reads} {writes}");
    }
    std::process::exit((sum == 1) as i32);
}
