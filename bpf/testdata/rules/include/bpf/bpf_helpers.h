/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * What the rules of the BPF programs need of the kernel, for an ordinary process: maps, the current
 * thread, the time, and a ring buffer that rules.c prints. It stands in for the file of that name
 * that libbpf has. Functions and macros have the names and meanings of bpf-helpers(7).
 */
#ifndef RULES_BPF_HELPERS_H
#define RULES_BPF_HELPERS_H

#include <stdlib.h>
#include <string.h>

#define SEC(name)
#undef __always_inline
#define __always_inline inline
#define __noinline __attribute__((unused))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]

/* A map: an array of values, or a list of keys and values. */
struct user_map {
	void *is; /* the map of the BPF programs */
	bool array;
	__u32 key_size, value_size;
	__u32 count; /* entries of an array, and of a list those that are there */
	char **keys, **values;
	char *array_values;
};

#define MAX_MAPS 32
static struct user_map user_maps[MAX_MAPS];

static inline struct user_map *known_map(void *is)
{
	for (int i = 0; i < MAX_MAPS; i++)
		if (user_maps[i].is == is)
			return &user_maps[i];
	return 0;
}

static inline struct user_map *map_of(
	void *is, __u32 type, __u32 key_size, __u32 value_size, __u32 entries)
{
	struct user_map *m = known_map(is);

	if (m)
		return m;
	m = known_map(0);
	if (!m)
		abort();
	m->is = is;
	m->array = type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
	m->key_size = key_size;
	m->value_size = value_size;
	if (m->array) {
		m->count = entries;
		m->array_values = calloc(entries, value_size);
	}
	return m;
}

/* Returns a map with so many entries, if it is an array: user space says how many before it loads one. */
#define SIZED_MAP(map, entries)                                              \
	map_of(map, sizeof(*(map)->type) / sizeof(int), sizeof(*(map)->key), \
		sizeof(*(map)->value), entries)
#define USER_MAP(map) SIZED_MAP(map, sizeof(*(map)->max_entries) / sizeof(int))

static inline int entry_of(struct user_map *m, const void *key)
{
	for (__u32 i = 0; i < m->count; i++)
		if (!memcmp(m->keys[i], key, m->key_size))
			return i;
	return -1;
}

static inline void *map_lookup(struct user_map *m, const void *key)
{
	int at;

	if (m->array) {
		__u32 index = *(const __u32 *)key;

		return index < m->count ? m->array_values + (size_t)index * m->value_size : 0;
	}
	at = entry_of(m, key);
	return at < 0 ? 0 : m->values[at];
}
#define bpf_map_lookup_elem(map, key) map_lookup(USER_MAP(map), key)

static inline char *copy_of(const void *from, __u32 size)
{
	char *to = malloc(size);

	return memcpy(to, from, size);
}

static inline long map_update(struct user_map *m, const void *key, const void *value)
{
	void *old = map_lookup(m, key);

	if (old) {
		memcpy(old, value, m->value_size);
		return 0;
	}
	if (m->array)
		return -1;
	m->keys = realloc(m->keys, (m->count + 1) * sizeof(*m->keys));
	m->values = realloc(m->values, (m->count + 1) * sizeof(*m->values));
	m->keys[m->count] = copy_of(key, m->key_size);
	m->values[m->count++] = copy_of(value, m->value_size);
	return 0;
}
#define bpf_map_update_elem(map, key, value, flags) map_update(USER_MAP(map), key, value)

static inline long bpf_map_delete_elem(void *map, const void *key)
{
	struct user_map *m = known_map(map);
	int at = m ? entry_of(m, key) : -1;

	if (at < 0)
		return -1;
	free(m->keys[at]);
	free(m->values[at]);
	m->keys[at] = m->keys[--m->count];
	m->values[at] = m->values[m->count];
	return 0;
}

/* The rules that are tried here look at no map as a whole, and read no memory of a process. */
#define bpf_for_each_map_elem(map, each, context, flags) ((void)(each), abort())
#define bpf_probe_read_user(to, size, from) user_read_fails(to, size)
#define bpf_probe_read_user_str(to, size, from) user_read_fails(to, 1)
#define bpf_seq_write(seq, data, size) abort()

static inline int user_read_fails(void *to, __u32 size)
{
	memset(to, 0, size);
	return -1;
}

static inline long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

#define bpf_probe_read_kernel_str(to, size, from) abort()

static inline long bpf_loop(__u32 n, int (*each)(__u32, void *), void *context, __u64 flags)
{
	for (__u32 i = 0; i < n; i++)
		if (each(i, context))
			return i + 1;
	return n;
}

static __u64 now, current, cookie;

#define bpf_ktime_get_ns() now
#define bpf_get_smp_processor_id() 0
static inline long bpf_send_signal_thread(__u32 signal)
{
	(void)signal;
	return 0;
}
#define bpf_get_current_pid_tgid() current
#define bpf_get_ns_current_pid_tgid(dev, ino, ids, size) abort()
static inline __u64 bpf_get_attach_cookie(void *context)
{
	return cookie;
}

/* The ring buffer has room for one record, which whoever submits it has printed at once. */
static char reserved[4096];
static void print_record(const void *record);

#define bpf_ringbuf_query(ring_buffer, flags) 0
#define bpf_ringbuf_reserve(ring_buffer, size, flags) ((void *)reserved)
#define bpf_ringbuf_submit(record, flags) ((void)(flags), print_record(record))

#endif
