package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMonitorsOfScopes runs each program with each monitor that is compiled into it, right and broken: all find the same.
func TestMonitorsOfScopes(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc (apt install gcc)")
	}
	for program, args := range map[string][]string{
		"readers_writers": {"3", "2", "12", "48"}, "ping_pong": {"20"}, "bakery": {"3", "5"}, "producer_consumer": {"2", "20"}, "mergesort": {"64", "3"},
	} {
		for _, w := range scopeWays() {
			if w.define == "" {
				continue
			}
			for _, broken := range []bool{false, true} {
				flags := []string{"-D" + w.define}
				if broken {
					flags = append(flags, "-DBROKEN")
				}
				name := program + strings.Join(flags, "")
				t.Run(name, func(t *testing.T) {
					out := filepath.Join(t.TempDir(), name)
					if err := compileAs(out, filepath.Join("programs", program+".c"), flags...); err != nil {
						t.Fatal(err)
					}
					text, err := exec.Command(out, args...).Output()
					var result struct{ Violations int }
					if err == nil {
						err = json.Unmarshal(text, &result)
					}
					if err != nil || (result.Violations > 0) != broken {
						t.Errorf("%v: %s", err, text)
					}
				})
			}
		}
	}
}

// TestScopeRequirement: the width that the requirement speaks of counts, and without monitors in the kernel there is none.
func TestScopeRequirement(t *testing.T) {
	s := &scopes{ways: scopeWays(), times: map[string]map[string]*scopeTimes{}}
	for _, c := range []struct {
		figure, x    string
		held, kernel float64
	}{
		{"cwidth", "1", 1, 2}, {"cwidth", "30", 4, 1}, {"cwidth", "150", 7, 2}, {"readers", "127", 1, 1}, {"programs", "mergesort", 1, 1},
	} {
		p := scopePoint{figure: c.figure, x: c.x}
		s.points = append(s.points, p)
		s.times[p.name()] = map[string]*scopeTimes{heldWay: {micros: []float64{c.held}}, kernelWay: {micros: []float64{c.kernel}}}
	}
	if q, ok := s.opportunistic(); !ok || !q.met || q.measured != "3.5 times" {
		t.Errorf("%+v %v, want 3.5 times", q, ok)
	}
	s.times["cwidth 60"] = map[string]*scopeTimes{heldWay: {micros: []float64{2}}, kernelWay: {micros: []float64{1}}}
	s.points = append(s.points, scopePoint{figure: "cwidth", x: "60"})
	if q, ok := s.opportunistic(); !ok || q.met {
		t.Errorf("twice as fast is enough: %+v %v", q, ok)
	}
	for _, by := range s.times {
		delete(by, kernelWay)
	}
	if q, ok := s.opportunistic(); ok {
		t.Errorf("without monitors in the kernel: %+v", q)
	}
}
