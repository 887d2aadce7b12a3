// Two threads hold two read-write locks of the standard library, whose code is inlined. The argument says how.
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

type Table = RwLock<u32>;

// Each thread reads the one and writes the other.
fn crossed(first: &Table, second: &Table) {
    let x = first.read().unwrap();
    let mut y = second.write().unwrap();
    *y += *x;
}

fn writes(first: &Table, second: &Table) {
    let mut x = first.write().unwrap();
    let mut y = second.write().unwrap();
    *x += 1;
    *y += 1;
}

// Readers alone exclude nobody, unless a writer waits.
fn reads(first: &Table, second: &Table) {
    let x = first.read().unwrap();
    let y = second.read().unwrap();
    assert!(*x + *y < 1000);
}

fn tries(first: &Table, second: &Table) {
    loop {
        let x = first.read().unwrap();
        if let Ok(mut y) = second.try_write() {
            *y += *x;
            return;
        }
        drop(x);
        thread::yield_now();
    }
}

// The first thread reads a lock that it has for reading; the second one writes, or reads, what the first has.
fn reads_again(first: &Table, second: &Table, writer: bool) {
    if std::ptr::from_ref(first) < std::ptr::from_ref(second) {
        let x = first.read().unwrap();
        let y = first.read().unwrap();
        assert!(*x + *y < 1000);
    } else if writer {
        *second.write().unwrap() += 1;
    } else {
        assert!(*second.read().unwrap() < 1000);
    }
}

fn contended(first: &Table, second: &Table) {
    for i in 0..20 {
        if i % 2 == 0 {
            let mut x = second.write().unwrap();
            thread::sleep(Duration::from_millis(1));
            *x += 1;
        } else {
            let x = second.read().unwrap();
            thread::sleep(Duration::from_millis(1));
            assert!(*x < 1000);
        }
    }
    if std::ptr::from_ref(first) < std::ptr::from_ref(second) {
        thread::sleep(Duration::from_millis(200));
    }
    crossed(first, second);
}

fn main() {
    let way = std::env::args().nth(1).unwrap_or_default();
    let (a, b) = (Arc::new(Table::new(1)), Arc::new(Table::new(2)));
    let work: fn(&Table, &Table) = match way.as_str() {
        "opposite" | "same" => crossed,
        "writes" => writes,
        "reads" => reads,
        "tries" => tries,
        "behind-writer" => |first, second| reads_again(first, second, true),
        "behind-reader" => |first, second| reads_again(first, second, false),
        _ => contended,
    };
    let nap = if way == "contended" { 5 } else { 100 };
    let (c, d) = (a.clone(), b.clone());
    let one = thread::spawn(move || work(&a, &b));
    let (a, b) = if way == "same" { (c, d) } else { (d, c) };
    // The standard library's own locks are held while threads begin: one after the other.
    thread::sleep(Duration::from_millis(nap));
    let other = thread::spawn(move || work(&a, &b));
    one.join().unwrap();
    other.join().unwrap();
}
