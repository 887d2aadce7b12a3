package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leftOutNote begins the note about a library whose locks were left out, and askedNote that about one of --not-module.
const (
	leftOutNote = "the mutexes and spin locks that the code of library.so takes were observed for the first"
	askedNote   = "the mutexes and spin locks that the code of library.so takes were not observed"
)

// TestLeftOut observes a library that takes locks all the time: they are left out where the library takes them for itself
// alone, and what the program does with its own locks and data is found as before, with nothing more.
func TestLeftOut(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "leftout.c", "-O1", "-pthread", "-ldl")
	library := filepath.Join(t.TempDir(), "library.so")
	copyFile(t, build(t, "gcc", "leftout_lib.c", "-O1", "-s", "-shared", "-fPIC"), library)
	described := filepath.Join(t.TempDir(), "library.so")
	copyFile(t, build(t, "gcc", "leftout_lib.c", "-O1", "-g", "-shared", "-fPIC"), described)
	const long, short = "30", "2" // seconds
	own := []string{"deadlock of a, b", "race of bare"}
	for name, c := range map[string]struct {
		way, length, library string
		flags                []string
		note                 string
		found                []string
	}{
		"in one function":          {"direct", long, library, nil, leftOutNote, own},
		"by functions of its own":  {"wrapped", long, library, nil, leftOutNote, own},
		"for its users":            {"api", short, library, nil, "", append([]string{"deadlock of library.so, library.so"}, own...)},
		"around code of its users": {"call", short, library, nil, "", own},
		"while another waits":      {"waits", short, library, nil, "", nil},
		"with debug information":   {"direct", short, described, []string{"--watch-shared=off"}, "", own[:1]},
		"to be kept":               {"direct", short, library, []string{"--not-module", "none"}, "", own},
		"not wanted":               {"direct", long, library, []string{"--not-module", "lib*.so"}, askedNote, []string{"likely deadlock of a, b", "likely race of bare"}},
		"not wanted, around users": {"call", short, library, []string{"--not-module", "library.so"}, askedNote, []string{"likely deadlock of a, b", "likely race of bare", "likely race of called"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := reported(t, slices.Concat([]string{"exec", "--history", "1000000"}, c.flags, []string{"--", program, c.library, c.way, c.length})...)
			noted := slices.IndexFunc(r.Run.Notes, func(n string) bool {
				return strings.HasPrefix(n, leftOutNote) || strings.HasPrefix(n, askedNote)
			})
			switch {
			case noted < 0 && c.note != "", noted >= 0 && (c.note == "" || !strings.HasPrefix(r.Run.Notes[noted], c.note)):
				t.Errorf("notes: %q", r.Run.Notes)
			}
			var got []string
			for _, f := range r.Findings {
				objects := slices.Sorted(slices.Values(f.Objects))
				for i, name := range objects {
					objects[i], _, _ = strings.Cut(name, "+")
				}
				if f.Confidence != "likely" {
					f.Confidence = "" // which it is depends on how the threads ran
				}
				got = append(got, strings.TrimSpace(f.Confidence+" "+f.Kind)+" of "+strings.Join(objects, ", "))
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(c.found)); !slices.Equal(got, want) {
				t.Errorf("%q, want %q (%q)", got, want, r.Run.Notes)
			}
		})
	}
}

// TestLeftOutNotTheProgram observes a program without debug information that takes locks all the time: it is what the user
// asks about.
func TestLeftOutNotTheProgram(t *testing.T) {
	needBPF(t)
	t.Parallel()
	program := build(t, "gcc", "leftout_own.c", "-O1", "-s", "-pthread")
	_, r := reported(t, "exec", "--", program, "4")
	if slices.ContainsFunc(r.Run.Notes, func(n string) bool { return strings.Contains(n, "mutexes and spin locks that the code of") }) {
		t.Errorf("notes: %q", r.Run.Notes)
	}
}
