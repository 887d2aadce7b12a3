package elf

import (
	"slices"
	"testing"
)

// inFunction returns the kinds of sites in the function of that name.
func inFunction(f *File, u Unseen, name string) map[UnseenKind][]string {
	out := map[UnseenKind][]string{}
	for _, s := range f.Lookup(name) {
		for _, site := range u.Sites {
			if site.Func.Contains(s.Addr) {
				out[site.What] = append(out[site.What], site.Callee)
			}
		}
	}
	return out
}

func TestUnseenOrdering(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, path string) {
		if v.source != "sample.c" || v.name == "stripped" {
			t.Skip("another fixture")
		}
		f := open(t, path)
		u, err := f.UnseenSync()
		if err != nil {
			t.Fatal(err)
		}
		if !v.static && len(u.Unknown) > 0 {
			t.Errorf("not decoded: %v", u.Unknown)
		}
		if got := inFunction(f, u, "atomic_part"); len(got[UnseenAtomic]) != 1 {
			t.Errorf("atomic_part: %v", got)
		}
		if got := inFunction(f, u, "by_hand"); len(got[UnseenSyscall]) != 1 {
			t.Errorf("by_hand: %v", got)
		}
		if v.static {
			return // syscall is code of its own there
		}
		if got := inFunction(f, u, "by_library"); !slices.Equal(got[UnseenSyscall], []string{"syscall"}) {
			t.Errorf("by_library: %v", got)
		}
		if !slices.Equal(u.Imports, []string{"syscall"}) {
			t.Errorf("imports: %v", u.Imports)
		}
	})
}

func TestNothingUnseen(t *testing.T) {
	u, err := open(t, build(t, "gcc", "plain.c")).UnseenSync()
	if err != nil || len(u.Sites)+len(u.Imports)+len(u.Unknown) != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestReusesDescriptors(t *testing.T) {
	for _, c := range []struct {
		compiler, source string
		flags            []string
		want             bool
	}{
		{"gcc", "descriptors.c", []string{"-DSTARTS", "-DCLOSES", "-pthread"}, true},
		{"gcc", "descriptors.c", []string{"-DCLOSES", "-pthread"}, false},
		{"gcc", "descriptors.c", []string{"-DSTARTS", "-pthread"}, false},
		{"g++", "descriptors.cc", []string{"-O2", "-pthread"}, true},
	} {
		if got := open(t, build(t, c.compiler, c.source, c.flags...)).ReusesDescriptors(); got != c.want {
			t.Errorf("%s %v: %v", c.source, c.flags, got)
		}
	}
}
