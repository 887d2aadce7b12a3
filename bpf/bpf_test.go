package bpf

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/cilium/ebpf"
)

// TestLoad checks that the running kernel's verifier accepts the programs.
func TestLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		withoutBPF(t, "loading BPF programs needs root: run the tests with sudo")
	}
	spec, err := LoadTracepredict()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range spec.Variables {
		if v.Constant() && v.Size() == 1 { // a switch: all that the programs can do is verified
			if err := v.Set(uint8(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var objs TracepredictObjects
	err = spec.LoadAndAssign(&objs, nil)
	if errors.Is(err, ebpf.ErrNotSupported) {
		withoutBPF(t, "the kernel refuses BPF: %v", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer objs.Close()
	programs := reflect.ValueOf(objs.TracepredictPrograms)
	for i := range programs.NumField() {
		if p, ok := programs.Field(i).Interface().(*ebpf.Program); ok {
			wantQuickToLoad(t, programs.Type().Field(i).Name, p)
		}
	}
}

// maxVerified bounds the instructions that the verifier follows of one program. Every run waits for it: 100,000 of
// them take some 10 ms.
const maxVerified = 150_000

// wantQuickToLoad checks that the verifier followed few instructions of a program.
func wantQuickToLoad(t *testing.T, name string, p *ebpf.Program) {
	t.Helper()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	if n, known := info.VerifiedInstructions(); known && n > maxVerified {
		t.Errorf("the verifier followed %d instructions of %s, more than %d: let it judge what several loops or calls share once, in a function that is not static", n, name, maxVerified)
	}
}

// withoutBPF skips a test that needs BPF, or fails it where BPF is known to work.
func withoutBPF(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but: "+format, args...)
	}
	t.Skipf(format, args...)
}
