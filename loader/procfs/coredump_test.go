package procfs

import "testing"

func TestCoreDumpLocation(t *testing.T) {
	for _, c := range []struct {
		pattern string
		addPID  bool
		want    string
	}{
		{"core", false, "/srv/core"},
		{"core", true, "/srv/core.47"},
		{"", false, "/srv/core"},
		{"/var/crash/core.%e.%p", true, "/var/crash/core.shop.47"},
		{"/var/%%/%t-%h-%e", false, "/var/%/*-*-shop"},
		{"core%", false, "/srv/core"},
		{"|/usr/lib/systemd/systemd-coredump %P", true, `the kernel hands it to "/usr/lib/systemd/systemd-coredump %P" (/proc/sys/kernel/core_pattern)`},
		{"@/run/coredump.socket", false, `the kernel sends it to "@/run/coredump.socket" (/proc/sys/kernel/core_pattern)`},
	} {
		p := corePattern{text: c.pattern, addPID: c.addPID, pid: 47, name: "shop", cwd: "/srv"}
		if got := p.location(); got != c.want {
			t.Errorf("%q: %q, want %q", c.pattern, got, c.want)
		}
	}
}
