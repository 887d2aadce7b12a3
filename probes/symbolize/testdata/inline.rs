// An inlined function, a generic one, and a method.
use std::hint::black_box;

pub struct Account {
    balance: u64,
}

impl Account {
    #[inline(always)]
    fn add(&mut self, v: u64) {
        self.balance = black_box(self.balance) + v;
    }

    #[inline(never)]
    pub fn twice(&mut self, v: u64) -> u64 {
        self.add(v);
        self.add(v + 1);
        self.balance
    }
}

#[inline(never)]
fn largest<T: PartialOrd + Copy>(xs: &[T]) -> T {
    let mut m = xs[0];
    for x in xs {
        if *x > m {
            m = *x;
        }
    }
    m
}

fn main() {
    let mut a = Account { balance: 1 };
    println!("{} {}", a.twice(black_box(4)), largest(black_box(&[1, 5, 2])));
}
