package spec

import (
	"strings"
	"testing"
)

// TestUserOnly: a formula that the kernel cannot evaluate says why.
func TestUserOnly(t *testing.T) {
	const threads = "thread any = name \"*\"\nthread some = start f\nthread first = main\nvar x : int = x\nevent a = call f\nevent b = call g(n)\nlocal l : int = 0 { on a : l := l + 1 }\n"
	for formula, why := range map[string]string{
		"forall i : any . @i (l > 0)":                                           "",
		"forall i : any . @i (x > 0)":                                           "reads the variable x",
		"@first (l > 0)":                                                        "names the thread first",
		"forall i : some . @i (l > 0)":                                          "type some",
		"forall i : any . @i (b -> l > 0)":                                      "the event b binds n",
		"forall i : any . @i (once a)":                                          "",
		"forall i : any . @i (once prev once prev once prev a)":                 "",
		"forall i : any . @i (once prev once prev once prev once prev a)":       "more than 16 parts",
		"forall i : any . @i (tid > 1)":                                         "reads tid",
		"forall i : any, j : any, k : any . @i @j (@k (l > 0))":                 "binds 3 threads",
		"forall i : any . @i (forall j : any . @j (l > 0))":                     "its parts bind different threads",
		"forall i : any, j : any . @i (@j @i (l) > @j @i (l + 1))":              "would know",
		"forall i : any, j : any, i != j . @i (l > 0 -> !(l == @j @i (l * 3)))": "",
	} {
		s, problems := Parse("test.tps", threads+"mttl f = "+formula+"\n")
		if problems.HasErrors() {
			t.Errorf("%s: %v", formula, problems)
			continue
		}
		_, err := s.Kernel(s.Formulas[0])
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", formula, err, why)
		}
	}
}
