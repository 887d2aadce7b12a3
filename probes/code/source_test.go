package code

import (
	"bytes"
	"testing"

	bin "github.com/tracepredict/tracepredict/probes/elf"
	"github.com/tracepredict/tracepredict/probes/insn"
)

const base = 0x1000

// memory is a Source of adjacent sections from base on.
type memory struct {
	arch     insn.Arch
	sections [][]byte
	funcs    []bin.Range
	marks    []uint64
	reads    int
}

func (m *memory) Arch() insn.Arch        { return m.arch }
func (m *memory) Functions() []bin.Range { return m.funcs }
func (m *memory) Landmarks() []uint64    { return m.marks }

func (m *memory) Text() (text []bin.Range) {
	at := uint64(base)
	for _, s := range m.sections {
		text = append(text, bin.Range{Lo: at, Hi: at + uint64(len(s))})
		at += uint64(len(s))
	}
	return text
}

func (m *memory) Bytes(addr uint64, n int) ([]byte, error) {
	m.reads++
	for i, t := range m.Text() {
		if t.Contains(addr) {
			b := m.sections[i][addr-t.Lo:]
			return b[:min(n, len(b))], nil
		}
	}
	return nil, errNoCode
}

// TestSectionsAreReadOnce checks that sections are read once, however often control passes between
// them.
func TestSectionsAreReadOnce(t *testing.T) {
	nops := bytes.Repeat([]byte{0x90}, 32)
	m := &memory{arch: insn.AMD64, sections: [][]byte{nops, nops}}
	im := NewImage(m)
	for i := range uint64(100) {
		if _, err := im.Decode(base + i%2*32); err != nil {
			t.Fatal(err)
		}
	}
	if m.reads != 2 {
		t.Errorf("read %d times", m.reads)
	}
}
