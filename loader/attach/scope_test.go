package attach

import (
	"testing"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/internal/loadertest"
)

// TestScopePrograms: the verifier accepts all programs with a scope.
func TestScopePrograms(t *testing.T) {
	loadertest.NeedBPF(t)
	tr, err := NewTracer(TracerOptions{Scope: &bpf.ScopeAutomata{}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer tr.Close()
	if err := tr.LoadAll(); err != nil {
		t.Fatalf("%+v", err)
	}
}
