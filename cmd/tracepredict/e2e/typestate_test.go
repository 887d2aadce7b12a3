package e2e

import (
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

// TestTypestates: another schedule closes what a thread still uses, whatever tells the object apart; and what looks like it
// and is not.
func TestTypestates(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "g++", "typestates.cc", "-O2", "-g", "-pthread")
	for _, c := range []struct {
		name, spec, what string
		flags            []string
		want             string // the titles of findings
	}{
		{"pointer", boxSpec, "", nil, "TYPESTATE predicted (box)"},
		{"this run", boxSpec, "after", nil, "TYPESTATE observed (box)"},
		{"second parameter", boxSpec, "second", nil, "TYPESTATE predicted (box)"},
		{"handle", handleSpec, "handle", nil, "TYPESTATE predicted (handle)"},
		{"handle again", handleSpec, "handle again", nil, ""},
		{"method", tillSpec, "method", nil, "TYPESTATE predicted (till)"},
		{"in the order of the lock", boxSpec, "locked", nil, ""},
		{"in any order of the lock", boxSpec, "locked", []string{"--causality", "exclusion"}, "TYPESTATE likely (box)"},
		{"memory used again", boxSpec, "reuse", nil, ""},
		{"mined", strings.Replace(boxSpec, "*) {", "*) mined {", 1), "", []string{"--fail-on-mined"}, "TYPESTATE likely (box)"},
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
