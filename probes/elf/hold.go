package elf

import "sync"

// Who plans a file reads its code again and again, in pieces of some bytes. A system
// call for each would take longer than all else, so what is loaded of the file is
// meanwhile held in memory, segment by segment as it is asked for.

// maxHeldSegment bounds a segment that is held, in bytes; of larger ones each piece
// is read.
const maxHeldSegment = 64 << 20

// holding are the segments that are held.
type holding struct {
	mu       sync.Mutex // guards all below; taken last
	users    int
	segments map[*segment][]byte // nil: could not be read
}

// Hold makes Bytes keep in memory what it reads, until release is called: once by
// each who has called Hold.
func (f *File) Hold() (release func()) {
	h := &f.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users++; h.segments == nil {
		h.segments = map[*segment][]byte{}
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.users--; h.users == 0 {
			h.segments = nil
		}
	}
}

// heldSegment returns the content of a segment if it is held, or now is; nil if not.
func (f *File) heldSegment(s *segment) []byte {
	if s.write || s.filesz > maxHeldSegment {
		return nil
	}
	h := &f.held
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.segments == nil {
		return nil
	}
	b, known := h.segments[s]
	if !known {
		b, _ = f.read(s.off, s.filesz) // nil if it fails: who wants a piece gets the error
		h.segments[s] = b
	}
	return b
}
