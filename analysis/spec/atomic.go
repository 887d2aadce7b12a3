package spec

import (
	"fmt"
	"strings"

	"github.com/tracepredict/tracepredict/analysis/spec/syntax"
)

// atomicText declares what `check atomicity(FUNCTION)` stands for, and `check atomicity(FILE:FIRST-LAST)`. # is a prefix
// of its own, $ the function or the lines, BEGIN and FINISH the patterns' operations. Only the outermost call of a
// function that calls itself is a block.
const atomicText = `thread #any = name "*"
event #call = BEGIN $
event #return = FINISH $
event #enter = BEGIN $ when #depth == 0
event #leave = FINISH $ when #depth == 1
local #depth : int = 0 { on #call : #depth := #depth + 1; on #return : #depth := #depth - 1 }
local #blocks : int = 0 { on #enter : #blocks := #blocks + 1 }
local #atomic : int = 0 { on #enter : #atomic := #blocks; on #leave : #atomic := 0 }
mttl #isolated = forall #i : #any, #j : #any, #i != #j . @#i (#atomic > 0 -> !(#atomic == @#j @#i (#atomic)))
`

// atomicBlocks returns the declarations that the requests for atomicity stand for: the counter form of DAME's
// formula, for all pairs of threads.
func atomicBlocks(decls []syntax.Decl) (more []syntax.Decl) {
	for i, d := range decls {
		c, ok := d.(*syntax.Check)
		if !ok || c.Analysis.Text != atomicity || c.Func == nil {
			continue
		}
		name := atomicity + "(" + c.Func.Text + ")"
		begin, finish, of := syntax.OpCall, syntax.OpLeave, "a call of "
		if c.Lines {
			begin, finish, of = syntax.OpEnter, syntax.OpLeave, ""
		}
		text := strings.NewReplacer("#", fmt.Sprintf("atomicity_%d_", i), "$", "`"+c.Func.Text+"`", "BEGIN", begin.String(), "FINISH", finish.String()).Replace(atomicText)
		f, _ := syntax.Parse(syntax.NewSource("check "+name, text))
		for _, d := range f.Decls {
			if e, ok := d.(*syntax.Event); ok { // what is wrong with it is wrong where the user wrote it
				e.Pattern.Func.Span = c.Func.Span
			}
			if m, ok := d.(*syntax.MTTL); ok {
				m.Name = syntax.Name{Text: name, Span: c.Analysis.Span}
				m.Message = &syntax.Text{Text: "another thread saw the inside of " + of + c.Func.Text}
			}
		}
		more = append(more, f.Decls...)
	}
	return more
}

// blockOf returns the events of entering and leaving the block of a formula that is of a request for atomicity; nil if it is
// another formula.
func (r *resolver) blockOf(f *Formula) *[2]int {
	if !f.Ready {
		return nil
	}
	block := [2]int{-1, -1}
	for _, i := range f.Events {
		switch name := r.Events[i].Name; {
		case strings.HasSuffix(name, "_enter"):
			block[0] = i
		case strings.HasSuffix(name, "_leave"):
			block[1] = i
		}
	}
	if block[0] < 0 || block[1] < 0 {
		return nil
	}
	return &block
}
