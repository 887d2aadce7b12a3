package attach

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/loadertest"
	"github.com/tracepredict/tracepredict/internal/testtool"
	"github.com/tracepredict/tracepredict/probes"
)

// keeping returns a monitor that stores a register in an element of a map.
func keeping(m *ebpf.Map, element int32, r asm.Register) asm.Instructions {
	end := fmt.Sprint("kept", element)
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, r),
		asm.StoreImm(asm.RFP, -4, int64(element), asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), asm.LoadMapPtr(asm.R1, m.FD()), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, end),
		asm.StoreMem(asm.R0, 0, asm.R6, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol(end), asm.Return(),
	}
}

// TestMonitors: what stands in place of on_local and on_sync runs in the observed thread, with the site and the object of
// an operation.
func TestMonitors(t *testing.T) {
	loadertest.NeedBPF(t)
	testtool.Need(t, "gcc")
	a := loadertest.StartAsked(t)
	file := a.Open()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tr, err := NewTracer(TracerOptions{Monitors: map[bpf.Monitor]asm.Instructions{
		bpf.OnLocal: keeping(m, 0, asm.R2), bpf.OnSync: keeping(m, 1, asm.R3),
	}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer tr.Close()
	const distance = 0x1234 // from the function to the object
	sites := []bpf.Site{{}, {Op: uint8(bpf.OpRelease), ObjectFrom: uint8(bpf.FromFixed), ObjectDisp: distance, AtEntry: 1}}
	base, err := tr.AddSites(sites)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Attach(LinkTarget{File: file, Owner: a.PID}, []Probe{{Offset: a.Answer.Offset, Site: base + 1, Program: probes.ProgramNamed}}); err != nil {
		t.Fatalf("%+v", err)
	}
	a.WantAnswers()
	var got [2]uint64
	for i := range got {
		if err := m.Lookup(uint32(i), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if want := [...]uint64{uint64(base + 1), a.Answer.Addr + distance}; got != want {
		t.Errorf("the site and the object are %#x, want %#x", got, want)
	}
}
