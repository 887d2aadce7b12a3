package report

import (
	"fmt"
	"path"

	"github.com/tracepredict/tracepredict/internal/plural"
	"github.com/tracepredict/tracepredict/observer/event"
	"github.com/tracepredict/tracepredict/observer/run"
)

// This file names memory by the block that it lies in: where that was allocated, and how far the object is from its
// beginning. Unlike an address, this is the same in each run.

// InBlock reports whether the block is known that the object lies in. Init is then where it was allocated.
func (o *Object) InBlock() bool { return o.Block.Size > 0 && o.Kind == event.KindVariable }

// blockName returns the name of an object that nothing but its block names: block@queue.c:14+16.
func (o *Object) blockName() string {
	at := "unknown"
	if f := o.Init.Top(); f.File != "" && f.Line > 0 {
		at = fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	} else if len(o.Init.Frames) > 0 {
		at = run.FrameName(f)
	}
	return fmt.Sprintf("block@%s+%d", at, o.Block.Offset)
}

// inBlock returns where in its block an object lies, and what allocated that.
func (n Names) inBlock(o *Object) string {
	return o.withinBlock() + " allocated" + n.in(o.Init)
}

// allocated is as inBlock, with the thread and the function from which the block was allocated.
func (n Names) allocated(o *Object) string {
	text := o.withinBlock() + ", allocated"
	if o.Block.Thread != 0 {
		text += fmt.Sprintf(" by T%d", o.Block.Thread)
	}
	return text + n.in(o.Init) + prefixed(" (called from ", n.where(o.Init.caller())) + closing(o.Init.caller())
}

func closing(s Stack) string {
	if len(s.Frames) == 0 {
		return ""
	}
	return ")"
}

func (o *Object) withinBlock() string {
	text := fmt.Sprintf("at offset %d", o.Block.Offset)
	if n := o.Block.Element; n > 0 {
		text += fmt.Sprintf(", in element %d if it is an array of %d,", o.Block.Offset/n, o.Block.Size/n)
	}
	return text + plural.Sprintf(" of a block of %d {byte|bytes}", o.Block.Size)
}

// caller returns the stack of the next frame of the program outside the one that a reader looks for; an empty one
// if there is none.
func (s Stack) caller() Stack {
	for i := s.At + 1; i < len(s.Frames); i++ {
		if f := s.Frames[i]; f.Function != "" && !run.OfLibrary(f) {
			return Stack{Frames: s.Frames, At: i}
		}
	}
	return Stack{}
}
