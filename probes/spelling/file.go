package spelling

import (
	"path"
	"strings"
)

// File reports whether a user means a source file by want: its whole path or its last components.
func File(have, want string) bool {
	have, want = path.Clean(have), path.Clean(want)
	return have == want || strings.HasSuffix(have, "/"+want)
}
