package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rustc is the Rust program, the compiler itself: 60 MB of Rust and 100 MB of
// LLVM, which generates code in several threads. What it writes is the same,
// byte for byte, whatever the schedule.
type rustc struct {
	source []byte
	first  [sha256.Size]byte
}

func (c *rustc) name() string { return "rustc" }

func (c *rustc) load() string {
	return fmt.Sprintf("Rust: compiles %d lines, optimised, in 8 units of code at a time", strings.Count(string(c.source), "\n"))
}

func (c *rustc) prepare(_ context.Context, e *env) error {
	var b strings.Builder
	for i, n := 0, e.times(24, 1); i < n || b.Len() <= pipeSize; i++ { // reads wants more than a page
		fmt.Fprintf(&b, rustModule, i)
	}
	c.source = []byte(b.String())
	return nil
}

// rustModule is one of many that keep the compiler busy: collections make
// generic code, and each module is enough to be put into a unit of its own.
const rustModule = `pub mod m%[1]d {
	use std::collections::{BTreeMap, HashMap};
	pub fn count(text: &str) -> Vec<(String, u64)> {
		let mut counts: HashMap<String, u64> = HashMap::new();
		for word in text.split(' ') {
			*counts.entry(word.to_string()).or_default() += %[1]d;
		}
		let mut sorted: Vec<_> = counts.into_iter().collect();
		sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
		sorted
	}
	pub fn index(values: &[u64]) -> BTreeMap<u64, Vec<usize>> {
		let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
		for (i, v) in values.iter().enumerate() {
			places.entry(v.wrapping_mul(%[1]d) %% 97).or_default().push(i);
		}
		places
	}
}
`

func (c *rustc) start(_ *env, dir string) (*command, error) {
	cmd := &command{args: []string{"/usr/bin/rustc", "--crate-type=lib", "--crate-name=modules", "-O", "-Ccodegen-units=8",
		"--out-dir", dir, "-"}}
	return cmd, cmd.pipe()
}

func (c *rustc) ready(ctx context.Context, p *process) error { return p.reads(ctx, c.source) }

func (c *rustc) work(ctx context.Context, p *process) error { return p.feed(ctx, c.source) }

func (c *rustc) check(_ context.Context, p *process) error {
	library, err := os.ReadFile(filepath.Join(p.dir, "libmodules.rlib"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(library)
	if c.first == ([sha256.Size]byte{}) {
		c.first = sum
	}
	if sum != c.first {
		return errors.New("the library that it made differs from the run before")
	}
	return nil
}
