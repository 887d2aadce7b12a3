package main

import (
	"math"
	"os"
	"testing"
)

// TestParseMemory checks the sizes that --memory takes.
func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"auto": 0, "": 0, "512M": 512 << 20, "4G": 4 << 30, "4GiB": 4 << 30, "1T": 1 << 40, "65536K": 64 << 20, "67108864": 64 << 20, "64MB": 64 << 20,
	} {
		if got, err := parseMemory(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"4X", "G", "-4G", "4.5G", "63M", "0", "99999999T", "4GG", "4iG", "many"} {
		if got, err := parseMemory(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestCgroupMemory checks that the least limit of a control group and those around it counts, in both versions of
// cgroups.
func TestCgroupMemory(t *testing.T) {
	read := func(name string) ([]byte, error) {
		text, ok := map[string]string{
			"/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "1000\n", "/sys/fs/cgroup/c/memory.max": "max\n",
			"/sys/fs/cgroup/memory/d/memory.limit_in_bytes": "500\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}[name]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	for own, want := range map[string]int64{
		"0::/a/b\n": 1000, "0::/a\n": 1000, "0::/c\n": math.MaxInt64, "0::/\n": math.MaxInt64, "": math.MaxInt64,
		"5:memory:/d\n0::/\n": 500, "4:cpu,cpuacct:/a\n": math.MaxInt64,
	} {
		if got := cgroupMemory(own, read); got != want {
			t.Errorf("%q: %d, want %d", own, got, want)
		}
	}
}

// TestShareOf checks that the tool takes a quarter, more of a small machine, but never all.
func TestShareOf(t *testing.T) {
	for machine, want := range map[int64]int64{16 << 30: 4 << 30, 2 << 30: 512 << 20, 1 << 30: 512 << 20, 256 << 20: 128 << 20} {
		if got := shareOf(machine); got != want {
			t.Errorf("of %d: %d, want %d", machine, got, want)
		}
	}
}

// TestMemoryWatch checks that memory does not count as full between the moment when the analyses were told to keep
// less and the next garbage collections, unless they were told so often in vain.
func TestMemoryWatch(t *testing.T) {
	half, full, done := false, false, uint64(0)
	m := &memoryWatch{half: func() bool { return half }, full: func() bool { return full }, done: func() uint64 { return done }}
	if m.shrink() || m.over() {
		t.Error("full too early")
	}
	half = true
	if m.over() || !m.shrink() || m.shrink() {
		t.Error("half is not enough to keep less, or twice before a garbage collection")
	}
	full = true
	for range patienceFull - 1 {
		for range 2 * patienceFull {
			if m.over() {
				t.Error("used up before the analyses kept less often enough")
			}
		}
		done++
		m.shrink()
	}
	if !m.over() {
		t.Error("not used up although it is full after each garbage collection")
	}
	if full = false; m.over() {
		t.Error("used up although it is not full any more")
	}
	full = true
	for range patience {
		done++
		m.shrink()
	}
	if !m.over() {
		t.Error("told in vain for ever")
	}
	half, full = false, false
	if done++; m.shrink() || m.over() {
		t.Error("full for ever")
	}
	half, full = true, true
	if !m.shrink() || m.over() {
		t.Error("the patience did not begin anew")
	}
}
