// A tally is handed over under a mutex of the standard library, which is inlined.
use std::sync::{Arc, Mutex};
use std::thread;

static mut TALLY: u32 = 0;

fn main() {
    let full = Arc::new(Mutex::new(false));
    let theirs = full.clone();
    let t = thread::spawn(move || {
        unsafe { TALLY += 1 };
        *theirs.lock().unwrap() = true;
    });
    while !*full.lock().unwrap() {
        thread::yield_now();
    }
    unsafe { TALLY += 1 };
    println!("tally {}", unsafe { TALLY });
    t.join().unwrap();
}
