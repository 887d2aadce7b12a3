// Package testtool finds the programs that tests need besides Go: compilers, readers of ELF files,
// debuggers. A test whose tool is missing skips and names it, so that the tests pass on a machine
// that lacks it.
package testtool

import (
	"fmt"
	"os/exec"
	"testing"
)

// packages has the names of Debian's packages, where they differ from those of the tools.
var packages = map[string]string{
	"aarch64-linux-gnu-as":      "binutils-aarch64-linux-gnu",
	"aarch64-linux-gnu-ld":      "binutils-aarch64-linux-gnu",
	"aarch64-linux-gnu-objdump": "binutils-aarch64-linux-gnu",
	"addr2line":                 "binutils",
	"ar":                        "binutils",
	"as":                        "binutils",
	"c++filt":                   "binutils",
	"clang++-19":                "clang-19",
	"dwp":                       "binutils",
	"go":                        "golang-go",
	"ld.lld":                    "lld",
	"llvm-dwp-19":               "llvm-19",
	"musl-gcc":                  "musl-tools",
	"nm":                        "binutils",
	"objcopy":                   "binutils",
	"objdump":                   "binutils",
	"readelf":                   "binutils",
	"setarch":                   "util-linux",
	"setcap":                    "libcap2-bin",
	"setpriv":                   "util-linux",
	"strip":                     "binutils",
	"unshare":                   "util-linux",
}

// Need skips the test if one of the tools is not installed, and names the tool and its Debian
// package.
func Need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if why := Missing(tool); why != "" {
			t.Skip(why)
		}
	}
}

// Missing returns the reason why a tool cannot be used, and "" if it is installed.
func Missing(tool string) string {
	if _, err := exec.LookPath(tool); err == nil {
		return ""
	}
	name := packages[tool]
	if name == "" {
		name = tool
	}
	return fmt.Sprintf("no %s: install Debian's %s, or what your system calls it", tool, name)
}
