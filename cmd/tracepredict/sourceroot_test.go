package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSources: a name that is relative to where the compiler ran is found below the root, if it can be only one file.
func TestSources(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"src/a.c", "lib/b.c", "test/b.c", "c.c", "deep/c.c", ".git/d.c"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newSources(root)
	for name, want := range map[string]string{
		"src/a.c": "src/a.c", "a.c": "src/a.c", "../src/a.c": "src/a.c", "../a.c": "src/a.c",
		"b.c": "", "lib/b.c": "lib/b.c", "../lib/b.c": "lib/b.c",
		"c.c": "c.c", "deep/c.c": "deep/c.c", "d.c": "", "nptl/x.c": "", "rc/a.c": "",
	} {
		if got := s.locate(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	t.Chdir(filepath.Join(root, "src"))
	if got := newSources("").root; got != root {
		t.Errorf("the repository is %s, want %s", got, root)
	}
}
