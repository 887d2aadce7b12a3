package loader

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tracepredict/tracepredict/bpf"
	"github.com/tracepredict/tracepredict/probes"
	"github.com/tracepredict/tracepredict/probes/binary"
	"github.com/tracepredict/tracepredict/probes/symbolize"
)

// Module is a file that the process maps, opened once: what is planned, what
// is attached and what is later named come from the same open file, so that a
// path that the process swaps is never followed.
type Module struct {
	ID   FileID
	Path string // as the process names it
	Bin  *binary.File
	Plan *probes.Plan
	Base uint32 // index of the plan's first site
	file *os.File

	attached bool // its probes are in, or have been tried to be put in
}

// Segment is an executable mapping of a module. Segments of libraries that
// were unloaded stay known: a stack may speak of them.
type Segment struct {
	Lo, Hi uint64
	Bias   uint64 // address in the process minus address as linked
	Module *Module
}

// openModule opens what a mapping maps, and makes sure that it is that file and
// not another put in its place.
func openModule(pid int, m Mapping, exe bool) (*Module, error) {
	root := procDir(pid) + "/root"
	path := root + m.Path
	if exe {
		path = procDir(pid) + "/exe"
	}
	f, err := openMapped(path, m)
	if err != nil {
		// Replaced or deleted since. This way is open to few.
		var e error
		if f, e = openMapped(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Lo, m.Hi), m); e != nil {
			return nil, err
		}
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %s: %w", m.Path, err)
	}
	bin, err := binary.NewWith(f, st.Size(), m.Path, binary.Options{Root: root})
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Module{ID: m.File, Path: m.Path, Bin: bin, file: f}, nil
}

func openMapped(path string, m Mapping) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s as it was mapped: %w", m.Path, err)
	}
	if err := sameFile(f, m); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// errReplaced says that the path names another file than the one mapped.
var errReplaced = errors.New("the file was replaced since it was mapped")

func sameFile(f *os.File, m Mapping) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open %s: %w", m.Path, err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", m.Path)
	}
	// Overlay and btrfs file systems show another device in maps than in stat;
	// the inode number must agree in any case.
	if sys.Ino != m.File.Inode {
		return fmt.Errorf("%s (inode %d, mapped is %d of device %d:%d): %w", m.Path, sys.Ino, m.File.Inode, m.File.Major, m.File.Minor, errReplaced)
	}
	if unix.Major(sys.Dev) != m.File.Major && unix.Major(sys.Dev) != 0 && m.File.Major != 0 {
		return fmt.Errorf("%s is on device %d:%d, mapped is %d:%d: %w", m.Path, unix.Major(sys.Dev), unix.Minor(sys.Dev), m.File.Major, m.File.Minor, errReplaced)
	}
	return nil
}

// bias gives the load bias of a mapping of the module's code.
func (m *Module) bias(mp Mapping) (uint64, bool) {
	for _, text := range m.Bin.Text() {
		off, err := m.Bin.Offset(text.Lo)
		if err == nil && off >= mp.Offset && off-mp.Offset < mp.Hi-mp.Lo {
			return mp.Lo + (off - mp.Offset) - text.Lo, true
		}
	}
	return 0, false
}

// probesOf gives the module's probes with absolute site indices. Sites chained
// behind another at the same address have none of their own.
func (m *Module) probesOf() []Probe {
	var ps []Probe
	for i, s := range m.Plan.Sites {
		index := m.Base + uint32(i)
		if i == 0 || m.Plan.Sites[i-1].Addr != s.Addr {
			ps = append(ps, Probe{Offset: s.Offset, Site: index})
		}
		if s.Return {
			ps = append(ps, Probe{Offset: s.Offset, Site: index, Return: true})
		}
	}
	return ps
}

func (m *Module) bpfSites() []bpf.Site {
	sites := make([]bpf.Site, len(m.Plan.Sites))
	for i := range m.Plan.Sites {
		sites[i] = m.Plan.Sites[i].BPF
	}
	return sites
}

// UnseenIn counts the places of a module's code that synchronise without being
// observed: atomic instructions and futex calls, but for accesses of watched
// variables and what functions of the table are made of. First and what
// describe the first of them.
func (s *Session) UnseenIn(m *Module) (n int, first, what string) {
	unseen, err := m.Bin.UnseenSync()
	if err != nil {
		return 1, m.Path, err.Error()
	}
	observed := map[uint64]bool{}
	for _, site := range m.Plan.Sites {
		observed[site.At] = true
	}
	names := symbolize.New(m.Bin, symbolize.WithoutDWARF())
	for _, site := range unseen.Sites {
		if observed[site.Addr] || observed[site.Func.Lo] {
			continue
		}
		if n++; n == 1 {
			what = site.What.String()
			first = fmt.Sprintf("%#x", site.Addr)
			if f := names.Frames(site.Addr); len(f) > 0 && f[0].Function != "" {
				first = f[0].Function
			}
		}
	}
	return n, first, what
}
