package main

// programs are in the order of the table.
func programs() []program {
	return []program{&memcached{}, &redis{}, &nginx{}, &mariadb{}, &pbzip2{}, &rocksdb{}, &rustc{}}
}

func (c *config) names() []string {
	var out []string
	if c.large {
		out = append(out, standIn)
		for _, p := range installed {
			out = append(out, p.name)
		}
		return out
	}
	all, _ := c.all()
	for _, p := range all {
		out = append(out, p.name())
	}
	return out
}
