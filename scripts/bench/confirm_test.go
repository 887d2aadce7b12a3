package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestConfirmRequirement(t *testing.T) {
	fast, slow := confirmedIn{"shop", 0.5, 1.2}, confirmedIn{"bank", 0.25, 1.85}
	for _, c := range []struct {
		all      []confirmedIn
		measured string
		met      bool
	}{
		{nil, "not measured", false},
		{[]confirmedIn{fast}, "-0.30, of 1.20 in all; a plain run takes 0.50; 1 finding", true},
		{[]confirmedIn{slow, fast, slow}, "1.10, of 1.85 in all; a plain run takes 0.25; 3 findings", false},
	} {
		if r := confirmRequirement(c.all); r.measured != c.measured || r.met != c.met {
			t.Errorf("%v: %+v", c.all, r)
		}
	}
}

func TestConfirmedExamples(t *testing.T) {
	for _, e := range confirmedExamples {
		names := []string{filepath.Join("examples", e.name)}
		if len(e.flags) == 2 {
			names = append(names, e.flags[1])
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
				t.Error(err)
			}
		}
	}
}
