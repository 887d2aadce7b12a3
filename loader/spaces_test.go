package loader

import (
	"slices"
	"testing"
)

// TestSpacesOfAChild: a child has its parent's mappings until its execve, and they do not count as its own then. Those
// of its own program do, even after another execve.
func TestSpacesOfAChild(t *testing.T) {
	parents, own := &Module{Path: "/parents"}, &Module{Path: "/own"}
	parent, child := &process{pid: 7}, &process{pid: 8}
	a := &Spaces{first: parent, processes: map[int]*process{}}
	a.add(parent)
	a.mapped(parent, Segment{Lo: 0x1000, Hi: 0x2000, Module: parents})
	a.add(child)
	a.inherit(child, parent)
	with := func(m *Module, want ...uint32) {
		t.Helper()
		if got := a.ProcessesWith(m); !slices.Equal(got, want) {
			t.Errorf("%v have %s, want %v", got, m.Path, want)
		}
	}
	with(parents, 7, 8)
	a.discard(child)
	with(parents, 7)
	if seg, ok := a.Segment(8, 0x1800); !ok || seg.Module != parents {
		t.Error("call stacks from before the execve have no names")
	}
	a.mapped(child, Segment{Lo: 0x1000, Hi: 0x2000, Module: own})
	a.discard(child)
	with(own, 8)
	a.exited(child)
	if got := a.livePIDs(); !slices.Equal(got, []int{7}) {
		t.Errorf("%v live", got)
	}
	command := func(c string) func() string { return func() string { return c } }
	a.runs(parent, "/sh", "/sh", command("sh -c server"))
	if a.runs(parent, "/server", "/server", command("server: idle")); a.LastProgram() != "/server" {
		t.Errorf("the last program is %q", a.LastProgram())
	}
	if got := a.Processes()[0].Command; got != "sh -c server" {
		t.Errorf("the command line is %q, which the program wrote over the first", got)
	}
	a.forgetCommand(parent)
	if a.runs(parent, "/server", "/server", command("server -v")); a.Processes()[0].Command != "server -v" {
		t.Errorf("the command line after an execve is %q", a.Processes()[0].Command)
	}
	if a.processOf(9) != parent || a.known(9) != nil || a.known(8) != child {
		t.Error("an unknown process is another than the first")
	}
}
