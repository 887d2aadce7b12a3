package symbolize

import (
	"fmt"
	"strings"
	"testing"
)

// TestLambdas checks that a lambda's function is named after the function around it, also where it
// is inlined, and that its Start is that function's.
func TestLambdas(t *testing.T) {
	const (
		numbered = "shop::sell(int)::{lambda(int)#1}::operator()(int) const::{lambda(int)#1}::operator()(int) const:6"
		unlinked = "sell::{lambda}::operator()::{lambda}::operator():6 inlined"
	)
	for _, c := range []struct {
		optimise, linkage, lambda, local string
	}{
		{"-O0", "", numbered, "shop::sell(int)::Plain::operator()(int):18"},
		{"-O0", "static", numbered, "shop::sell(int)::Plain::operator()(int):18"},
		{"-O2", "", "shop::sell(int)::" + strings.TrimPrefix(unlinked, "sell::"), "operator():18 inlined"},
		{"-O2", "static", unlinked, "operator():18 inlined"},
		{"-O2", "inline", numbered + " inlined", "shop::sell(int)::Plain::operator()(int):18 inlined"},
	} {
		f := open(t, build(t, "g++", "lambda.cc", c.optimise, "-g", "-DLINKAGE="+c.linkage))
		table, got := New(f), map[int]map[string]bool{11: {}, 20: {}}
		for _, r := range f.Text() {
			for a := r.Lo; a < r.Hi; a++ {
				fr := table.Frames(a)[0]
				if at := got[fr.Line]; at != nil {
					at[began(fr)] = true
				}
			}
		}
		for line, want := range map[int]string{11: c.lambda, 20: c.local} {
			if !got[line][want] {
				t.Errorf("%s %q, line %d: %v, want %s", c.optimise, c.linkage, line, got[line], want)
			}
		}
	}
}

// began returns a frame's function and the line on which it begins, as text.
func began(f Frame) string {
	s := fmt.Sprintf("%s:%d", f.Function, f.Start)
	if f.Inlined {
		s += " inlined"
	}
	return s
}
