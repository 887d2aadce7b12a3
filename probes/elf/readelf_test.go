package elf

import (
	"bufio"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readelfSymbol is a line of `readelf -sW`:
// 12: 0000000000001139    22 FUNC    GLOBAL DEFAULT   14 main@@V
type readelfSymbol struct {
	Addr, Size    uint64
	Type          string
	Local         bool
	Name, Version string
	Dynamic       bool
}

var symbolLine = regexp.MustCompile(`^\s*\d+: ([0-9a-f]+)\s+(\d+|0x[0-9a-f]+) (\w+)\s+(\w+)\s+\w+\s+(?:\[.*\]\s+)?(\w+) (\S+)`)

// readelfSymbols returns the defined symbols of the kinds that Symbol has.
func readelfSymbols(t *testing.T, path string) []readelfSymbol {
	var out []readelfSymbol
	dynamic := false
	for sc := bufio.NewScanner(strings.NewReader(run(t, "readelf", "-sW", path))); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "Symbol table") {
			dynamic = strings.Contains(sc.Text(), "'.dynsym'")
		}
		m := symbolLine.FindStringSubmatch(sc.Text())
		if m == nil || m[5] == "UND" || m[5] == "ABS" || !slices.Contains([]string{"FUNC", "OBJECT", "TLS", "IFUNC"}, m[3]) {
			continue
		}
		addr, _ := strconv.ParseUint(m[1], 16, 64)
		size, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		name, version := splitVersion(m[6])
		out = append(out, readelfSymbol{addr, size, m[3], m[4] == "LOCAL", name, version, dynamic})
	}
	if len(out) == 0 && !strings.HasSuffix(t.Name(), "/stripped") { // it exports nothing
		t.Fatalf("readelf gives no symbols of %s", path)
	}
	return out
}

type symbolKey struct {
	Addr          uint64
	Name, Version string
	TLS           bool
}

func checkSymbols(t *testing.T, path string) {
	f := open(t, path)
	want := map[symbolKey]bool{}
	dynamic := map[symbolKey]bool{}
	for _, s := range readelfSymbols(t, path) {
		k := symbolKey{s.Addr, s.Name, s.Version, s.Type == "TLS"}
		want[k] = true
		dynamic[k] = dynamic[k] || s.Dynamic
	}
	got := map[symbolKey]bool{}
	for _, s := range f.Symbols() {
		k := symbolKey{s.Addr, s.Name, s.Version, s.Kind == TLS}
		if got[k] {
			t.Errorf("given twice: %+v", s)
		}
		got[k] = true
		if want[k] && s.Dynamic != dynamic[k] {
			t.Errorf("Dynamic is wrong: %+v", s)
		}
		if !want[k] && !(s.Kind == Func && s.Size == 0) { // assembly: no type
			t.Errorf("readelf does not have %+v", s)
		}
	}
	for k := range want {
		if !got[k] {
			t.Errorf("missing: %+v", k)
		}
	}
}

func TestSymbolsAreThoseOfReadelf(t *testing.T) {
	eachVariant(t, func(t *testing.T, _ variant, path string) { checkSymbols(t, path) })
	t.Run("glibc", func(t *testing.T) { checkSymbols(t, systemLibrary(t)) })
}

func TestEveryVersionOfASymbol(t *testing.T) {
	f := open(t, systemLibrary(t))
	var versions []string
	addrs := map[uint64]bool{}
	for _, s := range f.Lookup("pthread_cond_wait") {
		versions = append(versions, s.Version)
		addrs[s.Addr] = true
	}
	if f.Arch().String() == "amd64" {
		if diff := cmp.Diff([]string{"GLIBC_2.2.5", "GLIBC_2.3.2"}, sorted(versions)); diff != "" {
			t.Errorf("versions of pthread_cond_wait (-want +got):\n%s", diff)
		}
		if len(addrs) != 2 {
			t.Errorf("addresses %v, want two", addrs)
		}
	}
	if got := f.Lookup("no_such_function"); len(got) != 0 {
		t.Errorf("Lookup of nothing: %v", got)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

var fdeLine = regexp.MustCompile(`FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

func readelfFrames(t *testing.T, path string) []Range {
	var out []Range
	text := run(t, "readelf", "-wNf", path)
	if i := strings.Index(text, "Contents of the .debug_frame"); i >= 0 {
		text = text[:i]
	}
	for _, m := range fdeLine.FindAllStringSubmatch(text, -1) {
		lo, _ := strconv.ParseUint(m[1], 16, 64)
		hi, _ := strconv.ParseUint(m[2], 16, 64)
		if lo < hi {
			out = append(out, Range{lo, hi})
		}
	}
	return out
}

func checkFrames(t *testing.T, path string) {
	f := open(t, path)
	want := readelfFrames(t, path)
	got, err := f.frames()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-readelf +ours):\n%s", diff)
	}
	for _, p := range f.Problems() {
		t.Errorf("problem: %v", p)
	}
	fns := f.Functions()
	for i, r := range fns {
		if r.Lo >= r.Hi || i > 0 && fns[i-1].Hi > r.Lo {
			t.Fatalf("functions %v are not disjoint and sorted", fns[max(i-1, 0):i+1])
		}
	}
	for _, s := range f.Symbols() {
		if (s.Kind == Func || s.Kind == IFunc) && s.Size > 0 {
			if r, ok := f.FunctionAt(s.Addr); !ok || r.Lo > s.Addr {
				t.Errorf("%s at 0x%x: in %v, %v", s.Name, s.Addr, r, ok)
			}
		}
	}
}

func TestFunctionsAreThoseOfReadelf(t *testing.T) {
	eachVariant(t, func(t *testing.T, _ variant, path string) { checkFrames(t, path) })
	t.Run("glibc", func(t *testing.T) { checkFrames(t, systemLibrary(t)) })
}

var pltLine = regexp.MustCompile(`(?m)^([0-9a-f]+) <([^>]+)@plt>:`)

func TestStubsAreThoseOfObjdump(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		f := open(t, path)
		got := f.PLTTargets()
		n := 0
		for _, m := range pltLine.FindAllStringSubmatch(run(t, "objdump", "-d", path), -1) {
			addr, _ := strconv.ParseUint(m[1], 16, 64)
			name, _ := splitVersion(m[2])
			if strings.HasPrefix(name, "*ABS*") {
				continue // an indirect function, which objdump cannot name
			}
			n++
			if got[addr] != name {
				t.Errorf("stub at 0x%x: %q, objdump says %q", addr, got[addr], name)
			}
		}
		if !v.static && n == 0 && v.name != "no-plt" {
			t.Error("objdump shows no stub: nothing was tested")
		}
	})
}

func TestSlotsAreTheImports(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		f := open(t, path)
		slots := map[string]bool{}
		for _, n := range f.GOTSlots() {
			slots[n] = true
		}
		if v.static || v.source != "sample.c" {
			return
		}
		for _, n := range []string{"pthread_mutex_lock", "pthread_create", "syscall"} {
			if !slots[n] || !slices.Contains(f.Undefined(), n) {
				t.Errorf("%s: slot %v, undefined %v", n, slots[n], slices.Contains(f.Undefined(), n))
			}
		}
	})
}
