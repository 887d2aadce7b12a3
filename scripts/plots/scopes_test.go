package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestScopesAreDrawn draws a table that lacks a way, and says what is wrong with others.
func TestScopesAreDrawn(t *testing.T) {
	c := config{output: t.TempDir(), form: "svg"}
	table := filepath.Join(c.output, "scopes.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const head = "figure,x,way,us,least,most,records\n"
	const rows = head + "readers,1,plain,0.1,0.1,0.1,0\nreaders,1,user,0.2,0.2,0.2,9\nreaders,3,plain,0.3,0.1,0.1,0\nreaders,3,user,0.2,0.2,0.2,9\n" +
		"cwidth,1,plain,0.1,0.1,0.1,0\ncwidth,1,user,0.2,0.2,0.2,9\ncwidth,5,plain,0.1,0.1,0.1,0\ncwidth,5,user,0.2,0.2,0.2,9\n"
	write(rows + "programs,ping-pong,plain,0.1,0.1,0.1,0\nprograms,ping-pong,user,0.2,0.2,0.2,9\n")
	if err := c.scopes(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scopes-readers", "scopes-cwidth", "scopes-records", "scopes-programs"} {
		if info, err := os.Stat(filepath.Join(c.output, name+".svg")); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	for _, bad := range []string{"", head, head + "readers,1,plain,x,0,0,0\n", rows + "programs,ping-pong,plain,0,0,0,0\n"} {
		write(bad)
		if err := c.scopes(); err == nil {
			t.Errorf("%q is drawn", bad)
		}
	}
}
