// A tally is handed over under a mutex of the standard library, which is inlined; if late, it is changed after that.
use std::sync::{Arc, Mutex};
use std::thread;

static mut TALLY: u32 = 0;

fn main() {
    let full = Arc::new(Mutex::new(false));
    let theirs = full.clone();
    let t = thread::spawn(move || {
        if !cfg!(late) {
            unsafe { TALLY += 1 };
        }
        *theirs.lock().unwrap() = true;
        if cfg!(late) {
            unsafe { TALLY += 1 };
        }
    });
    while !*full.lock().unwrap() {
        thread::yield_now();
    }
    unsafe { TALLY += 1 };
    println!("tally {}", unsafe { TALLY });
    t.join().unwrap();
}
