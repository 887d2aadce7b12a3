package elf

// What a file can make this package read or hold, whatever it claims: its
// tables may overlap, so the file's size alone bounds nothing, and a sparse
// file of a terabyte takes no room on the disk. Each bound is several times
// what the largest programs in use have (browsers, machine-learning libraries).
const (
	// maxSegments is how many program headers Linux takes: 64 KiB of them
	// (fs/binfmt_elf.c, load_elf_phdrs).
	maxSegments = 65536 / phdrSize
	// maxSections: linked files have some tens; 65,279 is the most without
	// the extension that moves their number into the first header.
	maxSections = 1 << 17
	// maxSectionNames bounds the table of section names, in bytes.
	maxSectionNames = 16 << 20
	// maxCode bounds the executable segments together, in bytes.
	maxCode = 1 << 30
	// maxRead bounds a table that is read as a whole, in bytes.
	maxRead = 1 << 30
	// MaxDebug bounds the sections of debug information that are held, all
	// together and uncompressed, in bytes. The standard library's reader
	// reaches 4 GiB of each.
	MaxDebug = 8 << 30
	// maxChecksum bounds a separate debug file of which the checksum is
	// asked for, in bytes.
	maxChecksum = 16 << 30
	// piece is how much is read at a time where a pass over data needs no
	// more.
	piece = 16 << 20
)

// nameBudget bounds the bytes of all names that are taken from a string table
// of n bytes. Tables share the ends of names ("lock" is in "unlock"), but many
// symbols with one long name are an attack on whoever compares them.
func nameBudget(n int) int { return 16*n + 1<<20 }

// MaxMangled bounds the linked names that are worth demangling, in bytes: the
// time that takes can grow with the square of the length.
const MaxMangled = 4096

// Demangling bounds the time that demangling all names of a file takes. The
// zero value is ready.
type Demangling struct {
	spent   uint64 // squares of the lengths of long names
	Refused int    // names that were not worth it, or too many
}

// Allows reports whether a linked name may be demangled.
func (d *Demangling) Allows(name string) bool {
	const long, most = 512, 1 << 31
	n := uint64(len(name))
	if n > long && n <= MaxMangled {
		d.spent += n * n
	}
	if n > MaxMangled || d.spent > most {
		d.Refused++
		return false
	}
	return true
}
