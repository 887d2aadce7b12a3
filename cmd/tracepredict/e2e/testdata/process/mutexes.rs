// Two threads hold two mutexes of the standard library, whose code is inlined. The argument says how.
use std::cell::UnsafeCell;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

type Account = Mutex<u32>;

// The standard library holds locks of its own while a thread begins. The threads meet when
// that is over, at a barrier of the C library, which orders nothing of what comes after it.
#[repr(C, align(8))]
struct Barrier(UnsafeCell<[u8; 64]>);
unsafe impl Sync for Barrier {}
extern "C" {
    fn pthread_barrier_init(b: *mut u8, attributes: *const u8, threads: u32) -> i32;
    fn pthread_barrier_wait(b: *mut u8) -> i32;
}
static BEGUN: Barrier = Barrier(UnsafeCell::new([0; 64]));

static GATE: Mutex<()> = Mutex::new(());
static POOL: Mutex<Vec<Box<Account>>> = Mutex::new(Vec::new());
static CROWDED: Mutex<u32> = Mutex::new(0);

fn both(first: &Account, second: &Account) {
    let mut x = first.lock().unwrap();
    let mut y = second.lock().unwrap();
    *x += 1;
    *y += 1;
}

// The guards are dropped in the order in which they were made.
fn crossed(first: &Account, second: &Account) {
    let mut x = first.lock().unwrap();
    let mut y = second.lock().unwrap();
    *x += 1;
    drop(x);
    *y += 1;
}

fn behind_gate(first: &Account, second: &Account) {
    let _gate = GATE.lock().unwrap();
    both(first, second);
}

// It gives up what it holds if it cannot have both.
fn back_off(first: &Account, second: &Account) {
    loop {
        let mut x = first.lock().unwrap();
        match second.try_lock() {
            Ok(mut y) => {
                *x += 1;
                *y += 1;
                return;
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Poisoned(e)) => panic!("{e}"),
        }
        drop(x);
        thread::yield_now();
    }
}

// Both threads wait for a lock in the kernel at some time.
fn contended(first: &Account, second: &Account) {
    for _ in 0..20 {
        let mut x = CROWDED.lock().unwrap();
        thread::sleep(Duration::from_millis(2));
        *x += 1;
    }
    if std::ptr::from_ref(first) < std::ptr::from_ref(second) {
        thread::sleep(Duration::from_millis(200));
    }
    both(first, second);
}

// Each thread has found its first mutex poisoned.
fn poisoned(first: &Account, second: &Account) {
    let panics = || {
        let _x = first.lock().unwrap_or_else(|e| e.into_inner());
        resume_unwind(Box::new(()))
    };
    catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
    let mut x = first.lock().unwrap_or_else(|e| e.into_inner());
    let mut y = second.lock().unwrap_or_else(|e| e.into_inner());
    *x += 1;
    *y += 1;
}

// Who comes to the empty account first does nothing.
fn decides(first: &Account, second: &Account) {
    let mut x = first.lock().unwrap();
    if *x > 0 {
        let mut y = second.lock().unwrap();
        *x += 1;
        *y += 1;
    }
}

// A mutex is one thread's own while it is not in the pool.
fn owned(first: &Account, second: &Account) {
    let own = loop {
        let taken = POOL.lock().unwrap().pop();
        if let Some(m) = taken {
            break m;
        }
        thread::yield_now();
    };
    let common = if std::ptr::from_ref(first) < std::ptr::from_ref(second) { first } else { second };
    if std::ptr::eq(common, first) {
        both(&own, common);
    } else {
        both(common, &own);
    }
    POOL.lock().unwrap().push(own);
}

fn start(wait: u64, f: fn(&Account, &Account), a: &Arc<Account>, b: &Arc<Account>) -> JoinHandle<()> {
    let (a, b) = (a.clone(), b.clone());
    thread::spawn(move || {
        unsafe { pthread_barrier_wait(BEGUN.0.get().cast()) };
        thread::sleep(Duration::from_millis(wait));
        f(&a, &b)
    })
}

fn main() {
    let (a, b) = (Arc::new(Account::default()), Arc::new(Account::default()));
    *a.lock().unwrap() = 1;
    POOL.lock().unwrap().push(Box::new(Account::default()));
    let mode = std::env::args().nth(1).unwrap_or_default();
    let (f, opposite, wait): (fn(&Account, &Account), bool, u64) = match mode.as_str() {
        "opposite" => (both, true, 100),
        "same" => (both, false, 100),
        "gate" => (behind_gate, true, 100),
        "back-off" => (back_off, true, 100),
        "contended" => (contended, true, 0),
        "crossed" => (crossed, true, 100),
        "decides" => (decides, true, 100),
        "owned" => (owned, true, 100),
        "poisoned" => (poisoned, true, 100),
        _ => panic!("which mode?"),
    };
    unsafe { pthread_barrier_init(BEGUN.0.get().cast(), std::ptr::null(), 2) };
    let first = start(0, f, &a, &b);
    let second = if opposite { start(wait, f, &b, &a) } else { start(wait, f, &a, &b) };
    first.join().unwrap();
    second.join().unwrap();
    let (x, y) = (a.lock().unwrap_or_else(|e| e.into_inner()), b.lock().unwrap_or_else(|e| e.into_inner()));
    println!("{} {}", *x, *y);
}
