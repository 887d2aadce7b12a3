package report

import (
	"encoding/binary"

	"github.com/tracepredict/tracepredict/observer/event"
)

// A report of many findings names the same call chains again and again, and chains share
// most of their outer frames. So JSON has each distinct frame and each distinct chain
// once, in two tables at its end; where a chain is spoken of stand its number there and
// its inner frames, which tell most readers enough.

// sideFrames is how many frames of a chain stand at a side of a finding itself: in nearly
// all programs the whole chain. Elsewhere they stand as far as the one that a reader
// looks for.
const sideFrames = 16

// jsonChain is a call chain: its number in the table, its inner frames, and which of
// these a reader looks for.
type jsonChain struct {
	Stack []jsonFrame `json:"stack"`
	ID    int         `json:"stack_id"`
	Own   int         `json:"own_frame"`
}

type jsonFrame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Module   string `json:"module"`
	Offset   uint64 `json:"offset"`
	Inlined  bool   `json:"inlined,omitempty"`
	// Start is the line on which the function's definition begins.
	Start int `json:"function_line,omitempty"`
}

func toJSONFrame(f event.Frame) jsonFrame {
	return jsonFrame{f.Function, f.File, f.Line, f.Module, f.Offset, f.Inlined, f.Start}
}

// chains numbers frames and chains as they come.
type chains struct {
	frames   []jsonFrame
	frameIDs map[jsonFrame]int
	stacks   [][]int
	stackIDs map[string]int
	// known are chains by their first frame: a report holds those of a place once.
	known map[*event.Frame]int
	key   []byte
}

// newChains has the chain of which nothing is known, as number 0, and room for frames: to
// hash their long names again when a map grows takes longer than to write them.
func newChains(frames int) *chains {
	c := &chains{frames: make([]jsonFrame, 0, frames), frameIDs: make(map[jsonFrame]int, frames), stackIDs: map[string]int{}, known: map[*event.Frame]int{}}
	c.number(nil)
	return c
}

// framesIn is how many frames distinct stacks have.
func framesIn(stacks []Stack) int {
	n := 0
	for _, s := range distinct(stacks) {
		n += len(s.Frames)
	}
	return n
}

// id is the number of a chain, which must be whole.
func (c *chains) id(s Stack) int {
	if len(s.Frames) == 0 {
		return 0
	}
	first := &s.Frames[0]
	id, ok := c.known[first]
	if !ok {
		id = c.number(s.Frames)
		c.known[first] = id
	}
	return id
}

func (c *chains) number(frames []event.Frame) int {
	ids := each(frames, c.frame)
	c.key = c.key[:0]
	for _, id := range ids {
		c.key = binary.AppendUvarint(c.key, uint64(id))
	}
	id, ok := c.stackIDs[string(c.key)]
	if !ok {
		id = len(c.stacks)
		c.stackIDs[string(c.key)] = id
		c.stacks = append(c.stacks, ids)
	}
	return id
}

func (c *chains) frame(f event.Frame) int {
	frame := toJSONFrame(f)
	id, ok := c.frameIDs[frame]
	if !ok {
		id = len(c.frames)
		c.frameIDs[frame] = id
		c.frames = append(c.frames, frame)
	}
	return id
}

// side is a chain of a side of a finding.
func (c *chains) side(s Stack) jsonChain {
	return jsonChain{inner(s, sideFrames), c.id(s), s.At}
}

// step is a chain of a step on the way.
func (c *chains) step(s Stack) jsonChain {
	return jsonChain{inner(s, 1), c.id(s), s.At}
}

// inner are so many inner frames of a chain, and as many more as it takes to the one that a
// reader looks for.
func inner(s Stack, n int) []jsonFrame {
	return each(s.Frames[:min(len(s.Frames), max(n, s.At+1))], toJSONFrame)
}
