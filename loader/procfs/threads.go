package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// EachRunning calls f with each thread of the process that runs or is ready to run.
func EachRunning(pid int, f func(tid int)) { eachInState(pid, 'R', f) }

// EachZombie calls f with each thread of the process that has ended and is still there, since its tracer, or of a first
// thread its parent or other threads, have not done with it.
func EachZombie(pid int, f func(tid int)) { eachInState(pid, 'Z', f) }

func eachInState(pid int, state byte, f func(tid int)) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return // the process has ended
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	buf := make([]byte, 256)
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err == nil && threadState(dir+"/"+name+"/stat", buf) == state {
			f(tid)
		}
	}
}

// Threads returns the IDs of the threads of a process, those that have ended but are not reaped
// among them.
func Threads(pid int) ([]int, error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// ThreadState returns the letter of a thread's state, as in proc(5); 0 if it has ended.
func ThreadState(pid, tid int) byte {
	return threadState(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid), make([]byte, 256))
}

// RanFor returns the processor time that a thread has had; 0 if that is not known.
func RanFor(pid, tid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return 0
	}
	ran, _, _ := strings.Cut(string(text), " ")
	ns, _ := strconv.ParseInt(ran, 10, 64)
	return time.Duration(ns)
}

// threadState returns the letter of the state in a stat file of proc(5); 0 if the thread has
// ended.
func threadState(stat string, buf []byte) byte {
	fd, err := unix.Open(stat, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return 0
	}
	// The name in parentheses may hold parentheses.
	_, rest, ok := lastCut(string(buf[:n]), ") ")
	if !ok || rest == "" {
		return 0
	}
	return rest[0]
}

func lastCut(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Sleeps reports whether a thread is in a system call that only waits for a time to pass, so that its
// return says nothing of other threads. It is false if that is not known.
func Sleeps(pid, tid int) bool {
	number, _, ok := SystemCall(pid, tid)
	return ok && (number == unix.SYS_NANOSLEEP || number == unix.SYS_CLOCK_NANOSLEEP)
}

// SystemCall returns the system call that a thread sleeps in, and its arguments; false if it sleeps in none, or that is not
// known.
func SystemCall(pid, tid int) (number int, args [6]uint64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	words := strings.Fields(string(text))
	if err != nil || len(words) < 1+len(args) {
		return 0, args, false
	}
	if number, err = strconv.Atoi(words[0]); err != nil {
		return 0, args, false
	}
	for i := range args {
		if args[i], err = strconv.ParseUint(words[1+i], 0, 64); err != nil {
			return 0, args, false
		}
	}
	return number, args, true
}

// HasEnded reports whether a thread has ended, or is about to.
func HasEnded(pid, tid int) bool {
	switch ThreadState(pid, tid) {
	case 0, 'Z', 'X':
		return true
	}
	return false
}

// TracerID returns the ID of the thread that traces a thread of a process; 0 if none does.
func TracerID(pid, tid int) int {
	status, err := Status(fmt.Sprintf("%d/task/%d", pid, tid))
	if err != nil {
		return 0
	}
	tracer, _ := strconv.Atoi(status["TracerPid"])
	return tracer
}

// TracerOf returns the name and ID of the process that traces a task of /proc; "" if none does.
func TracerOf(task string) string {
	status, err := Status(task)
	if err != nil || status["TracerPid"] == "" || status["TracerPid"] == "0" {
		return ""
	}
	pid := status["TracerPid"]
	if tracer, err := Status(pid); err == nil {
		pid = tracer["Tgid"] // the tracer is a thread
	}
	comm, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return "process " + pid
	}
	return fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(comm)), pid)
}

// Ended reports whether the fields of a status file are those of a thread that has ended.
func Ended(status map[string]string) bool {
	return strings.HasPrefix(status["State"], "Z") || strings.HasPrefix(status["State"], "X")
}

// IsKernelThread reports whether a process is a thread of the kernel. Where status has no
// Kthread, which is before Linux 6.8, it reads the flags of the task.
func IsKernelThread(pid int, status map[string]string) bool {
	if k, ok := status["Kthread"]; ok {
		return k == "1"
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && statFlags(string(stat))&0x00200000 != 0 // PF_KTHREAD
}

// statFlags returns field 9 of /proc/PID/stat; 0 if it is missing. The name, field 2, may
// contain any character, including parentheses.
func statFlags(stat string) uint64 {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return 0
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 7 {
		return 0
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	if err != nil {
		return 0
	}
	return flags
}

// HasLiveThread reports whether some thread of a process has not ended, as when only its first
// thread has, by pthread_exit.
func HasLiveThread(pid int) bool {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false
	}
	for _, t := range tasks {
		status, err := Status(fmt.Sprintf("%d/task/%s", pid, t.Name()))
		if err == nil && !Ended(status) {
			return true
		}
	}
	return false
}

// OldestThread returns the ID of the thread of a process that began first of those that have not ended; 0 if all have.
func OldestThread(pid int) (int, error) {
	tids, err := Threads(pid)
	if err != nil {
		return 0, err
	}
	var oldest Identity
	for _, tid := range tids {
		id, err := IdentityOf(tid)
		if err == nil && !HasEnded(pid, tid) && (oldest.PID == 0 || id.Start < oldest.Start) {
			oldest = id
		}
	}
	return oldest.PID, nil
}
