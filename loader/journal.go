package loader

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/journal"
	"github.com/tracepredict/tracepredict/loader/procfs"
)

// Before a session attaches probes it writes down where, and when they are out it removes what it wrote. If the kernel
// fails to remove them because the tool was killed together with those tasks that attach probes for it, that is left, and
// a later start, or Repair, knows which breakpoints may be removed.

// journals are the journals that concern a process, opened with all privileges: those of tools that are gone, those of
// tools that live, and the one of this session.
type journals struct {
	target  procfs.Identity
	stale   []*journal.Entry
	live    []*journal.Entry
	own     *journal.Writer // nil: none is kept
	why     error           // why the own one is not kept, or a stale one is of no use; nil: there is nothing to say
	damaged error           // why some could not be read
	folder  *journal.Folder // that stale and live are in; nil: there is none
	memory  *os.File        // of the process, to be read; nil: there is nothing stale
}

// journal returns the folder of the journals; "" if none is needed.
func (o *Options) journal() string {
	if o.NoProbes {
		return ""
	}
	return o.Journal
}

// openJournals opens the journals of a process in a folder, and removes those that say nothing any more. With keep, it
// makes one for this session.
func openJournals(folder string, pid int, keep bool) *journals {
	j := &journals{}
	if folder == "" {
		return j
	}
	boot, err := procfs.Boot()
	if err == nil {
		j.target, err = procfs.IdentityOf(pid)
	}
	if err == nil {
		j.folder, err = journal.Open(folder, keep)
	}
	if err != nil {
		if !keep && errors.Is(err, os.ErrNotExist) {
			err = nil // nobody has kept one
		}
		j.why = err
		return j
	}
	all, damaged := j.folder.Read(boot)
	j.damaged = errors.Join(damaged...)
	for _, e := range all {
		j.take(e)
	}
	if len(j.stale) > 0 {
		if j.memory, err = os.Open(procfs.Dir(pid) + "/mem"); err != nil {
			j.why = errors.Join(j.why, err)
		}
	}
	if keep {
		j.keep(folder, boot)
	}
	return j
}

// take puts a journal where it belongs, and closes or removes those of other processes.
func (j *journals) take(e *journal.Entry) {
	switch lives := e.Owner.Lives(); {
	case e.Gone():
		j.damaged = errors.Join(j.damaged, e.Remove(), e.Close())
	case !e.Has(j.target):
		_ = e.Close() // nothing was written
	case lives:
		j.live = append(j.live, e)
	default:
		j.stale = append(j.stale, e)
	}
}

// keep makes a journal for this session.
func (j *journals) keep(folder, boot string) {
	f, err := journal.Open(folder, true)
	if err == nil {
		if j.own, err = f.Create(boot); err != nil {
			_ = f.Close() // the error is about it
		}
	}
	if err == nil {
		err = j.own.AddTarget(j.target)
	}
	j.why = errors.Join(j.why, err)
}

// close closes the journals of others, which stay, and removes the session's own.
func (j *journals) close() {
	_ = j.own.Remove() // what it leaves is empty, and the parent, or the next start, removes it
	j.closeOthers()
}

// closeOthers closes the journals of others.
func (j *journals) closeOthers() {
	for _, e := range slices.Concat(j.stale, j.live) {
		_ = e.Close()
	}
	if j.memory != nil {
		_ = j.memory.Close()
	}
	if j.folder != nil {
		_ = j.folder.Close()
	}
	j.stale, j.live, j.memory, j.folder = nil, nil, nil, nil
}

// record writes down where breakpoints will be in a process, before any is. If it cannot, the observation goes on.
// The caller holds s.mu.
func (s *Session) record(p *process, fresh []*Module) {
	if len(fresh) == 0 || s.journals.own == nil {
		return
	}
	id, err := procfs.IdentityOf(p.pid)
	if err == nil {
		p.identity = id
		err = s.journals.own.AddTarget(id)
	}
	files := make([]journal.File, len(fresh))
	for i, m := range fresh {
		var fileErr error
		files[i], fileErr = m.journaled()
		err = errors.Join(err, fileErr)
	}
	s.noteUnrecorded(errors.Join(err, s.journals.own.Add(files)))
}

// noteUnrecorded adds a note that the journal is not kept, or not complete.
func (s *Session) noteUnrecorded(err error) {
	if err != nil && s.opts.Verbose && !s.first.gone() {
		s.notes.say(fmt.Sprintf("no complete journal is kept of where probes are, so that breakpoints could not be removed later if all of tracepredict is killed at once: %v", err))
	}
}

// journaled returns where the module has, or may get, probes, with what its file has there.
func (m *Module) journaled() (journal.File, error) {
	f := journal.File{ID: m.ID, Build: m.Bin.BuildID(), Path: m.Path}
	for i := range m.Plan.Sites {
		f.Probes = append(f.Probes, journal.Probe{Offset: m.Plan.Sites[i].Offset})
	}
	for i := range m.Plan.UnseenProbes {
		f.Probes = append(f.Probes, journal.Probe{Offset: m.Plan.UnseenProbes[i].Offset})
	}
	slices.SortFunc(f.Probes, func(a, b journal.Probe) int { return cmp.Compare(a.Offset, b.Offset) })
	f.Probes = slices.Compact(f.Probes)
	bytes := fileBytes{file: m.file}
	for i := range f.Probes {
		var err error
		if f.Probes[i].Original, err = bytes.at(f.Probes[i].Offset); err != nil {
			return journal.File{}, fmt.Errorf("read %s: %w", m.Path, err)
		}
	}
	return f, nil
}

// fileBytes reads single bytes of a file in the order of their offsets.
type fileBytes struct {
	file  *os.File
	start uint64 // offset of window
	part  []byte
	room  [1 << 14]byte
}

// at returns the byte at an offset.
func (b *fileBytes) at(offset uint64) (byte, error) {
	if offset < b.start || offset-b.start >= uint64(len(b.part)) {
		n, err := b.file.ReadAt(b.room[:], int64(offset))
		if n == 0 {
			return 0, err
		}
		b.start, b.part = offset, b.room[:n]
	}
	return b.part[offset-b.start], nil
}

// restoreLeaked has the kernel remove what a tool that was killed has left in the process, before it gets probes.
func (s *Session) restoreLeaked() {
	if len(s.journals.stale) == 0 {
		return
	}
	out, err := s.journals.repair(s.early, false)
	if n := len(out.Restored); n > 0 {
		s.notes.say(plural.Sprintf("%d {breakpoint|breakpoints} that a killed tracepredict had left in process %d {was|were} removed before the observation", n, s.first.pid))
	}
	if n := len(out.Left); n > 0 {
		s.notes.say(plural.Sprintf("%d {breakpoint|breakpoints} that a killed tracepredict may have left in process %d {stays|stay}: tracepredict repair -p %[2]d says why", n, s.first.pid))
	}
	if err != nil {
		s.notes.say(fmt.Sprintf("breakpoints that a killed tracepredict may have left in process %d stay: %v", s.first.pid, err))
	}
}

// RemoveJournals removes what a process that has ended has left of its journals in a folder, if its probes are out.
func RemoveJournals(folder string, pid int) {
	f, err := journal.Open(folder, false)
	if err != nil {
		return // there are none
	}
	defer f.Close()
	f.RemoveEmpty(pid)
}
