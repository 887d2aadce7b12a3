package event

import (
	"bytes"
	"encoding/binary"
)

// nameWords is the number of words of a thread's name, in which a zero byte ends it.
const nameWords = 2

// ThreadName returns the name that the thread of a Named has from that event on, at most 16 bytes.
func (e *Event) ThreadName() string {
	var name []byte
	for _, w := range e.Args[:min(len(e.Args), nameWords)] {
		name = binary.LittleEndian.AppendUint64(name, w)
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(name)
}
