package probes

import (
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/synctab"
)

// creators are functions of libraries that create threads, besides those of the table of synchronisation calls:
// what their names begin with.
var creators = []string{
	"_ZNSt6thread15_M_start_thread", // std::thread, std::async
	"_ZN5boost6thread", "_ZN7QThread", "_ZN11QThreadPool", "_ZN3tbb",
	"clone", "GOMP_parallel", "__kmpc_fork_call", "g_thread_", "g_task_run_in_thread", "uv_thread_create", "uv_queue_work",
	"apr_thread_create", "SDL_CreateThread", "timer_create", "aio_", "getaddrinfo_a",
}

// createsThreads reports whether the code of a file creates threads, as far as the functions tell that it imports.
// One that is statically linked may.
func createsThreads(f *elf.File, table synctab.Table) bool {
	return f.Static() || slices.ContainsFunc(f.Undefined(), func(name string) bool {
		e, known := table.Match(name, "")
		return known && e.Op == bpf.OpCreate || slices.ContainsFunc(creators, func(c string) bool { return strings.HasPrefix(name, c) })
	})
}
