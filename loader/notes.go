package loader

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/loader/need"
)

// notes are what a report must say of what was not observed: sentences, and the files and processes that some of them
// are about.
type notes struct {
	mu         sync.Mutex // guards the fields below; no other lock is acquired while it is held
	sentences  []plural.Note
	late       []LateProcess // whose beginnings were not observed
	unobserved []Blind       // see Session.Unobserved
}

// LateProcess is a process that was not observed when it began, with a sentence that says so.
type LateProcess struct {
	PID  uint32
	Note string
}

// Blind is what synchronises unobserved in some processes.
type Blind struct {
	Name      string   // of a variable, or path of a file
	In        []string // the functions that accessed the variable unobserved, sorted; "": others may too
	Processes []uint32 // process IDs
}

// say adds a sentence unless it is there already.
func (n *notes) say(text string) { n.add(plural.Plain(text)) }

// add adds a note unless its sentence is there already.
func (n *notes) add(note plural.Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.ContainsFunc(n.sentences, func(old plural.Note) bool { return old.Text == note.Text }) {
		n.sentences = append(n.sentences, note)
	}
}

// like adds a note of the kind of its format, in which errors are those that reason returns.
func (n *notes) like(format string, args ...any) {
	for i := range args {
		if err, ok := args[i].(error); ok {
			args[i] = n.reason(err)
		}
	}
	n.add(plural.Like(format, args...))
}

// missed adds a note that a process was not observed from since (CLOCK_MONOTONIC, ns) until now.
func (n *notes) missed(format string, since uint64, pid int, program string) {
	note := fmt.Sprintf(format, pid, program, float64(monotonic()-since)/1e6)
	n.say(note)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late = append(n.late, LateProcess{uint32(pid), note})
}

// leave adds a note that a file is not observed in a process because of an error.
func (n *notes) leave(path string, pid int, err error) {
	n.mu.Lock()
	n.unobserved = append(n.unobserved, Blind{Name: path, Processes: []uint32{uint32(pid)}})
	n.mu.Unlock()
	n.add(plural.About(path, "%s is not observed: %v", path, n.reason(err)))
}

// reason returns an error for a note. What to do for lack of file descriptors becomes a note of its
// own, once.
func (n *notes) reason(err error) error {
	var lack *need.Error
	if !need.OutOfFiles(err) || !errors.As(need.ExplainFiles(err), &lack) {
		return err
	}
	n.say(lack.What + ": " + lack.Remedy)
	return errors.New("no file descriptor was left")
}

// all returns all notes.
func (n *notes) all() []plural.Note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sentences)
}

// NoteKinds returns those of Notes that may be joined with others of their kind.
func (s *Session) NoteKinds() []plural.Note {
	return slices.DeleteFunc(s.notes.all(), func(n plural.Note) bool { return n.Kind == "" })
}

// LateProcesses returns the processes that were not observed when they began, or began another program.
func (s *Session) LateProcesses() []LateProcess {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	return slices.Clone(s.notes.late)
}

// Unobserved returns the files whose code processes run without probes, because they could not be
// read. That code may synchronise in ways that were not observed.
func (s *Session) Unobserved() []Blind {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	return slices.Clone(s.notes.unobserved)
}

// noteAbout adds a note about a process unless the process has ended.
func (s *Session) noteAbout(pid int, format string, args ...any) {
	if !s.processOf(pid).gone() {
		s.notes.like(format, args...)
	}
}

// noteUnsynced adds a note that libraries which a process has loaded while it runs are not observed.
// Other errors than a lack of file descriptors mean that the process has ended.
func (s *Session) noteUnsynced(pid int, err error) {
	if need.OutOfFiles(err) {
		s.noteAbout(pid, "what process %d loads is not observed any more: %v", pid, err)
	}
}
