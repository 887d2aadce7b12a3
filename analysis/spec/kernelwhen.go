package spec

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/analysis/spec/ir"
	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/observer/event"
)

// InputResult stands for the result of a call.
const InputResult = -2

// Inputs returns what the condition of a call or return reads, in this order: the indices of parameters among those that are
// recorded of a function, -1 for one that is not; InputResult: the result.
func (d *Event) Inputs(params []event.Param) (from []int) {
	for _, want := range d.params {
		from = append(from, slices.IndexFunc(params, func(p event.Param) bool { return want == parameter{p.Index, p.Stored, p.Element} }))
	}
	if d.Result >= 0 {
		from = append(from, InputResult)
	}
	return from
}

// KernelConditions returns code that computes the conditions of events in the kernel, by their index in the list, as
// bpf.SetScopeConditions takes it; nil if there are none. The error says of which event that cannot be.
func (s *Spec) KernelConditions(events []int) (asm.Instructions, error) {
	if len(events) == 0 {
		return nil, nil
	}
	p := &part{}
	p.add(asm.JEq.Imm(asm.R1, 0, "when_end"), asm.Mov.Reg(asm.R7, asm.R1))
	for n := range events {
		p.add(asm.JEq.Imm(asm.R2, int32(n), "when_"+strconv.Itoa(n)))
	}
	p.add(asm.Ja.Label("when_end"))
	for n, i := range events {
		d := &s.Events[i]
		if why := d.userOnlyCondition(); why != "" {
			return nil, fmt.Errorf("the condition of %s is not for the kernel: %s", d.Name, why)
		}
		label := "when_" + strconv.Itoa(n)
		code, err := d.When.code.BPF(ir.BPFOptions{Inputs: asm.R7, Label: label + "_of"})
		if err != nil {
			return nil, fmt.Errorf("compile the condition of %s: %w", d.Name, err)
		}
		p.next = label
		p.add(code...)
		p.add(asm.StoreMem(asm.R7, bpf.ScopeOut, asm.R0, asm.DWord), asm.Ja.Label("when_end"))
	}
	return p.end("when_end"), nil
}

// userOnlyCondition says why the condition of an event is not computed in the kernel; "" if it is.
func (d *Event) userOnlyCondition() string {
	if why := d.When.code.UserOnly(); why != "" {
		return why
	}
	if d.When.code.Reads(d.When.bound) {
		return "it reads tid"
	}
	return ""
}
