package e2e

import (
	"testing"
)

const homemadeTable = `
[[call]]
name = "my_lock"
operation = "acquire"
kind = "spinlock"
object = 2

[[call]]
name = "my_try"
operation = "acquire"
kind = "spinlock"
object = 1
success = "true"
try = true

[[call]]
name = "my_unlock"
operation = "release"
kind = "spinlock"
object = 1
unwinds = false

[[call]]
name = "outer_lock"
operation = "acquire"
kind = "mutex"
object = 1
success = "zero"

[[call]]
name = "outer_unlock"
operation = "release"
kind = "mutex"
object = 1
`

// TestTableOfOwnLocks checks that a program's own lock functions are observed if a
// table names them.
func TestTableOfOwnLocks(t *testing.T) {
	t.Parallel()
	table := writeTable(t, homemadeTable)
	for _, libc := range libcs {
		t.Run(libc.name, func(t *testing.T) {
			program := build(t, libc.compiler, "homemade.c", libc.flags...)
			eachSites(t, func(t *testing.T, opts options) {
				opts.Sync = []string{table}
				observe(t, program, opts).expectLog(t)
			})
		})
	}
}

// TestExceptions checks that events are right during and after exceptions that pass
// through observed calls.
func TestExceptions(t *testing.T) {
	t.Parallel()
	table := writeTable(t, `
[[call]]
name = "Lock::lock"
operation = "acquire"
kind = "mutex"
object = 1

[[call]]
name = "Lock::unlock"
operation = "release"
kind = "mutex"
object = 1
`)
	for _, flag := range []string{"-O0", "-O2"} {
		t.Run(flag, func(t *testing.T) {
			program := build(t, "g++", "throwing.cc", flag, "-pthread")
			eachSites(t, func(t *testing.T, opts options) {
				opts.Sync = []string{table}
				observe(t, program, opts).expectLog(t)
			})
		})
	}
}

// TestLibrariesLoadedLate checks that libraries that a program loads while it runs are
// observed, with functions that the table names and with pthread's.
func TestLibrariesLoadedLate(t *testing.T) {
	t.Parallel()
	table := writeTable(t, `
[[call]]
name = "plugin_lock"
operation = "acquire"
kind = "spinlock"
object = 1

[[call]]
name = "plugin_unlock"
operation = "release"
kind = "spinlock"
object = 1
`)
	for _, compiler := range []string{"gcc", "musl-gcc"} {
		t.Run(compiler, func(t *testing.T) {
			one := build(t, compiler, "plugin.c", "-shared", "-fPIC", "-pthread")
			two := build(t, compiler, "plugin.c", "-shared", "-fPIC", "-pthread", "-O2")
			program := build(t, compiler, "dlopen.c", "-pthread")
			eachSites(t, func(t *testing.T, opts options) {
				opts.Sync = []string{table}
				opts.Args = []string{one, two}
				observe(t, program, opts).expectLog(t)
			})
		})
	}
}
