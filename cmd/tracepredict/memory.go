package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"

	"golang.org/x/sys/unix"
)

const (
	// memoryShare is the part of the machine's memory that the tool may use: a quarter. The rest is the program's.
	memoryShare = 4
	// leastMemory is what it may use on any machine, in bytes: the ring buffer and the kept events need it.
	leastMemory = 512 << 20
)

// limitMemory makes the garbage collector keep the memory of the tool to its share, as far as it can, unless the user
// says how much it may use (GOMEMLIMIT).
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := memoryLimit(); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit returns how much memory the tool may use, in bytes; 0 if the machine's memory is not known.
func memoryLimit() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return max(int64(info.Totalram)*int64(info.Unit)/memoryShare, leastMemory)
}

// memoryFull reports whether what the tool keeps needs so much of its memory that the garbage collector would do
// nothing else soon.
func memoryFull() bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	limit := debug.SetMemoryLimit(-1) // which only returns it
	return live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > uint64(limit)/4*3
}
