package waiting

import (
	"os"
	"testing"

	"github.com/tracepredict/tracepredict/probes/cheapsite"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestFilters checks, on all loops of large programs, that what leaves loops out early leaves out none
// that the whole data flow finds to wait.
func TestFilters(t *testing.T) {
	some := false
	for _, name := range []string{"/bin/bash", "/usr/bin/perl", "/usr/bin/git"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		f, err := elf.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		x := newFinder(f, Options{Arrivals: cheapsite.NewImage(f).Arrivals})
		x.work = 1 << 40
		loops, ended, left, waits := 0, 0, 0, 0
		for _, fn := range f.Functions()[:min(1500, len(f.Functions()))] {
			r, err := x.routine(fn)
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				continue
			}
			for _, l := range r.Loops() {
				if loopSize(r, &l) > maxLoop {
					continue
				}
				loops++
				rough := x.region(r, &l, 0, true)
				exits := len(rough.exits) > 0 && !rough.failed
				mayEnd := x.mayEnd(r, &l)
				if exits && !mayEnd {
					t.Errorf("%s: the loop at 0x%x has an exit, but may not end", name, r.Insts[r.Blocks[l.Head].Lo].Addr)
				}
				if mayEnd {
					ended++
				}
				if !exits {
					continue
				}
				mayWait := !rough.busy || x.mayIdle(r, l.Blocks)
				if mayWait {
					left++
				}
				found := len(x.region(r, &l, 0, false).waits()) > 0
				if found {
					waits++
				}
				if found && !mayWait {
					t.Errorf("%s: the loop at 0x%x waits, but is left out", name, r.Insts[r.Blocks[l.Head].Lo].Addr)
				}
			}
			x.done(r)
		}
		some = true
		t.Logf("%s: %d loops, %d of which may end, %d may wait, and %d wait", name, loops, ended, left, waits)
	}
	if !some {
		t.Skip("none of the programs is there")
	}
}
