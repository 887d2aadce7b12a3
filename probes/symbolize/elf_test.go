package symbolize

import (
	"bytes"
	"debug/elf"
)

func elfSections(b []byte) ([]*elf.Section, error) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return f.Sections, nil
}
