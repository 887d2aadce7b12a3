// Package debugpkg finds the name of the package that contains the debug information of a binary.
// It reads the lists of dpkg's database; on a system without one it finds nothing. Its input is a
// root folder and a path in it, which may be of a hostile container; its output is a name.
package debugpkg

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// lists is the folder with a list of files for each package: dpkg(1).
const lists = "var/lib/dpkg/info"

// Bounds of the database: the number of lists, and their size in bytes. A large system has 4,000
// packages and 60 MB of lists.
const (
	maxLists = 1 << 16
	maxBytes = 256 << 20
)

// Owner returns the name of the package that installed the file at a path of the system below root
// ("/" is the running system); "" if no package did, or if there is no such database. Where /usr
// has been merged, packages may still list files under their paths outside it, and the other way
// round: Owner searches for both paths.
func Owner(root, file string) (string, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("look for the package of %s: %w", file, err)
	}
	defer r.Close()
	names, err := listNames(r)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the package of %s: %w", file, err)
	}
	wanted := aliases(file)
	left := int64(maxBytes)
	for _, name := range names {
		text, err := readList(r, name, left)
		if err != nil {
			continue // removed in the meantime, or not a regular file
		}
		if left -= int64(len(text)); contains(text, wanted) {
			pkg, _, _ := strings.Cut(strings.TrimSuffix(name, ".list"), ":")
			return pkg, nil
		}
	}
	return "", nil
}

func listNames(r *os.Root) ([]string, error) {
	dir, err := r.Open(lists)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(8 * maxLists) // a package has up to eight files there
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".list") && e.Type().IsRegular() && len(names) < maxLists {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readList reads a list, without blocking on what is no regular file.
func readList(r *os.Root, name string, most int64) ([]byte, error) {
	f, err := r.OpenFile(path.Join(lists, name), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// contains reports whether a list contains one of the wanted paths as a whole line.
func contains(text []byte, wanted []string) bool {
	for _, w := range wanted {
		for rest := text; ; {
			i := bytes.Index(rest, []byte(w))
			if i < 0 {
				break
			}
			end := i + len(w)
			if (i == 0 || rest[i-1] == '\n') && (end == len(rest) || rest[end] == '\n') {
				return true
			}
			rest = rest[end:]
		}
	}
	return false
}

// aliases returns the paths under which a file may be listed.
func aliases(file string) []string {
	file = path.Clean(file)
	if rest, ok := strings.CutPrefix(file, "/usr"); ok && merged(rest) {
		return []string{file, rest}
	}
	if merged(file) {
		return []string{file, "/usr" + file}
	}
	return []string{file}
}

// merged reports whether a path begins with a folder that a merged system replaces by the folder of
// the same name in /usr.
func merged(file string) bool {
	for _, dir := range []string{"/bin/", "/sbin/", "/lib/", "/lib64/", "/lib32/", "/libx32/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

// Symbols returns the name that Debian and Ubuntu use for the package with the debug information of
// a package's files.
func Symbols(pkg string) string {
	if pkg == "libc6" {
		return "libc6-dbg"
	}
	return pkg + "-dbgsym"
}
