package probes

import (
	"sync"

	"github.com/tracepredict/tracepredict/internal/safely"
	"github.com/tracepredict/tracepredict/probes/code"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
	"github.com/tracepredict/tracepredict/probes/pointer"
	"github.com/tracepredict/tracepredict/probes/waiting"
)

// This file searches all code of a program for what does not depend on the rest of its plan, while that
// is made: for accesses through pointers, and for loops that wait.

// searches are the searches of the code of one file. What they find does not depend on when they run.
type searches struct {
	pointers func() (*pointer.Census, error)
	waits    func() waitsFound
}

// waitsFound is the result of waiting.Find.
type waitsFound struct {
	waits []waiting.Wait
	whole bool
	err   error
}

// prepareSearches makes the searches, which run when their results are asked for.
func (b *builder) prepareSearches() {
	b.searches.pointers = sync.OnceValues(func() (*pointer.Census, error) { return b.pointerSearch()() })
	b.searches.waits = sync.OnceValue(func() waitsFound { return b.waitSearch()() })
}

// searchAhead starts the searches whose results the plan of a program needs. The caller calls wait before
// it closes the file.
func (b *builder) searchAhead() (wait func()) {
	var running safely.Group
	if b.allPointers && b.arch == insn.AMD64 {
		b.searches.pointers = sync.OnceValues(b.pointerSearch())
		running.Go(func() { _, _ = b.searches.pointers() })
	}
	if b.mayWait() && b.opts.Atomics {
		b.searches.waits = sync.OnceValue(b.waitSearch())
		running.Go(func() { b.searches.waits() })
	}
	return running.Wait
}

// pointerSearch returns the search for accesses through pointers, which reads nothing that planning
// changes.
func (b *builder) pointerSearch() func() (*pointer.Census, error) {
	f := b.plan.File
	b.image.Landings() // computed here: afterwards the image's Arrivals only reads
	opts := pointer.Options{Arrivals: b.image.Arrivals, Entries: b.image.Entries, Table: b.image.Table, Skip: b.notOwn(), Callee: b.libraryCallee(), Locks: b.acquires(), Progress: b.progress(0)}
	return func() (*pointer.Census, error) { return pointer.Survey(f, opts) }
}

// steps is the number of steps in which accesses through pointers are planned: they are found, and then their probes
// are placed.
const steps = 2

// progress returns a function that is told how much of a step has been done; nil if nobody asks.
func (b *builder) progress(step int) func(done, all int) {
	if b.opts.Progress == nil {
		return nil
	}
	return func(done, all int) { b.opts.Progress(step*all+done, steps*all) }
}

// waitSearch returns the search for loops that wait, likewise.
func (b *builder) waitSearch() func() waitsFound {
	f := b.plan.File
	b.image.Landings()
	var file waiting.File = f
	if f.Static() {
		file = b.importing()
	}
	opts := waiting.Options{Arrivals: b.image.Arrivals, Holds: b.holds, Skip: b.notOwn()}
	return func() (found waitsFound) {
		found.waits, found.whole, found.err = waiting.Find(cachedCode{file, code.NewImage(f)}, opts)
		return found
	}
}

// notOwn returns a function that reports whether a function of the file is a library's: one of the
// table, or in a static program of the run-time libraries. Several goroutines may call it.
func (b *builder) notOwn() func(elf.Range) bool {
	f := b.plan.File
	if !f.Static() {
		return b.inTable
	}
	theirs := map[uint64]bool{}
	for _, fn := range f.Functions() {
		if b.inTable(fn) || b.ofRuntime(fn) {
			theirs[fn.Lo] = true
		}
	}
	return func(fn elf.Range) bool { return theirs[fn.Lo] }
}
