package procfs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestIdentity(t *testing.T) {
	own, err := IdentityOf(os.Getpid())
	if err != nil || own.PID != os.Getpid() || own.Start == 0 || !own.Lives() {
		t.Errorf("this process: %+v, %v", own, err)
	}
	if (Identity{own.PID, own.Start + 1}).Lives() {
		t.Error("a process that began at another time lives")
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if id, err := IdentityOf(ended.Process.Pid); err == nil {
		t.Errorf("a process that has ended: %+v", id)
	}
	// A process that has ended and that nobody has waited for does not live.
	zombie := exec.Command("true")
	out, err := zombie.StdoutPipe()
	if err == nil {
		err = zombie.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	id, err := IdentityOf(zombie.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 1)) // until it closes its output
	for !HasEnded(id.PID, id.PID) {
		_ = exec.Command("true").Run()
	}
	if id.Lives() {
		t.Error("a process that has ended lives")
	}
}

func TestStartTime(t *testing.T) {
	line := "7 (a) b) 1) S " + strings.Repeat("0 ", 18) + "4711 0 0"
	for stat, want := range map[string]uint64{line: 4711, "7 (a) S 1": 0, "": 0, strings.Replace(line, "4711", "-1", 1): 0} {
		if got, ok := startTime(stat); got != want || ok != (want != 0) {
			t.Errorf("%q: %d, %v", stat, got, ok)
		}
	}
}

func FuzzStartTime(f *testing.F) {
	f.Add("7 (a) S " + strings.Repeat("0 ", 18) + "4711 0 0")
	f.Fuzz(func(_ *testing.T, stat string) { startTime(stat) })
}

func TestBoot(t *testing.T) {
	id, err := Boot()
	again, _ := Boot()
	if err != nil || id != again || strings.ContainsAny(id, " \n") {
		t.Errorf("%q, then %q, %v", id, again, err)
	}
}
