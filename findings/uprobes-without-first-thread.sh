#!/bin/bash
# A uprobe_multi link (Linux 6.6) can be limited to a process, by its ID. If the process's first thread has ended by
# pthread_exit while others go on, as main() of some daemons does, the kernel makes the link, without an error, and its
# probes are never hit: it compares memory with that of the first thread, which has none any more. A probe of perf_event_open
# for one of the living threads is hit by all threads of the process, not by that one alone, and so could stand in.
#
# Seen: Linux 6.18, x86-64, cilium/ebpf 0.22.0, gcc 12.2.0, 2026-11-28: "with its first thread: some hits", "without it,
# by process: attached without an error, 0 hits", "without it, perf for one living thread: some hits of other threads".
# Needs gcc, go and root. Fails if it is otherwise.
set -euo pipefail

dir=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -9 "$pid"; rm -rf "$dir"' EXIT
mkdir "$dir/c" "$dir/go"
cd "$dir"
cat >c/ticks.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

__attribute__((noinline)) void tick(void) { __asm__ volatile("nop"); }

static void *ticks(void *unused)
{
	for (;;) {
		tick();
		usleep(1000);
	}
	return unused;
}

static void *sleeps(void *unused)
{
	for (;;)
		pause();
	return unused;
}

int main(void)
{
	pthread_t t;
	sigset_t leave;
	int sig;

	sigemptyset(&leave);
	sigaddset(&leave, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &leave, NULL);
	pthread_create(&t, NULL, ticks, NULL);
	pthread_create(&t, NULL, sleeps, NULL);
	sigwait(&leave, &sig);
	pthread_exit(NULL);
}
C
cat >go/main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// counter returns a program that counts its calls, and the map with the count.
func counter(attach ebpf.AttachType) (*ebpf.Program, *ebpf.Map) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	check(err)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: attach, License: "GPL", Instructions: asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), asm.LoadMapPtr(asm.R1, m.FD()), asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		asm.Mov.Imm(asm.R1, 1), asm.StoreXAdd(asm.R0, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return(),
	}})
	check(err)
	return p, m
}

// hits counts for a while, longer if there are none.
func hits(m *ebpf.Map) (n uint64) {
	for i := 0; i < 10 && n == 0; i++ {
		time.Sleep(100 * time.Millisecond)
		check(m.Lookup(uint32(0), &n))
	}
	return n
}

// byProcess returns the hits of a probe of a uprobe_multi link for a process.
func byProcess(exe *link.Executable, pid int) uint64 {
	p, m := counter(ebpf.AttachTraceUprobeMulti)
	l, err := exe.UprobeMulti([]string{"tick"}, p, &link.UprobeMultiOptions{PID: uint32(pid)})
	check(err)
	defer l.Close()
	return hits(m)
}

// byThread returns the hits of a probe of perf_event_open for a thread.
func byThread(exe *link.Executable, tid int) uint64 {
	p, m := counter(ebpf.AttachNone)
	l, err := exe.Uprobe("tick", p, &link.UprobeOptions{PID: tid})
	check(err)
	defer l.Close()
	return hits(m)
}

// last returns the last thread of a process, which sleeps, once the first has ended.
func last(pid int) (tid int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		check(err)
		if strings.Contains(string(status), "State:\tZ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	check(err)
	for _, t := range tasks {
		n, _ := strconv.Atoi(t.Name())
		tid = max(tid, n)
	}
	return tid
}

func main() {
	pid, err := strconv.Atoi(os.Args[2])
	check(err)
	check(rlimit.RemoveMemlock())
	exe, err := link.OpenExecutable(os.Args[1])
	check(err)
	with := byProcess(exe, pid)
	fmt.Printf("with its first thread: %d hits\n", with)
	check(syscall.Kill(pid, syscall.SIGUSR1))
	sleeper := last(pid)
	without := byProcess(exe, pid)
	fmt.Printf("without it, by process: attached without an error, %d hits\n", without)
	other := byThread(exe, sleeper)
	fmt.Printf("without it, perf for a living thread: %d hits of another thread\n", other)
	if with == 0 || without != 0 || other == 0 {
		fmt.Println("it is otherwise now")
		os.Exit(1)
	}
}
GO
gcc -O1 -pthread -o ticks c/ticks.c
cd go
export GOPATH="$dir/gopath" GOFLAGS="-mod=mod -modcacherw"
go mod init ticks >/dev/null 2>&1
go get github.com/cilium/ebpf@v0.22.0 >/dev/null 2>&1
go build -o probe .
../ticks &
pid=$!
./probe "$dir/ticks" "$pid"
