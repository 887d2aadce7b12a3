package symbolize

// SharesName reports whether several variables of the module have the name that Data returns for
// the one that contains the address: statics of several files or functions.
func (t *Table) SharesName(addr uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load()
	s := t.symbols.object(addr)
	return s != nil && t.symbols.stems[stem(s.Name)] > 1
}
