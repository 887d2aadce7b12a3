// Package empty puts BPF programs that do nothing where tracepredict would put its
// own: what is then still paid is the kernel's part, below which no tool comes.
package empty

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Site is where a probe sits in a file.
type Site struct {
	Addr     uint64 // as linked
	Return   bool   // the probe sees the call's return too, through the kernel
	Observes string // "acquire mutex"
	Function string
}

// siteLine is a line of tracepredict sites.
var siteLine = regexp.MustCompile(`(?m)^0x([0-9a-f]+) +\S+ +(?:emulated|stepped) +(call|call\+return|return|outcome|access)  +(\S.*?)  +(\S+)`)

// Sites are those that tracepredict, the program tool, plans in a file.
func Sites(tool, file string) ([]Site, error) {
	text, err := exec.Command(tool, "sites", file).Output()
	if err != nil {
		return nil, fmt.Errorf("%s sites %s: %w", tool, file, err)
	}
	return parse(text)
}

func parse(text []byte) ([]Site, error) {
	var sites []Site
	for _, m := range siteLine.FindAllSubmatch(text, -1) {
		addr, err := strconv.ParseUint(string(m[1]), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("sites: address %q: %w", m[1], err)
		}
		sites = append(sites, Site{Addr: addr, Return: string(m[2]) == "call+return", Observes: string(m[3]), Function: string(m[4])})
	}
	return sites, nil
}

// Probes are empty programs in place.
type Probes struct{ links []io.Closer }

// Attach puts an empty program at each of the sites of a file, for one process, or
// for all if pid is 0.
func (p *Probes) Attach(file string, sites []Site, pid int) error {
	entries, returns, err := offsets(file, sites)
	if err != nil {
		return err
	}
	exe, err := link.OpenExecutable(file)
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
	if err := p.link(exe.UprobeMulti, program, entries, pid); err != nil {
		return fmt.Errorf("attach empty programs to %s: %w", file, err)
	}
	// A uretprobe there is what the site is: its entry costs the same.
	if err := p.link(exe.UretprobeMulti, program, returns, pid); err != nil {
		return fmt.Errorf("attach empty programs to returns of %s: %w", file, err)
	}
	return nil
}

type attach func(symbols []string, program *ebpf.Program, opts *link.UprobeMultiOptions) (link.Link, error)

func (p *Probes) link(to attach, program *ebpf.Program, offsets []uint64, pid int) error {
	if len(offsets) == 0 {
		return nil
	}
	l, err := to(nil, program, &link.UprobeMultiOptions{Addresses: offsets, PID: uint32(pid)})
	if err == nil {
		p.links = append(p.links, l)
	}
	return err
}

// offsets returns where the sites lie in the file, each place once; those with a
// return in both.
func offsets(file string, sites []Site) (entries, returns []uint64, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	seen := map[uint64]bool{}
	for _, s := range sites {
		if seen[s.Addr] {
			continue
		}
		seen[s.Addr] = true
		offset, err := offset(f, s.Addr)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		entries = append(entries, offset)
		if s.Return {
			returns = append(returns, offset)
		}
	}
	return entries, returns, nil
}

func offset(f *elf.File, addr uint64) (uint64, error) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= addr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off, nil
		}
	}
	return 0, fmt.Errorf("no address 0x%x", addr)
}

// Close removes the programs.
func (p *Probes) Close() error {
	var err error
	for _, l := range p.links {
		err = errors.Join(err, l.Close())
	}
	p.links = nil
	return err
}

var libcLine = regexp.MustCompile(`libc\.so\.6 => (\S+)`)

// Libc is the C library that a program is linked with, as ldd names it.
func Libc(program string) (string, error) {
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		return "", fmt.Errorf("ldd %s: %w", program, err)
	}
	m := libcLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("ldd %s names no libc.so.6", program)
	}
	return string(m[1]), nil
}
