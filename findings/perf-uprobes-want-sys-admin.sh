#!/bin/bash
# The documentation of perf_event_open says that CAP_PERFMON stands for CAP_SYS_ADMIN since Linux 5.8, and a uprobe_multi
# link is content with it and CAP_BPF. A perf event of a uprobe is not: perf_event_open fails with EACCES for a process that
# has both, of itself, at a file that it may read. With CAP_SYS_ADMIN as well it opens.
#
# Seen: Linux 6.18, x86-64, cilium/ebpf 0.22.0, util-linux 2.38.1, 2026-11-28: "CAP_BPF, CAP_PERFMON: uprobe_multi link:
# attached, perf event: permission denied", "CAP_SYS_ADMIN too: ... perf event: attached". Needs go, setpriv and root.
# Fails if it is otherwise.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

//go:noinline
func Probed(n int) int { return n * 7 }

func program(attach ebpf.AttachType) *ebpf.Program {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: attach, KernelVersion: 1, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		fmt.Println("load a program:", err)
		os.Exit(2)
	}
	return p
}

func outcome(l link.Link, err error) string {
	switch {
	case err == nil:
		l.Close()
		return "attached"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	return err.Error()
}

func main() {
	exe, err := link.OpenExecutable("/proc/self/exe")
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	pid := os.Getpid() + Probed(0)
	multi := outcome(exe.UprobeMulti([]string{"main.Probed"}, program(ebpf.AttachTraceUprobeMulti), &link.UprobeMultiOptions{PID: uint32(pid)}))
	perf := outcome(exe.Uprobe("main.Probed", program(ebpf.AttachNone), &link.UprobeOptions{PID: pid}))
	fmt.Printf("uprobe_multi link: %s, perf event: %s\n", multi, perf)
}
GO
export GOPATH="$dir/gopath" GOFLAGS="-mod=mod -modcacherw"
go mod init probe >/dev/null 2>&1
go get github.com/cilium/ebpf@v0.22.0 >/dev/null 2>&1
CGO_ENABLED=0 go build -o probe .
few=$(setpriv --bounding-set=-all,+perfmon,+bpf ./probe)
admin=$(setpriv --bounding-set=-all,+perfmon,+bpf,+sys_admin ./probe)
echo "CAP_BPF, CAP_PERFMON: $few"
echo "CAP_SYS_ADMIN too: $admin"
[ "$few" = "uprobe_multi link: attached, perf event: permission denied" ]
[ "$admin" = "uprobe_multi link: attached, perf event: attached" ]
