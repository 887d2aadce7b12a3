package probes

import (
	"path/filepath"
	"testing"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// BenchmarkPlan plans programs and libraries of the machine, each in a newly opened file: the time
// for which the start of an observed program waits, except for attaching.
func BenchmarkPlan(b *testing.B) {
	table, err := synctab.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{
		"/usr/bin/redis-server", "/usr/bin/memcached",
		"/usr/lib/*/libc.so.6", "/usr/lib/*/libcrypto.so.3", "/usr/lib/*/libgcrypt.so.20", "/usr/lib/*/libsystemd.so.0",
	} {
		at, _ := filepath.Glob(pattern)
		b.Run(filepath.Base(pattern), func(b *testing.B) {
			if len(at) == 0 {
				b.Skip("this machine has no " + pattern)
			}
			for b.Loop() {
				planFile(b, at[0], table)
			}
		})
	}
}

func planFile(b *testing.B, path string, table synctab.Table) {
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := NewPlanner(Options{Table: table, Atomics: true}).Plan(f); err != nil {
		b.Fatal(err)
	}
}
