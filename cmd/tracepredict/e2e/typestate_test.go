package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

const boxSpec = `typestate box (b : struct box *) {
  open  = return box_open -> b
  use   = call box_use(b)
  other = call box_use_second(_, b)
  close = call box_close(b)
  state fresh  { open -> ready }
  state ready  { use -> ready; other -> ready; close -> closed }
  state closed { }
}
`

const boxExpression = `typestate box (b : struct box *) {
  open  = return box_open -> b
  use   = call box_use(b)
  other = call box_use_second(_, b)
  close = call box_close(b)
  ere good (open (use | other)* close)
}
`

const handleSpec = `typestate handle (h : int) {
  open  = return handle_open -> h
  use   = call handle_use(h)
  close = call handle_close(h)
  state fresh  { open -> ready }
  state ready  { use -> ready; close -> closed }
  state closed { }
}
`

const tillSpec = `typestate till (this : shop::Till) {
  make = call shop::Till::Till(this)
  sell = call shop::Till::sell(this)
  shut = call shop::Till::shut(this)
  state fresh { make -> open }
  state open  { sell -> open; shut -> closed }
  state closed { }
}
`

// TestTypestates: another schedule closes an object that a thread still uses, whether the object is a pointer, a number or
// this. Programs that only look like that have no finding.
func TestTypestates(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "typestates.cc", "-O2", "-g", "-pthread")
	for _, c := range []struct {
		name, spec, what string
		flags            []string
		want             string // the titles of findings
		made             string // the report has this
	}{
		{"pointer", boxSpec, "", nil, "TYPESTATE predicted (box)", "was created in box_open at typestates.cc:"},
		{"this run", boxSpec, "after", nil, "TYPESTATE observed (box)", ""},
		{"second parameter", boxSpec, "second", nil, "TYPESTATE predicted (box)", "other box 0x"},
		{"handle", handleSpec, "handle", nil, "TYPESTATE predicted (handle)", "handle 7 was created in handle_open at typestates.cc:"},
		{"handle again", handleSpec, "handle again", nil, "", ""},
		{"method", tillSpec, "method", nil, "TYPESTATE predicted (till)", ""},
		{"in the order of the lock", boxSpec, "locked", nil, "", ""},
		{"in any order of the lock", boxSpec, "locked", []string{"--causality", "exclusion"}, "TYPESTATE likely (box)", ""},
		{"by an expression", boxExpression, "", nil, "TYPESTATE predicted (box)", ""},
		{"racing", boxSpec, "", []string{"--racing-types"}, "TYPESTATE predicted (box)", ""},
		{"not racing under the lock", boxSpec, "locked", []string{"--causality", "exclusion", "--racing-types"}, "", ""},
		{"memory used again", boxSpec, "reuse", nil, "", ""},
		{"mined", strings.Replace(boxSpec, "*) {", "*) mined {", 1), "", []string{"--fail-on-mined"}, "TYPESTATE likely (box)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"exec", "--watch-shared=off", "--spec", specFile(t, c.spec)}, c.flags...)
			tool := startTool(t, childOptions{}, append(args, "--", program, c.what)...)
			status := 0
			if c.want != "" {
				status = 66
			}
			tool.want(status)
			var titles []string
			for line := range strings.Lines(tool.err.String()) {
				if _, title, ok := strings.Cut(strings.TrimSpace(line), ". TYPESTATE "); ok {
					titles = append(titles, "TYPESTATE "+title)
				}
			}
			if text := strings.Join(strings.Fields(tool.err.String()), " "); !strings.Contains(text, c.made) {
				t.Errorf("the report does not say %q: %s", c.made, text)
			}
			if got := strings.Join(titles, "; "); got != c.want {
				t.Errorf("found: %q, want %q", got, c.want)
			}
		})
	}
}

// TestMinedDoesNotFail: a finding on a protocol that nobody has confirmed does not determine the exit status.
func TestMinedDoesNotFail(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "typestates.cc", "-O2", "-g", "-pthread")
	tool := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--spec", specFile(t, strings.Replace(boxSpec, "*) {", "*) mined {", 1)), "--", program)
	tool.want(0)
	if text := tool.err.String(); !strings.Contains(text, "TYPESTATE likely (box)") {
		t.Errorf("report: %s", text)
	}
}

// TestMine: what is learned from a run that joins first is broken by another schedule of one that does not.
func TestMine(t *testing.T) {
	needBPF(t)
	t.Parallel()
	mined := filepath.Join(t.TempDir(), "mined.tps")
	tool := startTool(t, childOptions{}, "mine", "--type", "struct conn", "-o", mined, "--", example(t, "socket_joined"))
	tool.want(0)
	if text := tool.err.String(); !strings.Contains(text, "typestate conn: ") || !strings.Contains(text, "learned from 1 object") {
		t.Errorf("mine says %s", text)
	}
	check := startTool(t, childOptions{}, "exec", "--watch-shared=off", "--fail-on-mined", "--spec", mined, "--", example(t, "socket"))
	check.want(66)
	if text := strings.Join(strings.Fields(check.err.String()), " "); !strings.Contains(text, "TYPESTATE likely (conn)") || !strings.Contains(text, "nobody has confirmed it") {
		t.Errorf("exec says %s", text)
	}
}

// TestMineAsAnotherUser: the recorded run can be read although exec has the rights of the program's user in the end.
func TestMineAsAnotherUser(t *testing.T) {
	needBPF(t)
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   []string
		flags []string
	}{
		{"--user", nil, []string{"--user", "nobody"}},
		{"sudo", []string{"SUDO_UID=65534", "SUDO_GID=65534", "SUDO_USER=nobody"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"mine", "--type", "struct conn"}, c.flags...)
			tool := startTool(t, childOptions{Env: c.env}, append(args, "--", example(t, "socket_joined"))...)
			tool.want(0)
			if text := tool.err.String(); !strings.Contains(text, "learned from 1 object") {
				t.Errorf("mine says %s", text)
			}
		})
	}
}

// TestMineTraces: what several recorded runs did is learned together, as text and as a drawing.
func TestMineTraces(t *testing.T) {
	needBPF(t)
	t.Parallel()
	folder := t.TempDir()
	calls := specFile(t, "typestate conn (c : struct conn *) {\n  make = return conn_new -> c\n  close = call conn_close(c)\n}\n")
	var traces []string
	for _, name := range []string{"socket", "socket_joined"} {
		trace := filepath.Join(folder, name)
		startTool(t, childOptions{}, "exec", "--watch-shared=off", "--record", trace, "--on", "return conn_new -> c", "--on", "call conn_close(c)", "--", example(t, name)).want(0)
		traces = append(traces, trace)
	}
	tool := startTool(t, childOptions{}, append([]string{"mine", "--spec", calls}, traces...)...)
	tool.want(0)
	if text := tool.out.String(); !strings.Contains(text, "typestate conn (c : struct conn *) mined {") || !strings.Contains(text, "state s1 { close -> s2 }   // close 2") {
		t.Errorf("learned: %s", text)
	}
	startTool(t, childOptions{}, "exec", "--spec", calls, "--", example(t, "socket")).want(2) // it has no states
	drawn := startTool(t, childOptions{}, append([]string{"mine", "--dot", "--tails", "1", "--spec", calls}, traces...)...)
	drawn.want(0)
	if text := drawn.out.String(); !strings.Contains(text, "digraph") {
		t.Errorf("drawn: %s", text)
	}
}
