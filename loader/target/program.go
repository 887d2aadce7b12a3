package target

import (
	"slices"

	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// The program of a process. Problem: who runs a program by its dynamic loader (ld.so --library-path X ./program, as
// bundles and build systems do) has the kernel execute the loader, and /proc/PID/exe names that. Solution: a file that
// was executed and is a dynamic loader has loaded the only program among the mapped files; the others are libraries.

// Program returns the path of the program that a process runs.
func Program(pid int) (string, error) {
	exe, err := procfs.Executable(pid)
	if err != nil || !IsLoader(pid) {
		return exe, err
	}
	maps, err := procfs.Maps(pid)
	if err != nil {
		return exe, err
	}
	return LoadedBy(pid, exe, maps), nil
}

// IsLoader reports whether the kernel has executed a dynamic loader for a process. The loader that a program asks for
// does not count.
func IsLoader(pid int) bool {
	f, err := elf.Open(procfs.Dir(pid) + "/exe")
	if err != nil {
		return false
	}
	defer f.Close()
	return f.LoadsPrograms()
}

// LoadedBy returns the path of the program that a dynamic loader has loaded, which the kernel has executed as exe; exe, as
// long as it has not.
func LoadedBy(pid int, exe string, maps []procfs.Mapping) string {
	i := slices.IndexFunc(maps, func(m procfs.Mapping) bool {
		return m.Exec && m.File.Inode != 0 && m.Path != exe && isProgram(pid, m)
	})
	if i < 0 {
		return exe
	}
	return maps[i].Path
}

func isProgram(pid int, m procfs.Mapping) bool {
	f, err := OpenMapped(pid, m, "")
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false
	}
	bin, err := elf.New(f, st.Size(), m.Path)
	return err == nil && bin.IsProgram()
}
