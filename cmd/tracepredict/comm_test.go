package main

import "testing"

// TestNamesFile checks when the kernel's name of a process is that of its file.
func TestNamesFile(t *testing.T) {
	for _, c := range []struct {
		comm, program string
		want          bool
	}{
		{"redis-server", "/usr/bin/redis-server", true},
		{"a-long-file-nam", "/usr/bin/a-long-file-name", true},
		{"a-long-file-name", "/usr/bin/a-long-file-name", false}, // no kernel's name is that long
		{"redis", "/usr/bin/redis-server", false},
		{"redis-server", "/usr/bin/redis", false},
		{"", "/usr/bin/redis-server", false},
	} {
		if got := namesFile(c.comm, c.program); got != c.want {
			t.Errorf("%s of %s: %v", c.comm, c.program, got)
		}
	}
}
