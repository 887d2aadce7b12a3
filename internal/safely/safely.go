// Package safely runs code whose panics are values: in goroutines, and in place. A panic in a goroutine that
// nobody recovers ends the process at once, without a report. All goroutines of the tree start here, which
// testing_test.go checks. What Go cannot recover from, such as concurrent writes of a map or a lack of memory,
// still ends the process.
package safely

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Panic is a panic that was recovered.
type Panic struct {
	Value any
	Stack []byte // of its goroutine
	Where string // the innermost function of this module, with file and line; "" if it is unknown
}

// Error implements error.
func (p *Panic) Error() string {
	if p.Where == "" {
		return fmt.Sprint(p.Value)
	}
	return fmt.Sprintf("%v, in %s", p.Value, p.Where)
}

// Call calls f, and returns its panic; nil if there was none. It returns a panic of Group.Wait as it was.
func Call(f func()) (p *Panic) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *Panic:
			p = v
		default:
			p = &Panic{Value: v, Stack: debug.Stack(), Where: where()}
		}
	}()
	f()
	return nil
}

// module is the path of the module whose functions Where names.
const module = "github.com/tracepredict/tracepredict/"

// where returns the innermost function of the module that panicked. It is called while the panic is recovered.
func where() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		f, more := frames.Next()
		switch name, ours := strings.CutPrefix(f.Function, module); {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && ours:
			return fmt.Sprintf("%s (%s:%d)", name, path.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// Go calls f in a goroutine, and failed with its panic, if there is one, in the same goroutine.
func Go(f func(), failed func(*Panic)) {
	go func() {
		if p := Call(f); p != nil {
			failed(p)
		}
	}()
}

// Group is a sync.WaitGroup whose goroutines may panic. The zero value is ready.
type Group struct {
	// Failed is called with each panic, in its goroutine. If it is nil, Wait panics with the first one. It must be
	// set before the first Go.
	Failed func(*Panic)

	running sync.WaitGroup
	mu      sync.Mutex // guards first
	first   *Panic
}

// Go calls f in a goroutine of the group.
func (g *Group) Go(f func()) {
	g.running.Go(func() {
		if p := Call(f); p != nil {
			g.add(p)
		}
	})
}

// add handles a panic.
func (g *Group) add(p *Panic) {
	if g.Failed != nil {
		g.Failed(p)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == nil {
		g.first = p
	}
}

// Wait returns when the goroutines of the group have ended, or panics as Failed says.
func (g *Group) Wait() {
	g.running.Wait()
	g.mu.Lock()
	p := g.first
	g.mu.Unlock()
	if p != nil {
		panic(p)
	}
}
