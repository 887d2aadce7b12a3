package variable

import (
	"debug/dwarf"
	"fmt"

	dw "github.com/tracepredict/tracepredict/probes/dwarf"
)

// walk calls visit for every entry with its unit and the scope that encloses it. An error in the
// program's own part is returned. An error in another part is added to missing as a sentence.
func (x *index) walk(visit dw.Visit[*dw.Scope]) error {
	for i := range x.Parts {
		err := dw.Walk(x.Tree, &x.Parts[i], visit)
		switch {
		case err != nil && i == 0:
			return fmt.Errorf("read debug information: %w", err)
		case err != nil:
			x.missing = append(x.missing, fmt.Sprintf("part of the debug information of %s is not read: %v", x.file.Name(), err))
		}
	}
	return nil
}

// define finds the types that are defined somewhere, and those that are only declared.
func (x *index) define() *dw.Definitions {
	d := dw.NewDefinitions()
	_ = x.walk(func(e *dwarf.Entry, u *dw.CompileUnit, in *dw.Scope) (*dw.Scope, error) {
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
			s := x.structScope(e, in)
			if s.Name != "" && !in.InFunction() {
				d.Add(e, qualified(x.path(s, nil)))
			}
			return s, nil
		case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagSubprogram:
			if s := x.scopes[e.Offset]; s != nil {
				return s, nil
			}
		}
		return in, nil
	})
	return d
}

// definition returns the offset of the type that defines a declaration; 0 if there is none.
func (x *index) definition(declared *dw.Type) dwarf.Offset {
	if x.defs == nil {
		x.defs = x.define()
	}
	if t := x.TypeAt(x.defs.Of(declared.Offset)); t != nil && t.Tag == declared.Tag {
		return t.Offset
	}
	return 0
}
