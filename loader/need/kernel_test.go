package need

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/features"
	"pgregory.net/rapid"

	_ "github.com/tracepredict/tracepredict/internal/fixedseed"
)

func TestParseRelease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		major, minor := rapid.IntRange(0, 65535).Draw(t, "major"), rapid.IntRange(0, 65535).Draw(t, "minor")
		rest := rapid.SampledFrom([]string{"", ".0", "-rc1", ".44-cloud-amd64", "+", " "}).Draw(t, "rest")
		release := fmt.Sprintf("%d.%d%s", major, minor, rest)
		if a, b, err := ParseRelease(release); a != major || b != minor || err != nil {
			t.Fatalf("%q gives %d, %d, %v", release, a, b, err)
		}
	})
	for _, bad := range []string{"", "6", "6.", ".6", "x.1", "-1.2", "6.x", "99999.1", "6.99999"} {
		if a, b, err := ParseRelease(bad); err == nil {
			t.Errorf("%q gives %d.%d", bad, a, b)
		}
	}
}

// TestReleaseOfThisKernel compares with the version that the kernel reports elsewhere.
func TestReleaseOfThisKernel(t *testing.T) {
	code, err := features.LinuxVersionCode()
	if err != nil {
		t.Skip(err)
	}
	major, minor, err := ParseRelease(kernelRelease())
	if err != nil || major != int(code>>16) || minor != int(code>>8&0xff) {
		t.Errorf("%q gives %d.%d, %v; the kernel says %#x", kernelRelease(), major, minor, err, code)
	}
}

func TestOlderThan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SliceOfN(rapid.IntRange(0, 20), 4, 4).Draw(t, "numbers")
		got := OlderThan(fmt.Sprintf("%d.%d.9", n[0], n[1]), fmt.Sprintf("%d.%d", n[2], n[3]))
		if want := n[0]*100+n[1] < n[2]*100+n[3]; got != want {
			t.Fatalf("%v: got %v", n, got)
		}
	})
	if OlderThan("?", "6.6") || OlderThan("5.1", "") {
		t.Error("what cannot be read is not known to be older")
	}
}

func FuzzParseRelease(f *testing.F) {
	f.Add("6.18.44-cloud-amd64")
	f.Add("6.")
	f.Fuzz(func(t *testing.T, release string) {
		a, b, err := ParseRelease(release)
		if err == nil && (!strings.Contains(release, ".") || a < 0 || b < 0 || a > 65535 || b > 65535) {
			t.Errorf("%q gives %d.%d", release, a, b)
		}
	})
}

func TestParseLockdown(t *testing.T) {
	for line, want := range map[string]string{
		"[none] integrity confidentiality\n": "", "none [integrity] confidentiality\n": "integrity",
		"none integrity [confidentiality]\n": LockdownConfidentiality, "": "", "none [": "", "]": "",
	} {
		if got := parseLockdown(line); got != want {
			t.Errorf("%q gives %q, want %q", line, got, want)
		}
	}
}
