package spec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/observer/event"
)

// FuzzSpec checks that any text is a specification or has errors, that making the monitors of
// small ones does not panic, and that letters can be computed from any values.
func FuzzSpec(f *testing.F) {
	for _, pattern := range []string{"testdata/examples/*.tps", "testdata/errors/*.tps"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, text string, v uint64) {
		s, problems := Parse("f.tps", text)
		if (s == nil) != problems.HasErrors() {
			t.Fatalf("a specification and %v", problems)
		}
		_ = problems.Error()
		if s == nil || len(text) > 2000 {
			return
		}
		s.Plan()
		values := make([]uint64, len(s.Vars))
		forms := make([]*event.Form, len(s.Vars))
		for i := range values {
			values[i] = v << (i % 8)
			forms[i] = &event.Form{Class: event.FormClass(v>>i) % 7, Bits: uint8(v >> i)}
		}
		for _, p := range s.Properties {
			if len(p.Propositions) <= 6 {
				if m, _ := s.Monitor(p, MonitorOptions{Limit: 50, Partial: true}); m != nil {
					m.shortestBad()
				}
			}
			for _, known := range [][]*event.Form{nil, forms} {
				if l, _ := s.Letters(p, known); l != nil {
					l.Letter(values, v)
				}
			}
		}
		for _, sc := range s.Scopes {
			fuzzScope(t, s, sc, v)
		}
	})
}

// fuzzScope makes the monitors of a scope that has few propositions, and computes its atoms.
func fuzzScope(t *testing.T, s *Spec, sc *Scope, v uint64) {
	t.Helper()
	few := len(sc.Atoms) <= 6
	for i := range sc.Locals {
		few = few && len(sc.Locals[i].Events) <= 5
	}
	if few {
		if m, problems := s.ScopeMonitors(sc, MonitorOptions{Limit: 50}); (m == nil) != problems.HasErrors() {
			t.Fatalf("monitors and %v", problems)
		}
	}
	counts := make([]uint64, sc.Inputs())
	for i := range counts {
		counts[i] = v >> (i % 64)
	}
	for i := range sc.Atoms {
		sc.Atoms[i].Holds(counts)
	}
}
