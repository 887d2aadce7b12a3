package main

// programs are in the order of the table.
func programs() []program {
	return []program{&memcached{}, &redis{}, &nginx{}, &mariadb{}, &pbzip2{}, &rocksdb{}, &rustc{}}
}

func (c *config) names() []string {
	all, _ := c.all()
	var out []string
	for _, p := range all {
		out = append(out, p.name())
	}
	return out
}
