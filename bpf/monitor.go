package bpf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Monitor is a function of monitor.h: a place where code runs in the thread that is observed.
type Monitor string

// The functions, with what the first registers hold.
const (
	OnLocal Monitor = "on_local" // R1: registers of the thread, R2: index of the site, R3: process and thread ID
	OnSync  Monitor = "on_sync"  // R1: process and thread ID, R2: the Op, R3: the object
)

// SetMonitor makes the programs of a collection that has not been loaded run a body in place of a function. The body
// ends with asm.Return, whose value nobody looks at; the labels of its jumps must be those of no other body. SetMonitor
// fails if no program has the function.
func SetMonitor(spec *ebpf.CollectionSpec, m Monitor, body asm.Instructions) error {
	if err := replace(spec, m, body); err != nil {
		return err
	}
	if err := spec.Variables["monitored"].Set(true); err != nil {
		return fmt.Errorf("have the BPF programs call the monitor %s: %w", m, err)
	}
	return nil
}

// replace puts a body in place of a function, in all programs that have it.
func replace(spec *ebpf.CollectionSpec, m Monitor, body asm.Instructions) error {
	found := false
	for _, p := range spec.Programs {
		if replaced, ok := replaceFunction(p.Instructions, string(m), body); ok {
			p.Instructions, found = replaced, true
		}
	}
	if !found {
		return fmt.Errorf("put a monitor into the BPF programs: none has the function %s", m)
	}
	return nil
}

// replaceFunction returns a program in which a function has another body; ok is false if it has no such function.
func replaceFunction(program asm.Instructions, name string, body asm.Instructions) (replaced asm.Instructions, ok bool) {
	from := slices.IndexFunc(program, func(ins asm.Instruction) bool { return ins.Symbol() == name })
	if from < 0 || len(body) == 0 {
		return nil, false
	}
	fn := btf.FuncMetadata(&program[from])
	to := slices.IndexFunc(program[from+1:], func(ins asm.Instruction) bool { return btf.FuncMetadata(&ins) != nil })
	if to < 0 {
		to = len(program)
	} else {
		to += from + 1
	}
	body = slices.Clone(body)
	body[0] = btf.WithFuncMetadata(body[0].WithSymbol(name), fn).WithSource(program[from].Source()) // the verifier wants a line
	return slices.Concat(program[:from], body, program[to:]), true
}
