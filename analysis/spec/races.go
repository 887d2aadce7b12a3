package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// racesText declares what `check races(VARIABLE)` stands for with Options.PaperRaces: the formula of DAME, Section 3, for
// all pairs of threads. # is a prefix of its own, $ the name of the variable. That a thread has written the variable in
// the past is a local variable, since the past of a formula with bound threads begins when both of them have begun.
const racesText = `thread #any = name "*"
event #read = read $
event #write = write $
local #wrote : bool = false { on #write : #wrote := true; on #read : }
mttl #free = forall #i : #any, #j : #any, #i != #j . @#i (
    (#read && #wrote -> !(@#j (#write))) && (#write -> !(@#j (#read && #wrote))) && (#write -> !(@#j (#write))))
`

// races names the analysis.
const races = "races"

// paperRaces returns the declarations that the requests for races stand for, one formula for each variable.
func paperRaces(decls []syntax.Decl) (more []syntax.Decl) {
	var all []*syntax.Var
	for _, d := range decls {
		if v, ok := d.(*syntax.Var); ok {
			all = append(all, v)
		}
	}
	done := map[string]bool{}
	for _, d := range decls {
		c, ok := d.(*syntax.Check)
		if !ok || c.Analysis.Text != races {
			continue
		}
		for _, v := range all {
			named := slices.ContainsFunc(c.Vars, func(n syntax.Name) bool { return n.Text == v.Name.Text })
			if (named || len(c.Vars) == 0) && !done[v.Name.Text] {
				done[v.Name.Text] = true
				more = append(more, paperRace(len(done), v, c)...)
			}
		}
	}
	return more
}

// paperRace returns the declarations of the formula for one variable, the n-th.
func paperRace(n int, v *syntax.Var, c *syntax.Check) []syntax.Decl {
	name := races + "(" + v.Path.Text + ")"
	text := strings.NewReplacer("#", fmt.Sprintf("races_%d_", n), "$", v.Name.Text).Replace(racesText)
	f, _ := syntax.Parse(syntax.NewSource("check "+name, text))
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *syntax.Event: // what is wrong with it is wrong where the user wrote it
			d.Pattern.Object.Span = c.Analysis.Span
		case *syntax.MTTL:
			d.EachEvent = true
			d.Name = syntax.Name{Text: name, Span: c.Analysis.Span}
			d.Message = &syntax.Text{Text: "a thread that accesses " + v.Path.Text + " knows no later event of another thread than a conflicting access"}
		}
	}
	return f.Decls
}
