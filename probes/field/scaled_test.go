package field

import (
	"debug/dwarf"
	"testing"

	"github.com/tracepredict/tracepredict/probes/code"
	dw "github.com/tracepredict/tracepredict/probes/dwarf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

// TestTotal checks sums of unknown numbers and of addresses, by which the elements of arrays are
// found.
func TestTotal(t *testing.T) {
	f := &flow{p: &program{db: &database{Tree: &dw.Tree{}}}}
	job, i, j := &dw.Type{Tag: dwarf.TagStructType, Bytes: 40}, &dw.Type{}, &dw.Type{}
	times := func(n *dw.Type, by int64) term { return term{value{kind: scaled, typ: n, by: by}, 1} }
	jobs := term{value{kind: object, typ: job, at: 8}, 1}
	for _, tt := range []struct {
		name  string
		add   int64
		terms []term
		want  value
	}{
		{"4 i + i", 0, []term{times(i, 4), times(i, 1)}, value{kind: scaled, typ: i, by: 5}},
		{"8 (5 i)", 3, []term{{times(i, 5).value, 8}}, value{kind: scaled, typ: i, by: 40, at: 3}},
		{"8 i - i", 0, []term{times(i, 8), {times(i, 1).value, -1}}, value{kind: scaled, typ: i, by: 7}},
		{"i + j", 0, []term{times(i, 40), times(j, 40)}, value{kind: unknown}},
		{"&jobs[i]", 0, []term{jobs, times(i, 40)}, value{kind: object, typ: job, at: 8}},
		{"&jobs[i + 1]", 40, []term{jobs, times(i, 40)}, value{kind: object, typ: job, at: 8}},
		{"&jobs[i - 1]", -40, []term{times(i, 40), jobs}, value{kind: object, typ: job, at: 8}},
		{"&jobs[i + j]", 0, []term{times(i, 40), jobs, times(j, 80)}, value{kind: object, typ: job, at: 8}},
		{"somewhere in jobs", 0, []term{jobs, times(i, 8)}, value{kind: unknown}},
		{"two addresses", 0, []term{jobs, jobs}, value{kind: unknown}},
		{"an address subtracted", 0, []term{times(i, 40), {jobs.value, -1}}, value{kind: unknown}},
		{"too large a factor", 0, []term{times(i, maxScale)}, value{kind: unknown}},
		{"what is not known", 0, []term{{value{kind: unknown}, 1}, jobs}, value{kind: unknown}},
	} {
		if got := f.total(tt.add, tt.terms...); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestForget checks that a value made from the old result of an instruction is not mixed with
// values made from the new one.
func TestForget(t *testing.T) {
	n := &dw.Type{}
	s := state{spills: code.Frame[value]{{At: -16, Value: value{kind: scaled, typ: n, by: 3}}, {At: -8, Value: value{kind: frame}}}}
	s.regs[insn.RAX] = value{kind: scaled, typ: n, by: 4}
	s.regs[insn.RDX] = value{kind: object, typ: n}
	s.forget(n)
	if s.regs[insn.RAX].kind != unknown || s.regs[insn.RDX].kind != object || len(s.spills) != 1 || s.spills[0].At != -8 {
		t.Errorf("kept %+v %+v %+v", s.regs[insn.RAX], s.regs[insn.RDX], s.spills)
	}
}
