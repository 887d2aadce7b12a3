package trace

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// zstdFrame returns a hand-made frame (RFC 8878, section 3.1.1): the magic number, a
// descriptor of one byte, the rest of the frame header, and blocks.
func zstdFrame(rest ...byte) []byte { return append([]byte{0x28, 0xb5, 0x2f, 0xfd}, rest...) }

// bombOf returns a block with a given payload.
func bombOf(raw uint32, payload []byte) []byte {
	b := append(make([]byte, blockHeaderSize), payload...)
	fillBlockHeader(b, blockHeader{raw: raw})
	return append(header(), b...)
}

// TestBombs checks that a payload that decompresses to more than its header declares is
// refused before it has been decompressed.
func TestBombs(t *testing.T) {
	repeated := zstdFrame(0x00, 0x58) // a window of 2 MiB, no size given
	for range 1024 {
		repeated = append(repeated, 0x02, 0x00, 0x10, 'x') // 128 KiB of one byte
	}
	zeros := block(blockHeader{raw: 1000}, make([]byte, 16<<20))
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"more-than-said", zeros},
		{"same-byte-for-ever", bombOf(maxRaw, append(repeated, 0x03, 0x00, 0x10, 'x'))},
		{"window-of-terabytes", bombOf(100, zstdFrame(0x00, 0xff, 0x01, 0, 0))},
		{"content-of-2^63-bytes", bombOf(100, zstdFrame(0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0, 0))},
		{"cut", bombOf(100, zstdFrame(0x00, 0x58))},
		{"nothing", bombOf(100, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			n := allocated(func() { _, _, err = read(c.file) })
			var wrong *Error
			if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), "t.trace: at byte 16: ") {
				t.Errorf("got %v", err)
			}
			if n > 4*maxRaw {
				t.Errorf("allocated %d bytes", n)
			}
		})
	}
}
