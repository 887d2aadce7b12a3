package bpf

import (
	"errors"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// TestLoad shows that the running kernel's verifier takes the programs.
func TestLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading BPF programs needs root: run the tests with sudo")
	}
	var objs TracepredictObjects
	err := LoadTracepredictObjects(&objs, nil)
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("the kernel refuses BPF: %v", err)
	}
	if err != nil {
		t.Fatalf("%+v", err)
	}
	objs.Close()
}
