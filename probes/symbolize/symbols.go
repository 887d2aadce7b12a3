package symbolize

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/tracepredict/tracepredict/probes/elf"
)

// symbolIndex maps addresses to symbols.
type symbolIndex struct {
	functions, objects []elf.Symbol   // sorted by address, the best name of each address first
	stems              map[string]int // number of objects by stem of their names
}

func indexSymbols(all []elf.Symbol) symbolIndex {
	x := symbolIndex{stems: map[string]int{}}
	for _, s := range all {
		switch s.Kind {
		case elf.Func, elf.IFunc:
			x.functions = append(x.functions, s)
		case elf.Object:
			x.objects = append(x.objects, s)
		}
	}
	slices.SortFunc(x.functions, compareSymbols)
	slices.SortFunc(x.objects, compareSymbols)
	for i, s := range x.objects {
		if i == 0 || x.objects[i-1].Addr != s.Addr {
			x.stems[stem(s.Name)]++
		}
	}
	return x
}

// compareSymbols compares by address, then prefers the name that a user knows best: exported, not
// local, with few leading underscores, short.
func compareSymbols(a, b elf.Symbol) int {
	return cmp.Or(
		cmp.Compare(a.Addr, b.Addr),
		-cmp.Compare(btoi(a.Size > 0), btoi(b.Size > 0)),
		-cmp.Compare(btoi(a.Dynamic), btoi(b.Dynamic)),
		cmp.Compare(btoi(a.Local), btoi(b.Local)),
		cmp.Compare(underscores(a.Name), underscores(b.Name)),
		cmp.Compare(len(a.Name), len(b.Name)),
		cmp.Compare(a.Name, b.Name),
	)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// underscores returns the number of leading underscores; those of a mangled name do not count.
func underscores(s string) int {
	if mangled(s) {
		return 0
	}
	return len(s) - len(strings.TrimLeft(s, "_"))
}

// mangled reports whether a name is a mangled name of C++ or Rust.
func mangled(s string) bool { return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") }

// maxNested bounds the number of symbols before an address that are examined: symbols inside others
// (assembly entry points) are few.
const maxNested = 64

// containing returns the symbol with the highest start that contains addr.
func containing(symbols []elf.Symbol, addr uint64) *elf.Symbol {
	i := above(symbols, addr)
	var best *elf.Symbol
	for n := 0; i > 0 && n < maxNested; n++ {
		i--
		s := &symbols[i]
		if best != nil && s.Addr < best.Addr {
			break
		}
		if addr-s.Addr < s.Size {
			best = s
		}
	}
	return best
}

// above returns the index of the first symbol that starts after addr.
func above(symbols []elf.Symbol, addr uint64) int {
	return sort.Search(len(symbols), func(i int) bool { return symbols[i].Addr > addr })
}

// function returns the symbol that contains addr, else the nearest before it in the same function.
// In a stripped binary, any other nearby symbol would be wrong.
func (x symbolIndex) function(addr uint64, f *elf.File) *elf.Symbol {
	if s := containing(x.functions, addr); s != nil {
		return s
	}
	extent, ok := f.FunctionAt(addr)
	i := above(x.functions, addr)
	if !ok || i == 0 {
		return nil
	}
	at := x.functions[i-1].Addr
	for i > 0 && x.functions[i-1].Addr == at {
		i--
	}
	if at < extent.Lo {
		return nil
	}
	return &x.functions[i]
}

// exported returns the public name of the function at start if the compiler used another one: glibc
// defines pthread_mutex_lock as ___pthread_mutex_lock. So names are the same with and without debug
// files.
func (x symbolIndex) exported(start uint64, linkage string) (string, bool) {
	name := ""
	for i := above(x.functions, start); i > 0 && x.functions[i-1].Addr == start; i-- {
		s := x.functions[i-1]
		if s.Name == linkage && s.Dynamic {
			return "", false
		}
		if s.Dynamic {
			name = s.Name // the best name of an address is first in the index, so it is reached last here
		}
	}
	return name, name != ""
}

func (x symbolIndex) object(addr uint64) *elf.Symbol { return containing(x.objects, addr) }

// dataName returns the source's name of a data symbol. gcc renames a static "n" of a C function to
// "n.0"; if several objects would then have one name, they keep their numbers.
func (x symbolIndex) dataName(s string) string {
	if short := stem(s); short != s && x.stems[short] == 1 {
		return short
	}
	return demangled(s)
}

// stem returns a name without a trailing ".number".
func stem(s string) string {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || mangled(s) || strings.Trim(s[i+1:], "0123456789") != "" {
		return s
	}
	return s[:i]
}

// maxDemangled bounds the length of a demangled name, as a power of two: mangled names can expand
// exponentially.
const maxDemangled = 14

// cloneSuffixes are the suffixes that compilers append to the names of parts and copies of a
// function.
var cloneSuffixes = [...]string{".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".localalias"}

// demangled returns the source's form of a linked name.
func demangled(name string) string {
	if !strings.HasPrefix(name, "_") || len(name) > elf.MaxMangled {
		return withoutClone(name)
	}
	if s, err := demangle.ToString(name, demangle.NoClones, demangle.MaxLength(maxDemangled)); err == nil {
		return s
	}
	return withoutClone(name)
}

func withoutClone(name string) string {
	for _, s := range cloneSuffixes {
		if i := strings.Index(name, s); i > 0 {
			name = name[:i]
		}
	}
	return name
}
