package probes

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/plancache"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// BenchmarkPlan plans programs and libraries of the machine, each in a newly opened file: the time
// for which the start of an observed program waits, except for attaching.
func BenchmarkPlan(b *testing.B) {
	for _, pattern := range []string{
		"/usr/bin/redis-server", "/usr/bin/memcached",
		"/usr/lib/*/libc.so.6", "/usr/lib/*/libcrypto.so.3", "/usr/lib/*/libgcrypt.so.20", "/usr/lib/*/libsystemd.so.0",
	} {
		b.Run(filepath.Base(pattern), func(b *testing.B) { planEach(b, pattern, Options{}) })
	}
}

// BenchmarkPlanShared plans programs with all accesses of their code, and with those of variables only.
func BenchmarkPlanShared(b *testing.B) {
	for _, pattern := range []string{
		"/usr/bin/redis-server", "/usr/bin/memcached", "/usr/sbin/nginx", "/usr/sbin/mariadbd", "/usr/bin/pbzip2", "/usr/bin/gdb",
	} {
		b.Run("static/"+filepath.Base(pattern), func(b *testing.B) { planEach(b, pattern, Options{Shared: true, Lives: true}) })
		b.Run("all/"+filepath.Base(pattern), func(b *testing.B) {
			planEach(b, pattern, Options{Shared: true, Pointers: true, Lives: true})
		})
	}
}

// BenchmarkPlanCached takes plans of earlier runs from the cache.
func BenchmarkPlanCached(b *testing.B) {
	tool, err := plancache.Tool()
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{"/usr/bin/redis-server", "/usr/sbin/mariadbd", "/usr/bin/gdb", "/usr/lib/*/libc.so.6"} {
		b.Run(filepath.Base(pattern), func(b *testing.B) {
			planEach(b, pattern, Options{Shared: true, Pointers: true, Lives: true, Cache: cache(b), Tool: tool})
		})
	}
}

// planEach plans the file that a pattern matches again and again. It reports the processor time for a plan, and for
// each MB of the file.
func planEach(b *testing.B, pattern string, opts Options) {
	table, err := synctab.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	at, _ := filepath.Glob(pattern)
	if len(at) == 0 {
		b.Skip("this machine has no " + pattern)
	}
	opts.Table, opts.Atomics, opts.Terse = table, true, true
	if opts.Cache != nil {
		planFile(b, at[0], opts)
	}
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for b.Loop() {
		planFile(b, at[0], opts)
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	st, err := os.Stat(at[0])
	if err != nil {
		b.Fatal(err)
	}
	cpu := time.Duration(after.Utime.Nano()-before.Utime.Nano()).Seconds() / float64(b.N)
	b.ReportMetric(cpu, "cpu-s/op")
	b.ReportMetric(1e3*cpu/(float64(st.Size())/1e6), "cpu-ms/MB")
}

func planFile(b *testing.B, path string, opts Options) {
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := NewPlanner(opts).Plan(f); err != nil {
		b.Fatal(err)
	}
}
