package bpf

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// TestLoad checks that the running kernel's verifier accepts the programs.
func TestLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		withoutBPF(t, "loading BPF programs needs root: run the tests with sudo")
	}
	var objs TracepredictObjects
	err := LoadTracepredictObjects(&objs, nil)
	if errors.Is(err, ebpf.ErrNotSupported) {
		withoutBPF(t, "the kernel refuses BPF: %v", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	objs.Close()
}

// withoutBPF skips a test that needs BPF, or fails it where BPF is known to work.
func withoutBPF(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("TRACEPREDICT_REQUIRE_BPF") == "1" {
		t.Fatalf("TRACEPREDICT_REQUIRE_BPF=1, but: "+format, args...)
	}
	t.Skipf(format, args...)
}
