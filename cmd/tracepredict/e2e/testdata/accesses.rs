// As accesses.c, in Rust.
use std::ptr::{addr_of, addr_of_mut, read_volatile, write_volatile};
use std::sync::atomic::{AtomicU32, Ordering};

static mut HITS: u32 = 0;
static TURNS: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn bump(n: u32) {
    unsafe { write_volatile(addr_of_mut!(HITS), read_volatile(addr_of!(HITS)) + n) }
}

#[inline(never)]
fn turn() {
    TURNS.fetch_add(1, Ordering::SeqCst);
}

fn main() {
    for i in 0..25 {
        bump(i);
        turn();
    }
    println!("= HITS 25 25");
    println!("= TURNS 25 25");
}
