package loader

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tracepredict/tracepredict/loader/attach"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/need"
	"github.com/tracepredict/tracepredict/loader/procfs"
	"github.com/tracepredict/tracepredict/loader/target"
	"github.com/tracepredict/tracepredict/probes/elf"
)

// A breakpoint that the kernel left bears no name. One is taken for the tool's only if a journal of this boot names the
// process and the place, its owner is gone, no owner that lives names the same place, the file is the one of then, with
// the byte of then there, and nobody traces the process, since a debugger's breakpoints look the same. It is the kernel
// that removes it (attach.Restorer): it leaves a breakpoint that any uprobe needs.

// Repaired is what was found of breakpoints that the tool may have left in a process.
type Repaired struct {
	Journals int          // of the process, of owners that are gone
	Places   int          // that these name
	Restored []Breakpoint // removed or, in a dry run, to be removed
	Left     []Breakpoint // that were not
	Owners   []int        // process IDs of the owners that are gone
	Unread   error        // why some journals could not be read; nil: none
	Program  string       // path of the program of the process
}

// Breakpoint is a breakpoint in the memory of a process.
type Breakpoint struct {
	Path   string // of the file
	Offset uint64 // in the file
	Addr   uint64 // in the process
	Why    string // why it was not removed; "" if it was
}

// RepairOptions configure Repair.
type RepairOptions struct {
	// Journal is the folder of the journals.
	Journal string
	// DryRun: nothing is changed.
	DryRun bool
	// DropPrivileges is what it is for Options.
	DropPrivileges bool
}

// Repair removes breakpoints that a tool which was killed has left in a process.
func Repair(pid int, opts RepairOptions) (Repaired, error) {
	out := Repaired{}
	var err error
	if out.Program, err = procfs.Executable(pid); err != nil {
		return out, err
	}
	j := openJournals(opts.Journal, pid, false)
	defer j.closeOthers()
	if j.folder == nil && j.why != nil {
		return out, fmt.Errorf("find the journals: %w", j.why)
	}
	if len(j.stale) == 0 {
		out.Unread = errors.Join(j.why, j.damaged)
		return out, nil
	}
	early := target.OpenEarly(pid)
	defer early.Close()
	if opts.DropPrivileges {
		if err := dropForProcess(pid, false); err != nil && !errors.Is(err, target.ErrCgo) {
			return out, err
		}
	}
	program := out.Program
	out, err = j.repair(early, opts.DryRun)
	out.Program = program
	return out, need.ExplainFiles(err)
}

// leaked is a breakpoint in the memory of a process which a journal names.
type leaked struct {
	Breakpoint
	file *os.File
}

// repair removes the breakpoints that the stale journals name, and the journals that name no other. early has files
// of the process that are open already.
func (j *journals) repair(early target.EarlyFiles, dryRun bool) (out Repaired, err error) {
	out = Repaired{Journals: len(j.stale), Unread: j.damaged}
	for _, e := range j.stale {
		out.Owners = append(out.Owners, e.Owner.PID)
		for _, f := range e.Files {
			out.Places += len(f.Probes)
		}
	}
	r := repairer{journals: j, early: early, opened: map[procfs.FileID]*openFile{}}
	defer r.close()
	if err := r.check(); err != nil {
		return out, err
	}
	if err := r.find(); err != nil {
		return out, err
	}
	if dryRun {
		out.Restored, out.Left = breakpoints(r.found), r.left
		return out, nil
	}
	if err := r.restore(); err != nil {
		return out, err
	}
	out.Restored, out.Left = breakpoints(r.found), r.left
	for _, e := range j.stale {
		if len(r.left) == 0 && !j.othersLive(e) {
			out.Unread = errors.Join(out.Unread, e.Remove())
		}
	}
	return out, nil
}

func breakpoints(all []leaked) (out []Breakpoint) {
	for _, l := range all {
		out = append(out, l.Breakpoint)
	}
	return out
}

// othersLive reports whether a journal has targets besides the process that live.
func (j *journals) othersLive(e *journal.Entry) bool {
	return slices.ContainsFunc(e.Targets, func(t procfs.Identity) bool { return t != j.target && t.Lives() })
}

// repairer repairs one process.
type repairer struct {
	*journals
	early  target.EarlyFiles
	maps   []procfs.Mapping
	opened map[procfs.FileID]*openFile
	found  []leaked     // to be removed
	left   []Breakpoint // not to be removed
}

// openFile is a file of the process; it is of use if err is nil.
type openFile struct {
	file  *os.File
	early bool // file belongs to somebody else
	bytes fileBytes
	build string
	err   error
}

func (r *repairer) close() {
	for _, f := range r.opened {
		if f.file != nil && !f.early {
			_ = f.file.Close()
		}
	}
}

// check returns an error if the process cannot be repaired.
func (r *repairer) check() (err error) {
	pid := r.target.PID
	if r.memory == nil {
		return fmt.Errorf("the memory of process %d cannot be read: %w", pid, cmp.Or(r.why, os.ErrPermission))
	}
	if leaderless(pid) {
		return &need.Error{What: fmt.Sprintf("the first thread of process %d has ended by pthread_exit, so that the kernel cannot find its memory", pid), Kind: target.ErrEnded}
	}
	if r.maps, err = procfs.Maps(pid); err != nil {
		return err
	}
	if now, err := procfs.IdentityOf(pid); err != nil || now != r.target {
		return &need.Error{What: fmt.Sprintf("process %d has just ended", pid), Kind: target.ErrNoProcess}
	}
	return nil
}

