package report

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/observer/event"
)

// A report of many findings names the same call stacks again and again, and stacks share
// most of their outer frames. So JSON has each distinct frame and each distinct stack
// once, in two tables at its end; where a stack is mentioned stand its number there and
// its inner frames, which are enough for most readers.

// sideFrames is the number of frames of a stack that are shown at a side of a finding
// itself: in nearly all programs the whole stack. Elsewhere the frames up to the one that
// a reader looks for are shown.
const sideFrames = 16

// stacks numbers frames and stacks in the order in which they come.
type stacks struct {
	frames   []event.Frame
	frameIDs map[event.Frame]int
	stacks   [][]int
	stackIDs map[string]int
	// known are the numbers of stacks by their first frame: a report holds the frames of
	// a stack once.
	known map[*event.Frame]int
	key   []byte
}

// newStacks returns a table that has the empty stack, as number 0, and room for frames: to
// hash their long names again when a map grows takes longer than to write them.
func newStacks(frames int) *stacks {
	t := &stacks{frames: make([]event.Frame, 0, frames), frameIDs: make(map[event.Frame]int, frames), stackIDs: map[string]int{}, known: map[*event.Frame]int{}}
	t.add(nil)
	return t
}

// framesIn returns the number of frames of the distinct stacks.
func framesIn(all []Stack) int {
	n := 0
	for _, s := range distinct(all) {
		n += len(s.Frames)
	}
	return n
}

// number sets the stack's number and its inner frames: n, and as many more as it takes to
// the one that a reader looks for.
func (t *stacks) number(s *Stack, n int) {
	s.ID, s.Inner = t.id(*s), inner(*s, n)
}

func inner(s Stack, n int) []event.Frame {
	return notNil(s.Frames[:min(len(s.Frames), max(n, s.At+1))])
}

// id returns the number of a stack.
func (t *stacks) id(s Stack) int {
	if len(s.Frames) == 0 {
		return 0
	}
	first := &s.Frames[0]
	id, ok := t.known[first]
	if !ok {
		id = t.add(s.Frames)
		t.known[first] = id
	}
	return id
}

func (t *stacks) add(frames []event.Frame) int {
	ids := each(frames, t.frame)
	t.key = t.key[:0]
	for _, id := range ids {
		t.key = binary.AppendUvarint(t.key, uint64(id))
	}
	id, ok := t.stackIDs[string(t.key)]
	if !ok {
		id = len(t.stacks)
		t.stackIDs[string(t.key)] = id
		t.stacks = append(t.stacks, ids)
	}
	return id
}

func (t *stacks) frame(f event.Frame) int {
	f.Addr = 0 // JSON does not have it
	id, ok := t.frameIDs[f]
	if !ok {
		id = len(t.frames)
		t.frameIDs[f] = id
		t.frames = append(t.frames, f)
	}
	return id
}
