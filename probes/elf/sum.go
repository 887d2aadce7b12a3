package elf

import (
	"crypto/sha256"
	"fmt"
	"io"
)

// summed is how much of a file has a checksum of its own, in bytes.
const summed = 1 << 20

// Sum returns a checksum of the file's content: the SHA-256 of those of its pieces of 1 MiB, which several processors
// compute. It is computed once.
func (f *File) Sum() (sum [sha256.Size]byte, err error) {
	f.sumOnce.Do(func() { f.sum, f.sumErr = f.computeSum() })
	return f.sum, f.sumErr
}

func (f *File) computeSum() (sum [sha256.Size]byte, err error) {
	pieces := int((f.size + summed - 1) / summed)
	whole := sha256.New()
	for _, p := range inParts(pieces, f.sumPieces) {
		if p.err != nil {
			return sum, fmt.Errorf("checksum of %s: %w", f.name, p.err)
		}
		whole.Write(p.result)
	}
	whole.Sum(sum[:0])
	return sum, nil
}

// sumPieces returns the checksums of the pieces from number lo to before number hi.
func (f *File) sumPieces(lo, hi int) (sums []byte, err error) {
	b := make([]byte, summed)
	for i := lo; i < hi; i++ {
		at := uint64(i) * summed
		piece := b[:min(summed, f.size-at)]
		if _, err := io.ReadFull(io.NewSectionReader(f.r, int64(at), int64(len(piece))), piece); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(piece)
		sums = append(sums, sum[:]...)
	}
	return sums, nil
}
