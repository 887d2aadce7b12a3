package observer

import (
	"slices"
	"strings"
	"testing"
)

// TestEndsOfMemory checks which objects end where memory ends. A block of the size 0x2000 at A holds A
// and B, and not C.
func TestEndsOfMemory(t *testing.T) {
	const use = `
		1 acquire A
		1 release A
		1 acquire C
		1 release C`
	for _, c := range []struct {
		name, records string
		want          []string // all events after the begin
	}{
		{"free", use + `
			1 free A size=0x2000
			1 acquire A
			1 release A
			1 acquire C`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2",
			"T1 destroy A1 inferred freed", "T1 acquire A3", "T1 release A3", "T1 acquire C2"}},
		{"free of both", use + `
			1 free A size=0x2001`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2",
			"T1 destroy A1 inferred freed", "T1 destroy C2 inferred freed"}},
		{"free of a size that is not known", use + `
			1 free A
			1 acquire A`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 acquire A1"}},
		{"mapping", use + `
			1 free A size=0x2000 result=1`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 destroy A1 inferred"}},
		{"memory that was allocated holds nothing of before", use + `
			1 alloc A leave size=0x2000 result=1
			1 acquire A`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 destroy A1 inferred", "T1 acquire A3"}},
		{"realloc in place", use + `
			1 move A size=0x2000
			1 move A leave size=0x3000 result=1
			1 acquire A
			1 acquire C`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 acquire A1", "T1 acquire C2"}},
		{"realloc that shrinks", use + `
			1 move A size=0x3000
			1 move A leave size=0x1000 result=1
			1 acquire A
			1 acquire C`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 destroy C2 inferred", "T1 acquire A1", "T1 acquire C3"}},
		{"realloc that moves", use + `
			1 move A size=0x2000
			1 move X leave size=0x3000 result=1
			1 acquire A
			1 acquire C`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 destroy A1 inferred", "T1 acquire A3", "T1 acquire C2"}},
		{"realloc that fails", use + `
			1 move A size=0x2000
			1 move A leave failed size=0x2000 result=1
			1 acquire A`, []string{
			"T1 acquire A1", "T1 release A1", "T1 acquire C2", "T1 release C2", "T1 acquire A1"}},
		{"freed while held, then unlocked", `
			1 acquire A
			1 free A size=0x10
			1 release A`, []string{
			"T1 acquire A1", "T1 release A1 inferred", "T1 destroy A1 inferred freed", "T1 use-destroyed A1"}},
		{"freed while held by another, which unlocks", `
			2 acquire A
			1 free A size=0x10
			2 release A`, []string{
			"T1 acquire A1", "T2 begin inferred", "T1 release A1 inferred", "T2 destroy A1 inferred freed", "T1 use-destroyed A1"}},
		{"freed while held, and used again", `
			1 acquire A
			1 free A size=0x10
			1 acquire A
			1 release A`, []string{
			"T1 acquire A1", "T1 release A1 inferred", "T1 destroy A1 inferred freed", "T1 acquire A2", "T1 release A2"}},
		{"a mapping that is removed while a lock in it is held", `
			1 acquire A
			1 free A size=0x10 result=1
			1 release A`, []string{
			"T1 acquire A1", "T1 release A1 inferred", "T1 destroy A1 inferred", "T1 release-unheld A2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newListener()
			for _, r := range parseRecords(t, c.records) {
				l.o.Record(&r)
			}
			if got := l.lines[1:]; !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if len(l.broken) > 0 {
				t.Errorf("no run: %q", l.broken)
			}
		})
	}
}

// TestGiven checks which accesses of a field are said to be of memory that another thread allocated.
func TestGiven(t *testing.T) {
	for _, c := range []struct {
		name, records string
		given         []bool // of each access
	}{
		{"no block is known", `
			1 write B kind=field
			2 write B kind=field`, []bool{false, false}},
		{"allocated by 1", `
			1 alloc A leave size=0x2000
			1 write B kind=field
			2 write B kind=field
			1 read B kind=field`, []bool{false, true, false}},
		{"allocated by 1, first accessed by 2", `
			1 alloc A leave size=0x2000
			2 write B kind=field
			1 read B kind=field`, []bool{true, false}},
		{"freed, and allocated by 2", `
			1 alloc A leave size=0x2000
			2 write B kind=field
			1 free A size=0x2000
			2 alloc A leave size=0x2000
			2 write B kind=field
			1 write B kind=field`, []bool{true, false, true}},
		{"a variable that is no field", `
			1 alloc A leave size=0x2000
			2 write B`, []bool{false}},
	} {
		l := newListener()
		for _, r := range parseRecords(t, c.records) {
			l.o.Record(&r)
		}
		var given []bool
		for _, line := range l.lines {
			if strings.Contains(line, " write ") || strings.Contains(line, " read ") {
				given = append(given, strings.Contains(line, " given"))
			}
		}
		if !slices.Equal(given, c.given) {
			t.Errorf("%s: %v, want %v: %q", c.name, given, c.given, l.lines)
		}
	}
}

// TestLivesStop checks from which event on the ends of memory are not recorded: from the removal of the
// probes on, which the record of their cost says with a result.
func TestLivesStop(t *testing.T) {
	l := newListener()
	for i, r := range parseRecords(t, `
		1 acquire A
		1 heap-cost
		1 release A
		1 heap-cost result=1
		1 acquire A
		1 heap-cost result=1`) {
		l.o.Record(&r)
		after, stopped := l.o.LivesUntil()
		if stopped != (i >= 3) || stopped && after != 3 {
			t.Errorf("after record %d: %d, %v", i+1, after, stopped)
		}
	}
}

// TestUnloadedAfter checks what is known of the last unloading of a library. The library at L has the size
// 0x2000.
func TestUnloadedAfter(t *testing.T) {
	for _, c := range []struct {
		name, records string
		want          uint64
	}{
		{"not recorded", "1 acquire A", 0},
		{"unloaded", "1 acquire A\n1 free L size=0x2000 result=2\n1 acquire B", 2},
		{"with others", "1 acquire A\n1 free L size=0x3000 result=2", 2},
		{"twice", "1 acquire A\n1 free L size=0x2000 result=2\n1 acquire B\n1 free L size=0x2000 result=2", 3},
		{"a part of it", "1 acquire A\n1 free L size=0x1000 result=2", 0},
		{"another mapping", "1 acquire A\n1 free L size=0x2000 result=1", 0},
	} {
		l := newListener()
		for _, r := range parseRecords(t, c.records) {
			l.o.Record(&r)
		}
		lo := number(t, "L")
		if got := l.o.UnloadedAfter(1, lo, lo+0x2000); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