// find looks for the breakpoints that the journals name.
func (r *repairer) find() error {
	seen := map[uint64]bool{} // by address: several journals may name it
	for _, e := range r.stale {
		for i := range e.Files {
			if err := r.findIn(&e.Files[i], seen); err != nil {
				return err
			}
		}
	}
	byPlace := func(a, b Breakpoint) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Addr, b.Addr)) }
	slices.SortFunc(r.left, byPlace)
	slices.SortFunc(r.found, func(a, b leaked) int { return byPlace(a.Breakpoint, b.Breakpoint) })
	if len(r.found) == 0 {
		return nil
	}
	if tracer := tracerOfAny(r.target.PID); tracer != "" {
		r.leave(func(*leaked) bool { return true }, tracer+" traces the process, and may have put it there")
	}
	return nil
}

// leave moves breakpoints from those to be removed to those that are left.
func (r *repairer) leave(which func(*leaked) bool, why string) {
	r.found = slices.DeleteFunc(r.found, func(l leaked) bool {
		if !which(&l) {
			return false
		}
		l.Why = why
		r.left = append(r.left, l.Breakpoint)
		return true
	})
}

// tracerOfAny returns who traces a thread of a process; "" if nobody does.
func tracerOfAny(pid int) string {
	tids, err := procfs.Threads(pid)
	if err != nil {
		return ""
	}
	for _, tid := range tids {
		if tracer := procfs.TracerOf(fmt.Sprintf("%d/task/%d", pid, tid)); tracer != "" {
			return tracer
		}
	}
	return ""
}

// findIn looks for the breakpoints in one file of a journal.
func (r *repairer) findIn(f *journal.File, seen map[uint64]bool) error {
	for _, m := range r.maps {
		if m.File != f.ID || !m.Exec {
			continue
		}
		for _, p := range f.Probes {
			addr := m.Lo + (p.Offset - m.Offset)
			if p.Offset < m.Offset || p.Offset-m.Offset >= m.Hi-m.Lo || seen[addr] {
				continue
			}
			var b [1]byte
			if _, err := r.memory.ReadAt(b[:], int64(addr)); err != nil {
				return fmt.Errorf("read the memory of process %d: %w", r.target.PID, err)
			}
			if b[0] != breakpoint {
				continue
			}
			seen[addr] = true
			l := leaked{Breakpoint: Breakpoint{Path: m.Path, Offset: p.Offset, Addr: addr}}
			if l.file, l.Why = r.judge(f, m, p); l.Why != "" {
				r.left = append(r.left, l.Breakpoint)
				continue
			}
			r.found = append(r.found, l)
		}
	}
	return nil
}

// judge returns the file of a breakpoint, or why the breakpoint is not to be removed.
func (r *repairer) judge(f *journal.File, m procfs.Mapping, p journal.Probe) (file *os.File, why string) {
	o := r.open(m)
	if o.err != nil {
		return nil, "its file cannot be read: " + o.err.Error()
	}
	if o.build != f.Build {
		return nil, "the file has another build identifier than the one that was probed"
	}
	switch b, err := o.bytes.at(p.Offset); {
	case err != nil:
		return nil, "its file cannot be read: " + err.Error()
	case b == breakpoint:
		return nil, "the file itself has a breakpoint there"
	case b != p.Original:
		return nil, fmt.Sprintf("the file has %02x there, and had %02x when it was probed", b, p.Original)
	}
	for _, e := range r.live {
		if names(&e.Journal, f.ID, p.Offset) {
			return nil, fmt.Sprintf("tracepredict (process %d) observes the process, and may have a probe there", e.Owner.PID)
		}
	}
	return o.file, ""
}

// names reports whether a journal names a place in a file.
func names(j *journal.Journal, file procfs.FileID, offset uint64) bool {
	for _, f := range j.Files {
		if f.ID == file && slices.ContainsFunc(f.Probes, func(p journal.Probe) bool { return p.Offset == offset }) {
			return true
		}
	}
	return false
}

// open opens the file of a mapping, once.
func (r *repairer) open(m procfs.Mapping) *openFile {
	if o := r.opened[m.File]; o != nil {
		return o
	}
	o := &openFile{file: r.early[m.File]}
	r.opened[m.File] = o
	if o.early = o.file != nil; !o.early {
		exe, _ := procfs.Executable(r.target.PID)
		if o.file, o.err = target.OpenMapped(r.target.PID, m, exe); o.err != nil {
			return o
		}
	}
	st, err := o.file.Stat()
	if err != nil {
		o.err = err
		return o
	}
	bin, err := elf.New(o.file, st.Size(), m.Path)
	if err != nil {
		o.err = err
		return o
	}
	o.build, o.bytes.file = bin.BuildID(), o.file
	return o
}

// restore has the kernel remove the breakpoints that were found, and looks which it did.
func (r *repairer) restore() error {
	if len(r.found) == 0 {
		return nil
	}
	kernel, err := attach.NewRestorer()
	if err != nil {
		return err
	}
	defer kernel.Close()
	offsets := map[*os.File][]uint64{}
	for _, l := range r.found {
		offsets[l.file] = append(offsets[l.file], l.Offset)
	}
	why := "the kernel needs it, for a probe of another tool"
	for file, at := range offsets {
		slices.Sort(at) // a file may be mapped several times
		at = slices.Compact(at)
		if err := kernel.Restore(file, r.target.PID, at); err != nil {
			why = err.Error()
		}
	}
	r.leave(func(l *leaked) bool {
		var b [1]byte
		_, err := r.memory.ReadAt(b[:], int64(l.Addr))
		return err != nil || b[0] == breakpoint
	}, why)
	return nil
}
