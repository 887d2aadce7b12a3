package main

// programs are in the order of the table.
func programs() []program {
	return []program{&memcached{}, &redis{}, &nginx{}, &mariadb{}, &pbzip2{}, &rocksdb{}, &rustc{}}
}

func names() []string {
	var all []string
	for _, p := range programs() {
		all = append(all, p.name())
	}
	return all
}
