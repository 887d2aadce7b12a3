package dwarf

import (
	"debug/dwarf"
	"testing"

	"github.com/tracepredict/tracepredict/internal/testtool"
)

// TestSkimmer checks that the Skimmer returns, for each unit, the entries that the standard library
// reads.
func TestSkimmer(t *testing.T) {
	for _, v := range []struct {
		compiler, source string
		flags            []string
	}{
		{"gcc", "sample.c", []string{"-g"}}, {"gcc", "sample.c", []string{"-gdwarf-4"}}, {"gcc", "sample.c", []string{"-gdwarf-2"}},
		{"gcc", "sample.c", []string{"-gdwarf-5", "-gdwarf64"}}, {"g++", "sample.cc", []string{"-g"}}, {"g++", "sample.cc", []string{"-g", "-gz"}},
	} {
		t.Run(v.source+v.flags[len(v.flags)-1], func(t *testing.T) {
			testtool.Need(t, v.compiler)
			f := open(t, build(t, v.compiler, v.source, v.flags...))
			data, err := Of(f).Data()
			if err != nil {
				t.Fatal(err)
			}
			info, err := Of(f).Section("info")
			if err != nil {
				t.Fatal(err)
			}
			abbrev, err := Of(f).Section("abbrev")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, u := range units(info) {
				n += skimUnit(t, data, info, abbrev, u)
			}
			if n < 100 {
				t.Errorf("%d entries", n)
			}
		})
	}
}

func skimUnit(t *testing.T, data *dwarf.Data, info, abbrev []byte, u Unit) (n int) {
	_, read := AbbreviationsOf(abbrev, u)
	if read == nil {
		t.Fatalf("no abbreviations of the unit at 0x%x", u.Start)
	}
	s := NewSkimmer(info, u, read())
	r := data.Reader()
	r.Seek(u.Entry)
	for {
		got, ok := s.Next()
		if s.Failed() {
			t.Fatalf("entry 0x%x fails", got.Offset)
		}
		if !ok {
			return n
		}
		n++
		want, err := r.Next()
		if err != nil || want == nil || want.Tag != got.Tag || want.Tag != 0 && (want.Offset != got.Offset || want.Children != got.Children) {
			t.Fatalf("%+v, want %+v, %v", got, want, err)
		}
		if declared, _ := want.Val(dwarf.AttrDeclaration).(bool); declared != got.Declared {
			t.Fatalf("entry 0x%x: declared %v", got.Offset, got.Declared)
		}
		if at, _ := want.Val(dwarf.AttrSibling).(dwarf.Offset); at != 0 && int(at-u.Start) != got.sibling || at == 0 && got.sibling != 0 {
			t.Fatalf("entry 0x%x: sibling 0x%x, want 0x%x", got.Offset, got.sibling, at)
		}
	}
}
