// A thread executes a statement on a connection, and the first thread closes it; and statements in use as they should be,
// of which the library makes some itself, in memory of others. The functions are not SQLite's, but have their names.
#include <stddef.h>

#include "twice.h"

typedef struct {
	int step;
} sqlite3_stmt;

typedef struct {
	int left; // statements
	sqlite3_stmt own; // which one after the other is
} sqlite3;

KEEP int sqlite3_open(const char *name, sqlite3 **db)
{
	*db = calloc(1, sizeof(**db));
	return *name == '/'; // the connection is there all the same
}

KEEP int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **s, const char **rest)
{
	*s = NULL;
	if (!*sql || n > 0 || rest)
		return 1;
	db->left++;
	*s = &db->own;
	return 0;
}

KEEP int sqlite3_step(sqlite3_stmt *s) { return s->step++ % 2 ? 101 : 100; }

KEEP int sqlite3_finalize(sqlite3_stmt *s)
{
	((sqlite3 *)((char *)s - offsetof(sqlite3, own)))->left--;
	s->step = 0;
	return 0;
}

// Makes a statement, and disposes of it, without calls that tell.
KEEP int sqlite3_exec(sqlite3 *db)
{
	sqlite3_step(&db->own);
	sqlite3_step(&db->own);
	return 0;
}

KEEP int sqlite3_close(sqlite3 *db)
{
	if (db->left)
		return 5;
	free(db);
	return 0;
}

static void *executes(void *db)
{
	sqlite3_exec(db);
	return NULL;
}

static void closes(void *db)
{
	if (sqlite3_close(db))
		abort();
}

static void select_all(sqlite3 *db)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, "select * from t", -1, &s, NULL))
		abort();
	if (!sqlite3_close(db)) // it stays open
		abort();
	while (sqlite3_step(s) == 100)
		;
	sqlite3_finalize(s);
}

int main(int argc, char **argv)
{
	sqlite3_stmt *s;
	sqlite3 *db;

	if (!sqlite3_open("/nonexistent/file", &db))
		return 1;
	sqlite3_close(db);
	if (sqlite3_open("file", &db) || !sqlite3_prepare_v2(db, "", -1, &s, NULL) || s)
		return 1;
	for (int i = 0; i < 3; i++) {
		select_all(db);
		sqlite3_exec(db);
	}
	use_and_dispose(argc, argv, executes, closes, db);
	return 0;
}
