package elf

import (
	"errors"
	"testing"
)

// readDebugSections reads all sections of debug information of the file itself.
func readDebugSections(f *File) error {
	var all error
	for _, name := range []string{"info", "line", "frame"} {
		for _, s := range f.DebugSections(name) {
			_, err := f.SectionData(s)
			all = errors.Join(all, err)
		}
	}
	return all
}

func TestInternalNamesOfGlibc(t *testing.T) {
	f := open(t, systemLibrary(t))
	if f.DebugPath() == "" {
		t.Skip("install libc6-dbg")
	}
	all, err := f.DebugSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "__pthread_mutex_lock_full" {
			return
		}
	}
	t.Errorf("__pthread_mutex_lock_full is not among %d symbols", len(all))
}
