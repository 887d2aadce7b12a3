package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

// Made is a digest of all that a file follows from. It stands in a file beside it, so
// that what was made of the same is not made again.
type Made string

// Key makes the digest.
func Key(parts ...string) Made {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s\n", len(p), p)
	}
	return Made(hex.EncodeToString(h.Sum(nil)))
}

const keySuffix = ".key"

// IsOf reports whether the file is there and was made of that.
func (m Made) IsOf(file string) bool {
	if _, err := os.Stat(file); err != nil {
		return false
	}
	text, err := os.ReadFile(file + keySuffix)
	return err == nil && string(text) == string(m)
}

// Keep records that the file was made from that digest. It must be called last, or a file
// whose making was interrupted would seem complete.
func (m Made) Keep(file string) error {
	return os.WriteFile(file+keySuffix, []byte(m), 0o644)
}
