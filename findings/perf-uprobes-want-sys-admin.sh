#!/bin/bash
# The documentation of perf_event_open says that CAP_PERFMON stands for CAP_SYS_ADMIN since Linux 5.8, and probes of a
# uprobe_multi link are content with it (and CAP_BPF). A perf event of a uprobe is not: perf_event_open fails with EACCES
# for a process that has CAP_PERFMON, of itself, at a file that it may read; with CAP_SYS_ADMIN alone it does not.
#
# Seen: Linux 6.18, x86-64, gcc 12.2.0, util-linux 2.38.1, 2026-11-28: "CAP_PERFMON, CAP_BPF: Permission denied",
# "CAP_SYS_ADMIN: opened". Needs gcc, setpriv and root. Fails if it is otherwise.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >probe.c <<'C'
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int probed(void) { return 0; }

/* The offset of a function in the file, which is linked not to be relocated: the linker maps it from 0x400000 on. */
int main(void)
{
	struct perf_event_attr attr = {.size = sizeof attr, .sample_period = 1};
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");

	if (!type || fscanf(type, "%u", &attr.type) != 1)
		return 2;
	attr.config1 = (__u64) "/proc/self/exe";
	attr.config2 = (__u64)probed - 0x400000;
	puts(syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC) < 0 ? strerror(errno) : "opened");
	return 0;
}
C
gcc -O0 -no-pie -o probe probe.c
few=$(setpriv --bounding-set=-all,+perfmon,+bpf ./probe)
admin=$(setpriv --bounding-set=-all,+sys_admin ./probe)
echo "CAP_PERFMON, CAP_BPF: $few"
echo "CAP_SYS_ADMIN: $admin"
[ "$few" = "Permission denied" ] && [ "$admin" = opened ]
