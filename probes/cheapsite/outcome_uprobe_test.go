package cheapsite

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// seen is the state of one function, computed from its records.
type seen struct {
	name   string
	places []Outcome
	calls  []call // calls that have not returned, the innermost last
	done   int
	sides  map[string]int // number of calls that each place has seen, by Why
}

// call is one call that has not returned.
type call struct {
	entry  record
	n      int // number of places passed
	at     Outcome
	result int32
}

// holds evaluates a condition of the jcc opcodes, as the manual defines it.
func (r *record) holds(w When) bool {
	flags := r.Regs[18]
	bit := func(n int) bool { return flags>>n&1 == 1 }
	cf, pf, zf, sf, of := bit(0), bit(2), bit(6), bit(7), bit(11)
	if w == 0 {
		return true
	}
	return [16]bool{of, !of, cf, !cf, zf, !zf, cf || zf, !cf && !zf, sf, !sf, pf, !pf, sf != of, sf == of, zf || sf != of, !zf && sf == of}[w-1]
}

// TestOutcomesSeeEachCall runs compiled functions with probes at their entries, at all their
// returns, and at the sites of their outcomes. Each call must pass exactly one of those sites, and
// its record must agree with those of the entry and the return.
func TestOutcomesSeeEachCall(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the registers compared are those of x86-64")
	}
	for _, flags := range []string{"-O1 -fcf-protection=full", "-O2", "-O2 -fno-omit-frame-pointer", "-O3 -fno-plt -march=x86-64-v2", "-Os"} {
		t.Run(flags, func(t *testing.T) {
			exe := build(t, "fix.c", fixture, append(strings.Fields(flags), "-no-pie", "-fno-pie")...)
			functions, pairs := outcomesOf(t, exe)
			plain := output(t, exe)
			records, probed := watch(t, exe, pairs)
			if plain != probed {
				t.Errorf("under probes the program prints %q, without %q", probed, plain)
			}
			called := 0
			for name, f := range functions {
				f.replay(t, pairs, records)
				if f.done > 0 {
					called++
				}
				t.Logf("%s: %d calls seen at %v", name, f.done, f.sides)
			}
			if called < 4 {
				t.Errorf("only %d functions were called", called)
			}
		})
	}
}

// outcomesOf returns the functions of the fixture that have sites for their outcomes, and the
// probes to attach: the original of a pair is an entry or, if what ends in "@", a site of an
// outcome; the moved probe is at a return.
func outcomesOf(t *testing.T, exe string) (map[string]*seen, []pair) {
	c := openCode(t, exe)
	im := NewImage(c)
	functions := map[string]*seen{}
	var pairs []pair
	for name, s := range c.symbols {
		if !strings.HasPrefix(name, "fix_") || strings.Contains(name, ".") {
			continue
		}
		out, err := im.Outcomes(OutcomeWant{Entry: s.Value, Reads: rdi, Result: insn.RAX})
		if err != nil || len(out.Tails) > 0 {
			t.Logf("%s: %v", name, err)
			continue
		}
		entry, err := im.Decode(s.Value)
		if err != nil {
			t.Fatal(err)
		}
		exits, err := im.Returns(s.Value)
		if err != nil || !exits.Complete || entry.Refused || out.Sites[0].Addr == s.Value {
			continue
		}
		functions[name] = &seen{name: name, places: out.Sites, sides: map[string]int{}}
		for _, ret := range exits.Returns {
			pairs = append(pairs, pair{what: name, orig: s.Value, site: Site{Addr: ret}})
		}
		for i, p := range out.Sites {
			if p.Class == Stepped || i > 0 && out.Sites[i-1].Addr == p.Addr {
				continue // a return, which is probed already, or the other side of a branch
			}
			// Only one probe of this pair is used.
			pairs = append(pairs, pair{what: name + "@", orig: p.Addr, site: Site{Addr: p.Addr}})
		}
	}
	return functions, pairs
}

func (f *seen) replay(t *testing.T, pairs []pair, records []record) {
	first := slices.IndexFunc(pairs, func(p pair) bool { return p.what == f.name })
	for i := range records {
		r := &records[i]
		p := &pairs[r.Cookie/2]
		switch {
		case p.what == f.name && r.Cookie == uint64(2*first):
			f.calls = append(f.calls, call{entry: *r})
		case p.what == f.name && r.Cookie%2 == 1:
			f.pass(t, r, p.site.Addr)
			f.leave(t, r)
		case p.what == f.name+"@" && r.Cookie%2 == 0:
			f.pass(t, r, p.orig)
		}
	}
	if len(f.calls) > 0 {
		t.Errorf("%s: %d calls do not return", f.name, len(f.calls))
	}
}

// pass records that a call passes a site of an outcome.
func (f *seen) pass(t *testing.T, r *record, at uint64) {
	if len(f.calls) == 0 {
		t.Fatalf("%s: 0x%x is passed outside of a call", f.name, at)
	}
	c := &f.calls[len(f.calls)-1]
	for _, o := range f.places {
		if o.Addr != at || !r.holds(o.When) || o.Class == Stepped && r.Cookie%2 == 0 {
			continue
		}
		c.n, c.at, c.result = c.n+1, o, int32(r.reg(insn.RAX))
		if o.Const {
			c.result = int32(o.Value)
		}
		if got := r.reg(insn.RSP) + uint64(o.SPDelta); got != c.entry.reg(insn.RSP) {
			t.Errorf("%s at %s: sp is 0x%x, was 0x%x", f.name, o.Why, got, c.entry.reg(insn.RSP))
		}
		for was, is := range o.Operands {
			if is.Reg != insn.NoReg && r.reg(is.Reg) != c.entry.reg(was) {
				t.Errorf("%s at %s: operand %d is 0x%x, was 0x%x", f.name, o.Why, was, r.reg(is.Reg), c.entry.reg(was))
			}
		}
	}
}

// leave compares the records at a return of the innermost call.
func (f *seen) leave(t *testing.T, r *record) {
	if len(f.calls) == 0 {
		t.Fatalf("%s returns without having been called", f.name)
	}
	c := f.calls[len(f.calls)-1]
	f.calls = f.calls[:len(f.calls)-1]
	if c.n != 1 {
		t.Errorf("%s: a call passes %d places", f.name, c.n)
		return
	}
	if got := int32(r.reg(insn.RAX)); got != c.result {
		t.Errorf("%s at %s: returns %d, not %d", f.name, c.at.Why, got, c.result)
	}
	f.done++
	f.sides[c.at.Why]++
}
