package probes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/elftest"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// FuzzPlan plans programs that are damaged after their headers, and checks that each site lies in
// the file, at an instruction.
func FuzzPlan(f *testing.F) {
	seeds, err := elftest.Seeds()
	if err != nil {
		f.Fatal(err)
	}
	table, err := synctab.Builtin()
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 * len(seeds) {
		f.Add(byte(i), []byte{byte(i + 2), 0, byte(7 * i), 0, byte(i), 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff}, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, which byte, program []byte, entries bool) {
		b := elftest.Patch(seeds[int(which)%len(seeds)], program)
		file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "patched", elf.Options{DebugDirs: []string{}})
		if err != nil {
			return
		}
		planner := NewPlanner(Options{Table: table, Watch: []string{"hits", "ns::busy"}, EntrySites: entries})
		plan, err := planner.Plan(file)
		if err != nil {
			return
		}
		_ = planner.Unresolved()
		if len(plan.Sites) > bpf.MaxSites {
			t.Errorf("%d sites", len(plan.Sites))
		}
		for i, s := range plan.Sites {
			if s.Offset >= uint64(len(b)) || s.Why == "" {
				t.Errorf("%+v", s)
			}
			if n := s.BPF.Next; n != 0 && (int(n) != i+1 && int(n) != i+2 || int(n) > len(plan.Sites)) {
				t.Errorf("site %d is followed by %d", i, n)
			}
		}
	})
}

// TestPlanSaysWhatCouldNotBeRead checks that the plan of a damaged file has a note that it is
// incomplete, with the place of the damage.
func TestPlanSaysWhatCouldNotBeRead(t *testing.T) {
	f := elftest.Debug([]byte{0x90, 0xc3}, 0x10000)
	f.Sections = append(f.Sections, elftest.Section{Name: ".eh_frame", Size: 1 << 39})
	b := f.Bytes()
	file, err := elf.NewWith(bytes.NewReader(b), int64(len(b)), "damaged", elf.Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlanner(Options{}).Plan(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0].Text, "part of damaged could not be read, so calls or names may be missing") || !strings.Contains(plan.Notes[0].Text, "at file offset 0x") {
		t.Errorf("%q", plural.Texts(plan.Notes))
	}
}
