// A thread writes to a connection, and the first thread frees it. The functions are not OpenSSL's, but have their names.
#include "twice.h"

typedef struct {
	int owners;
} SSL;

KEEP SSL *SSL_new(void *context)
{
	SSL *s = malloc(sizeof(*s));

	if (s)
		s->owners = 1 + !!context;
	return s;
}

KEEP int SSL_up_ref(SSL *s) { return ++s->owners; }

KEEP int SSL_write(SSL *s, const void *text, int n) { return s->owners > 0 && text ? n : -1; }

KEEP void SSL_free(SSL *s)
{
	if (s && --s->owners == 0)
		free(s);
}

static void *writes(void *s)
{
	SSL_write(s, "text", 4);
	return NULL;
}

static void *writes_own(void *s)
{
	SSL_write(s, "text", 4);
	SSL_free(s);
	return NULL;
}

static void frees(void *s) { SSL_free(s); }

int main(int argc, char **argv)
{
	char *late[] = {argv[0], NULL};
	SSL *s = SSL_new(NULL), *shared = SSL_new(NULL);

	if (!s || !shared)
		return 1;
	use_and_dispose(argc, argv, writes, frees, s);
	SSL_up_ref(shared);
	use_and_dispose(1, late, writes_own, frees, shared); // two owners
	SSL_free(NULL);
	return 0;
}
