package probes

import (
	"path"
	"slices"
	"strings"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// systemFolders are where systems keep what they install: libraries there are not a program's own.
var systemFolders = []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr", "/bin", "/sbin", "/opt", "/etc", "/var", "/snap", "/nix", "/gnu", "/proc", "/sys", "/dev"}

// userFolders are the folders below them in which users build.
var userFolders = []string{"/dev/shm", "/var/tmp"}

// inSystem reports whether a file lies where systems keep what they install.
func inSystem(name string) bool {
	below := func(dir string) bool { return strings.HasPrefix(name, dir+"/") }
	return slices.ContainsFunc(systemFolders, below) && !slices.ContainsFunc(userFolders, below)
}

// isOwn reports whether the code of a file is the program's own: that of the program, of a library that
// Options.Modules names, and of one that lies in no folder of the system and has debug information, since it is what
// the user builds.
func (p *Planner) isOwn(f *elf.File) bool {
	if len(p.files) == 0 || p.files[0] == f {
		return true
	}
	return p.asked(f) || path.IsAbs(f.Name()) && !inSystem(f.Name()) && HasDebugInfo(f)
}

// asked reports whether Options.Modules names a file.
func (p *Planner) asked(f *elf.File) bool { return Named(p.opts.Modules, f) }

// onlyDescribed reports whether, of the code of a file, only that with debug information is searched for accesses that
// the user did not ask for.
func (p *Planner) onlyDescribed(f *elf.File) bool { return p.opts.OnlyDebugged && !p.asked(f) }

// searchable reports whether the code of a file is searched for accesses that the user did not ask for, if it is the
// program's own.
func (p *Planner) searchable(f *elf.File) bool {
	return !p.opts.OnlyDebugged || p.asked(f) || HasDebugInfo(f)
}

// room bounds what is planned of a file's code beyond what the user names: earlier files have a part of what one run
// has room for.
type room struct{ sites, variables int }

// room returns what is left for one more file.
func (p *Planner) room() room {
	return room{max(0, p.maxShared()-p.used.sites), max(0, bpf.MaxWatched-p.used.variables)}
}

// use takes what a plan needs from that.
func (p *Planner) use(plan *Plan) {
	if p.isOwn(plan.File) {
		p.used.sites += len(plan.Sites)
		p.used.variables += len(plan.Shared)
	}
}
