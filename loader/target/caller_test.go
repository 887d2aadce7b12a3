package target

import "testing"

func TestUntraceable(t *testing.T) {
	status := func(uid, gid, caps string) map[string]string {
		return map[string]string{"Uid": uid, "Gid": gid, "CapPrm": caps}
	}
	const own, none, all = "1000\t1000\t1000\t1000", "0000000000000000", "000001ffffffffff"
	for _, c := range []struct {
		name         string
		status       map[string]string
		owner        int
		ownNamespace bool
		want         string
	}{
		{"its own", status(own, own, none), 1000, false, ""},
		{"its own, files as another", status("1000\t1000\t1000\t0", own, none), 1000, false, ""},
		{"root's", status("0\t0\t0\t0", "0\t0\t0\t0", all), 0, false, "is another user's"},
		{"set-uid", status("1000\t0\t0\t0", own, all), 0, false, "is another user's"},
		{"privileges put aside", status("1000\t1000\t0\t1000", own, none), 1000, false, "is another user's"},
		{"set-gid", status(own, "1000\t42\t42\t42", none), 1000, false, "has another group"},
		{"file capabilities", status(own, own, "0000000000002000"), 1000, false, "has capabilities"},
		{"a container of its own", status(own, own, all), 1000, true, ""},
		{"not dumpable", status(own, own, none), 0, false, "is not dumpable"},
		{"no such lines", map[string]string{}, 1000, false, "is another user's"},
		{"a wrong line", status(own, own, "x"), 1000, false, "has capabilities"},
	} {
		if got := untraceable(1000, 1000, c.status, c.owner, c.ownNamespace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
