package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// emptyProbes puts programs that do nothing where tracepredict puts its own:
// what a pair costs then is the kernel's part, below which no tool comes. The
// probes sit in a copy of the C library, so that no other process pays.
type emptyProbes struct {
	folder string // for LD_LIBRARY_PATH
	links  []io.Closer
}

// siteLine is a line of tracepredict sites: address, and whether the probe sees
// the call's return too.
var siteLine = regexp.MustCompile(`(?m)^0x([0-9a-f]+)\s+\S+\s+\S+\s+(call|call\+return|outcome)\s+(?:acquire|release) mutex\s+(?:__)?pthread_mutex_(?:lock|unlock)\s`)

func newEmptyProbes(c *config, program string) (*emptyProbes, error) {
	libc, err := libcOf(program)
	if err != nil {
		return nil, err
	}
	sites, err := exec.Command(c.tool, "sites", libc).Output()
	if err != nil {
		return nil, fmt.Errorf("%s sites %s: %w", c.tool, libc, err)
	}
	found := siteLine.FindAllSubmatch(sites, -1)
	if len(found) < 2 {
		return nil, fmt.Errorf("%s sites %s does not show where lock and unlock are probed", c.tool, libc)
	}
	e := &emptyProbes{folder: filepath.Join(c.dir, "lib")}
	library := filepath.Join(e.folder, "libc.so.6")
	if err := copyFile(library, libc); err != nil {
		return nil, err
	}
	for _, m := range found {
		addr, err := strconv.ParseUint(string(m[1]), 16, 64)
		if err == nil {
			err = e.attach(library, addr, string(m[2]) == "call+return")
		}
		if err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// atFloor puts an empty program at each of the two calls of a pair in the
// program compiled with -DFLOOR.
func (e *emptyProbes) atFloor(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("read the symbols of %s: %w", program, err)
	}
	n := 0
	for _, s := range symbols {
		if s.Name != "floor_lock" && s.Name != "floor_unlock" {
			continue
		}
		if err := e.attach(program, s.Value, false); err != nil {
			return err
		}
		n++
	}
	if n != 2 {
		return fmt.Errorf("%s has %d of the two functions to probe", program, n)
	}
	return nil
}

// attach puts an empty program at an address, and one at the return if both.
func (e *emptyProbes) attach(library string, addr uint64, both bool) error {
	offset, err := fileOffset(library, addr)
	if err != nil {
		return err
	}
	exe, err := link.OpenExecutable(library)
	if err != nil {
		return err
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   ebpf.AttachTraceUprobeMulti,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		License:      "GPL",
	})
	if err != nil {
		return fmt.Errorf("load an empty program: %w", err)
	}
	defer program.Close()
	probe := exe.UprobeMulti
	if both {
		// A uretprobe there is what the site is: its entry costs the same.
		probe = exe.UretprobeMulti
	}
	l, err := probe(nil, program, &link.UprobeMultiOptions{Addresses: []uint64{offset}})
	if err != nil {
		return fmt.Errorf("attach an empty program to %s at 0x%x: %w", library, offset, err)
	}
	e.links = append(e.links, l)
	if both {
		l, err := exe.UprobeMulti(nil, program, &link.UprobeMultiOptions{Addresses: []uint64{offset}})
		if err != nil {
			return fmt.Errorf("attach an empty program to %s at 0x%x: %w", library, offset, err)
		}
		e.links = append(e.links, l)
	}
	return nil
}

// Close removes the probes.
func (e *emptyProbes) Close() error {
	var err error
	for _, l := range e.links {
		err = errors.Join(err, l.Close())
	}
	return err
}

func fileOffset(name string, addr uint64) (uint64, error) {
	f, err := elf.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= addr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off, nil
		}
	}
	return 0, fmt.Errorf("%s has no address 0x%x", name, addr)
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
}
