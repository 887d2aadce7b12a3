package elf

// Bounds of what this package reads or holds for a file, whatever the file claims. Its tables may
// overlap, so the file's size alone is no bound, and a sparse file of a terabyte uses no disk
// space. Each bound is several times the size in the largest programs in use (browsers,
// machine-learning libraries).
const (
	// maxSegments is the maximum number of program headers that Linux accepts: 64 KiB of them
	// (fs/binfmt_elf.c, load_elf_phdrs).
	maxSegments = 65536 / phdrSize
	// maxSections bounds the number of sections. Linked files have some tens; 65,279 is the maximum
	// without the extension that moves their number into the first header.
	maxSections = 1 << 17
	// maxSectionNames bounds the table of section names, in bytes.
	maxSectionNames = 16 << 20
	// maxCode bounds the executable segments together, in bytes.
	maxCode = 1 << 30
	// maxRead bounds a table that is read as a whole, in bytes.
	maxRead = 1 << 30
	// MaxDebug bounds the total size of the sections of debug information that are held,
	// uncompressed, in bytes. The standard library's reader can address 4 GiB of each.
	MaxDebug = 8 << 30
	// maxChecksum bounds the size of a separate debug file whose checksum is computed, in bytes.
	maxChecksum = 16 << 30
	// piece is the number of bytes that are read at a time by a pass over data.
	piece = 16 << 20
)

// nameBudget returns a bound on the total bytes of all names that are read from a string table of n
// bytes. Names in a table may share their ends ("lock" is in "unlock"), but many symbols that share
// one long name are an attack on code that compares them.
func nameBudget(n int) int { return 16*n + 1<<20 }

// MaxMangled bounds the mangled names that are demangled, in bytes: the time can grow with the
// square of the length.
const MaxMangled = 4096

// Demangling bounds the time for demangling all names of a file. The zero value is ready for use.
type Demangling struct {
	cost    uint64 // sum of the squares of the lengths of long names
	Refused int    // number of names that were refused
}

// Allows reports whether a mangled name may be demangled.
func (d *Demangling) Allows(name string) bool {
	const long, most = 512, 1 << 31
	n := uint64(len(name))
	if n > long && n <= MaxMangled {
		d.cost += n * n
	}
	if n > MaxMangled || d.cost > most {
		d.Refused++
		return false
	}
	return true
}
