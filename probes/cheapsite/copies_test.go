package cheapsite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestCopyExits finds the exits of copies that begin at 0x1001 and end where each case says.
func TestCopyExits(t *testing.T) {
	for _, x := range []struct {
		name, code string
		hi         uint64
		exits      []CopyExit
		why        string
	}{
		{"falls through", "90 85ff 90 c3", 3, []CopyExit{{0x1003, 0}}, ""},
		{"two ends", "90 7402 85ff 90 c3 90", 3, []CopyExit{{0x1003, 0}, {0x1005, 0}}, ""},
		{"pushes", "90 53 90 5b c3", 3, []CopyExit{{0x1003, 8}}, ""},
		{"a loop inside", "90 85ff 74fc 90 c3", 5, nil, "the stack pointer differs on its paths"},
		{"mixed", "90 7402 85ff 74fa c3", 0, nil, "its code is mixed with that around it"},
		{"returns for its function", "90 7401 c3 90 c3", 4, nil, "it ends with the function around it"},
		{"a switch", "90 ffe0 90 c3", 3, nil, "control may arrive in it by a jump table or an exception"},
		{"a landing pad", "90 85ff 85ff c3", 5, nil, "control may arrive in it by a jump table or an exception"},
		{"never ends", "90 0f0b 90 c3", 3, nil, ""},
		{"elsewhere", "90 c3 | 90 c3", 3, nil, "it is in several parts of the function"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := machineCode(t, x.code)
			ranges := []elf.Range{{Lo: base + 1, Hi: base + x.hi}}
			switch x.name {
			case "mixed": // the test, between the copy's two jumps, is not the copy's
				ranges = []elf.Range{{Lo: base + 1, Hi: base + 3}, {Lo: base + 5, Hi: base + 7}}
			case "a loop inside":
				c = machineCode(t, "90 53 74fd 90 c3")
			case "a landing pad":
				c.marks = []uint64{base + 3}
			}
			got, why := NewImage(c).CopyExits(base+1, ranges)
			if diff := cmp.Diff(x.exits, got); diff != "" || why != x.why {
				t.Errorf("%s: %s", why, diff)
			}
		})
	}
}

func TestEntersElsewhere(t *testing.T) {
	ranges := []elf.Range{{Lo: base + 2, Hi: base + 6}}
	for text, want := range map[string]bool{"7402 85ff 85ff c3": true, "7400 85ff 85ff c3": false, "9090 85ff 74fc c3": false,
		"9090 c3 90 85ff c3": true, "9090 85ff 90 85ff c3": false} {
		ranges := ranges
		switch text {
		case "9090 c3 90 85ff c3":
			ranges = []elf.Range{{Lo: base + 2, Hi: base + 3}, {Lo: base + 4, Hi: base + 6}}
		case "9090 85ff 90 85ff c3":
			ranges = []elf.Range{{Lo: base + 2, Hi: base + 4}, {Lo: base + 5, Hi: base + 7}}
		}
		if got := NewImage(machineCode(t, text)).EntersElsewhere(base+2, ranges); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
