package jsonreport

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/analysis/report"
	"github.com/tracepredict/tracepredict/observer/event"
)

// This file makes the tables of frames and stacks in JSON reports. A report of many findings
// has the same call stacks again and again, and stacks share most of their outer frames. So
// JSON has each distinct frame and each distinct stack once, in two tables at its end. A step
// has only the number of its stack in the table, and the inner frames, which are enough for
// most readers.

// sideFrames is the number of frames of a stack that a side of a finding has itself: in nearly
// all programs the whole stack. Other steps have the frames up to the one with index Stack.At.
const sideFrames = 16

// stacks numbers frames and stacks in the order in which they are added.
type stacks struct {
	frames   []event.Frame
	frameIDs map[event.Frame]int
	stacks   [][]int
	own      []int // of each stack, the index of the innermost frame of the program's own code
	stackIDs map[string]int
	// known has the numbers of stacks by the address of their first frame: a report has the
	// frames of a stack in memory once.
	known map[*event.Frame]int
	key   []byte
}

// newStacks returns a table that has the empty stack, as number 0, and room for a number of
// frames: hashing their long names again when a map grows takes longer than writing them.
func newStacks(frames int) *stacks {
	t := &stacks{frames: make([]event.Frame, 0, frames), frameIDs: make(map[event.Frame]int, frames), stackIDs: map[string]int{}, known: map[*event.Frame]int{}}
	t.add(nil)
	return t
}

// framesIn returns the number of frames of the distinct stacks.
func framesIn(all []report.Stack) int {
	n := 0
	for _, s := range all {
		n += len(s.Frames)
	}
	return n
}

// id returns the number of a stack.
func (t *stacks) id(s report.Stack) int {
	if len(s.Frames) == 0 {
		return 0
	}
	first := &s.Frames[0]
	id, ok := t.known[first]
	if !ok {
		id = t.add(s.Frames)
		t.known[first], t.own[id] = id, s.At
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
		t.stacks, t.own = append(t.stacks, ids), append(t.own, 0)
	}
	return id
}

func (t *stacks) frame(f event.Frame) int {
	f.Addr = 0 // JSON omits it
	id, ok := t.frameIDs[f]
	if !ok {
		id = len(t.frames)
		t.frameIDs[f] = id
		t.frames = append(t.frames, f)
	}
	return id
}

// jsonFrame is an event.Frame with the numbers of its names.
type jsonFrame struct {
	Function int    `json:"function"`
	File     int    `json:"file"`
	Line     int    `json:"line"`
	Module   int    `json:"module"`
	Offset   uint64 `json:"offset"`
	Inlined  bool   `json:"inlined,omitempty"`
	Start    int    `json:"function_line,omitempty"`
}

// texts numbers texts in the order in which they are added; "" is number 0.
type texts struct {
	all []string
	ids map[string]int
}

func newTexts() *texts { return &texts{[]string{""}, map[string]int{"": 0}} }

func (t *texts) id(text string) int {
	id, ok := t.ids[text]
	if !ok {
		id = len(t.all)
		t.ids[text] = id
		t.all = append(t.all, text)
	}
	return id
}

func (t *texts) frame(f event.Frame) jsonFrame {
	return jsonFrame{t.id(f.Function), t.id(f.File), f.Line, t.id(f.Module), f.Offset, f.Inlined, f.Start}
}
