package main

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// memoryShare is the part of the machine's memory that the tool may use: a quarter. The rest is the program's.
	memoryShare = 4
	// leastMemory is what it may use on any machine that has twice as much, in bytes: the ring buffer and the kept
	// events need it.
	leastMemory = 512 << 20
	// leastChosen is the least that --memory can choose.
	leastChosen = 64 << 20
	memoryAuto  = "auto"
)

// parseMemory returns the number of bytes that --memory says; 0 for auto.
func parseMemory(text string) (int64, error) {
	if text == memoryAuto || text == "" {
		return 0, nil
	}
	digits := strings.TrimRight(text, "KMGTiB")
	shift, known := map[string]int{"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "B"), "i")]
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || !known || n < 0 || n > math.MaxInt64>>shift:
		return 0, usage("--memory %s: it is a size such as 512M or 4G, or %s", text, memoryAuto)
	case n<<shift < leastChosen:
		return 0, usage("--memory %s: it is at least %dM", text, leastChosen>>20)
	}
	return n << shift, nil
}

// limitMemory makes the garbage collector keep the memory of the tool to what parseMemory returned for --memory, as far
// as it can. For auto that is its share, unless the user says otherwise (GOMEMLIMIT).
func limitMemory(limit int64) {
	if limit == 0 && os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit == 0 {
		limit = memoryLimit()
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit returns how much memory the tool may use, in bytes; 0 if the machine's memory is not known.
func memoryLimit() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	own, _ := os.ReadFile("/proc/self/cgroup")
	return shareOf(min(int64(info.Totalram)*int64(info.Unit), cgroupMemory(string(own), os.ReadFile)))
}

// shareOf returns how much of so much memory the tool may use.
func shareOf(machine int64) int64 { return max(machine/memoryShare, min(leastMemory, machine/2)) }

// cgroupMemory returns the least limit of the control group that /proc/self/cgroup names, and of those around it;
// MaxInt64 if there is none.
func cgroupMemory(own string, read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(own) {
		for root, file := range map[string]string{"0::": "/sys/fs/cgroup%memory.max", ":memory:": "/sys/fs/cgroup/memory%memory.limit_in_bytes"} {
			_, group, ok := strings.Cut(strings.TrimSpace(line), root)
			for ; ok && group != ""; group = path.Dir(group) {
				text, err := read(strings.Replace(file, "%", path.Join("/", group)+"/", 1))
				if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
					least = min(least, n)
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return least
}

// findingsShare and namesShare are the parts of the memory of the tool that findings may need before they are printed, and
// names of a trace that can be read again.
const (
	findingsShare = 8
	namesShare    = 16
)

// memoryForFindings returns how much memory findings may need, in bytes; 0 if there is no limit.
func memoryForFindings() uint64 { return memoryPart(findingsShare) }

// memoryForNames returns how much memory names of a trace may need that can be read again, in bytes; 0 if there is no
// limit.
func memoryForNames() uint64 { return memoryPart(namesShare) }

// memoryPart returns such a part of the memory of the tool, in bytes; 0 if there is no limit.
func memoryPart(share uint64) uint64 {
	limit := debug.SetMemoryLimit(-1) // which only returns it
	if limit == math.MaxInt64 {
		return 0
	}
	return uint64(limit) / share
}

// memoryHalf reports whether what the tool keeps needs half of its memory. The other half is for what is garbage before
// the next garbage collection.
func memoryHalf() bool { return memoryAbove(4) }

// memoryFull reports whether what the tool keeps needs so much of its memory that the garbage collector would do
// nothing else soon.
func memoryFull() bool { return memoryAbove(7) }

// memoryAbove reports whether what the tool keeps needs more than so many eighths of its memory.
func memoryAbove(eighths uint64) bool {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	limit := debug.SetMemoryLimit(-1) // which only returns it
	return live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > uint64(limit)/8*eighths
}

// memoryWatch tells the analyses to keep less when half of the memory is used. What that frees is only known after the next
// garbage collection, so until then memory does not count as full. It is safe for concurrent use.
type memoryWatch struct {
	half func() bool   // memoryHalf
	full func() bool   // memoryFull
	done func() uint64 // garbage collections so far

	mu    sync.Mutex // guards the fields below
	asked bool
	at    uint64 // garbage collections at the time when the analyses were last told
	vain  int    // how often they were told in a row although they had kept less before
	found int    // how often in a row memory was found full after another garbage collection
	last  uint64 // garbage collections when it was found so last
}

// patienceFull is the number of garbage collections after which memory has to be found full before it counts as used up:
// the analyses keep less after each.
const patienceFull = 4

// patience is the number of times that the analyses are told in a row to keep less before memory counts as used up.
const patience = 12

func newMemoryWatch() *memoryWatch {
	return &memoryWatch{half: memoryHalf, full: memoryFull, done: collections}
}

// collections returns the number of garbage collections so far.
func collections() uint64 {
	n := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(n)
	if n[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return n[0].Value.Uint64()
}

// shrink reports whether the analyses are to keep less; engine.Options.Full.
func (m *memoryWatch) shrink() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.known():
		return false
	case !m.half():
		m.vain = 0
		return false
	}
	m.asked, m.at = true, m.done()
	m.vain++
	return true
}

// over reports whether memory is full although the analyses keep less.
func (m *memoryWatch) over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch done := m.done(); {
	case !m.full():
		m.found = 0
	case m.found == 0 || done > m.last:
		m.found, m.last = m.found+1, done
	}
	return m.found >= patienceFull || m.found > 0 && m.vain > patience
}

// known reports whether what the analyses keep is known.
func (m *memoryWatch) known() bool { return !m.asked || m.done() > m.at }
