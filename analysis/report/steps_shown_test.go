package report

import (
	"testing"

	"github.com/tracepredict/tracepredict/observer/run"
)

// TestStepsShown checks that steps on the locks of the dynamic loader are not shown, those on others are, and all are in a finding
// about the loader's locks.
func TestStepsShown(t *testing.T) {
	named := func(name string) *Object { return &Object{Object: run.Object{Name: name}} }
	stock, load, hidden := named("stock"), named("_rtld_global._dl_load_lock.mutex"), named("ld-linux-x86-64.so.2+0x3a9c8")
	steps := []Step{{Object: load}, {Object: stock}, {}, {Object: hidden}, {Object: named("libx.so+0x40")}}
	f := Finding{Objects: []Object{*stock}}
	if got := f.StepsShown(steps); len(got) != 3 || got[0].Object != stock || got[1].Object != nil {
		t.Errorf("%d steps are shown: %v", len(got), got)
	}
	f.Objects = append(f.Objects, *load)
	if got := f.StepsShown(steps); len(got) != len(steps) {
		t.Errorf("%d steps of a finding about the loader are shown, want %d", len(got), len(steps))
	}
}
