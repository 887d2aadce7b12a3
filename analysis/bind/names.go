package bind

import (
	"path"
	"strings"
)

// Names reports whether a path, as --watch takes it, is that of the object of this
// name: a path may say the file first (file.c:hits) and its type last (hits:u32), and
// leave out the namespaces.
func Names(p, name string) bool {
	if name == "" {
		return false
	}
	if p == name {
		return true
	}
	if i := single(p); i > 0 && strings.ContainsRune(p[:i], '.') && path.Ext(p[:i]) != "" && !strings.ContainsAny(path.Ext(p[:i]), "[]") {
		p = p[i+1:]
	}
	if i := single(p); i > 0 {
		p = p[:i]
	}
	return p == name || strings.HasSuffix(name, "::"+p)
}

// single finds the first colon of a path that is not one of a pair; -1 if there is none.
func single(p string) int {
	for i := 0; i < len(p); i++ {
		switch {
		case p[i] != ':':
		case i+1 < len(p) && p[i+1] == ':':
			i++
		default:
			return i
		}
	}
	return -1
}
