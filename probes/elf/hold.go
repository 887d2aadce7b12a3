package elf

import "sync"

// The planning of probes reads a file's code many times, a few bytes at a time. A system call for
// each read would take longer than everything else, so the loaded content of the file is held in
// memory meanwhile. Each segment is read when it is first used.

// maxHeldSegment bounds the size of a segment that is held, in bytes. In a larger segment each
// piece is read separately.
const maxHeldSegment = 64 << 20

// holding contains the segments that are held.
type holding struct {
	mu sync.Mutex // guards all fields below; no other lock is taken while it is held
	// users is the number of callers of Hold that have not called release.
	users    int
	segments map[*segment][]byte // a nil value: the segment could not be read
}

// Hold makes Bytes keep in memory what it reads, until every caller of Hold has called the function
// that it returned.
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

// heldSegment returns the content of a segment, which it reads if segments are held; nil if they
// are not, or it cannot be read or held.
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
		b, _ = f.read(s.off, s.filesz) // nil if it fails: reading a piece returns the error
		h.segments[s] = b
	}
	return b
}
