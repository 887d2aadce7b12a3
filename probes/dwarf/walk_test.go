package dwarf

import (
	"debug/dwarf"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// TestScopesAreThoseOfMangledNames checks the scopes of functions and variables against their
// mangled names.
func TestScopesAreThoseOfMangledNames(t *testing.T) {
	eachFixture(t, func(t *testing.T, f *elf.File) {
		tree, err := Of(f).Tree()
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		err = Walk(tree, &tree.Parts[0], func(e *dwarf.Entry, u *CompileUnit, in *Scope) (*Scope, error) {
			got, mangled := in.Qualify(Name(e), AnonymousNamespace), Text(e, dwarf.AttrLinkageName)
			want, err := demangle.ToString(mangled, demangle.NoParams)
			// Compilers and demanglers write template arguments and operators in different ways. A
			// name of _ZZ is local to a function, whose entry may state no name.
			if err == nil && Name(e) != "" && !strings.HasPrefix(mangled, "_ZZ") && !strings.ContainsAny(got, "<>") && !strings.Contains(got, "operator") {
				if names++; got != want {
					t.Errorf("%s is %s, not %s", mangled, got, want)
				}
			}
			return ScopeOf(e, in), nil
		})
		if err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(f.Name(), "cc") && names < 20 {
			t.Errorf("%d names", names)
		}
	})
}

func TestStorageOfBitFields(t *testing.T) {
	for _, c := range []struct {
		base, bit, bits int64
		want            Storage
		ok              bool
	}{
		{0, 3, 5, Storage{0, 1, 3}, true}, {0, 5, 5, Storage{0, 2, 5}, true}, {16, 7, 2, Storage{16, 2, 7}, true}, {1, 7, 2, Storage{0, 4, 15}, true},
		{0, 60, 8, Storage{7, 8, 4}, true}, {0, 60, 61, Storage{7, 8, 4}, false}, {8, 0, 64, Storage{8, 8, 0}, true},
	} {
		if got, ok := StorageOf(c.base, c.bit, c.bits); got != c.want || ok != c.ok {
			t.Errorf("%d bits at bit %d from %d: %v, %v; want %v, %v", c.bits, c.bit, c.base, got, ok, c.want, c.ok)
		}
	}
}
