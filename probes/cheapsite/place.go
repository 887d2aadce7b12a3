package cheapsite

import (
	"fmt"

	"github.com/tracepredict/tracepredict/probes/insn"
)

// Image is code under examination; make it with NewImage. It decodes what is
// asked of it and keeps what it found. Not for concurrent use.
type Image struct {
	code Code
	arch insn.Arch
}

// NewImage gives an Image of the code.
func NewImage(c Code) *Image { return &Image{code: c, arch: c.Arch()} }

// decode decodes the instruction at addr.
func (im *Image) decode(addr uint64) (insn.Inst, error) {
	b, err := im.code.Bytes(addr, im.arch.MaxLen())
	if err != nil {
		return insn.Inst{}, fmt.Errorf("read code at 0x%x: %w", addr, err)
	}
	return insn.Decode(im.arch, b, addr)
}

// Place finds the site for a probe. It fails if the instruction at w.At cannot
// be read or decoded.
func (im *Image) Place(w Want) (Site, error) { return im.stay(w.At) }

// PlaceReturn finds the site for a probe of a return instruction.
func (im *Image) PlaceReturn(ret uint64, reads insn.RegSet) (Site, error) { return im.stay(ret) }

func (im *Image) stay(at uint64) (Site, error) {
	in, err := im.decode(at)
	if err != nil {
		return Site{}, err
	}
	s := Site{Addr: at}
	if in.Emulated {
		s.Class = Emulated
	}
	return s, nil
}

// Returns follows control flow from entry to every exit.
func (im *Image) Returns(entry uint64) (Exits, error) { return Exits{Reason: "not followed"}, nil }

// WrapperOf gives the functions that entry surely calls first.
func (im *Image) WrapperOf(entry uint64, args insn.RegSet) []uint64 { return nil }
